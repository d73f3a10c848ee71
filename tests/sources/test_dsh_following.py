"""Logs that grow, tear, shrink and change while they are read: every event once, whatever the split."""

import json
import os
import random
from itertools import pairwise
from pathlib import Path

import pytest

from engine.sources.dsh import DshLog, discover, read_range
from engine.sources.dsh.shapes import GIVEN_OUT
from engine.sources.model import Cursor, LogEvent, RangeLost
from tests.sources.generate import Generator, frame, header, line, place, write_log
from tests.sources.reading import DATA, found, read

SLOW = DATA / "dsh" / "slow-stream-many-frames"


def case(name: str, version: str = "dsh") -> tuple[bytes, list[int], str, int]:
    """Bytes, ends of the frames, session id and format of a fixture's first log."""
    file = DATA / version / name / "expected.json"
    path, wanted = next(iter(json.loads(file.read_text("utf-8"))["sessions"].items()))
    ends = [end for _, end in wanted["file"]["frame_offsets"]]
    data = (file.parent / "root" / path).read_bytes()
    return data, ends, wanted["header"]["id"], wanted["header"]["version"]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
        os.fsync(file.fileno())


def publish(path: Path, data: bytes) -> None:
    """The birth of a log: a temporary file, hard-linked to its name."""
    temporary = path.with_name(path.name + ".0123456789ab.tmp")
    temporary.write_bytes(data)
    assert discover(path.parents[2]).logs == []
    os.link(temporary, path)
    assert [log.path for log in discover(path.parents[2]).logs] == [path]
    temporary.unlink()


class Follower:
    """Polls a log as the engine does: a new reader each time, the cursor through its stored form."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stored = ""
        self.events: list[LogEvent] = []
        self.log = DshLog(found(path))

    def poll(self) -> list[LogEvent]:
        self.log, new = read(self.path, Cursor.from_json(self.stored) if self.stored else None)
        self.stored = self.log.cursor.to_json()
        self.events += new
        return new


def seqs(events: list[LogEvent]) -> list[int]:
    return [event.seq for event in events]


def test_log_01_published_by_hard_link_then_appended_frame_by_frame(tmp_path: Path) -> None:
    data, ends, session_id, _ = case("slow-stream-many-frames")
    path = place(tmp_path, session_id)
    publish(path, data[: ends[1]])
    follower = Follower(path)
    follower.poll()
    for start, end in pairwise(ends[1:]):
        append(path, data[start:end])
        for event in follower.poll():
            assert event.offset == start
        assert follower.log.cursor.offset == end
        assert not follower.log.rewound
        assert follower.log.status == "ok"
        assert follower.poll() == []
    assert follower.events == read(path)[1]
    assert follower.log.cursor.next_seq == 60


@pytest.mark.parametrize("name", ["slow-stream-many-frames", "tool-turn", "chinese", "compaction-prune"])
@pytest.mark.parametrize("seed", range(4))
def test_log_02_every_frame_in_two_parts_split_at_a_random_byte(tmp_path: Path, name: str, seed: int) -> None:
    data, ends, session_id, _ = case(name)
    chance = random.Random(seed)
    path = place(tmp_path, session_id)
    path.touch()
    follower = Follower(path)
    start = 0
    for number, end in enumerate(ends):
        middle = chance.choice([start + 1, start + 3, end - 1, end - 3, chance.randrange(start + 1, end)])
        append(path, data[start:middle])
        assert follower.poll() == []
        assert follower.log.status == ("torn" if number else "empty")
        append(path, data[middle:end])
        follower.poll()
        assert follower.log.status == "ok"
        start = end
    assert follower.events == read(path)[1]
    assert seqs(follower.events) == sorted(set(seqs(follower.events)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["fork-mid-turn", "tool-turn", "upgraded-question"])
def test_v4_logs_arriving_in_pieces_of_any_size(tmp_path: Path, name: str, seed: int) -> None:
    data, _, session_id, version = case(name, "dsh-v4")
    chance = random.Random(seed)
    path = place(tmp_path, session_id, version)
    path.touch()
    follower = Follower(path)
    at = 0
    while at < len(data):
        step = chance.choice([1, 7, 64, 700, 5000])
        append(path, data[at : at + step])
        at += step
        follower.poll()
        assert follower.log.status in ("empty", "torn", "ok")
        assert not follower.log.rewound
    assert follower.log.status == "ok"
    assert follower.events == read(path)[1]


def test_log_03_a_plain_log_growing_byte_by_byte(tmp_path: Path) -> None:
    text = line(header()) + b"".join(Generator(3).turn_batches()[:4])
    path = place(tmp_path, compressed=False)
    path.touch()
    follower = Follower(path)
    for at in range(len(text)):
        append(path, text[at : at + 1])
        if text[at] == 0x0A or at % 97 == 0:
            follower.poll()
            assert follower.log.status == ("ok" if text[at] == 0x0A else "torn" if follower.log.header else "empty")
    assert follower.events == read(path)[1]
    assert len(follower.events) == 3


def test_log_05_crash_repair_truncates_and_goes_on(tmp_path: Path) -> None:
    """A torn tail behind a valid magic, then the file DSH made of it."""
    open_turn, _, session_id, _ = case("crash-open-turn")
    recovered, _, _, _ = case("crash-recovered")
    assert recovered.startswith(open_turn)
    path = place(tmp_path, session_id)
    path.write_bytes(open_turn + b"\x28\xb5\x2f\xfd" + random.Random(5).randbytes(20))
    follower = Follower(path)
    follower.poll()
    assert follower.log.status in ("torn", "damaged")
    path.write_bytes(recovered)
    follower.poll()
    assert follower.log.status == "ok"
    assert not follower.log.rewound
    assert follower.events == read(path)[1]
    assert seqs(follower.events) == sorted(set(seqs(follower.events)))


def test_log_05_cut_back_below_the_cursor_and_grown_again(tmp_path: Path) -> None:
    data, ends, session_id, _ = case("slow-stream-many-frames")
    path = place(tmp_path, session_id)
    path.write_bytes(data)
    follower = Follower(path)
    first = follower.poll()
    path.write_bytes(data[: ends[-2]])
    again = follower.poll()
    assert follower.log.rewound
    assert again == [event for event in first if event.offset < ends[-2]]
    seq = follower.log.cursor.next_seq
    append(path, frame(line({"type": "turn/end", "seq": seq, "time": 1, "data": {"turn": 1}})))
    assert seqs(follower.poll()) == [seq]
    assert (follower.log.status, follower.log.rewound) == ("ok", False)


def test_other_bytes_of_the_same_length_before_the_cursor_are_noticed(tmp_path: Path) -> None:
    lines = [line({"type": "step/start", "seq": seq, "time": 1, "data": {"turn": 1, "step": seq}}) for seq in range(3)]
    other = line({"type": "step/start", "seq": 2, "time": 1, "data": {"turn": 9, "step": 2}})
    path = place(tmp_path, compressed=False)
    path.write_bytes(line(header()) + b"".join(lines))
    follower = Follower(path)
    assert len(follower.poll()) == 3
    path.write_bytes(line(header()) + lines[0] + lines[1] + other)
    assert [event.data["turn"] for event in follower.poll()] == [1, 1, 9]
    assert follower.log.rewound


def test_log_06_replaced_by_another_conversation_is_never_mixed(tmp_path: Path) -> None:
    data, _, session_id, _ = case("slow-stream-many-frames")
    path = place(tmp_path, session_id)
    path.write_bytes(data)
    follower = Follower(path)
    assert follower.poll()
    other = tmp_path / "other"
    other.write_bytes(frame(line(header())) + frame(line({"type": "turn/start", "seq": 0, "time": 1, "data": {}})))
    other.replace(path)
    assert follower.poll() == []
    assert follower.log.status == "diverged"
    other.write_bytes(data)
    other.replace(path)
    assert follower.poll() == []
    assert (follower.log.status, follower.log.rewound) == ("ok", False)


def test_log_06_replaced_by_the_same_conversation_begun_anew_is_read_from_the_start(tmp_path: Path) -> None:
    path = place(tmp_path)
    event = line({"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}})
    path.write_bytes(frame(line(header())) + frame(event))
    follower = Follower(path)
    assert len(follower.poll()) == 1
    path.write_bytes(frame(line(header(createdAt=5))) + frame(event))
    assert len(follower.poll()) == 1
    assert follower.log.rewound
    assert follower.log.header is not None and follower.log.header.created_at == 5


def test_a_moved_file_with_the_same_bytes_goes_on_where_it_was(tmp_path: Path) -> None:
    data, ends, session_id, _ = case("slow-stream-many-frames")
    path = place(tmp_path, session_id)
    path.write_bytes(data[: ends[10]])
    follower = Follower(path)
    follower.poll()
    copy = tmp_path / "copy"
    copy.write_bytes(data)
    copy.replace(path)
    follower.poll()
    assert not follower.log.rewound
    assert follower.events == read(path)[1]


def test_a_reader_from_the_start_gets_what_a_follower_got(tmp_path: Path) -> None:
    generator = Generator(11)
    path = place(tmp_path)
    path.write_bytes(frame(line(header())))
    follower = Follower(path)
    for _ in range(5):
        for batch in generator.turn_batches():
            append(path, frame(batch))
            follower.poll()
    log, events = read(path)
    assert events == follower.events
    assert log.cursor == follower.log.cursor
    assert log.cursor.next_seq == generator.seq


def test_leaving_early_keeps_the_last_whole_frame(tmp_path: Path) -> None:
    path = place(tmp_path)
    write_log(path, 60_000)
    whole = read(path)[1]
    stored: Cursor | None = None
    taken: list[LogEvent] = []
    while len(taken) < len(whole):
        log = DshLog(found(path), stored)
        reader = log.read()
        given = [event for _, event in zip(range(7), reader, strict=False)]
        reader.close()
        begun = log.cursor.offset
        assert all(event.offset >= begun for event in whole if event.seq > given[-1].seq)
        assert {event.offset for event in given if event.offset >= begun} <= {given[-1].offset}
        taken += [event for event in given if event.seq not in seqs(taken)]
        stored = log.cursor
    assert taken == whole


@pytest.mark.parametrize("compressed", [True, False])
def test_a_range_is_read_again_from_the_place_an_event_names(tmp_path: Path, compressed: bool) -> None:
    path = place(tmp_path, compressed=compressed)
    batches = Generator(2).turn_batches()
    pack = frame if compressed else bytes
    path.write_bytes(pack(line(header())) + b"".join(map(pack, batches)))
    log, events = read(path)
    assert log.header is not None
    assert list(read_range(path, compressed, 0, 0, log.cursor.next_seq, log.header.session_id)) == events
    for event in events:
        for to_seq in (event.seq, event.seq + 1, log.cursor.next_seq):
            again = read_range(path, compressed, event.offset, event.first_seq, to_seq, log.header.session_id)
            assert list(again) == [other for other in events if event.first_seq <= other.seq < to_seq]


def test_a_range_that_is_gone_is_said_so(tmp_path: Path) -> None:
    path = place(tmp_path)
    write_log(path, 20_000)
    _, events = read(path)
    last = events[-1]
    with pytest.raises(RangeLost, match="no longer in the log"):
        list(read_range(path, True, last.offset, last.first_seq, last.seq + 2, "x"))
    with pytest.raises(RangeLost, match="cannot be read again"):
        list(read_range(path, True, last.offset, last.first_seq - 1, last.seq, "x"))
    with pytest.raises(RangeLost, match="cannot be read again"):
        list(read_range(path, True, last.offset + 1, last.first_seq, last.seq + 1, "x"))


def test_log_07_a_long_inherited_part_is_honoured(tmp_path: Path) -> None:
    path = place(tmp_path)
    generator = Generator(4)
    copied = b"".join(generator.one("step/start", {"turn": 1, "step": n}) for n in range(60_000))
    own = generator.one("session/end-seed", {}) + generator.message()
    path.write_bytes(frame(line(header(seedLength=60_000, parentSession="p"))) + frame(copied) + frame(own))
    log, events = read(path)
    assert (log.cut, log.status) == (60_000, "ok")
    assert [event.type for event in events if event.seq >= 60_000] == ["session/end-seed", "user/message"]


def test_a_fork_waits_for_its_mark_and_the_last_mark_counts(tmp_path: Path) -> None:
    path = place(tmp_path, version=4)
    generator = Generator(6)
    copied = generator.message() + generator.one("session/end-seed", {"inherited": True}) + generator.message()
    path.write_bytes(frame(line(header(version=4, isSeeded=True))))
    follower = Follower(path)
    assert follower.poll() == []
    assert (follower.log.status, follower.log.cut) == ("held", None)
    seed = frame(copied + generator.one("session/end-seed", {"inherited": True}) + generator.message())
    append(path, seed[:-1])
    assert follower.poll() == []
    assert follower.log.status == "held"
    append(path, seed[-1:] + frame(generator.one("session/end-seed", {})))
    assert seqs(follower.poll()) == [0, 1, 2, 3, 4, 5]
    assert (follower.log.status, follower.log.cut) == ("ok", 3)


def test_a_held_conversation_says_so_after_more_events_without_a_mark(tmp_path: Path) -> None:
    path = place(tmp_path, version=4)
    generator = Generator(6)
    path.write_bytes(frame(line(header(version=4, isSeeded=True))) + frame(generator.message()))
    follower = Follower(path)
    for _ in range(3):
        append(path, frame(generator.message()))
        assert follower.poll() == []
        assert follower.log.status == "held"
        assert "nothing of it is remembered" in follower.log.reason


def test_partly_stays_said_while_the_log_goes_on(tmp_path: Path) -> None:
    path = place(tmp_path)
    generator = Generator(8)
    path.write_bytes(frame(line(header())) + frame(generator.one("acme/thing", {})))
    follower = Follower(path)
    follower.poll()
    append(path, frame(generator.message()))
    assert seqs(follower.poll()) == [1]
    assert follower.log.status == "partly"
    bad = b"\x28\xb5\x2f\xfd\x08"
    append(path, bad)
    assert (follower.poll(), follower.log.status) == ([], "damaged")
    path.write_bytes(path.read_bytes()[: -len(bad)] + frame(generator.message()))
    assert seqs(follower.poll()) == [2]
    assert follower.log.status == "partly"
    assert "acme/thing" in follower.log.reason


def test_a_log_that_vanished_is_unreadable_not_an_error(tmp_path: Path) -> None:
    path = place(tmp_path)
    write_log(path, 2_000)
    log = DshLog(found(path))
    kept = list(log.read())
    path.unlink()
    assert list(log.read()) == []
    assert log.status == "unreadable"
    write_log(path, 2_000)
    assert list(log.read()) == [] and log.status == "ok"
    assert {event.type for event in kept} <= GIVEN_OUT
