"""Thirty secrets are said, answered, reported and echoed; none is in any byte that is kept, sent or shown."""

import asyncio
import json
import random
import string
from pathlib import Path

from engine.app import Engine
from engine.events import Event, Notice
from engine.paths import Home
from tests.scenarios.program import Program
from tests.tools.dsh_logs import LogWriter
from tests.tools.model_server import Behaviour, ModelServer, Request, ok, status

_CHANCE = random.Random(30)


def _made(prefix: str, length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return prefix + "".join(_CHANCE.choices(letters, k=length))


_HEX, _UPPER = "0123456789abcdef", string.ascii_uppercase + string.digits
# What is written, with {} for the secret, and the secret itself.
PLANTED: list[tuple[str, str]] = [
    ("Use {} for the model.", _made("sk-", 40)),
    ("The session is {} until noon.", f"{_made('eyJ', 20)}.{_made('eyJ', 30)}.{_made('', 30)}"),
    ("curl -H 'Authorization: Bearer {}' https://example.org", _made("", 32)),
    ("Authorization: Digest {}", _made("", 30)),
    ("aws_access_key_id {}", _made("AKIA", 16, _UPPER)),
    ("git clone https://{}@github.com/a/b", _made("ghp_", 36)),
    ("GITHUB is {} here", _made("github_pat_", 50)),
    ("CI uses {}", _made("glpat-", 20)),
    ("the bot posts with {}", _made("xoxb-", 30)),
    ("api_key={}", _made("", 24)),
    ('{{"client_secret": "{}"}}', _made("", 28)),
    ("DB_PASSWORD: '{}'", _made("", 14)),
    (
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        "\n".join(_made("", 64) for _ in range(4)),
    ),
    ("postgres://alex:{}@db.example.org/shop", _made("", 16)),
    ("密码是{}，别外传", _made("", 12)),
    ("npm token {}", _made("npm_", 36)),
    ("HF {}", _made("hf_", 34)),
    ("maps key {}", _made("AIza", 35)),
    ("charge with {}", _made("sk_live_", 24)),
    ("https://hooks.slack.com/services/{}", f"{_made('T', 8, _UPPER)}/{_made('B', 8, _UPPER)}/{_made('', 24)}"),
    ("mail {}", f"{_made('SG.', 22)}.{_made('', 43)}"),
    ("telegram {}", f"{_made('', 9, string.digits)}:{_made('AA', 33)}"),
    ("mysql -u root -p{}", _made("", 14)),
    ("deploy --token {} --now", _made("", 26)),
    ("Cookie: session={}", _made("", 40)),
    ("https://b.s3.amazonaws.com/o?X-Amz-Signature={}", _made("", 64, _HEX)),
    ("the password for staging is {}", _made("", 12) + "7!"),
    ("<password>{}</password>", _made("", 15)),
    ("| api key | {} |", _made("", 22) + "1a"),
    ("age key {}", _made("AGE-SECRET-KEY-1", 58, _UPPER)),
]
KEY = _made("lab-", 28)
_SECRETS = [secret for _, secret in PLANTED] + [KEY]


def _said(numbers: range) -> str:
    return "\n\n".join(PLANTED[number][0].format(PLANTED[number][1]) for number in numbers)


def _conversation(sessions: Path) -> None:
    log = LogWriter(sessions, "session-secrets", cwd="/home/alex/code/vault")
    log.title(f"Rotating {PLANTED[0][1]} and {PLANTED[5][1]}")
    log.user(_said(range(15)))
    log.tool("bash", {"command": _said(range(22, 24))}, f"denied: {_said(range(8, 10))}", error=True)
    question = {"questions": [{"id": "q1", "question": f"Is it {PLANTED[4][1]}?"}]}
    answer = {"answers": [{"id": "q1", "selected": [_said(range(9, 10))], "custom": _said(range(11, 12))}]}
    log.tool("ask_user_question", question, json.dumps(answer), say="Let me ask.")
    log.assistant(_said(range(15, 30)))
    log.end_turn()
    # One secret in every message lies across the place where the message is cut.
    for number in range(len(PLANTED)):
        text = PLANTED[number][0].format(PLANTED[number][1])
        middle = text.index(PLANTED[number][1]) + min(8, len(PLANTED[number][1]) // 2)
        padded = "x " * ((2000 - middle) // 2) + text + " and so on." * 20
        log.user(padded)
        log.assistant(padded)
        log.end_turn()


def _echo(request: Request) -> Behaviour:
    """An error that repeats the request's key and a piece of what was sent."""
    return status(401, message=f"Invalid: {request.headers['authorization']} {KEY} for {request.user[:80]}")


def _reply(request: Request) -> Behaviour:
    unit = {
        "title": _said(range(3, 5)),
        "content": _said(range(8)),
        "classification": "x",
        "tags": [_said(range(1))],
    }
    return ok(json.dumps({"summary": _said(range(30)), "workUnits": [unit]}))


def _leaks(data: bytes | str) -> list[str]:
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    return [s for s in _SECRETS if s in text or s[:12] in text or s[-10:] in text]


def _in_files(home: Path) -> dict[str, list[str]]:
    found = {str(p.relative_to(home)): _leaks(p.read_bytes()) for p in home.rglob("*") if p.is_file()}
    return {name: leaks for name, leaks in found.items() if leaks}


_SETTINGS = {
    "collector_maxUserChars": 2000,
    "collector_maxAssistantChars": 2000,
    "collector_toolLedger": True,
    "consolidation_minNewTokens": 500,
    "consolidation_checkEveryTurns": 1,
    "queue_retryDelayMs": 100,
}


def test_no_secret_is_kept_sent_or_shown(tmp_path: Path) -> None:
    assert len({secret for _, secret in PLANTED}) == 30
    program = Program(tmp_path, LAB0_API_KEY=KEY, LAB1_API_KEY=KEY)
    _conversation(program.sessions)
    shown: list[str] = []

    def say(*arguments: str, code: int | None = 0) -> None:
        child = program.start(*arguments)
        shown.extend(child.communicate(timeout=60))
        assert code is None or child.returncode == code, shown[-2:]

    with ModelServer(_echo) as refuses, ModelServer(_reply) as answers:
        # First nothing but refusals, so that errors are stored; then answers full of secrets.
        program.settings(**_SETTINGS, consolidation_models=program.route(refuses.url))
        say("run", "--once", "--from", "all", "--json", code=1)
        say("tasks", "list")
        say("tasks", "list", "--json")
        say("status")
        say("status", "--json")
        say("settings", "set", "ui.language", _SECRETS[0], code=2)
        say("settings", "set", "consolidation.models", json.dumps([{"provider": "x", "model": _SECRETS[0]}]), code=2)
        assert _in_files(program.home) == {}
        program.settings(**_SETTINGS, consolidation_models=program.route(refuses.url, answers.url))
        with program.running():
            # A setting that is no key, with one in it: kept in the person's own file only, and taken out again.
            say("settings", "set", "sources.dshHome", f"/mnt/token={_SECRETS[1]}")
            say("settings", "set", "sources.dshHome", "")
        say("tasks", "retry", "--all")
        say("run", "--once")
        say("summarize", "session-secrets", code=None)
        say("summarize", "--json")
        say("shelves", "list")
        sent = [request.raw for server in (refuses, answers) for request in server.requests]
        assert len(refuses.requests) >= 2 and answers.requests
    assert len(program.texts()) == 63
    assert any("secret" in data and "summary" in data for data in map(str, program.shelf().entries.values()))
    assert _in_files(program.home) == {}
    assert [_leaks(body) for body in sent] == [[]] * len(sent)
    # Only the value a person has just set is said back to that person.
    assert [text for text in shown if _leaks(text)] == [f"sources.dshHome = /mnt/token={_SECRETS[1]}\n"]
    assert "[REDACTED:secret:key]" in "".join(program.texts())


async def test_no_secret_is_in_a_notice_or_a_problem(tmp_path: Path) -> None:
    program = Program(tmp_path)
    _conversation(program.sessions)
    told: list[Event] = []
    with ModelServer(_echo) as refuses:
        program.settings(**_SETTINGS, sources_dshHome=str(program.dsh), consolidation_models=program.route(refuses.url))
        (program.home / "keys.toml").write_text(f'lab0 = "{KEY}"', "utf-8")
        engine = await Engine.open(Home.at(program.home))
        engine.bus.subscribe(told.append)
        try:
            await engine.start(follow=False)
            await engine.answer("all")
            await engine.catch_up(everything=True)
            await engine.drained()
            await asyncio.sleep(0)
            seen = (engine.status(), await engine.task_care.all(), await engine.sessions(), await engine.log_files())
        finally:
            await engine.stop()
    notices = [event for event in told if isinstance(event, Notice)]
    assert {notice.title for notice in notices} >= {"lab0/model-0 cannot be asked", "Something needs you"}
    assert _leaks(repr(told)) == []
    assert _leaks(repr(seen)) == []
