"""Long verbs of `shelves` at a terminal: how far they are is seen, and Ctrl+C ends them with nothing half done."""

import contextlib
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from engine.shelf.source import LINES
from tests.scenarios.program import Program, left_behind, until
from tests.shelf_server.embeddings import serving, toml
from tests.test_cli import say
from tests.tools import command

MANY = 100_000
_FAR = re.compile(rb"[1-9]\d* of ([1-9]\d*)")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    say(program)
    program.once()
    return program


def fill(program: Program, count: int = MANY) -> Path:
    """Very many entries, as another program would write them; the shelf's folder."""
    folder = program.home / "shelves" / "default"
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    content = json.dumps({"format": "markdown", "data": "heron " * 8, "tags": ["t"], "embed": False})
    with contextlib.closing(sqlite3.connect(folder / "hypatia.sqlite", timeout=30)) as db:
        db.execute(f"{numbers} INSERT INTO knowledge (name, content) SELECT 'n' || i, ? FROM n", (content,))
        # Indexing them is no part of this.
        db.execute("UPDATE meta SET v = (SELECT v FROM meta WHERE k = 'content_clock') WHERE k = 'companion_clock'")
        db.commit()
    return folder


def lines_of(folder: Path, count: int) -> Path:
    """A file of that many entries."""
    rows = [{"format": LINES, "version": 1}]
    for number in range(count):
        content = {"data": f"heron {number} " * 40, "tags": ["message"]}
        rows.append({"knowledge": {"name": f"n{number}", "content": content, "created_at": "2026-01-01 00:00:00.000"}})
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"end": count}])), "utf-8")
    return folder / "lines.jsonl"


def interrupted(program: Program, *arguments: str) -> tuple[int, int]:
    """Ctrl+C as soon as it says how far it is: the exit code, and of how many it spoke."""
    mine, theirs = pty.openpty()
    ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    child = subprocess.Popen(command.console(*arguments), env=program.env, cwd=program.home.parent, **ends)
    os.close(theirs)
    said = b""
    try:
        while (far := _FAR.search(said)) is None:
            said += os.read(mine, 4096)
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # Linux's way to say that the other end is closed
            while os.read(mine, 4096):
                pass
        return child.wait(60), int(far[1])
    finally:
        child.kill()
        child.wait()
        os.close(mine)


@pytest.mark.parametrize(
    ("how", "form"),
    [("alone", "folder"), ("alone", "lines"), ("alone", "markdown"), ("running", "folder"), ("by-folder", "folder")],
)
def test_an_export_that_is_interrupted_leaves_nothing(program: Program, tmp_path: Path, how: str, form: str) -> None:
    folder, out = fill(program), tmp_path / "out"
    out.mkdir()
    name = str(folder) if how == "by-folder" else "default"
    with program.running() if how == "running" else contextlib.nullcontext():
        code, total = interrupted(program, "shelves", "export", name, str(out / "x"), "--form", form)
        assert (code, total >= MANY) == (1, True)
        if how == "running":
            until(lambda: program.ask("shelf-job") is None)
        assert list(out.iterdir()) == []
    assert left_behind(program.home) == []


def test_an_import_that_is_interrupted_is_finished_by_the_next(program: Program, tmp_path: Path) -> None:
    total = 20_000
    lines = lines_of(tmp_path, total)
    assert interrupted(program, "shelves", "import", "default", str(lines)) == (1, total)
    read = program.json("shelves", "import", "default", str(lines))
    assert 0 < read["same"] < total and (read["same"] + read["created"], read["verified"]) == (total, total)
    assert left_behind(program.home) == []


def test_embedding_that_is_interrupted_goes_on_later(program: Program, tmp_path: Path) -> None:
    with serving() as endpoint:
        folder = program.home / "shelves" / "default"
        (folder / "shelf.toml").write_text(toml(endpoint), "utf-8")
        program.json("shelves", "import", "default", str(lines_of(tmp_path, 300)))
        before = program.json("shelves", "status")["pending"]
        assert before >= 300
        endpoint.seconds = 0.4
        code, total = interrupted(program, "shelves", "embed")
        assert (code, total) == (1, before)
        endpoint.seconds = 0.0
        assert 0 < program.json("shelves", "status")["pending"] < total
        done = program.json("shelves", "embed")
        assert (done["pending"], done["semantic_off"]) == (0, "")
        # Made anew: all of them, whether one has a vector or not.
        endpoint.asked.clear()
        anew = program.json("shelves", "embed", "--anew")
        assert (anew["pending"], len(endpoint.texts)) == (0, total)
    assert left_behind(program.home) == []


def test_a_folder_that_was_not_there_is_told_when_it_is_connected(program: Program, tmp_path: Path) -> None:
    """A mistyped path makes a new, empty shelf: nobody shall believe that it holds the memory."""
    mistyped = tmp_path / "sheelf"
    said = program.run("shelves", "connect", str(mistyped))
    assert said == f"Connected sheelf: {mistyped}\nThe folder was not there: this is a new, empty shelf.\n"
    program.run("shelves", "disconnect", "sheelf")
    assert program.run("shelves", "connect", str(mistyped)) == f"Connected sheelf: {mistyped}\n"
