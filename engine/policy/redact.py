"""Secrets out of text before anything else sees it (engine.md 3.1).

Every pattern is linear in the text: no two starts read the same run twice without bound. Character classes are ASCII,
so a key glued to Chinese text is still found.
"""

import re

from engine.policy.text import utf16_cut, utf16_len

_GAP = "[ \t\u00a0\u3000]*+"
_WIDE = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"  # JavaScript's \s beyond ASCII
_BARE = rf"[^\s{_WIDE}&'\",;，。；、]"  # one character of an unquoted value
_STOP = r"(?=[\s,;)\]}\"'`]|$)"

# What stands where a secret would but is none: types, states, references, calls and placeholders, whole values only.
_WORDS = (
    "any|async|await|bool|boolean|buffer|bytes|CancellationToken|char|expired|false|float|function|int|integer|invalid|"
    "lambda|missing|never|new|nil|none|null|number|object|optional|required|SecretStr|str|string|text|true|undefined|"
    "unknown|uuid|varchar|void"
)
_ENV_NAME = r"[A-Z][A-Z0-9_]{0,60}_(?:ENV|ID|KEY|PASS|PASSWORD|PWD|SECRET|TOKEN|URL|VAR)"
_SLOT = (
    r"(?:\$\{[^{}\n]{0,80}\}|\$[A-Z_][A-Z0-9_]{0,60}|\{\{[^{}\n]{0,80}\}\}|\{[\w.]{0,60}\}|<[^<>\n]{0,80}>"
    r"|%s|\*+|\.{3,})"
)
_PLAIN = (
    r"(?!\[REDACTED:"
    rf"|[&*]?(?i:{_WORDS})(?=[\s\[\]<>|?(){{}}*;,&\"'`]|[^\x00-\x7f]|$)"
    r"|(?:self|this|args|config|settings|options|props|process|os|req|request|env|secrets|import\.meta)[.\[]\w"
    r"|(?:Optional|Option|Union|Promise|Literal|Annotated|Array|List|Vec|Box|Arc)[\[<(]"
    r"|(?:\w{1,60}\.){0,6}(?:get|load|read|fetch|create|make|generate|parse|require|input|prompt)\w{0,60}\("
    r"|_?[a-z]{1,40}+(?:[_.][a-z0-9]{1,40}+){1,6}+\(|[a-z_]{1,40}\[[0-9]\]"
    r"|\w{1,60}(?:\.\w{1,60}){0,6}?\.\w{0,30}?(?i:token|password|secret|key)\w{0,30}(?:\(|[\s,;)\]}]|$)"
    rf"|(?:api_?[kK]ey|password|passwd|token|secret|access_?[tT]oken|refresh_?[tT]oken|client_?[sS]ecret){_STOP}"
    rf"|(?:{_ENV_NAME}|{_SLOT}){_STOP}|\$\{{|\$\([a-z]|\{{\{{|(?<=:):\w)"
)

_WD = rf"wd(?!{_GAP}[=:]{_GAP}[\"']?[/~])"  # also the variable that holds the working folder
# Names of secrets, each pattern beginning with one character class and looking back from there: an alternation of words
# in front costs ten times as much on ordinary text.
_AFTER_P = (
    rf"(?i:ass(?:word|wd|phrase|code)|{_WD}|(?:w(?<![a-z]pw)|ass(?<=[_-]pass))(?![a-z]))"
    r"|ass(?<=[\s{(,\"']pass)(?=[\"']?[ \t]*:[ \t]*[\"'])"
)
_KEYS = "|".join(
    rf"(?<={name}key)|(?<={name}[_-]key)"
    for name in (
        *("api", "access", "account", "app", "auth", "deploy", "encryption", "license", "master", "private", "service"),
        *("shared", "signing", "storage"),
    )
)
_AFTER_STK = rf"(?i:(?<=s)ecret|(?<=t)oken|(?<=k)ey(?:{_KEYS}))"
_SPACED_KEY = r"[kK](?i:ey(?:(?<=api key)|(?<=access key)|(?<=secret key)|(?<=private key)))"
_PASS = rf"[pP](?:{_AFTER_P})"
_TOKEN = rf"[sStTkK]{_AFTER_STK}"
_EITHER = rf"[pPsStTkK](?:(?<=[pP])(?:{_AFTER_P})|{_AFTER_STK})"
# MY_TOKEN_PROD is a name for a secret; tokenizer, tokens, TOKEN_LIMIT and secretName are not.
_ABOUT = (
    "count limit budget usage url uri endpoint type name id env field path file len length size exp expiry expires"
    " expiration ttl policy reset header window rate cost price max min index pos position"
)
_ABOUT_LOWER, _ABOUT_CAMEL = "|".join(_ABOUT.split()), "|".join(_ABOUT.title().split())
_SUFFIX = (
    r"(?:(?=[A-Z0-9_-])(?!(?i:iz|s(?![a-z])))"
    rf"(?![\w-]{{0,30}}?(?:[_-](?i:{_ABOUT_LOWER})|(?:{_ABOUT_CAMEL}))s?(?![a-z]))"
    r"[\w-]{0,30}+)?"
)
_NUMBER = r"(?![0-9.]+(?:[\s,;)\]}]|$))"
_ASSIGN = r"(?:[=:](?![=>~:])|[：＝])"
_CHINESE_QUOTE = "[“‘「『]?"
# A value that only chance makes: both cases, and two digits with something between.
_RANDOM = (
    r"(?=[a-z0-9+/_=-]{0,80}[A-Z])(?=[A-Z0-9+/_=-]{0,80}[a-z])(?=[A-Za-z+/_=-]{0,80}[0-9]++[A-Za-z+/_=-]{1,80}[0-9])"
)
_RUN_END = r"(?![\w.(])"
_QUOTE = r"(?P<q>\\{0,3}[\"'`])"
_QUOTED = r"(?:(?!(?<!\\)(?P=q))[^\r\n])"
_NOT_QUOTED_SECRET = (
    rf"(?!\[REDACTED:secret:[a-z-]+\](?P=q)|(?i:bearer|basic|token) (?:\[REDACTED:|{_SLOT}(?P=q))"
    rf"|(?:(?i:{_WORDS})|{_ENV_NAME}|{_SLOT})(?P=q))"
)
_FLAG_PROSE = (
    "flags?|options?|arguments?|parameters?|switch|values?|is|and|or|to|for|from|with|when|which|that|this|instead|"
    "works?|does|requires?|takes?|must|should|will|would|can|on|in|as|via|has|have|it|was|are|if|but"
)
_PEM = r"-{4,5} ?BEGIN (?P<kind>[A-Z0-9 ]{0,40})PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# Keys that carry their maker's mark: (class, a piece that is always there, shape).
_VENDORS = (
    ("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    ("airtable", "pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b"),
    ("alibaba", "LTAI", r"\bLTAI[A-Za-z0-9]{12,30}\b"),
    ("atlassian", "AT", r"\bAT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{20,}"),
    ("azure", "Q~", r"(?<![\w~.-])[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~.-])"),
    ("baidu", "bce-v3/", r"\bbce-v3/ALTAK-[A-Za-z0-9]{10,}/[0-9a-f]{32,}"),
    ("cerebras", "csk-", r"\bcsk-[A-Za-z0-9]{30,}"),
    ("cloudflare", "cf", r"\bcf(?:at|ut|k)_[A-Za-z0-9]{30,}"),
    ("crates", "cio", r"\bcio[A-Za-z0-9]{32}\b"),
    ("databricks", "dapi", r"\bdapi[0-9a-f]{32}\b"),
    ("deepl", ":fx", r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:fx\b"),
    ("digitalocean", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{32,}"),
    ("discord", ".", r"(?<![\w.-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w.-])"),
    ("docker", "dckr_", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}"),
    ("doppler", "dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}"),
    ("dropbox", "sl.", r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{60,}"),
    ("facebook", "EAA", r"\bEAA[A-Za-z0-9_-]{40,}"),
    ("figma", "fig", r"\bfig[dou]_[A-Za-z0-9_-]{20,}"),
    ("firecrawl", "fc-", r"\bfc-[0-9a-f]{32}\b"),
    ("fireworks", "fw_", r"\bfw_[A-Za-z0-9]{22,}\b"),
    ("fly", "fm", r"\bfm[12][ar]?_[A-Za-z0-9+/=_-]{40,}"),
    ("gitlab", "gl", r"\bgl(?:rt|dt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{16,}"),
    ("google", "AIza", r"AIza[A-Za-z0-9_-]{30,}"),
    ("google", "GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{16,}"),
    ("google", "ya29.", r"\bya29\.[A-Za-z0-9_-]{16,}"),
    ("google", "1//0", r"\b1//0[A-Za-z0-9_-]{30,}"),
    ("grafana", "gl", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{20,}"),
    ("groq", "gsk_", r"\bgsk_[A-Za-z0-9]{16,}"),
    ("heroku", "HRKU-", r"\bHRKU-[A-Za-z0-9_-]{30,}"),
    ("huggingface", "hf_", r"\bhf_[A-Za-z0-9]{16,}"),
    ("langsmith", "lsv2_", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}\b"),
    ("linear", "lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{16,}"),
    ("mailchimp", "-us", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    ("mailgun", "key-", r"\bkey-[0-9a-f]{32}\b"),
    ("netlify", "nfp_", r"\bnfp_[A-Za-z0-9]{30,}"),
    ("newrelic", "NRAK-", r"\bNRAK-[A-Z0-9]{16,}"),
    ("notion", "ntn_", r"\bntn_[A-Za-z0-9]{20,}"),
    ("npm", "npm_", r"\bnpm_[A-Za-z0-9]{16,}"),
    ("nvidia", "nvapi-", r"\bnvapi-[A-Za-z0-9_-]{30,}"),
    ("openai", "sess-", r"\bsess-[A-Za-z0-9]{40}\b"),
    ("perplexity", "pplx-", r"\bpplx-[A-Za-z0-9]{16,}"),
    ("pinecone", "pcsk_", r"\bpcsk_[A-Za-z0-9_]{30,}"),
    ("planetscale", "pscale_", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}"),
    ("postman", "PMAK-", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b"),
    ("pypi", "pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{10,}"),
    ("replicate", "r8_", r"\br8_[A-Za-z0-9]{20,}"),
    ("rubygems", "rubygems_", r"\brubygems_[0-9a-f]{40,}\b"),
    ("sendgrid", "SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("sentry", "sntry", r"\bsntry[su]_[A-Za-z0-9+/=_-]{16,}"),
    ("shopify", "shp", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}"),
    ("slack", "xapp-", r"\bxapp-[A-Za-z0-9-]{10,}"),
    ("slack", "xoxe", r"\bxoxe[.-][A-Za-z0-9.-]{10,}"),
    ("square", "sq0", r"\bsq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    ("stripe", "k_", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("stripe", "whsec_", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    ("supabase", "sb", r"\bsb(?:p|_secret)_[A-Za-z0-9_]{20,}"),
    ("tavily", "tvly-", r"\btvly-[A-Za-z0-9-]{20,}"),
    ("telegram", ":", r"(?<![0-9])[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![\w-])"),
    ("tencent", "AKID", r"\bAKID[A-Za-z0-9]{13,40}\b"),
    ("terraform", ".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}"),
    ("together", "tgp_v1_", r"\btgp_v1_[A-Za-z0-9_-]{30,}"),
    ("twilio", "SK", r"\bSK[0-9a-f]{32}\b"),
    ("vault", "hv", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("vercel", "vc", r"\bvc[pkiar]_[A-Za-z0-9]{24,}"),
    ("xai", "xai-", r"\bxai-[A-Za-z0-9]{16,}"),
    ("zhipu", ".", r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b"),
)

# (class, a piece that is always there, shape); the group `secret` is replaced. Order matters: the first ten classes
# are shared with other writers of a shelf, and a later class never touches what an earlier one has masked.
_TABLE: tuple[tuple[str, str, str], ...] = (
    ("key", "sk-", r"\b(?P<secret>sk-[A-Za-z0-9_-]{8,})\b"),
    # Only the first eyJ of a run is tried: if it fails, so do the others, and the run is read once.
    (
        "jwt",
        "eyJ",
        r"(?<![A-Za-z0-9_-])(?>[A-Za-z0-9_-]*?(?=eyJ))"
        r"(?P<secret>eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{6,}+)",
    ),
    ("bearer", "", rf"\b(?P<secret>(?i:bearer)[\s{_WIDE}]+[A-Za-z0-9._~+/=-]{{8,}})\b"),
    ("authorization", "", rf"(?i:authorization){_GAP}:{_GAP}(?!\[REDACTED:)(?P<secret>[^\r\n]{{4,}})"),
    ("aws", "IA", r"(?P<secret>A[KS]IA[A-Z0-9]{12,})"),
    ("github", "gh", r"(?P<secret>gh[pousr]_[A-Za-z0-9]{8,})"),
    ("gitlab", "glpat-", r"(?P<secret>glpat-[A-Za-z0-9_-]{8,})"),
    ("slack", "xox", r"(?P<secret>xox[baprs]-[A-Za-z0-9-]{6,})"),
    (
        "credential",
        "",
        rf"\b(?<!\[REDACTED:)(?i:(?:access_|refresh_)?token|(?:client_)?secret|api_?key|passw(?:or)?d|p{_WD})"
        rf"{_GAP}[=:]{_GAP}[\"']?{_PLAIN}(?P<secret>{_BARE}{{4,}})",
    ),
    (
        "pem",
        "PRIVATE KEY",
        rf"(?P<secret>{_PEM}(?:(?!-{{4,5}} ?BEGIN )[\s\S])*?"
        r"-{4,5} ?END (?P=kind)PRIVATE KEY(?: BLOCK)? ?-{4,5})",
    ),
    ("github-pat", "github_pat_", r"(?P<secret>github_pat_[A-Za-z0-9_]{8,})"),
    ("pem-open", "PRIVATE KEY", rf"(?P<secret>{_PEM}(?=\s|\\[nr]|\Z)[\s\S]*)"),
    *((label, piece, f"(?P<secret>{shape})") for label, piece, shape in _VENDORS),
    (
        "webhook",
        "/",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|office(?:365)?\.com/webhook(?:b2)?/"
        r"|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=)(?P<secret>[A-Za-z0-9_/@.%-]{8,})",
    ),
    (
        "url-userinfo",
        "://",
        r"://(?![^\s/?#@]*\[REDACTED:)(?P<secret>[^\s/?#:'\"<>]*:[^\s/?#'\"<>]+|[A-Za-z0-9_.~%+-]{16,})@(?=[\w\[])",
    ),
    ("url-userinfo", "@", r":(?P<secret>[^\s:@/'\"()\[\]]{3,80})@(?:tcp|unix)\("),
    (
        "url-signature",
        "=",
        r"[?&](?i:sig|signature|x-(?:amz|goog|oss)-signature|x-amz-security-token|key|auth)="
        r"(?=[^\s&]{0,60}[0-9])(?P<secret>[A-Za-z0-9%+/=_.~-]{20,})",
    ),
    ("cookie", ":", rf"\b(?i:(?:set-)?cookie){_GAP}:{_GAP}(?!\[REDACTED:)(?P<secret>[\w.$-]{{1,100}}=[^\r\n]{{4,}})"),
    (
        "basic-auth",
        "Basic ",
        r"\bBasic +(?P<secret>(?=[A-Za-z]*(?:[a-z][A-Z]|[0-9]))[A-Za-z0-9+/]{12,}={0,2})(?![\w+/])",
    ),
    (
        "basic-auth",
        "auth",
        r"(?:[\"']_?auth[\"']\s*+:\s*+[\"']|\b_auth\s*=\s*[\"']?)(?P<secret>[A-Za-z0-9+/]{12,}={0,2})(?=[\"'\s]|$)",
    ),
    (
        "xml-credential",
        "</",
        rf"{_EITHER}{_SUFFIX}(?:\s[^<>\r\n]{{0,200}})?>{_PLAIN}(?P<secret>[^<>\r\n]{{4,}})</",
    ),
    (
        "table-credential",
        "|",
        rf"(?:{_EITHER}|{_SPACED_KEY}){_SUFFIX}[`*]{{0,3}}{_GAP}\|{_GAP}`?{_PLAIN}"
        r"(?=[^\s|`]{0,60}[0-9])(?=[^\s|`]{0,60}[A-Za-z])(?P<secret>[^\s|`]{8,})(?=`?[ \t]*\|)",
    ),
    (
        "json-credential",
        "",
        rf"{_PASS}{_SUFFIX}\\{{0,3}}[\"']\]?\s*+(?:=>|[:=])\s*+{_QUOTE}{_NOT_QUOTED_SECRET}(?P<secret>{_QUOTED}+)",
    ),
    (
        "json-credential",
        "",
        rf"(?:{_TOKEN}|(?i:authorization)|(?i:cookie)(?=[^\r\n]{{2,12}}?[\w.-]{{1,60}}=)){_SUFFIX}\\{{0,3}}[\"']\]?\s*+(?:=>|[:=])\s*+{_QUOTE}"
        rf"{_NOT_QUOTED_SECRET}(?P<secret>{_QUOTED}{{4,}})",
    ),
    # The characters refused at the start tell `"Password: ", user` from a value.
    (
        "quoted-credential",
        "",
        rf"{_PASS}{_SUFFIX}{_GAP}(?::=|=>|{_ASSIGN}){_GAP}{_QUOTE}(?![\s,)\]}};]){_NOT_QUOTED_SECRET}"
        rf"(?P<secret>{_QUOTED}++)(?P=q)",
    ),
    (
        "quoted-credential",
        "",
        rf"(?<!\[REDACTED:){_TOKEN}{_SUFFIX}{_GAP}(?::=|=>|{_ASSIGN}){_GAP}{_QUOTE}(?![\s,)\]}};]){_NOT_QUOTED_SECRET}"
        rf"(?P<secret>{_QUOTED}{{4,}}+)(?P=q)",
    ),
    (
        "named-credential",
        "",
        rf"(?<!\[REDACTED:)(?:{_PASS}{_SUFFIX}{_GAP}{_ASSIGN}{_GAP}|{_TOKEN}{_SUFFIX}{_GAP}{_ASSIGN}{_GAP}{_NUMBER})"
        rf"[\"']?{_PLAIN}(?P<secret>{_BARE}{{4,}})",
    ),
    (
        "cli-credential",
        "",
        r"--(?:[a-z0-9]{1,20}-){0,3}(?:password|passwd|pass|passphrase|token|secret|api-?key|access-key)"
        rf"(?:=|[ \t]++)(?P<q>[\"'])?(?!-|(?i:{_FLAG_PROSE})\b|[A-Z_]+{_STOP}){_PLAIN}"
        r"(?P<secret>(?(q)(?:(?!(?P=q))[^\r\n])+|[^\s\"'`,;)]{4,}))",
    ),
    (
        "cli-credential",
        "",
        r"\b(?:curl\b(?:(?!\s(?:-u|--user))[^\r\n]){0,400}+\s(?:-u|--user)[ =]?"
        r"|(?:sshpass|docker login)\b(?:(?!\s-p)[^\r\n]){0,200}+\s-p ?"
        r"|mysql\w{0,8}\b(?:(?!\s-p)[^\r\n]){0,200}+\s-p(?=\S)"
        rf"|redis-cli\b(?:(?!\s-a )[^\r\n]){{0,200}}+\s-a )(?P<q>[\"'])?{_PLAIN}"
        r"(?P<secret>(?(q)(?:(?!(?P=q))[^\r\n])+|[^\s\"'`]{4,}))",
    ),
    (
        "cli-credential",
        "sudo -S",
        r"\becho[ \t]+(?![\"']?\[REDACTED:)(?P<q>[\"'])?(?P<secret>(?(q)(?:(?!(?P=q))[^\r\n])+|[^\s|]+))"
        r"(?(q)(?P=q))[ \t]*\|[ \t]*sudo -S",
    ),
    (
        "cli-credential",
        "openssl",
        rf"\bopenssl\b(?:(?! -k |pass:)[^\r\n]){{0,200}}+(?: -k |pass:){_PLAIN}(?P<secret>[^\s\"'`]{{4,}})",
    ),
    (
        "config-credential",
        "",
        rf"\b(?:requirepass|masterauth|psk[ \t]*=)[ \t]*\"?{_PLAIN}(?=[^\s\"]{{0,60}}[0-9])(?P<secret>[^\s\"]{{4,}})",
    ),
    ("config-credential", "WIFI:", r"\bWIFI:[^\s]{0,100}?;P:(?!\[REDACTED:)(?P<secret>[^\s;]{4,})"),
    (
        "sql-credential",
        "'",
        r"(?:[bB](?i:y(?<=identified by))|[pP](?i:assword(?<=with password))|\bPASSWORD)"
        r"[ \t]+'(?!\[REDACTED:)(?P<secret>[^'\r\n]{4,})'",
    ),
    # A name and its value as two fields: environment of a container, a list of variables, an XML setting.
    (
        "paired-credential",
        "alue",
        rf"{_EITHER}{_SUFFIX}[\"']?[\s,]{{1,40}}[\"']?[vV]alue[\"']?[ \t]*[:=][ \t]*[\"']?"
        rf"{_PLAIN}(?P<secret>[^\s\"'<>,;}}]{{4,}})",
    ),
    (
        "block-credential",
        "\n",
        rf"{_EITHER}{_SUFFIX}[\"']?:[ \t]*(?:[|>][+-]?)?[ \t]*\r?\n[ \t]+"
        r"(?=[^\s:]{0,60}[0-9])(?=[^\s:]{0,60}[A-Za-z])(?P<secret>[^\s:|`\[\]()<>]{8,})[ \t]*$",
    ),
    ("putty", "Private-Lines:", r"Private-Lines: [0-9]+\r?\n(?P<secret>(?:[A-Za-z0-9+/=]+\r?\n?)+)"),
    (
        "named-credential",
        "",
        rf"{_SPACED_KEY}{_GAP}{_ASSIGN}{_GAP}[\"'`]?{_PLAIN}(?=[^\s]{{0,60}}[0-9])(?=[^\s]{{0,60}}[A-Za-z])(?P<secret>{_BARE}{{8,}})",
    ),
    (
        "random-credential",
        "",
        rf"(?:{_EITHER}{_SUFFIX}[ \t]+|[kK](?i:ey){_GAP}{_ASSIGN}{_GAP})[\"'`]?"
        rf"{_RANDOM}(?P<secret>[A-Za-z0-9+/_=-]{{16,}}+){_RUN_END}",
    ),
    (
        "random-credential",
        "",
        rf"\b[pP](?i:ass){_GAP}{_ASSIGN}{_GAP}{_RANDOM}(?P<secret>[A-Za-z0-9+/_=-]{{8,}}+){_RUN_END}",
    ),
    ("random-credential", "", r"[kK](?i:ey(?<=private key))[ \t:：=]*+(?P<secret>(?:0x)?[0-9a-fA-F]{64})\b"),
    ("netrc", "machine", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?!\[REDACTED:)(?P<secret>\S+)"),
    (
        "spoken-credential",
        "",
        r"(?:\b(?i:(?:password|passphrase|passcode|(?:api|access|secret) key|secret|token)"
        rf"(?: (?:for|of|to)(?: (?:the|our|my))? [\w@.'-]{{1,40}}){{0,2}} (?:is|was)){_GAP}:?{_GAP}"
        r"(?:(?=[\"'`])|(?!(?i:base64|sha|md5|bcrypt|utf)|[0-9]{1,5}\b)(?=[A-Za-z]{0,64}[0-9!@#$%^&*]))"
        rf"|(?:密码|口令|暗号|密钥|私钥|令牌){_GAP}(?:(?:[：:=＝]|是|为|改成了?|改为了?|设置?为|设成){_GAP}"
        rf"|(?={_CHINESE_QUOTE}[!-~]*[0-9])){_CHINESE_QUOTE})(?P<q>[\"'`])?{_PLAIN}"
        r"(?P<secret>(?(q)(?:(?!(?P=q))[^\r\n])+|(?:(?![\"'`;,])[!-~]){4,}))",
    ),
)
_RULES = tuple(
    (f"[REDACTED:secret:{label}]", piece, re.compile(shape, re.ASCII | re.MULTILINE)) for label, piece, shape in _TABLE
)


def redact(text: str) -> str:
    """Text with every secret replaced by `[REDACTED:secret:<class>]`; doing it twice changes nothing."""
    for placeholder, piece, pattern in _RULES:
        if piece not in text:
            continue
        pieces: list[str] = []
        done = 0
        for match in pattern.finditer(text):
            start, end = match.span("secret")
            pieces += (text[done:start], placeholder)
            done = end
        if pieces:
            text = "".join((*pieces, text[done:]))
    return text


def one_line(text: str, limit: int = 200) -> str:
    """A redacted single line of at most `limit` UTF-16 units, for errors that are stored or shown."""
    line = " ".join(redact(text).split())
    return line if utf16_len(line) <= limit else utf16_cut(line, limit - 1) + "…"
