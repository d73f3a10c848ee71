"""Connecting and disconnecting leaves every byte as it was, whatever form a person gave their files."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.agents.connecting_rig import Machine

BOM = b"\xef\xbb\xbf"
SERVER = b'"other": {"command": "x", "args": []}'
JSON = {
    "absent": None,
    "empty file": b"",
    "blank file": b"\n\n",
    "empty object": b"{}",
    "empty object with newline": b"{}\n",
    "object over two lines": b"{\n}\n",
    "object with a space": b"{ }",
    "one line": b'{"a": 1, "b": [1, 2]}',
    "minified": b'{"a":1,"b":{"c":[]}}',
    "two spaces": b'{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}\n',
    "four spaces": b'{\n    "a": 1\n}',
    "tabs": b'{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}\n',
    "crlf": b'{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n',
    "byte order mark": BOM + b'{\n  "a": 1\n}\n',
    "byte order mark and crlf": BOM + b'{\r\n  "a": 1\r\n}\r\n',
    "no final newline": b'{\n  "a": 1\n}',
    "many final newlines": b'{\n  "a": 1\n}\n\n\n',
    "foreign spacing": b'{ "a" :1 ,\n\n   "b":{ }  , "c" : [ ]\n }',
    "comma in front": b'{\n  "a": 1\n, "b": 2\n}',
    "chinese and escapes": '{\n  "名": "值\\u00e9\\n\\"{[,]}\\"",\n  "b": "\u2028"\n}'.encode(),
    "no indentation": b'{\n"a": 1,\n"b": 2\n}\n',
    "numbers kept as written": b'{\n  "a": 1.50e+3,\n  "b": 100000000000000000000000\n}',
    "a server": b'{\n  "mcpServers": {\n    ' + SERVER + b"\n  }\n}\n",
    "a server in one line": b'{"mcpServers": {' + SERVER + b"}}",
    "a server in a minified file": b'{"mcpServers":{"other":{"command":"x"}},"z":1}',
    "no servers": b'{\n  "mcpServers": {},\n  "z": 1\n}\n',
    "no servers, open": b'{\n  "mcpServers": {\n  },\n  "z": 1\n}\n',
    "no hooks": b'{\n  "hooks": {}\n}\n',
    "no handlers": b'{\n  "hooks": {\n    "SessionStart": [],\n    "Stop": []\n  }\n}\n',
    "hooks": b'{\n  "hooks": {\n    "UserPromptSubmit": [\n      {"hooks": [{"type": "command", "command": "x"}]}\n'
    b"    ]\n  },\n"
    b'  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    "hooks in one line": b'{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    "our words elsewhere": b'{\n  "note": "hypatia-memory mcp --agent claude hook claude"\n}\n',
    "large": json.dumps({f"key {i}": {"values": list(range(20))} for i in range(300)}, indent=2).encode(),
}
TOML = {
    "absent": None,
    "empty file": b"",
    "blank file": b"\n\n",
    "one key": b'model = "x"\n',
    "no final newline": b'model = "x"',
    "comments": b'# mine\nmodel = "x" # why\n\n# about it\n[tui]\n# inside\nnotifications = true\n# last words\n',
    "comment at the end without newline": b"[tui]\nnotifications = true\n# last words",
    "comments alone": b"# nothing here yet\n",
    "crlf": b'model = "x"\r\n\r\n[tui]\r\nnotifications = true\r\n',
    "byte order mark": BOM + b'model = "x"\n',
    "tabs": b"[a]\n\tb = 1\n\t[a.c]\n\t\td = 2\n",
    "a server": b'[mcp_servers.other]\ncommand = "x"\nargs = ["y"]\n',
    "a server with tables": b'[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.other.env]\nA = "b"\n',
    "dotted keys": b'mcp_servers.other.command = "x"\n',
    "a table of servers": b'[mcp_servers]\n[mcp_servers.other]\ncommand = "x"\n',
    "quoted keys": b'["mcp_servers"."other"]\ncommand = "x"\n',
    "arrays of tables": b"[[a]]\nb = 1\n[[a]]\nb = 2\n",
    "multi-line text": b'text = """\n[mcp_servers.hypatia-memory]\n# >>> hypatia-companion\n"""\n',
    "literal text": b"path = 'C:\\Users\\x'\ntext = '''\n'''\n",
    "multi-line array": b"[a]\nlist = [\n  [1],\n  [2], # two\n]\n",
    "inline tables": b'a = { b = 1, c = { d = "e" } }\n',
    "dates and numbers": b"a = 1979-05-27T07:32:00Z\nb = 1_000\nc = 0xff\nd = inf\n",
    "spaces around": b'  model  =  "x"  \n   [ tui ]  \n  notifications=true\n',
    "chinese": '# 我的\n"名" = "值"\n'.encode(),
    "projects": b'[projects."/home/x/y"]\ntrust_level = "trusted"\n',
    "profiles": b'profile = "p"\n[profiles.p]\nmodel = "y"\n[profiles.p.z]\nw = 1\n',
    "many final newlines": b"a = 1\n\n\n\n",
    "no newline after a table": b"[a]",
    "our words elsewhere": b'# hypatia-memory\nnote = "hypatia-memory"\n[notes.hypatia-memory]\na = 1\n',
    "hooks": b'[hooks]\n[[hooks.Stop]]\nhooks = [{ type = "command", command = "x" }]\n',
    "large": b"".join(b'[projects."/x/%d"]\ntrust_level = "trusted"\n' % i for i in range(300)),
}
YAML = {
    "absent": None,
    "empty file": b"",
    "blank file": b"\n\n",
    "comments alone": b"# nothing here yet\n",
    "comment without newline": b"# nothing here yet",
    "one entry": b"- id: x\n  disabled: true\n",
    "no final newline": b"- id: x\n  disabled: true",
    "comments": b"# mine\n- id: x # why\n  # inside\n  disabled: true\n# last words\n",
    "crlf": b"- id: x\r\n  disabled: true\r\n",
    "byte order mark": BOM + b"- id: x\n",
    "indented list": b"  - id: x\n    disabled: true\n",
    "document mark": b"---\n- id: x\n",
    "document mark alone": b"---\n",
    "an insertion": b"- insert:\n    - id: y\n      name: 'z'\n      config: { a: [1, 2] }\n",
    "insertion in one line": b"- insert: [{id: y, name: z}]\n",
    "expressions": b'- id: x\n  disabled: !!js "!process.env.X"\n',
    "folded text": b"- id: x\n  text: >\n    one\n    two\n",
    "literal text": b"- id: x\n  text: |\n    one\n\n    two\n",
    "literal text with marks": b"- id: x\n  text: |\n    # >>> hypatia-companion: hypatia-memory\n    - insert:\n",
    "kept newlines": b"- id: x\n  text: |+\n    one\n\n",
    "anchors": b"- &a\n  id: x\n- insert:\n    - { <<: *a, id: y }\n",
    "quotes": b"- \"id\": \"x\"\n  'name': 'it''s'\n",
    "chinese": "# 我的\n- id: 名\n  name: '值'\n".encode(),
    "far indentation": b"-     id: x\n      config:\n            a: 1\n",
    "dash on its own line": b"-\n  id: x\n-\n  id: y\n",
    "our row switched off": b"- id: hypatia-memory\n  disabled: true\n",
    "many final newlines": b"- id: x\n\n\n\n",
    "trailing spaces": b"- id: x   \n  disabled: true   \n",
    "several": b"- id: x\n- id: y\n  disabled: true\n\n- insert:\n    - id: z\n      name: w\n",
    "our words elsewhere": b"# hypatia-memory\n- id: x\n  note: hypatia-memory\n",
    "large": b"".join(b"- id: x%d\n  config: { a: 1 }\n" % i for i in range(300)),
}
MARKDOWN = {
    "absent": None,
    "empty file": b"",
    "text": b"# Mine\n\nBe brief.\n",
    "no final newline": b"Be brief.",
    "crlf": b"# Mine\r\n\r\nBe brief.\r\n",
    "byte order mark": BOM + b"Be brief.\n",
    "comments": b"<!-- >>> other -->\nx\n<!-- <<< other -->\n",
    "chinese": "请简洁。\n".encode(),
    "code": b"```md\n<!-- nothing -->\n```\n",
    "blank lines": b"\n\na\n\n\n",
}
SETS = {
    ("claude", "mcp"): JSON,
    ("claude", "hooks"): JSON,
    ("claude", "instructions"): MARKDOWN,
    ("codex", "mcp"): TOML,
    ("codex", "hooks"): JSON,
    ("codex", "instructions"): MARKDOWN,
    ("dsh", "mcp"): YAML,
    ("dsh", "recall"): YAML,
    ("dsh", "instructions"): MARKDOWN,
}
CASES = [
    pytest.param(agent, part, content, id=f"{agent}-{part}-{name}")
    for (agent, part), contents in SETS.items()
    for name, content in contents.items()
]


def parsed(path: Path) -> object:
    """What the agent itself would read."""
    text = path.read_bytes().removeprefix(BOM).decode()
    if path.suffix == ".json":
        return json.loads(text or "{}")
    return tomllib.loads(text) if path.suffix == ".toml" else None


@pytest.mark.parametrize(("agent", "part", "content"), CASES)
async def test_connect_and_disconnect_leave_every_byte(
    tmp_path: Path, agent: str, part: str, content: bytes | None
) -> None:
    machine = Machine(tmp_path)
    file = machine.file(agent, part)
    if content is not None:
        file.write_bytes(content)
    before = machine.content()

    plan = await machine.agents().plan(agent, [part])
    assert machine.content() == before  # planning writes nothing
    done = await machine.agents().connect(agent, [part], plan)
    assert (done.problems, done) == ((), plan)
    assert (await machine.states(agent))[part] == "connected"
    connected = machine.content()
    if isinstance(was := parsed_of(content, file), dict):
        now = parsed(file)
        assert isinstance(now, dict)
        assert {key: now[key] for key in was.keys() - {"mcpServers", "hooks", "mcp_servers"}} == {
            key: was[key] for key in was.keys() - {"mcpServers", "hooks", "mcp_servers"}
        }

    again = await machine.agents().connect(agent, [part])
    assert again.changes == ()
    assert machine.content() == connected  # twice is once

    moved = machine.agents(("/elsewhere/hypatia-companion-console",))
    assert (await moved.connect(agent, [part])).problems == ()
    assert (await moved.connect(agent, [part])).changes == ()

    gone = await machine.agents().disconnect(agent)
    assert gone.problems == ()
    assert machine.content() == before


def parsed_of(content: bytes | None, file: Path) -> object:
    if not content:
        return None
    text = content.removeprefix(BOM).decode()
    return json.loads(text) if text.strip() and file.suffix == ".json" else None


@pytest.mark.parametrize("agent", ["claude", "codex", "dsh"])
async def test_all_parts_at_once_and_everything_made_for_them_is_gone_again(tmp_path: Path, agent: str) -> None:
    machine = Machine(tmp_path)
    before = machine.content()
    parts = list(await machine.states(agent))
    await machine.agents().connect(agent, parts)
    assert set((await machine.states(agent)).values()) == {"connected"}
    await machine.agents().disconnect(agent)
    assert machine.content() == before
    assert not (machine.own.data / "agents" / "hypatia-recall.mjs").exists()


@pytest.mark.parametrize(
    ("agent", "part", "written", "lasting"),
    [
        ("claude", "mcp", b'{\n  "a": 1\n}\n', b'{\n  "theirs": true,\n  "a": 1\n}\n'),
        ("claude", "hooks", b'{\n  "a": 1\n}\n', b'{\n  "theirs": true,\n  "a": 1\n}\n'),
        ("codex", "mcp", b"a = 1\n", b"theirs = true\na = 1\n"),
        ("codex", "hooks", b'{"a": 1}', b'{"theirs": true, "a": 1}'),
        ("dsh", "mcp", b"- id: x\n", b"# theirs\n- id: x\n"),
        ("dsh", "instructions", b"Be brief.\n", b"Theirs.\nBe brief.\n"),
    ],
)
async def test_what_a_person_changed_elsewhere_meanwhile_stays(
    tmp_path: Path, agent: str, part: str, written: bytes, lasting: bytes
) -> None:
    machine = Machine(tmp_path)
    file = machine.file(agent, part)
    file.write_bytes(written)
    await machine.agents().connect(agent, [part])
    start = next(i for i, (a, b) in enumerate(zip(written, lasting, strict=False)) if a != b)
    added = lasting[start : start + len(lasting) - len(written)]
    file.write_bytes(file.read_bytes()[:start] + added + file.read_bytes()[start:])
    await machine.agents().disconnect(agent)
    assert file.read_bytes() == lasting
