"""What a sentence does in a conversation, told by its wording, in English and Chinese."""

import re

# (cue, who may say it, weight, wording)
_TABLE = (
    (
        "remember",
        "U",
        5.0,
        r"^(?:and |also |please |so |now |ok,? )*(?:remember|keep in mind|note for)\b|\bplease remember\b"
        r"|\bfrom now on\b|^in (?:the )?future,? |\bfor future reference\b|记住|记下|请记得|^(?:以后|今后)"
        r"|[，,；;](?:以后|今后)|(?:以后|今后)(?:都|请|不要|别|一律|所有|每次)|下次(?:记得|不要|别|请|先)",
    ),
    (
        "correction",
        "U",
        5.0,
        r"^(?:no|nope|wrong|correction|not quite)[,.:;!]|^no it'?s\b|^actually\b|^i meant\b"
        r"|^(?:that's|that is) (?:wrong|not)\b|^you(?:'re| are) wrong\b"
        r"|, not \S|\bshould (?:be|have been|use)\b.{1,60}\bnot\b|\bis not\b.{1,40}\bbut\b"
        r"|^(?:不对|不是|不，|错了|其实|更正|纠正|我是说|应该是)|不是.{1,30}(?:而)?是|而不是|说错|搞错|弄错|写错",
    ),
    ("correction", "A", 3.0, r"^(?:correction|i was wrong|my mistake|i misread)\b|^(?:更正|我弄错|我搞错|是我错)"),
    (
        "preference",
        "U",
        4.0,
        r"\bi (?:now |strongly |really |generally |usually |always )*(?:prefer|hate|dislike)\b"
        r"|^(?:and |also |please |so |you should |we )*(?:always|never) "
        r"(?!(?:mind|seen|had|been|knew|thought|worked|works|happen(?:s|ed)|fails|failed|crashes|returns|gets|got)\b)[a-z]+"
        r"|\bplease (?:always|never)\b|我(?:更|不|很|现在)*(?:喜欢|偏好|倾向|习惯|讨厌)|请(?:总是|始终|一律)|永远不要"
        r"|千万(?:不要|别)|一律|统一(?:用|使用)",
    ),
    (
        "decision",
        "UA",
        4.0,
        r"\b(?:let's|let us|we(?:'ll| will| should)?|i(?:'ll| will)?) "
        r"(?:go with|stick (?:with|to)|settle on|switch to|keep using|stay with)\b"
        r"|\b(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled|opted|picked)\b|\bdecision\b"
        r"|决定|就用|最终(?:用|选)|选(?:用|择了|定)|采用|改用|改为|敲定|定下来|还是用",
    ),
    (
        "fact",
        "U",
        3.0,
        r"\b(?:my|our) [\w' -]{2,40} (?:is|are|runs|lives|has)\b|\b(?:i|we) (?:use|run|deploy)\b"
        r"|我叫|我(?:们)?的.{1,12}是|项目用|我们(?:用|使用)",
    ),
    (
        "cause",
        "UA",
        3.0,
        r"\bbecause\b|\broot cause\b|\bcaused by\b|\bdue to\b|\bthe (?:problem|issue|reason|bug|culprit) (?:is|was)\b"
        r"|\bturns out\b|因为|由于|原因|根因|导致|问题(?:出在|在于|是)",
    ),
    (
        "fix",
        "UA",
        3.0,
        r"\bfix(?:ed|es)?\b|\bsolved\b|\bresolved\b|\bsolution\b|\bworkaround\b|\b(?:works?|passes|passing) now\b"
        r"|\bnow (?:works?|passes)\b|修复|修好|解决|改好|搞定|已修",
    ),
    (
        "error",
        "UA",
        2.0,
        r"\w(?:Error|Exception)\b|\berrors?\b|\bfail(?:s|ed|ure|ing)?\b|\bcrash\w*\b|\bpanic\b|\bexit code\b"
        r"|\btimed? ?out\b|报错|错误|失败|崩溃|异常|超时",
    ),
    (
        "left",
        "UA",
        2.5,
        r"\btodo\b|\bremain(?:s|ing)\b|\bleft to do\b|\bstill (?:need|to|missing|open|fail)|\bnext step\b|\bnot yet\b"
        r"|\bfollow[- ]up\b|\bdon't forget\b|别忘|待办|剩下|还(?:没|需要|差)|下一步|未完成|尚未|后续",
    ),
    (
        "result",
        "A",
        1.5,
        r"\b(?:done|added|created|changed|updated|implemented|removed|renamed|deployed|migrated|passed|saved|noted)\b"
        r"|\btests? pass|已经?|完成|通过|新增|删除了",
    ),
)
_CUES = tuple((cue, roles, re.compile(wording, re.I)) for cue, roles, _, wording in _TABLE)
WEIGHTS = {(cue, role): weight for cue, roles, weight, _ in _TABLE for role in roles}

# "Please remember." alone speaks of what stands before it.
BARE_REMEMBER = re.compile(
    r"(?:and |also |please )*remember(?: (?:it|this|that|these|them|all that))?(?:,? please)?[.!]*"
    r"|请?(?:你)?(?:帮我)?(?:都)?(?:记住|记下来?|记一下)(?:这(?:个|些|点))?[。！!.]*",
    re.I,
)
# Stricter than the cue: a decision taken, and by its wording no proposal.
DECIDED = re.compile(
    r"\b(?:let's|let us|we(?:'ll| will)?|i(?:'ll| will)?) "
    r"(?:go with|stick (?:with|to)|settle on|switch to|keep using)\b"
    r"|\b(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled|opted)\b|^\W*decision\W*:"
    r"|决定(?:用|采用|使用|改|不)(?!哪|什么|何)|(?:我们|我|那|最终).{0,8}(?:就用|采用|改用|选用|选定|敲定)|最终用",
    re.I,
)
# What an assistant says before it does something, or to be polite.
FILLER = re.compile(
    r"(?:(?:now |first,? |next,? |ok,? |okay,? |and )*(?:let me|let's (?:see|look|check)|i'm going to|looking at"
    r"|checking|i'll (?:check|look|start|take|read|first|now|begin|try|run)|reading|here(?:'s| is| are)|i see"
    r"|would you like|if you|feel free|want me to"
    r"|is there anything|(?:list|read|check|open|search) (?:the|it|for|this))\b"
    r"|让我|我来|我先|我去|接下来我|现在我|需要我|如果你|请告诉我|这就)",
    re.I,
)
SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|thanks?(?: you)?(?: (?:so|very) much| a lot)?|thx|ok(?:ay)?|sure|great|nice|cool|perfect"
    r"|good(?: (?:morning|evening|job|work|night))?|awesome|yes|yep|yeah|no|no problem|you'?re welcome|bye|goodbye"
    r"|see you|got it|understood|sounds good|how are you|how can i help(?: you)?(?: today)?|any time|welcome back"
    r"|have a (?:nice|good|great) (?:day|one)|please|continue|go on|go ahead|excellent|of course|absolutely|certainly"
    r"|there|again|all|everyone|(?:great|good) question|you'?re (?:absolutely )?right|well done|lol|haha|test"
    r"|i'm (?:fine|good|well))(?:[\s,.!?~，。！？、😀🙂👍🙏]+|$)"
    r"|(?:你好|您好|嗨|谢谢(?:你|您)?|多谢|好的?|好吧|嗯|是的|对的?|行|可以|没问题|不客气|再见|明白了?|知道了|收到|早上好"
    r"|晚安|辛苦了|继续|请|太好了|太棒了|哈|有什么(?:可以|能)帮(?:助)?(?:你|您)的?(?:吗|么)?)[\s,.!?~，。！？、😀🙂👍🙏]*)+"
    r"|(?:nice to meet you|glad (?:it|i|to)|happy to)\b.{0,30}|很高兴.{0,20}",
    re.I,
)
# A sentence can be about "that" only through these words, which say nothing by themselves.
REMEMBER_THAT = re.compile(
    r"^(?:and |also |please |so |now |ok,? )*(?:remember|keep in mind|note) (?:that|this|to)\b"
    r"|^请?(?:你)?记住(?:这个|这点)?[：:，,]?",
    re.I,
)
# A correction that says what is right, and not only that something is wrong.
CONTRAST = re.compile(
    r"\bnot\b|n't\b|\binstead\b|\brather than\b|\bshould\b|^correction\b|\bi meant\b"
    r"|不是|应该|更正|纠正|我是说|改成|改为",
    re.I,
)
_SILENT = (
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in is it its"
    " just me my no not of on or our please she should so some than that the their them then there these they this"
    " those to too up us was we were what when where which who why will with would you your yes ok let's now also"
    " always never remember correction before after until while because during without about into"
    " 的 了 是 我 你 在 有 和 就 不 这 那 个 们 请 吗 呢 吧 也 都 要 会 把 用 以 后 记 住"
)
STOP_WORDS = frozenset(_SILENT.split())
IDENTIFIER = re.compile(
    r"`[^`]+`|\b[A-Za-z]\w*?(?:_\w+|[a-z][A-Z]\w*)|(?<![\w./\\-])[\w-]+(?:[./\\][\w-]+)+|\b[A-Z][A-Z0-9]{2,}\b"
    r"|(?<!\w)\w*?\d[\w.:-]*",
    re.A,
)


def is_question(text: str) -> bool:
    """Whether a sentence asks."""
    return text.rstrip("\"'”’」)） ").endswith(("?", "？", "吗", "呢"))


def cues_of(text: str, role: str) -> frozenset[str]:
    """What a sentence said by `role` (U or A) does; a question decides and prefers nothing."""
    if is_question(text):
        return frozenset()
    return frozenset(cue for cue, roles, wording in _CUES if role in roles and wording.search(text))
