"""Recorded logs in any order, in any pieces: the same messages with the same numbers (dsh-formats.md 16)."""

import json
import random
import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from engine.ledger.logs import MessageRow
from engine.policy.redact import redact
from engine.sources.dsh import discover
from engine.sources.dsh.frames import Window, next_frame
from tests.sources.reading import DATA
from tests.tools.kept import messages_of
from tests.tools.memory import Memory, content, memory

CASES = [
    pytest.param(file.parent, id=f"{file.parts[-3]}-{file.parts[-2]}")
    for file in sorted(DATA.glob("dsh*/*/expected.json"))
]
MANY = [DATA / path for path in ("dsh-v4/old-writer-after-upgrade", "dsh-v4/upgraded-three-generations")]
FORKS = [DATA / path for path in ("dsh-v3/fork-mid-turn", "dsh-v4/fork-mid-turn")]


def copy(case: Path, m: Memory) -> None:
    shutil.copytree(case / "root", m.root, dirs_exist_ok=True)


def wanted(case: Path) -> dict[str, tuple[str, str]]:
    """Session and text of every message to be logged, by its place in the expectations, withdrawn ones left out."""
    found: dict[str, tuple[str, str]] = {}
    for path, session in json.loads((case / "expected.json").read_text("utf-8"))["sessions"].items():
        if session["subagent"]:
            continue
        taken_back = {entry["seq"] for entry in session.get("withdrawn", [])}
        remember = session["remember"]
        for message in remember["human_messages"] + remember["assistant_messages"]:
            key = message.get("id") or f"{path} {message['seq']}"
            if message["seq"] not in taken_back:
                images = "\n[image]" * message.get("images", 0)
                said = message["text"] + images
                if message.get("interrupted"):
                    said += "\n\n[turn interrupted mid-stream]"
                found.setdefault(key, (session["header"]["id"], said))
    return found


@pytest.mark.parametrize("case", CASES)
async def test_every_case_is_logged_as_expected(tmp_path: Path, case: Path) -> None:
    async with memory(tmp_path) as m:
        copy(case, m)
        await m.settle()
        got = []
        for name, body in (await m.entries("msg-")).items():
            session = name.removeprefix("msg-").rpartition("-")[0]
            got.append((session, content(body)))
        assert sorted(got) == sorted((session, redact(text)) for session, text in wanted(case).values())
        assert await m.statuses() == {}
        logged = await m.logged_today()
        await m.settle()
        assert await m.logged_today() == logged == len(got)
        nodes = {edge[2] for edge in await m.edges("belongTo")}
        assert nodes <= set(await m.entries("session-"))


def pieces(path: Path, chance: random.Random, also: int = 0) -> list[bytes]:
    """The bytes of a log, cut anywhere: at frames, inside them, several at a time."""
    data = path.read_bytes()
    cuts = {0, min(also, len(data)), len(data)}
    if path.suffix == ".zstd":
        with path.open("rb") as file:
            window, at = Window(file, len(data)), 0
            while at < len(data) and (frame := next_frame(window, at)) is not None:
                at = frame.end
                if chance.random() < 0.5:
                    cuts.add(at)
    cuts |= {chance.randrange(len(data)) for _ in range(3)}
    return [data[a:b] for a, b in pairwise(sorted(cuts))]


async def facts(m: Memory, sessions: Iterable[str]) -> dict[str, list[MessageRow]]:
    return {session: await messages_of(m.context.logs, session) for session in sorted(sessions)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "case",
    [
        DATA / path
        for path in (
            "dsh/multi-turn",
            "dsh/plain-encoding-unpacked",
            "dsh/steer-and-queue",
            "dsh-v1/rewind",
            "dsh-v3/fork-mid-turn",
            "dsh-v4/compaction-manual",
            "dsh-v4/rewind",
            "dsh-v4/old-writer-after-upgrade",
        )
    ],
    ids=lambda case: f"{case.parts[-2]}-{case.parts[-1]}",
)
async def test_pieces_in_any_size_give_the_same(tmp_path: Path, case: Path, seed: int) -> None:
    sessions = {log.session_id for log in discover(case / "root").logs}
    (tmp_path / "whole").mkdir()
    (tmp_path / "pieces").mkdir()
    async with memory(tmp_path / "whole") as m:
        copy(case, m)
        await m.settle()
        rows, picture = await facts(m, sessions), await m.picture()
    chance = random.Random(seed)
    async with memory(tmp_path / "pieces") as m:
        for source, piece in growth(case, chance):
            target = m.root / source.relative_to(case / "root")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("ab") as file:
                file.write(piece)
            if chance.random() < 0.3:
                await m.sweep(everything=chance.random() < 0.5)
            elif chance.random() < 0.5:
                await m.collector.changed([target], "default", 0, m.queue)
        await m.settle()
        assert await m.picture() == picture
        assert await facts(m, sessions) == rows


def growth(case: Path, chance: random.Random) -> Iterator[tuple[Path, bytes]]:
    """The pieces in the order of their time: an old writer may go on after newer files were made."""
    logs = sorted(discover(case / "root").logs, key=lambda log: (_born(log.path), log.version))
    upgraded_at = 0
    if case == MANY[0]:
        upgraded_at = next(log.size for log in discover(MANY[1] / "root").logs if log.version == 0)
    later: list[tuple[Path, bytes]] = []
    for log in logs:
        grown = 0
        for piece in pieces(log.path, chance, upgraded_at):
            late = log.version == 0 and upgraded_at and grown >= upgraded_at
            grown += len(piece)
            if late:
                later.append((log.path, piece))
            else:
                yield log.path, piece
    yield from later


def _born(path: Path) -> int:
    wanted = json.loads((path.parents[3] / "expected.json").read_text("utf-8"))["sessions"]
    return int(wanted["/".join(path.parts[-3:])]["header"]["createdAt"])


@pytest.mark.parametrize("case", MANY, ids=lambda case: case.name)
async def test_ids_are_logged_once_over_all_generations(tmp_path: Path, case: Path) -> None:
    """dsh-formats.md 16.4: a newer file repeats ids, an older one may go on; each is one message with one number."""
    (generations,) = [json.loads((case / "expected.json").read_text("utf-8"))["generations"]]
    human = {entry["id"] for entry in generations["log_once_human_messages"]}
    async with memory(tmp_path) as m:
        copy(case, m)
        await m.settle()
        (session_id,) = {log.session_id for log in discover(m.root).logs}
        rows = await messages_of(m.context.logs, session_id)
        assert {row.id for row in rows if row.role == "user"} == human
        assert [row.ordinal for row in rows] == list(range(len(rows)))
        assert [row.time for row in rows] == sorted(row.time for row in rows)
        assert len(await m.entries("msg-")) == len(rows)
        assert len(await m.entries("session-")) == 1
        assert {edge[0] for edge in await m.edges("belongTo")} == set(await m.entries("msg-"))


async def test_an_old_file_that_grows_after_the_new_one_is_read_on(tmp_path: Path) -> None:
    case = MANY[0]
    async with memory(tmp_path) as m:
        copy(case, m)
        old = next(log for log in discover(m.root).logs if log.version == 0)
        shorter = next(log for log in discover(MANY[1] / "root").logs if log.version == 0)
        whole = old.path.read_bytes()
        assert whole.startswith(shorter.path.read_bytes())
        old.path.write_bytes(shorter.path.read_bytes())
        await m.settle()
        before = await m.entries("msg-")
        old.path.write_bytes(whole)
        await m.settle()
        after = await m.entries("msg-")
        assert before.items() < after.items()
        rows = await messages_of(m.context.logs, old.session_id)
        assert [row.version for row in rows][-2:] == [0, 0]
        assert sorted(int(name.rpartition("-")[2]) for name in after) == list(range(len(rows)))


@pytest.mark.parametrize("case", FORKS, ids=lambda case: case.parts[-2])
async def test_a_message_shared_by_forks_is_logged_once(tmp_path: Path, case: Path) -> None:
    wanted = json.loads((case / "expected.json").read_text("utf-8"))
    once = set(wanted.get("log_once_ids", []))
    async with memory(tmp_path) as m:
        copy(case, m)
        await m.settle()
        rows = await m.ledger.read("SELECT id FROM message WHERE role = 'user'")
        assert {row["id"] for row in rows} == once and len(rows) == len(once)


@pytest.mark.parametrize("case", FORKS, ids=lambda case: case.parts[-2])
async def test_a_fork_read_before_its_parent_changes_no_text(tmp_path: Path, case: Path) -> None:
    async with memory(tmp_path) as m:
        copy(case, m)
        await m.settle()
        texts = sorted(content(body) for body in (await m.entries("msg-")).values())
    (tmp_path / "late").mkdir()
    async with memory(tmp_path / "late") as m:
        for log in sorted(discover(case / "root").logs, key=lambda log: -_born(log.path)):
            target = m.root / log.path.relative_to(case / "root")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log.path, target)
            await m.settle()
        assert sorted(content(body) for body in (await m.entries("msg-")).values()) == texts


@pytest.mark.parametrize("set_", ["dsh", "dsh-v3", "dsh-v4"])
async def test_a_crash_and_its_repair_lose_and_double_nothing(tmp_path: Path, set_: str) -> None:
    async with memory(tmp_path) as m:
        copy(DATA / set_ / "crash-open-turn", m)
        await m.settle()
        before = await m.entries("msg-")
        assert len(before) == 1
        shutil.rmtree(m.root)
        m.root.mkdir()
        copy(DATA / set_ / "crash-recovered", m)
        await m.settle()
        after = await m.entries("msg-")
        assert before.items() < after.items() and len(after) == 3
        assert await m.logged_today() == 3


async def test_a_file_that_was_cut_back_and_went_on_otherwise_is_logged_too(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("kept")
        log.end_turn()
        whole = log.path.read_bytes()
        seq, time = log.seq, log.time
        for word in ("lost one", "lost two"):
            log.user(word)
            log.end_turn()
        await m.settle()
        log.path.write_bytes(whole)
        await m.settle()
        log.seq, log.turn, log.time = seq, 1, time + 1000
        log.user("told anew")
        log.end_turn()
        await m.settle()
        texts = {name: content(body) for name, body in (await m.entries("msg-")).items()}
        assert texts == {
            "msg-session-1-0": "kept",
            "msg-session-1-1": "lost one",
            "msg-session-1-2": "lost two",
            "msg-session-1-3": "told anew",
        }
        assert await m.logged_today() == 4 and await m.statuses() == {}
        assert (await m.mark(log)).logged_seq == log.seq


async def test_another_conversation_in_the_place_of_a_log_is_never_mixed_in(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("mine")
        log.end_turn()
        await m.settle()
        other = m.log("session-2")
        for number in range(5):
            other.user(f"other {number}")
            other.end_turn()
        shutil.copy(other.path, log.path)
        await m.settle()
        assert len(await m.entries("msg-session-1-")) == 1
        assert len(await m.entries("msg-session-2-")) == 5
        assert [file.status for file in await m.context.logs.of_session("session-1")] == ["diverged"]


async def test_two_encodings_of_one_log_are_one_conversation(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        for compressed in (True, False):
            log = m.log(compressed=compressed)
            for number in range(3):
                log.user(f"message {number}")
                log.assistant("answer")
                log.end_turn()
        await m.settle()
        await m.settle()
        assert len(await m.entries("msg-")) == 6 and await m.statuses() == {}
