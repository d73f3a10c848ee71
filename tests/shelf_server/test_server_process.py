"""How the process ends, and what is left of the shelf when it is killed (architecture.md decision 14)."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

from tests.shelf_server.child import COMMAND, REPOSITORY, Child

PING = b'{"id":1,"method":"ping"}\n'
# A parent that starts the server with the arguments it is given and then does nothing.
PARENT = "import subprocess, sys, time; p = subprocess.Popen(sys.argv[2:], stdin={stdin}); {then}; time.sleep(600)"


def check_whole(home: Path) -> list[str]:
    """The names on the default shelf, once its tables and indices are known to agree."""
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite", isolation_level=None)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.execute("INSERT INTO docs_fts (docs_fts, rank) VALUES ('integrity-check', 1)")
        names = [name for (name,) in db.execute("SELECT name FROM knowledge ORDER BY rowid")]
        assert [key for (key,) in db.execute("SELECT key FROM docs WHERE catalog = 'knowledge' ORDER BY id")] == names
        assert db.execute("SELECT count(*) FROM json_index WHERE path = 'tags'").fetchone()[0] == len(names)
        strays = "SELECT count(*) FROM json_index WHERE doc_id NOT IN (SELECT id FROM docs)"
        assert db.execute(strays).fetchone()[0] == 0
        return names


def flood(child: Child, numbers: range) -> threading.Thread:
    """Send many writes without waiting; the thread ends when they are sent or nobody reads any more."""
    lines = [
        {
            "id": number,
            "method": "tools/call",
            "params": {
                "name": "knowledge_create",
                "arguments": {"name": f"n{number}", "data": f"text {number} 备份 " * 50, "tags": ["t"]},
            },
        }
        for number in numbers
    ]

    def send() -> None:
        with contextlib.suppress(BrokenPipeError):
            for line in lines:
                child.write(json.dumps(line).encode() + b"\n")

    thread = threading.Thread(target=send)
    thread.start()
    return thread


KILLS = 25


def test_killed_in_the_middle_of_writes(home: Path) -> None:
    sent = 0
    expected: list[str] = []
    chance = random.Random(11)
    for answered in [0, 1, 2, *(chance.randrange(60) for _ in range(KILLS - 3))]:
        child = Child(home)
        assert child.result("ping") == {}
        thread = flood(child, range(sent, sent + 80))
        for _ in range(answered):
            assert child.read()["result"]["isError"] is False
        child.process.kill()
        assert child.process.stdout is not None
        answered += sum(1 for line in child.process.stdout if line.endswith(b"\n"))
        thread.join(20)
        child.kill()
        names = check_whole(home)
        new = names[len(expected) :]
        assert names[: len(expected)] == expected
        assert new == [f"n{number}" for number in range(sent, sent + len(new))]
        assert len(new) in (answered, answered + 1), "an answered write was lost, or one was made twice"
        expected = names
        sent += 80
    child = Child(home)
    assert child.call("search", query="备份", limit=10_000)["total_count"] == len(expected) > 0
    assert child.end() == 0


def test_killed_at_any_moment_of_the_first_start(home: Path) -> None:
    for lines in range(4):
        child = Child(home)
        if lines:
            child.ask(PING.strip())
        child.kill()
    child = Child(home)
    assert child.call("knowledge_create", name="x", tags=["t"])["created"] is True
    assert child.end() == 0
    assert check_whole(home) == ["x"]


def orphan(home: Path, *, stdin: str, then: str, pipe: int | IO[bytes] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT.format(stdin=stdin, then=then), "-", *COMMAND, str(home)],
        cwd=REPOSITORY,
        stdin=pipe,
        stdout=subprocess.PIPE,
    )


def test_the_death_of_the_parent_ends_the_child(home: Path) -> None:
    parent = orphan(
        home, stdin="subprocess.PIPE", then=f"p.stdin.write({PING!r}); p.stdin.flush()", pipe=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    with parent, parent.stdout as replies:
        assert b'"result":{}' in replies.readline()
        parent.kill()
        assert replies.read() == b""  # end of file: the child, which holds the other end, is gone


if sys.platform == "linux":

    def test_the_death_of_the_parent_ends_the_child_while_its_stdin_stays_open(home: Path) -> None:
        read_end, write_end = os.pipe()
        parent = orphan(home, stdin="None", then="None", pipe=read_end)
        os.close(read_end)
        assert parent.stdout is not None
        with parent, parent.stdout as replies, os.fdopen(write_end, "wb") as requests:
            requests.write(PING)
            requests.flush()
            assert b'"result":{}' in replies.readline()
            parent.kill()
            assert replies.read() == b""


def test_an_interrupt_from_the_terminal_does_not_end_it(home: Path) -> None:
    child = Child(home)
    assert child.result("ping") == {}
    child.process.send_signal(signal.SIGINT)
    assert child.result("ping") == {}
    assert child.end() == 0


def test_it_ends_quietly_when_nobody_reads(home: Path) -> None:
    child = Child(home)
    assert child.result("ping") == {}
    assert child.process.stdin is not None and child.process.stdout is not None
    child.process.stdout.close()
    child.write(PING)
    assert child.process.wait(20) == 0
    child.process.stdin.close()
    assert child.stderr == ""


@pytest.mark.parametrize("printed", ["print('stray')", "import os; os.write(1, b'stray')"])
def test_stray_output_does_not_reach_the_protocol(home: Path, printed: str) -> None:
    program = (
        "import sys; from pathlib import Path; from engine.shelf_server import process\n"
        "class Noisy(process.Server):\n"
        "    def handle(self, method, params):\n"
        f"        {printed}; sys.stdout.flush(); return super().handle(method, params)\n"
        "process.Server = Noisy\n"
        "raise SystemExit(process.main(Path(sys.argv[1])))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(home)], cwd=REPOSITORY, input=PING, capture_output=True)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert b"stray" in done.stderr
    assert done.returncode == 0


def test_start_up_stays_small(home: Path) -> None:
    program = "import sys, engine.shelf_server; print(*sorted(m for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded.isdisjoint(
        {"asyncio", "httpx", "http.client", "hashlib", "keyring", "numpy", "PySide6", "engine.ledger", "engine.shelf"}
    )
    assert "sqlite3" in loaded


def test_logs_hold_no_content(home: Path) -> None:
    child = Child(home)
    secret = "sk-planted-secret"
    child.call("knowledge_create", name=secret, data=secret)
    child.refused("knowledge_create", name=secret)
    child.refused("query", jse=["$knowledge", [secret]])
    child.tool("search", query=f"{secret} OR")
    child.ask(b'{"id":1,"method":"tools/call","params":{"name":"' + secret.encode() + b'"}}')
    assert child.end() == 0
    assert secret not in child.stderr


def test_missing_home_is_made_for_this_user_only(tmp_path: Path) -> None:
    child = Child(tmp_path / "new")
    assert child.call("list_shelves")["shelves"][0]["connected"] is True
    assert child.end() == 0
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def test_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = subprocess.run([*COMMAND, str(tmp_path / "file" / "home")], cwd=REPOSITORY, input=b"", capture_output=True)
    assert done.returncode == 1
    assert done.stdout == b"" and done.stderr.startswith(b"Error: ") and b"Traceback" not in done.stderr
