"""Backup and restore over real conversations, real shelves and real kills."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import instance
from engine.backup import swap
from engine.backup.restoring import put_back, restore
from engine.backup.saving import MANIFEST, save
from engine.errors import UserFixable
from engine.ledger import copies
from engine.paths import Home
from tests.scenarios.program import ROOT, Program
from tests.tools.dsh_logs import LogWriter

SECRET = "sk-ant-api03-" + "Ab1" * 30


def say(program: Program, log: LogWriter, text: str) -> None:
    """One more turn of a conversation."""
    log.user(f"{text}? " + "Why does the importer drop the last row of every file? " * 30)
    log.assistant(f"{text}! " + "The loop ends one row too early, so the range is corrected. " * 30)
    log.end_turn()


def remembered(tmp_path: Path, turns: int = 2) -> tuple[Program, Home, LogWriter]:
    """A companion that has recorded and summarised a conversation."""
    program = Program(tmp_path)
    program.settings(binaries=["built-in"], queue_flushWindowMs=0, consolidation_minNewTokens=500)
    log = LogWriter(program.sessions, "session-1", seed=1)
    for number in range(turns):
        say(program, log, f"part {number}")
    program.once()
    home = Home.at(program.home)
    archives = home.shelves / "default" / "archives" / "sub"
    archives.mkdir(parents=True)
    (archives / "图 1.txt").write_text("kept with the shelf", "utf-8")
    (home.shelves / "default" / "shelf.toml").write_text("# mine\n", "utf-8")
    return program, home, log


def picture(home: Home) -> dict[str, Any]:
    """Everything that a backup keeps, as it is now."""
    found: dict[str, Any] = {"settings": home.settings_file.read_text("utf-8")}
    for name in ("ledger.sqlite", "shelves/default/hypatia.sqlite"):
        with contextlib.closing(sqlite3.connect(home.data / name)) as db:
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY 1")]
            found[name] = {table: sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for table in tables}
    for file in sorted((home.shelves / "default" / "archives").rglob("*")):
        found[str(file.relative_to(home.data))] = file.read_bytes() if file.is_file() else None
    found["registry"] = json.loads((home.shelves / "shelves.json").read_text("utf-8"))
    return found


def leftovers(home: Home) -> list[str]:
    """What must not lie about after a restore that was ended."""
    return [path.name for path in home.data.iterdir() if path.name == "restore" or path.name.endswith(".new")]


def test_a_backup_comes_back_elsewhere_and_nothing_is_recorded_twice(tmp_path: Path) -> None:
    program, home, _ = remembered(tmp_path / "one")
    before, shelf = picture(home), program.shelf().picture()
    file = tmp_path / "my backup.zip"
    saved = program.json("backup", str(file))
    assert saved["shelves"] == ["default"] and saved["left_out"] == [] and not saved["keys_hidden"]
    assert os.name == "nt" or stat.S_IMODE(file.stat().st_mode) == 0o600
    other = Program(tmp_path / "two")
    shutil.copytree(program.dsh, other.dsh, dirs_exist_ok=True)
    restored = other.json("restore", str(file))
    assert restored["shelves"] == ["default"] and restored["files"] == saved["files"]
    there = picture(Home.at(other.home))
    assert there.pop("registry") == {"shelves": {"default": str(other.home / "shelves" / "default")}}
    assert there == {key: value for key, value in before.items() if key != "registry"}
    assert other.once()["messages"]["logged"] == 0
    assert other.shelf().picture() == shelf
    assert leftovers(Home.at(other.home)) == []


def test_a_backup_beside_a_running_companion_and_a_restore_that_waits_for_its_end(tmp_path: Path) -> None:
    program, home, log = remembered(tmp_path)
    file = tmp_path / "b.zip"
    with program.running():
        say(program, log, "while it runs")
        program.run("backup", str(file))
        with program.start("restore", str(file)) as child:
            _, errors = child.communicate(timeout=60)
        assert child.returncode == 1 and "The companion is running" in errors and "Quit it" in errors
    before = picture(home)
    program.run("restore", str(file))
    program.once()
    assert [text[:14] for text in sorted(program.texts())].count("while it runs?") == 1
    assert leftovers(home) == [] and before["settings"] == picture(home)["settings"]


def test_a_key_in_the_settings_is_not_in_the_backup(tmp_path: Path) -> None:
    program, home, _ = remembered(tmp_path)
    home.settings_file.write_text(home.settings_file.read_text("utf-8") + f'\nmine.apiKey = "{SECRET}"\n', "utf-8")
    (home.config / "keys.toml").write_text(f'anthropic = "{SECRET}"\n', "utf-8")
    file = tmp_path / "b.zip"
    assert save(home, file).keys_hidden
    with zipfile.ZipFile(file) as archive:
        assert not any(SECRET.encode() in archive.read(name) for name in archive.namelist())
        assert not any("keys" in name for name in archive.namelist())
    assert "left out" in program.run("backup", str(file))


def test_a_shelf_elsewhere_is_named_and_stays_connected(tmp_path: Path) -> None:
    program, home, _ = remembered(tmp_path)
    program.run("shelves", "connect", str(tmp_path / "elsewhere"))
    file = tmp_path / "b.zip"
    assert save(home, file).left_out == (f"elsewhere: {tmp_path / 'elsewhere'}",)
    program.run("shelves", "create", "later")
    restore(home, file)
    rows = {row["name"]: row["connected"] for row in program.json("shelves", "list")}
    assert rows == {"default": True, "elsewhere": True, "later": True}


def test_what_was_there_is_kept_aside_with_what_lies_beside_it(tmp_path: Path) -> None:
    program, home, log = remembered(tmp_path)
    file = tmp_path / "b.zip"
    save(home, file)
    old = picture(home)
    say(program, log, "later")
    program.once()
    newer = program.shelf().picture()
    # Killed in its work, a companion leaves SQLite's log beside the file.
    script = "import sqlite3, os; db = sqlite3.connect(os.sys.argv[1]); db.execute('PRAGMA journal_mode=WAL'); "
    script += (
        "db.execute(\"INSERT INTO activity (at, what, subject) VALUES (9, 'in', 'log')\"); db.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(home.ledger_file)], check=True)
    assert home.ledger_file.with_name("ledger.sqlite-wal").stat().st_size
    restored = restore(home, file)
    assert not home.ledger_file.with_name("ledger.sqlite-wal").exists()
    assert picture(home) == old
    aside = Path(restored.aside)
    with contextlib.closing(sqlite3.connect(aside / "ledger.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM activity WHERE at = 9").fetchone()[0] == 1
    assert (aside / "settings.toml").read_text("utf-8") == old["settings"]
    program.once()
    assert program.shelf().picture() == newer


def test_what_was_forgotten_since_the_backup_stays_forgotten(tmp_path: Path) -> None:
    program, home, _ = remembered(tmp_path)
    file = tmp_path / "b.zip"
    save(home, file)
    with contextlib.closing(sqlite3.connect(home.ledger_file)) as db, db:
        db.execute("INSERT INTO forgotten (session_id, shelf, at, done) VALUES ('session-1', 'default', 1, 1)")
    restore(home, file)
    program.once()
    assert program.texts() == []


def rewritten(file: Path, target: Path, change: Any) -> Path:
    """A copy of a backup whose members went through `change(names to contents)`."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target


def listed(members: dict[str, bytes], name: str, content: bytes) -> None:
    manifest = json.loads(members[MANIFEST])
    manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    members[name], members[MANIFEST] = content, json.dumps(manifest).encode()


def changed_manifest(**changes: Any) -> Any:
    return lambda members: members.update({MANIFEST: json.dumps(json.loads(members[MANIFEST]) | changes).encode()})


BAD = {
    "a changed byte": (lambda m: m.update({"settings.toml": m["settings.toml"] + b"\n"}), "not what was backed up"),
    "a file too many": (lambda m: m.update({"more.txt": b""}), "exactly the files"),
    "a file missing": (lambda m: m.pop("settings.toml"), "exactly the files"),
    "a path out": (lambda m: listed(m, "shelves/../../evil.toml", b""), "no place in a backup"),
    "a path from the root": (lambda m: listed(m, "/etc/evil", b""), "no place in a backup"),
    "a path into ours": (lambda m: listed(m, "agents/changes.json", b"{}"), "no place in a backup"),
    "a path out of a shelf": (lambda m: listed(m, "shelves/x/archives/../../../y", b""), "no place in a backup"),
    "no ledger": (lambda m: (m.pop("ledger.sqlite"), changed_manifest(files={})(m)), "exactly the files"),
    "a newer format": (changed_manifest(format=99), "newer version"),
    "a newer ledger": (changed_manifest(ledger=999), "newer version"),
    "a list that is none": (changed_manifest(files=[]), "cannot be read"),
    "a damaged ledger": (lambda m: listed(m, "ledger.sqlite", b"SQLite format 3\0" + b"\xff" * 9000), "is damaged"),
    "shelves out of the folder": (
        lambda m: listed(m, "shelves/shelves.json", b'{"shelves": {"x": "../../x"}}'),
        "shelf in it is missing",
    ),
    "no manifest": (lambda m: m.pop(MANIFEST), "no backup"),
}


def test_a_bad_backup_changes_nothing(tmp_path: Path) -> None:
    program, home, _ = remembered(tmp_path)
    file = tmp_path / "b.zip"
    save(home, file)
    before = picture(home)
    torn = tmp_path / "torn.zip"
    torn.write_bytes(file.read_bytes()[:-200])
    nonsense = tmp_path / "nonsense.zip"
    nonsense.write_bytes(b"nothing")
    flipped = tmp_path / "flipped.zip"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    flipped.write_bytes(content)
    bad = dict.fromkeys((torn, nonsense), "damaged or no backup") | {flipped: ""}
    for number, (change, reason) in enumerate(BAD.values()):
        bad[rewritten(file, tmp_path / f"bad-{number}.zip", change)] = reason
    for one, reason in bad.items():
        with pytest.raises(UserFixable, match="cannot be used") as refused:
            restore(home, one)
        assert reason in refused.value.message, (one, refused.value.message)
    assert picture(home) == before and leftovers(home) == []
    assert not (tmp_path / "evil.toml").exists() and not list(home.data.glob("before-restore-*"))
    with program.start("restore", str(nonsense)) as child:
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 1 and "cannot be used" in errors


def test_a_backup_never_replaces_something_else(tmp_path: Path) -> None:
    _, home, _ = remembered(tmp_path, turns=1)
    letter = tmp_path / "letter.txt"
    letter.write_text("dear you")
    for target, said in ((letter, "no backup of ours"), (tmp_path, "is a folder"), (tmp_path / "a" / "b", "not there")):
        with pytest.raises(UserFixable, match=said):
            save(home, target)
    assert letter.read_text() == "dear you"
    with pytest.raises(UserFixable, match="nothing to back up"):
        save(Home.at(tmp_path / "empty"), tmp_path / "b.zip")


class Killer:
    """Runs operations of ours in processes that die at a named step."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def __call__(self, home: Home, step: str, what: str, file: Path) -> list[str]:
        """The steps of an operation up to the one at which the process died; all of them without one."""
        assert self._child.stdin is not None and self._child.stdout is not None
        print(json.dumps([step, what, str(home.data), str(file)]), file=self._child.stdin, flush=True)
        steps, code = json.loads(self._child.stdout.readline())
        assert code == (-signal.SIGKILL if step else 0), (step, code, steps)
        return list(steps)


@pytest.fixture
def killed() -> Iterator[Killer]:
    command = [sys.executable, "-m", "tests.keep.steps"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as child:
        yield Killer(child)
        child.communicate(timeout=10)


def test_a_backup_killed_at_any_step_leaves_the_one_before(killed: Killer, tmp_path: Path) -> None:
    if os.name == "nt":
        return  # there is no signal that ends a process like this
    _, home, _ = remembered(tmp_path)
    file = tmp_path / "b.zip"
    steps = killed(home, "", "save", file)
    assert len(steps) == 6
    good = file.read_bytes()
    for step in steps:
        killed(home, step, "save", file)
        assert step == "in place" or file.read_bytes() == good
        with zipfile.ZipFile(file) as archive:
            assert archive.testzip() is None
    save(home, file)
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_restore_killed_at_any_step_ends_whole_or_is_taken_back(killed: Killer, tmp_path: Path) -> None:
    if os.name == "nt":
        return
    program, home, log = remembered(tmp_path / "now")
    file = tmp_path / "b.zip"
    save(home, file)
    old = picture(home)
    say(program, log, "later")
    program.once()
    new = picture(home)
    assert new != old
    start = tmp_path / "start"
    shutil.copytree(home.data, start, symlinks=True)
    steps = killed(home, "", "restore", file)
    assert picture(home) == old and len(steps) >= 14
    for way in ("start", "restore"):
        for step in steps if way == "start" else steps[-3:]:
            shutil.rmtree(home.data)
            shutil.copytree(start, home.data, symlinks=True)
            killed(home, step, "restore", file)
            decided = swap.unfinished(home)
            if way == "start":
                owner = instance.acquire(home)
                assert owner is not None
                swap.finish(home)  # as every start does
                owner.let_go()
                assert picture(home) == (old if decided or step == "ended" else new), step
            else:
                restore(home, file)
                assert picture(home) == old
            assert leftovers(home) == []
    program.once()
    assert len([text for text in program.texts() if text.startswith("later")]) == 2


def test_the_last_good_copy_takes_the_place_of_a_damaged_ledger_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    program, home, log = remembered(tmp_path)
    with program.running():
        pass
    if not copies.place(home.ledger_file).exists():
        copies.make(home.ledger_file, 1.0, lambda: False)
    for number in range(3):
        say(program, log, f"after the copy {number}")
        program.once()
    whole = program.shelf().picture()
    home.ledger_file.write_bytes(b"\xff" * 50_000)
    with program.start("run", "--once", "--from", "all") as child:
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 1 and "damaged" in errors and "restore --last-good" in errors
    restored = program.json("restore", "--last-good")
    assert (Path(restored["aside"]) / "ledger.sqlite").read_bytes() == b"\xff" * 50_000
    assert program.once()["messages"]["logged"] == 0
    assert program.shelf().picture() == whole
    say(program, log, "and on")
    program.once()
    assert set(program.shelf().picture()[0]) > set(whole[0])


def test_without_a_copy_the_damaged_ledger_stays(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    home.create()
    home.ledger_file.write_bytes(b"\xff" * 5000)
    with pytest.raises(UserFixable, match="There is no copy"):
        put_back(home)
    assert home.ledger_file.read_bytes() == b"\xff" * 5000
