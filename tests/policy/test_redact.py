"""Redaction: the ten shared classes, our own, what must stay readable, and time that grows with the text."""

import itertools
import time

import pytest

from engine.policy.redact import one_line, redact

LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7"


def masked(label: str) -> str:
    return f"[REDACTED:secret:{label}]"


# One row: id, text, what must come out.
SHARED = [
    ("POL-01", "key is sk-abcdefgh1234567890 end", f"key is {masked('key')} end"),
    ("POL-02", "sk-short", "sk-short"),
    ("POL-03", "Authorization: Bearer abcdefghij0123456789", f"Authorization: {masked('bearer')}"),
    ("POL-04", "Authorization: Basic dXNlcjpwYXNz x\nnext", f"Authorization: {masked('authorization')}\nnext"),
    ("POL-05", "Authorization: abc", "Authorization: abc"),
    ("POL-06-aws", "use AKIAABCDEFGHIJKL now", f"use {masked('aws')} now"),
    ("POL-06-aws-temporary", "use ASIAABCDEFGHIJKL now", f"use {masked('aws')} now"),
    ("POL-06-github", "use ghp_abcdefgh1234 now", f"use {masked('github')} now"),
    ("POL-06-gitlab", "use glpat-abcdefgh12 now", f"use {masked('gitlab')} now"),
    ("POL-06-slack", "use xoxb-123456-abcdef now", f"use {masked('slack')} now"),
    ("POL-07", "apiKey=correcthorse now", f"apiKey={masked('credential')} now"),
    ("POL-08-double", 'password="swordfish9"', f'password="{masked("credential")}"'),
    ("POL-08-single", "password='swordfish9'", f"password='{masked('credential')}'"),
    ("POL-09", "token=abc", "token=abc"),
    ("POL-10", "token=ghp_abcdefgh1234", f"token={masked('github')}"),
    (
        "POL-12-plain",
        "a\n-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----\nb",
        f"a\n{masked('pem')}\nb",
    ),
    (
        "POL-12-rsa",
        "a\n-----BEGIN RSA PRIVATE KEY-----\r\nMIIEvQ\r\n-----END RSA PRIVATE KEY-----\nb",
        f"a\n{masked('pem')}\nb",
    ),
    ("POL-13", "the tokenizer counts tokens and secrets", "the tokenizer counts tokens and secrets"),
    ("POL-14", "密钥sk-abcdefgh1234567890后面", f"密钥{masked('key')}后面"),
    ("jwt", f"jwt eyJhbGciOi.eyJzdWIiOi.{LONG} end", f"jwt {masked('jwt')} end"),
    ("jwt-inside-a-run", "x-eyJhbGciOi.eyJzdWIiOi.sig_nature", f"x-{masked('jwt')}"),
    ("bearer-in-prose", "send bearer abcdefgh1234 along", f"send {masked('bearer')} along"),
    ("bearer-wide-space", "Bearer\u00a0abcdefgh1234", masked("bearer")),
    ("credential-colon", "token : abcdef, rest", f"token : {masked('credential')}, rest"),
    ("credential-chinese-comma", "token: abcdef，然后", f"token: {masked('credential')}，然后"),
    ("fine-grained-order", f"sk-ant-api03-{LONG} sk-proj-{LONG}", f"{masked('key')} {masked('key')}"),
]

OURS = [
    ("POL-15-json", '{"password": "swordfish9"}', f'{{"password": "{masked("json-credential")}"}}'),
    ("POL-15-url", "postgres://u:pw@h", f"postgres://{masked('url-userinfo')}@h"),
    ("POL-15-prefixed", "MY_API_KEY=swordfish9", f"MY_API_KEY={masked('named-credential')}"),
    ("POL-15-github-pat", "github_pat_abcDEF123_456", masked("github-pat")),
    ("POL-15-pem-open", "a\n-----BEGIN EC PRIVATE KEY-----\nMIIabc\nmore", f"a\n{masked('pem-open')}"),
    ("json-short", '{"password": "x"}', f'{{"password": "{masked("json-credential")}"}}'),
    (
        "json-escaped",
        r"{\"password\": \"a b\", \"n\": 1}",
        rf"{{\"password\": \"{masked('json-credential')}\", \"n\": 1}}",
    ),
    ("json-torn", '{"clientSecret": "swordfi', f'{{"clientSecret": "{masked("json-credential")}'),
    ("json-inner-quote", r'{"token": "sword\"fish"}', f'{{"token": "{masked("json-credential")}"}}'),
    ("python-dict", "{'access_key': 'sword fish'}", f"{{'access_key': '{masked('json-credential')}'}}"),
    ("ruby-hash", "'password' => 'x y'", f"'password' => '{masked('json-credential')}'"),
    ("subscript", 'env["API_TOKEN"] = "abcd1"', f'env["API_TOKEN"] = "{masked("json-credential")}"'),
    ("quoted-spaces", 'password = "sword fish" x', f'password = "{masked("quoted-credential")}" x'),
    ("quoted-go", 'token := "abcd efgh"', f'token := "{masked("quoted-credential")}"'),
    ("quoted-dollar", '{"password": "$ecret%1"}', f'{{"password": "{masked("json-credential")}"}}'),
    ("export", "export FOO_TOKEN=abc123def", f"export FOO_TOKEN={masked('named-credential')}"),
    ("header", "x-api-key: abcdef123", f"x-api-key: {masked('named-credential')}"),
    ("suffix", "DB_PASSWORD_PROD=123456", f"DB_PASSWORD_PROD={masked('named-credential')}"),
    ("camel", "clientSecretProd: abcdef", f"clientSecretProd: {masked('named-credential')}"),
    ("suffix-innocent-letters", "PASSWORD_ADMIN=swordfish", f"PASSWORD_ADMIN={masked('named-credential')}"),
    (
        "aws-secret",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
        f"AWS_SECRET_ACCESS_KEY={masked('named-credential')}",
    ),
    ("azure-connection", "AccountKey=ab+/c1==;Suffix=x", f"AccountKey={masked('named-credential')};Suffix=x"),
    ("azure-secret", "abc8Q~" + LONG[:34], masked("azure")),
    (
        "azure-sas",
        "https://x.blob.core.windows.net/c?sv=1&sig=abc%2Bdef123456789012345%3D&x=1",
        f"https://x.blob.core.windows.net/c?sv=1&sig={masked('url-signature')}&x=1",
    ),
    ("sql-connection", "Server=h;Password=abcd1;Encrypt=1", f"Server=h;Password={masked('credential')};Encrypt=1"),
    ("url-no-user", "redis://:hunter2@localhost:6379", f"redis://{masked('url-userinfo')}@localhost:6379"),
    ("url-at-in-password", "amqp://guest:gu@est@h:5672", f"amqp://{masked('url-userinfo')}@h:5672"),
    ("url-token-only", f"https://{LONG}@example.com/x.git", f"https://{masked('url-userinfo')}@example.com/x.git"),
    (
        "webhook",
        f"https://hooks.slack.com/services/T0/B0/{LONG}",
        f"https://hooks.slack.com/services/{masked('webhook')}",
    ),
    ("cookie", "Set-Cookie: session=abcdef; Path=/\nx", f"Set-Cookie: {masked('cookie')}\nx"),
    ("basic", "send Basic dXNlcjpwYXNzd29yZA== now", f"send Basic {masked('basic-auth')} now"),
    ("header-json", '"Authorization": "Digest abcdef"', f'"Authorization": "{masked("json-credential")}"'),
    ("flag", "x --password hunter2 --y", f"x --password {masked('cli-credential')} --y"),
    ("flag-quoted", "x --db-password 'hunter two' y", f"x --db-password '{masked('cli-credential')}' y"),
    ("curl-user", "curl -s -u me:pa55word https://x", f"curl -s -u {masked('cli-credential')} https://x"),
    ("sshpass", "sshpass -p hunter22 ssh x", f"sshpass -p {masked('cli-credential')} ssh x"),
    ("mysql", "mysql -u root -phunter22 db", f"mysql -u root -p{masked('cli-credential')} db"),
    ("netrc", "machine h login me password hunter2", f"machine h login me password {masked('netrc')}"),
    ("spoken", "the password is hunter2, ok", f"the password is {masked('spoken-credential')}, ok"),
    ("spoken-chinese", "密码是 hunter2，别忘了", f"密码是 {masked('spoken-credential')}，别忘了"),
    (
        "spoken-for",
        "The password for the admin is hunter2, ok",
        f"The password for the admin is {masked('spoken-credential')}, ok",
    ),
    ("cookie-json", '"Cookie": "session=abcdef"', f'"Cookie": "{masked("json-credential")}"'),
    ("spoken-key", "the api key is abc123def456", f"the api key is {masked('spoken-credential')}"),
    ("spoken-chinese-changed", "密码改成了hunter2。", f"密码改成了{masked('spoken-credential')}。"),
    ("spoken-chinese-space", "密码 hunter2", f"密码 {masked('spoken-credential')}"),
    ("env-pass", "SMTP_PASS=hunter2", f"SMTP_PASS={masked('named-credential')}"),
    ("pw", "pw: hunter2", f"pw: {masked('named-credential')}"),
    ("mailer", "{ user: 'me', pass: 'hunter 2' }", f"{{ user: 'me', pass: '{masked('quoted-credential')}' }}"),
    ("json-pass", '{"pass": "hunter2"}', f'{{"pass": "{masked("json-credential")}"}}'),
    ("xml", "<password>hunter2</password>", f"<password>{masked('xml-credential')}</password>"),
    ("table", "| db password | `hunter2x` |", f"| db password | `{masked('table-credential')}` |"),
    ("table-words", "| API key | 4f9d0aa1b2 |", f"| API key | {masked('table-credential')} |"),
    ("dsn", "root:hunter2@tcp(127.0.0.1:3306)/db", f"root:{masked('url-userinfo')}@tcp(127.0.0.1:3306)/db"),
    ("docker-auth", '{"auth": "dXNlcjpwYXNz"}', f'{{"auth": "{masked("basic-auth")}"}}'),
    ("npmrc-auth", "//r.example/:_auth=dXNlcjpwYXNz", f"//r.example/:_auth={masked('basic-auth')}"),
    ("spoken-chinese-colon", "口令：swordfish。", f"口令：{masked('spoken-credential')}。"),
    *(
        (f"vendor-{label}", f"是{text}。", f"是{masked(label)}。")
        for label, text in (
            ("alibaba", "LTAI" + LONG[:20]),
            ("databricks", "dapi" + "0123456789abcdef" * 2),
            ("gitlab", "glrt-" + LONG[:20]),
            ("google", "AIzaSy" + LONG),
            ("google", "GOCSPX-" + LONG),
            ("google", "ya29." + LONG),
            ("groq", "gsk_" + LONG),
            ("huggingface", "hf_" + LONG),
            ("npm", "npm_" + LONG),
            ("pypi", "pypi-AgEIcHlwaS5vcmc" + LONG),
            ("sendgrid", f"SG.{LONG}.{LONG}"),
            ("slack", "xapp-1-A0-123-abcdef"),
            ("stripe", "sk_live_" + LONG),
            ("stripe", "whsec_" + LONG),
            ("telegram", "123456789:AA" + LONG[:33]),
            ("tencent", "AKID" + LONG[:32]),
            ("xai", "xai-" + LONG),
            ("zhipu", "0123456789abcdef" * 2 + "." + LONG[:16]),
        )
    ),
]

CHANCE = "k7Qm2Zx9Lp4Rt6Vw8Ys3Bn5Dc1"
HEX = "0123456789abcdef" * 4
OURS += [
    *(
        (f"vendor-{label}", f"是{text}。", f"是{masked(label)}。")
        for label, text in (
            ("airtable", f"pat{LONG[:14]}.{HEX}"),
            ("baidu", f"bce-v3/ALTAK-{LONG[:21]}/{HEX[:40]}"),
            ("cerebras", f"csk-{LONG}"),
            ("cloudflare", f"cfat_{LONG}"),
            ("crates", f"cio{LONG[:32]}"),
            ("deepl", "890d28c4-8819-97fc-2226-52f923836f4d:fx"),
            ("discord", f"M{LONG[:23]}.{LONG[:6]}.{LONG[:27]}"),
            ("doppler", f"dp.pt.{LONG}"),
            ("dropbox", f"sl.{LONG * 3}"),
            ("facebook", f"EAA{LONG * 2}"),
            ("firecrawl", f"fc-{HEX[:32]}"),
            ("fireworks", f"fw_{LONG[:24]}"),
            ("fly", f"fm2_{LONG * 2}"),
            ("heroku", f"HRKU-{LONG}"),
            ("langsmith", f"lsv2_pt_{HEX[:32]}_{HEX[:10]}"),
            ("mailchimp", f"{HEX[:32]}-us12"),
            ("mailgun", f"key-{HEX[:32]}"),
            ("netlify", f"nfp_{LONG}"),
            ("nvidia", f"nvapi-{LONG}"),
            ("openai", f"sess-{(LONG * 2)[:40]}"),
            ("pinecone", f"pcsk_{LONG}"),
            ("planetscale", f"pscale_tkn_{LONG}"),
            ("postman", f"PMAK-{HEX[:24]}-{HEX[:34]}"),
            ("rubygems", f"rubygems_{HEX[:48]}"),
            ("square", f"sq0atp-{LONG}"),
            ("tavily", f"tvly-{LONG}"),
            ("terraform", f"{LONG[:14]}.atlasv1.{LONG * 2}"),
            ("together", f"tgp_v1_{LONG}"),
            ("vercel", f"vcp_{LONG}"),
        )
    ),
    *(
        (f"{label}-{number}", text.format(CHANCE), text.format(masked(label)))
        for number, (label, text) in enumerate(
            (
                ("spoken-credential", "口令是“{}”"),
                ("spoken-credential", "密码为「{}」"),
                ("spoken-credential", "新密码「{}」"),
                ("spoken-credential", "暗号：{}"),
                ("named-credential", "PASSWORD＝{}"),
                ("named-credential", "API key：{}"),
                ("named-credential", "the api key: {} is new"),
                ("random-credential", "OPENAI_KEY={}"),
                ("random-credential", "mistral key: {}"),
                ("random-credential", "ENV DB_PASSWORD {}"),
                ("random-credential", "set -x GITHUB_TOKEN {}"),
                ("random-credential", "passwd {}"),
                ("random-credential", "pass: {}"),
                ("sql-credential", "create user x identified by '{}';"),
                ("sql-credential", "ALTER ROLE x WITH PASSWORD '{}';"),
                ("paired-credential", "- name: DB_PASS\n  value: {}"),
                ("paired-credential", '[{{"name":"API_KEY","value":"{}"}}]'),
                ("paired-credential", '<add key="ApiKey" value="{}"/>'),
                ("block-credential", "password: |\n  {}\nuser: x"),
                ("block-credential", "password:\n  {}\nuser: x"),
                ("config-credential", "requirepass {}"),
                ("config-credential", 'psk="{}"'),
                ("config-credential", "WIFI:S:house;T:WPA;P:{};;"),
                ("cli-credential", "echo '{}' | sudo -S apt update"),
                ("cli-credential", "openssl enc -aes-256-cbc -k {} -in x"),
                ("putty", "Private-Lines: 1\n{}"),
            )
        )
    ),
    ("random-credential-wallet", f"private key 0x{HEX}", f"private key {masked('random-credential')}"),
]

READABLE = [
    "password: string",
    "password: string",
    "interface X { token: string | undefined; password?: string; apiKey: string; }",
    "def login(token: str, password: Optional[str] = None, secret: bytes = b'') -> bool:",
    "token: string类型",
    "max_tokens: 4096, token_count=12345, TOKEN_LIMIT=200000, tokenUsage: 99999",
    "eos_token = '<|endoftext|>'",
    "password = os.environ['PW']; token = getToken(); key = get_api_key(x)",
    "apiKey: process.env.API_KEY",
    "token: ${{ secrets.GH }}, password: ${PASSWORD}, token=$TOKEN",
    'password: <your-password>, "api_key": "OPENAI_API_KEY", "token": "${TOKEN}"',
    'headers = {"Authorization": f"Bearer {token}"}',
    "connect(password=password, token=self.token, secret=session.client_secret)",
    "const token = await fetchToken();",
    "if token == expected: return Token::new(x)",
    "items.map(token => token.value)",
    'input("Password: ", user, "x")',
    "use the --token flag, the --password option or --token TOKEN",
    "commit 3dcdad9f0c0a4e5b6c7d8e9f0a1b2c3d4e5f6a7b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "uuid 550e8400-e29b-41d4-a716-446655440000 version 1.2.3-rc.4",
    "docker run -p 8080:80 -u 1000:1000 image; git push -u origin main; mysql -u root -p mydb",
    "ssh://git@github.com/x git@github.com:x/y.git https://host:8080/a@b https://registry.example.org/@scope/pkg",
    "Basic authentication is the bearer of JavaScript",
    "PWD=/home/someone/project OLDPWD=/home",
    "A file that starts with `-----BEGIN PRIVATE KEY-----` is a key; check the rest too.",
    "fetch(url, {credentials: 'include'})",
    "密码是8位以上；密钥：OPENAI_API_KEY 环境变量",
    "npm_config_registry hf_hub_download pypi-attestations-verify task-force secretary: alice",
    "token: expired, password: required",
    "PASS: tests/run.sh; pass: 12, fail: 3; bypass: allowed; compass: north",
    "| token | string |\n| password | text or empty |\n| token | 200000 |\n<th>Password</th><td>secret</td>",
    "image:1.2@sha256:abc; the token is expired; the secret is out; the password is at least 8 characters",
    '{"auth": "required"} 密码 错误 密码为空',
    "pw = fallback_getpass(prompt); token = re.compile(x); password=auth[1]; MAX_TOKENS=many; 'Cookie': 'http.cookies'",
    "private_key_id: abcdef, secretName: my-secret",
    "use the token OAuth2AccessTokenProvider, the secret Base64EncodedString or the key: CamelCaseName2Value",
    f"commit key: {'0123456789abcdef' * 2}, the token {'0123456789abcdef' * 2 + '01234567'} is a digest",
    "token:\n  type: string\npassword:\n  description\nsecret: |\n  two words here1",
    "the password 'required' field; PASSWORD ''; value: 12345; token, value = parse(x); psk = key exchange",
    "openssl x509 -in a.pem; echo done | sudo tee x; fw_update cfg_x vc_x patience.md dp.x sl.y",
    "密码「必填」，口令“错误”，令牌：见下文",
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*row[1:], id=row[0]) for row in SHARED])
def test_the_ten_shared_classes(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*row[1:], id=row[0]) for row in OURS])
def test_our_own_classes(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize("text", READABLE)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("deploy key AKIA" + "Z" * 16 + " is live", f"deploy key {masked('aws')} is live", id="CASE-53"),
        pytest.param('{"password": "tulip-42-x"}', f'{{"password": "{masked("json-credential")}"}}', id="CASE-54"),
        pytest.param("password: string", "password: string", id="CASE-55"),
        pytest.param("api_key: q1w2e3r4t5", f"api_key: {masked('credential')}", id="CASE-56"),
        pytest.param("token = abc", "token = abc", id="CASE-57"),
        pytest.param("max_tokens: 4096", "max_tokens: 4096", id="CASE-58"),
        pytest.param(
            "postgres://svc:hunter22@db.internal/app",
            f"postgres://{masked('url-userinfo')}@db.internal/app",
            id="CASE-59",
        ),
        pytest.param("sk-ant-" + "b" * 24, masked("key"), id="CASE-60"),
    ],
)
def test_the_cases_of_the_memory_with_our_labels(text: str, expected: str) -> None:
    assert redact(text) == redact(redact(text)) == expected


def test_case_61_pol_11_twice_is_once() -> None:
    samples = [row[1] for row in (*SHARED, *OURS)] + READABLE
    for text in samples:
        assert redact(redact(text)) == redact(text)
    for first, second in itertools.product(samples, samples):
        for glue in ("", " ", "\n", '"'):
            once = redact(first + glue + second)
            assert redact(once) == once, (first, glue, second)


def test_a_secret_is_found_whatever_stands_beside_it() -> None:
    secrets = [f"sk-ant-{LONG}", f"hf_{LONG}", "AKIAABCDEFGHIJKL"]
    for secret in secrets:
        for before, after in itertools.product(
            ("", "用", " ", "\n", '"', "(", "=", "`"), ("", "。", " ", "\n", '"', ")", ",", "`")
        ):
            assert secret not in redact(before + secret + after)


def test_one_line_hides_secrets_and_lines() -> None:
    assert one_line("401\n  for  token=swordfish9") == f"401 for token={masked('credential')}"
    assert one_line("x" * 500) == "x" * 199 + "…"
    assert len(one_line("sk-" + "a" * 500)) < 40, "a secret is masked before the cut"


HARD = (
    *(
        "token=" + "hf_" * 20 + " ",
        "token=" + "a.b" * 20 + " ",
        "token=" + "get_" * 20 + " ",
        "secret_" + "a_id" * 9 + "x=",
    ),
    *("password>", "password |", "pass", "the token of a ", "a:b"),
    *("eyJ", "eyJaaaaaa.", "sk--", "Bearer ", "Authorization: ab\n", "token=", "token:'", 'token":"', "password='a"),
    *("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN RSA PRIVATE KEY-----`", "://", "://a:", "SG.aaaaaaaaaaaaaaaaaaaa."),
    *(
        "0",
        "a.",
        "zz~",
        "?key=a",
        "cookie:",
        "cookie: a=",
        "Basic a",
        "--a-",
        "--a-b-c-token",
        "curl ",
        "mysql ",
        "machine a ",
    ),
    *(
        "密码是",
        "\\",
        '\\"',
        "api_key",
        "[REDACTED:",
        "token=a.token",
        "token=A_B_",
        " ",
        "token_",
        "a-",
        "{{",
        "token: <",
    ),
    *(
        "token aB1b",
        "key: aB1",
        "token,",
        "password:\n  ",
        "openssl ",
        "echo 'a ",
        "WIFI:",
        "fm2_",
        "a.atlasv1.",
        "M" * 24 + ".",
    ),
)


@pytest.mark.parametrize("fragment", HARD)
def test_work_grows_with_the_text_and_not_with_its_square(fragment: str) -> None:
    """Four times the text may cost about four times as much; a quadratic pattern would cost sixteen times."""

    def cost(size: int) -> float:
        text = (fragment * (size // len(fragment) + 1))[:size]
        best = float("inf")
        for _ in range(2):
            start = time.process_time()
            redact(text)
            best = min(best, time.process_time() - start)
        return best

    small, large = cost(20_000), cost(80_000)
    assert large < 9 * small + 0.01
