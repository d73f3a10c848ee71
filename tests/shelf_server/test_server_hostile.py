"""A hostile or sloppy agent, and a world that changes under an open shelf: every request is answered, and nothing is
lost (issue 4, "Bad input")."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.shelf_server import copies
from tests.shelf_server.child import Child

NEST: list[Any] = []
for _ in range(120):
    NEST = [NEST]
TEXTS = [
    *("", " ", "a", "\0", "a\0b", "'; DROP TABLE knowledge; --", '" OR 1=1', "%", "_", "\\", "{", "[", "null", "NaN"),
    *("$", "$$", "$*", "$and", "$knowledge", "NEAR(a b)", "a AND", "AND", "NOT x", "(", '"', "*", "a*", "^a"),
    *(
        "fts_key:a",
        "docs_fts",
        "\u202e\u05d0\u05d1",
        "👩‍👩‍👧‍👦🛶",
        "e\u0301" * 90,
        "\ufeff",
        "\u2028",
        "\uffff",
        "\U0010ffff",
    ),
    *("a" * 30_000, "长" * 20_000, "a " * 9000, "../..", "/etc/passwd", "a/../b", "C:\\x", "CON", "x\ny", "\r\n"),
    *(
        "\x1b[31m",
        "--x",
        "msg-a-1",
        "msg-a-999999999999999",
        "session-",
        "x,y",
        '"q","r"',
        "İı",
        "ﬁ",
        "٣",
        "㍿",
        "\x7f",
    ),
]
NUMBERS = [0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**300, 1.5, -0.0, 1e308, True, False, None]
OPERATORS = [
    *("$knowledge", "$statement", "$not-summaried", "$and", "$or", "$not", "$eq", "$ne", "$gt", "$lte", "$contains"),
    *("$has", "$like", "$content", "$json-contains", "$search", "$similar", "$k-hop", "$triple", "$quote", "$frob"),
]
FIELDS = [
    *("name", "created_at", "tags", "scopes", "data", "data.a[0]", "a-b", "head", "triple", "tr_start", "synonyms"),
    *("content", "embedding", "rowid", "x[99999999999999999999]", "$name", "名", "a'b", 'a"]'),
]


class Sloppy:
    """Makes up arguments, always the same for one seed."""

    def __init__(self, seed: int, tools: list[Any]) -> None:
        self._dice = random.Random(seed)
        self._tools = tools

    def jse(self, depth: int) -> Any:
        dice = self._dice
        if depth <= 0:
            return dice.choice([dice.choice(TEXTS), dice.choice(NUMBERS), dice.choice(FIELDS)])
        operator = dice.choice(OPERATORS)
        if operator in ("$eq", "$ne", "$gt", "$lte", "$contains", "$has", "$like"):
            return [operator, dice.choice(FIELDS), self.jse(0)]
        operands = [self.jse(depth - 1) for _ in range(dice.randrange(4))]
        if dice.random() < 0.3:
            return {operator: operands, "limit": dice.choice(NUMBERS), "offset": dice.choice(NUMBERS), "catalog": ""}
        return [operator, *operands]

    def value(self) -> Any:
        dice = self._dice
        odd = [NEST, [[]], [None], [1, 2], {}, {"head": ["a"], "relation": None}, self.jse(3)]
        return dice.choice([dice.choice(TEXTS), dice.choice(NUMBERS), dice.choice(odd)])

    def call(self) -> tuple[str, dict[str, Any]]:
        """A tool with arguments of mostly the right types."""
        dice, tool = self._dice, self._dice.choice(self._tools)
        schema, given = tool["inputSchema"], dict[str, Any]()
        for name, field in schema["properties"].items():
            if name == "shelf" or (name not in schema["required"] and dice.random() < 0.5):
                continue
            makes = {
                "string": lambda: dice.choice(TEXTS),
                "array": lambda: [dice.choice(TEXTS) for _ in range(dice.randrange(4))],
                "integer": lambda: dice.choice([1, 2, 5, 100, *NUMBERS]),
                "boolean": lambda: dice.choice([True, False]),
                "object": lambda: {"head": [dice.choice(TEXTS)]},
            }
            make = makes.get(field.get("type"), lambda: self.jse(dice.randrange(1, 6)))
            given[name] = self.value() if dice.random() < 0.12 else make()
        if dice.random() < 0.02:
            given[dice.choice(TEXTS)] = self.value()
        return tool["name"], given


@pytest.fixture
def child(home: Path) -> Iterator[Child]:
    made = Child(home)
    made.call("knowledge_create", name="kept", data="heron", tags=["t"])
    yield made
    assert made.end() == 0


SQLITE_SAYS = ("UNIQUE constraint failed", "no such column")  # as Hypatia does (6.3, 3.16)


@pytest.mark.parametrize("seed", range(3))
def test_every_call_of_a_sloppy_agent_is_answered(child: Child, home: Path, seed: int) -> None:
    sloppy = Sloppy(seed, child.result("tools/list")["tools"])
    refused = 0
    for _ in range(700):
        tool, given = sloppy.call()
        reply = child.request("tools/call", {"name": tool, "arguments": given})
        assert "error" not in reply, (tool, given)
        if reply["result"]["isError"]:
            refused += 1
            said = reply["result"]["content"][0]["text"]
            assert "SQLite error" not in said or any(one in said for one in SQLITE_SAYS), (tool, given, said)
    assert 0 < refused < 700
    assert child.stderr == "", "nothing of it was unexpected"
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = ("knowledge", "statement")
        entries = sum(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
        assert db.execute("SELECT count(*) FROM docs").fetchone() == (entries,)
        db.execute("INSERT INTO docs_fts (docs_fts) VALUES ('integrity-check')")


def test_every_text_is_stored_found_and_removed_as_it_is(child: Child) -> None:
    for number, text in enumerate(TEXTS):
        child.call("knowledge_create", name=f"{number} {text}", data=text, tags=[text, "odd"], scopes=[text])
        child.call("statement_create", head=text, relation=text, tail=f"{number}", data=text)
        assert child.call("knowledge_get", name=f"{number} {text}")["content"]["data"] == text
        literal = f"${text}" if text.startswith("$") else text
        assert child.names(["$knowledge", ["$eq", "name", f"{number} {text}"]]) == [f"{number} {text}"]
        same = ["$triple", literal, literal, f"{number}"]
        row = child.call("query", jse=["$statement", same])["rows"] if text != "$*" else [{"head": text}]
        assert [one["head"] for one in row] == [text]
        child.call("search", query=text, limit=3)
        child.call("search", query=f"heron {text}", limit=3)
    assert child.call("tag_exists", value="odd")["exists"]
    for number, text in enumerate(TEXTS):
        child.call("knowledge_delete", name=f"{number} {text}")
        child.call("statement_delete", head=text, relation=text, tail=f"{number}")
    assert child.names(["$knowledge"]) == ["kept"] and child.names(["$statement"]) == []
    assert child.call("search", query="heron")["total_count"] == 1


@pytest.mark.parametrize("text", ["", "长" * 300, "a/" * 3000, "\0", "..", "~", "/dev/null", "/proc/self/mem", "/"])
def test_a_model_that_no_folder_can_hold(child: Child, text: str) -> None:
    assert "is not installed" in child.refused("model_attach", name=text)


@pytest.mark.parametrize(
    "uri",
    [
        *("", ":", "hypatia:", "hypatia://", "hypatia:///status", "hypatia://default/", "hypatia://default/knowledge"),
        *("hypatia://default/knowledge/a/b", "hypatia://default/statement/a/b", "file:///etc/passwd", "%00", "\0"),
        *("hypatia://default/knowledge/" + "%E9%95%BF" * 9000, "hypatia://../status", "hypatia://default/status/x"),
        *("hypatia://%00/status", "HYPATIA://default/status", "hypatia://default/archives/..%2f..%2fshelves.json"),
    ],
)
def test_no_address_leads_anywhere_else(child: Child, uri: str) -> None:
    error = child.request("resources/read", {"uri": uri})["error"]
    assert error["code"] in (-32002, -32602)
    assert child.result("ping") == {}


@pytest.mark.parametrize("method", ["connect", "disconnect", "rename", "import", "reembed", "nothing"])
def test_our_own_methods_are_as_strict(child: Child, home: Path, method: str) -> None:
    before = (home / "shelves.json").read_text()
    for value in (None, 5, "", [], {}, NEST, "\0", "/dev/null/below", "/" + "长" * 9000):
        params = dict.fromkeys(("path", "name", "new", "shelf", "knowledge", "statements"), value)
        error = child.request(f"companion/{method}", params)["error"]
        assert error["code"] in (-32602, -32000, -32601), (value, error)
    assert (home / "shelves.json").read_text() == before
    assert child.call("knowledge_get", name="kept")["name"] == "kept"


@pytest.mark.parametrize("depth", [30, 100, 126, 5000])
def test_json_of_any_depth_is_answered(child: Child, depth: int) -> None:
    line = b'{"id":1,"method":"tools/call","params":{"name":"query","arguments":{"jse":%s}}}'
    reply = child.ask(line % (b'["$knowledge",' + b'["$not",' * depth + b'["$eq","name","x"]' + b"]" * (depth + 1)))
    assert "error" in reply or reply["result"]["isError"] is (depth > 30)  # SQLite reads no deeper than about 90
    reply = child.ask(line % (b"[" * depth + b"]" * depth))
    assert "error" in reply or reply["result"]["isError"]
    assert child.result("ping") == {}


LARGEST = 2**63 - 1
ODD_LINES = [
    pytest.param(b'{"id":"%s","method":"ping"}' % (b"i" * 1_000_000), "result", id="long-id"),
    pytest.param(b'{"id":123456789012345678901234567890,"method":"ping"}', "result", id="large-id"),
    pytest.param(b'{"id":-1,"method":"ping","params":[1,2]}', "result", id="params-in-a-list"),
    pytest.param(b'{"id":1,"id":2,"method":"ping"}', "result", id="two-ids"),
    pytest.param(b'{"id":1,"method":"ping","params":{"a":%s}}' % (b"1" * 5000), "error", id="5000-digits"),
    pytest.param(b'\xef\xbb\xbf{"id":1,"method":"ping"}', "error", id="byte-order-mark"),
    pytest.param(b'{"id":1,"method":"ping"}\x00', "error", id="nul-behind-it"),
]


@pytest.mark.parametrize(("line", "answer"), ODD_LINES)
def test_lines_that_nobody_would_write(child: Child, line: bytes, answer: str) -> None:
    assert answer in child.ask(line)
    assert child.result("ping") == {}


def test_twenty_megabytes_and_the_last_page_of_all(child: Child) -> None:
    text = "heron " * 3_500_000
    child.call("knowledge_create", name="long", data=text)
    assert child.call("knowledge_get", name="long")["content"]["data"] == text
    for query in ("heron", "heron AND heron"):
        assert child.call("search", query=query, limit=LARGEST, offset=LARGEST)["rows"] == []
    page = {"$knowledge": [["$search", "heron"]], "limit": LARGEST, "offset": LARGEST}
    assert child.call("query", jse=page)["rows"] == []


def test_a_graph_full_of_cycles_is_walked_once(child: Child) -> None:
    nodes = 30
    for head in range(nodes):
        for tail in range(0, nodes, 2):
            child.call("statement_create", head=f"n{head}", relation="to", tail=f"n{tail}", embed=False)
    found = child.call("query", jse={"$statement": [["$k-hop", "n1", "$*", 2**62]], "limit": 1000})
    assert found["total_count"] == 15 * (1 + nodes // 2)  # from the start, and from every even node


HANDS = [
    ({"shelves": {"default": 5}}, "default"),
    ({"shelves": {"default": ""}}, "default"),
    ({"shelves": {"default": "\0"}}, "default"),
    ({"shelves": {"default": "~/nowhere"}}, "default"),
    ({"shelves": {"default": "长" * 300}}, "default"),
    ({"shelves": {"default": "HOME/default", "": "HOME/default"}}, ""),
    ({"shelves": {"default": "HOME/default", "\ud800": "HOME/default"}}, "\ufffd"),
    ({"shelves": {"default": "HOME/default", "loop": "HOME/loop"}}, "loop"),
    ({"shelves": {"default": "HOME/default", "file": "HOME/shelves.json"}}, "file"),
    ({"shelves": {"default": "HOME/default", "dev": "/dev/null"}}, "dev"),
    ({"shelves": {}, "more": NEST}, "default"),
]


@pytest.mark.parametrize(("written", "asked"), HANDS)
def test_a_registry_edited_by_hand(child: Child, home: Path, written: Any, asked: str) -> None:
    (home / "loop").symlink_to(home / "loop")
    whole = (home / "shelves.json").read_text()
    (home / "shelves.json").write_text(json.dumps(written).replace("HOME", str(home)))
    known = {shelf["name"]: shelf["connected"] for shelf in child.call("list_shelves")["shelves"]}
    answer = child.tool("tag_list", shelf=asked)
    assert answer["isError"] is not known.get(asked, False)
    for method in ("resources/list", "ping"):
        assert "result" in child.request(method)
    (home / "shelves.json").write_text(whole)
    assert child.call("knowledge_get", name="kept")["name"] == "kept"
    assert "Traceback" not in child.stderr


def test_a_folder_that_is_deleted_or_exchanged_while_it_is_open(child: Child, home: Path, tmp_path: Path) -> None:
    path = child.connect("work", tmp_path / "work")
    child.call("knowledge_create", name="first", shelf="work")
    shutil.rmtree(path)
    for tool, given in (("knowledge_create", {"name": "x"}), ("search", {"query": "x"}), ("shelf_status", {})):
        assert "its folder is missing" in child.refused(tool, shelf="work", **given)
    assert not path.exists()
    other = child.connect("other", tmp_path / "other")
    child.call("knowledge_create", name="second", shelf="other")
    child.result("companion/disconnect", {"name": "other"})
    other.rename(path)
    assert child.names(["$knowledge"], "work") == ["second"], "what is there now"
    assert child.names(["$knowledge"]) == ["kept"]


# Root may write where nobody may: without this ability it is as others are.
PLAIN = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    inside = [*folder.rglob("*")]
    for path in (*inside, folder):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        yield
    finally:
        for path in (folder, *inside):
            path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.mark.skipif(os.name != "posix", reason="about the permissions of a Unix")
def test_a_folder_that_may_only_be_read(home: Path) -> None:
    wrapper = () if os.getuid() else PLAIN
    first = Child(home, wrapper)
    first.call("knowledge_create", name="kept", data="heron")
    first.connect("other")
    assert first.end() == 0
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as log_stays:
        log_stays.execute("SELECT count(*) FROM knowledge").fetchone()
        with read_only(home / "default"):
            child = Child(home, wrapper)
            assert child.call("knowledge_get", name="kept")["content"]["data"] == "heron"
            assert child.call("search", query="heron")["total_count"] == 1
            for tool, given in (("knowledge_create", {"name": "x"}), ("knowledge_delete", {"name": "kept"})):
                said = child.refused(tool, **given)
                assert said == "storage error: SQLite error: attempt to write a readonly database"
            assert child.refused("archive_store", file=__file__).startswith("IO error: Permission denied")
            assert child.call("knowledge_create", name="x", shelf="other")["created"]
            assert child.end() == 0
    with read_only(home / "default"):
        child = Child(home, wrapper)  # where not even the log can be made
        text = child.refused("knowledge_get", name="kept")
        assert text.startswith("shelf error: shelf 'default' is not connected: storage error: SQLite error: ")
        assert child.call("knowledge_get", name="x", shelf="other")["name"] == "x"
        assert child.end() == 0
    child = Child(home, wrapper)
    assert child.names(["$knowledge"]) == ["kept"]
    assert child.end() == 0


@pytest.mark.parametrize("jump", [-4e9, -2 * 86400, 0, 2 * 86400, 4e9])
def test_a_clock_that_was_wrong_stops_no_copy_for_years(home: Path, jump: float) -> None:
    child = Child(home)
    child.call("knowledge_create", name="kept")
    assert child.end() == 0
    path, now = home / "default", time.time()
    assert copies.due(path, now)
    assert copies.make(path, lambda: False) is None
    assert copies.due(path, now + jump) is (jump != 0)
    made = max(now + jump, 0)
    os.utime(copies.folder(path) / copies.FILE, (made, made))
    assert copies.due(path, now) is (jump != 0)


def test_two_processes_write_and_one_is_killed_again_and_again(home: Path) -> None:
    """What was acknowledged is there once, and the other never fails."""
    steady, acknowledged = Child(home), list[str]()
    steady.call("list_shelves")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            steady.call("knowledge_create", name=f"steady {number}", data="heron " * 50, tags=["t"])
            acknowledged.append(f"steady {number}")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    dice, victims = random.Random(3), list[str]()
    try:
        for round_ in range(6):
            victim = Child(home)
            for number in range(dice.randrange(5, 40)):
                name = f"victim {round_} {number}"
                assert victim.call("knowledge_create", name=name, data="heron " * 50, tags=["t"])["created"]
                victims.append(name)
            victim.write(
                b'{"id":9,"method":"tools/call","params":{"name":"knowledge_create","arguments":{"name":"?"}}}\n'
            )
            victim.kill()
    finally:
        stop.set()
        writer.join()
    assert steady.end() == 0
    child = Child(home)
    names = child.names({"$knowledge": [], "limit": -1})
    assert len(names) == len(set(names)) and set(acknowledged + victims) <= set(names) <= {*acknowledged, *victims, "?"}
    assert child.call("search", query="heron", limit=5000)["total_count"] == len(acknowledged) + len(victims)
    assert child.call("tag_list")["values"] == [{"value": "t", "entries": len(acknowledged) + len(victims)}]
    assert child.end() == 0
