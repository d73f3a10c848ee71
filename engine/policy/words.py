"""Words that say nothing by themselves, and irregular English forms that stemming cannot join."""

_ENGLISH = """
a an the and or but nor so if then than that this these those there here it its itself he him his she her hers they
them their theirs we us our ours you your yours i me my mine who whom whose which what when where why how
am is are was were be been being do does did doing done have has had having can could will would shall should may
might must not no of to in on at by for from with without into onto out off over under up down about through during
after before again once all also any both each few more most other some such only own same too very just as because
until while further per via
wo ca sha ai
"""

STOP_WORDS = frozenset(_ENGLISH.split())

# A pair of Chinese characters is dropped when one of them is a particle or when it is a whole function word.
STOP_CHARACTERS = frozenset("的了吗呢吧啊嘛么")
_CHINESE = """
什么 怎么 怎样 哪个 哪些 哪里 为何 如何 多少 是否 我们 你们 他们 她们 它们 咱们 这个 那个 这些 那些
这里 那里 这样 那样
一个 一些 一下 没有 不是 就是 还是 但是 可是 而且 并且 或者 因为 所以 如果 虽然 然后 以及 已经 可以 可能 应该 需要 时候
"""

STOP_PAIRS = frozenset(_CHINESE.split())

# Forms that the Porter stemmer does not join.
_FORMS = """
begin began begun|blow blew blown|break broke broken|bring brought|build built|buy bought|catch caught
choose chose chosen|come came|deal dealt|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten
fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten
forgive forgave forgiven
freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hear heard|hide hid hidden|hold held
keep kept|know knew known|lay laid|lead led|leave left|lend lent|lose lost|make made|mean meant|meet met|pay paid
ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent
shake shook shaken|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept
speak spoke spoken|spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn
sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|wake woke woken|wear wore worn|weep wept|win won
withdraw withdrew withdrawn
write wrote written|overwrite overwrote overwritten|rewrite rewrote rewritten|rebuild rebuilt|undo undid undone
rerun reran
child children|man men|woman women|person people|foot feet|tooth teeth|mouse mice|life lives|wife wives|index indices
matrix matrices|vertex vertices|criterion criteria|good better best|bad worse worst
"""
BASE_FORMS = {
    form: base
    for group in _FORMS.strip().replace("\n", "|").split("|")
    for base, *forms in [group.split()]
    for form in forms
}
