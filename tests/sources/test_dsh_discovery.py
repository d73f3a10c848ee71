"""Logs are found by listing; nothing else is opened, and nothing below the root is ever written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.sources.dsh import discover, dsh_home
from engine.sources.dsh.discovery import session_id_of
from tests.sources.generate import frame, header, line, place
from tests.sources.reading import DATA, read

VECTORS = json.loads((DATA / "dsh" / "path-vectors.json").read_text("utf-8"))


@pytest.mark.parametrize(("session_id", "folder"), VECTORS["id_to_folder"].items())
def test_a_folder_name_is_turned_back_into_its_id(session_id: str, folder: str) -> None:
    assert session_id_of(folder) == session_id


@pytest.mark.parametrize("value", [None, "", "  "])
def test_home_is_in_the_users_folder(value: str | None) -> None:
    assert dsh_home({} if value is None else {"DSH_HOME": value}) == Path.home() / ".dsh"


def test_home_can_be_set(tmp_path: Path) -> None:
    assert dsh_home({"DSH_HOME": str(tmp_path)}) == tmp_path
    assert dsh_home({"DSH_HOME": "~/elsewhere"}) == Path.home() / "elsewhere"
    assert dsh_home({"DSH_HOME": "relative"}) == Path.cwd() / "relative"


def test_a_missing_root_holds_nothing(tmp_path: Path) -> None:
    found = discover(tmp_path / "sessions")
    assert (found.logs, found.problems) == ([], [])


def test_a_root_that_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("")
    (problem,) = discover(tmp_path / "sessions").problems
    assert (problem.path, problem.status) == (tmp_path / "sessions", "unreadable")


def test_escaped_ids_and_cwds_and_other_names() -> None:
    (log,) = discover(DATA / "dsh" / "damaged" / "escaped-id" / "root").logs
    assert log.session_id == "a/b~c:咖"
    (log,) = discover(DATA / "dsh" / "damaged" / "no-cwd" / "root").logs
    assert log.path.parts[-3] == "_no-cwd"
    assert read(log.path)[0].header.cwd is None  # type: ignore[union-attr]
    found = discover(DATA / "dsh-v4" / "damaged" / "other-names" / "root")
    assert ([log.path.name for log in found.logs], found.problems) == (["session.v4.jsonl.zstd"], [])
    found = discover(DATA / "dsh" / "damaged" / "leftover-tmp" / "root")
    assert ([log.path.name for log in found.logs], found.problems) == (["session.jsonl.zstd"], [])


@pytest.mark.parametrize(
    ("name", "version", "compressed"),
    [
        ("session.jsonl", 0, False),
        ("session.jsonl.zstd", 0, True),
        ("session.v1.jsonl", 1, False),
        ("session.v12.jsonl.zstd", 12, True),
        ("session.v0.jsonl", None, None),
        ("session.v04.jsonl", None, None),
        ("Session.v4.jsonl", None, None),
        ("session.V4.jsonl", None, None),
        ("session.v4.jsonl.zstd.0123456789ab.tmp", None, None),
        ("session.migration.0123456789abcdef.jsonl.zstd.tmp", None, None),
        ("session.lock", None, None),
        ("session.jsonl.zst", None, None),
        ("xsession.jsonl", None, None),
        ("session.jsonl\n", None, None),
        (f"session.v{'9' * 200}.jsonl", None, None),
    ],
)
def test_names(tmp_path: Path, name: str, version: int | None, compressed: bool | None) -> None:
    folder = tmp_path / "--x--" / "s"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(b"")
    found = discover(tmp_path)
    assert [(log.version, log.compressed) for log in found.logs] == ([] if version is None else [(version, compressed)])
    assert found.problems == []


def test_a_pipe_or_folder_with_the_name_of_a_log_is_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "--x--" / "s"
    (folder / "session.jsonl").mkdir(parents=True)
    os.mkfifo(folder / "session.jsonl.zstd")
    (tmp_path / ".dsh-mkdir-1" / "s").mkdir(parents=True)
    (tmp_path / ".dsh-mkdir-1" / "s" / "session.jsonl").write_bytes(b"")
    (tmp_path / "--x--" / "gone").mkdir()
    (tmp_path / "--x--" / "gone" / "session.jsonl").symlink_to(tmp_path / "nowhere")
    found = discover(tmp_path)
    assert (found.logs, found.problems) == ([], [])


def test_links_in_a_circle_and_foreign_names_stop_nothing(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_bytes(frame(line(header())))
    (tmp_path / "--round--").symlink_to(tmp_path / "--round--")
    circle = path.with_name("session.v4.jsonl")
    circle.symlink_to(circle)
    foreign = os.fsencode(tmp_path) + b"/--x\xff--/s"
    os.makedirs(foreign)
    with open(foreign + b"/session.jsonl", "wb"):
        pass
    found = discover(tmp_path)
    assert [log.path for log in found.logs] == [path]
    assert [(problem.path, problem.status) for problem in found.problems] == [(circle, "unreadable")]


def test_the_older_of_two_with_one_id_is_read_and_every_file_of_the_other_named(tmp_path: Path) -> None:
    for cwd, created in (("a", 20), ("b", 10), ("c", 10)):
        place(tmp_path, cwd=cwd).write_bytes(frame(line(header(createdAt=created))))
    place(tmp_path, cwd="a", version=4).write_bytes(b"")
    place(tmp_path, cwd="d").write_bytes(b"nonsense")
    found = discover(tmp_path)
    assert [log.path.parts[-3] for log in found.logs] == ["--b--"]
    assert [(problem.path.parts[-3], problem.path.name) for problem in found.problems] == [
        ("--c--", "session.jsonl.zstd"),
        ("--a--", "session.jsonl.zstd"),
        ("--a--", "session.v4.jsonl.zstd"),
        ("--d--", "session.jsonl.zstd"),
    ]
    assert {problem.status for problem in found.problems} == {"duplicate"}
    assert all("--b--" in problem.reason for problem in found.problems)


WITNESS = """
import sys
opened, changed = [], []
def witness(event, args):
    if event == "open":
        path, mode, flags = args
        opened.append((str(path), mode, flags))
    elif event.split(".")[0] in ("os", "shutil") and event not in ("os.scandir", "os.listdir"):
        changed.append((event, str(args)))
from pathlib import Path
from engine.sources.dsh import DshLog, discover, read_range
root = Path(sys.argv[1])
sys.addaudithook(witness)
for log in discover(root).logs:
    follower = DshLog(log)
    for event in follower.read():
        pass
    if follower.header is not None:
        for event in read_range(log.path, log.compressed, follower.cursor.offset, follower.cursor.next_seq,
                                follower.cursor.next_seq, log.session_id):
            pass
import json
below = [entry for entry in opened if entry[0].startswith(str(root))]
print(json.dumps([below, [entry for entry in changed if str(root) in entry[1]]]))
"""


def listing(root: Path) -> list[tuple[str, int, int, int]]:
    facts = [(path, path.stat()) for path in sorted([root, *root.rglob("*")])]
    return [(str(path), found.st_mtime_ns, found.st_size, found.st_mode) for path, found in facts]


def test_only_logs_are_opened_and_only_for_reading(tmp_path: Path) -> None:
    """Every fixture with a lock file, seen by Python's own audit events in a process of its own."""
    roots = [*sorted(DATA.glob("dsh-v[34]/*/root")), DATA / "dsh-v4" / "damaged" / "other-names" / "root"]
    assert sum(len(list(root.rglob("session.lock"))) for root in roots) > 20
    for root in roots[::6] + roots[-1:]:
        before = listing(root)
        done = subprocess.run(
            [sys.executable, "-c", WITNESS, str(root)], capture_output=True, text=True, check=True, cwd=DATA.parents[1]
        )
        opened, changed = json.loads(done.stdout)
        assert {Path(path).name for path, _, _ in opened} <= {
            "session.jsonl.zstd",
            "session.v3.jsonl.zstd",
            "session.v4.jsonl.zstd",
        }
        assert opened and changed == []
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
        assert all(mode == "r" and not flags & writing for _, mode, flags in opened)
        assert listing(root) == before


def test_no_file_stays_open_between_readings(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_bytes(frame(line(header())) + frame(b"x"))
    log, _ = read(path)
    assert log.status == "damaged"
    targets = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _open(fd)}
    assert str(path) not in targets


def _open(fd: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{fd}")
