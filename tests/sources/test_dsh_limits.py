"""Sizes and bytes nobody should write: memory stays bounded by one record, and damage is damage."""

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from engine.sources.dsh import DshLog, read_range
from engine.sources.dsh.frames import IN_MEMORY
from engine.sources.dsh.records import MAX_RECORD
from engine.sources.model import LogEvent
from tests.sources.generate import Generator, frame, header, line, place, write_log
from tests.sources.reading import found, read, text_of


def event(seq: int, type_: str = "step/start", data: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": type_, "seq": seq, "time": 1, "data": {} if data is None else data, **more}


def message(seq: int, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    source = {"kind": "user"}
    return event(
        seq, "user/message", {"content": content, "source": source, "role": "user", "id": f"m{seq}"}, surfaceOp="append"
    )


def log_of(root: Path, *frames: bytes, compressed: bool = True) -> Path:
    path = place(root, compressed=compressed)
    path.write_bytes((frame(line(header())) if compressed else line(header())) + b"".join(frames))
    return path


def raw_frame(blocks: list[tuple[int, bytes, int]], window: int = 0x58, content_size: int | None = None) -> bytes:
    """A frame put together by hand: blocks of (kind, payload, size)."""
    if content_size is None:
        text = b"\x28\xb5\x2f\xfd\x00" + bytes([window])
    else:
        text = b"\x28\xb5\x2f\xfd\xc0" + bytes([window]) + content_size.to_bytes(8, "little")
    for number, (kind, payload, size) in enumerate(blocks):
        last = number == len(blocks) - 1
        text += (size << 3 | kind << 1 | last).to_bytes(3, "little") + payload
    return text


def seqs(events: list[LogEvent]) -> list[int]:
    return [event.seq for event in events]


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("text", ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\r\nh", "咖啡 😀 \ufeff\x00", "x" * 300_000])
def test_only_the_newline_byte_ends_a_line(tmp_path: Path, compressed: bool, text: str) -> None:
    written = line(message(0, text)) + line(message(1, "next"))
    path = log_of(tmp_path, frame(written) if compressed else written, compressed=compressed)
    log, events = read(path)
    assert log.status == "ok"
    assert [text_of(e.data["content"]) for e in events] == [text, "next"]


def test_half_of_a_surrogate_pair_becomes_a_replacement_character(tmp_path: Path) -> None:
    path = log_of(tmp_path, frame(json.dumps(message(0, "cut \ud83d and whole \U0001f600")).encode() + b"\n"))
    (given,) = read(path)[1]
    assert text_of(given.data["content"]) == "cut \ufffd and whole \U0001f600"


def test_log_04_a_packed_row_of_fifty_is_counted_not_given_out(tmp_path: Path) -> None:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [-1] * 49, "texts": ['"', '","', "\\"] + ["x"] * 47}
    row = {"type": "text-chunks", "seq0": 1, "time0": 5, "data": data}
    path = log_of(tmp_path, frame(line(message(0, "a"))), frame(line(row)), frame(line(message(51, "b"))))
    log, events = read(path)
    assert (seqs(events), log.status, log.cursor.next_seq) == ([0, 51], "ok", 52)


PACKED = {"turn": 1, "step": 1, "index": 0, "dt": [1, 2], "texts": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("text-chunks", PACKED | {"dt": [1]}),
        ("text-chunks", PACKED | {"dt": [1, 2.5]}),
        ("text-chunks", PACKED | {"texts": ["a", "b", 3]}),
        ("text-chunks", PACKED | {"texts": ["a", '","']}),
        ("text-chunks", PACKED | {"more": 1}),
        ("text-chunks", PACKED | {"name": "x"}),
        ("reasoning-chunks", PACKED | {"turn": True}),
        ("tool-call-chunks", PACKED),
        ("text-chunks", []),
    ],
)
def test_a_malformed_packed_row_is_damage(tmp_path: Path, type_: str, data: Any) -> None:
    row = {"type": type_, "seq0": 1, "time0": 5, "data": data}
    log, events = read(log_of(tmp_path, frame(line(message(0, "a"))), frame(line(row)), frame(line(message(4, "b")))))
    assert (seqs(events), log.status, log.cursor.next_seq) == ([0], "damaged", 1)


def test_tool_call_rows_are_counted(tmp_path: Path) -> None:
    data = {"turn": 1, "step": 1, "index": 0, "id": "c", "name": "read", "dt": [1, 2], "args": ["{", "", "}"]}
    row = {"type": "tool-call-chunks", "seq0": 0, "time0": 5, "data": data}
    log, events = read(log_of(tmp_path, frame(line(row)), frame(line(message(3, "b")))))
    assert (seqs(events), log.status) == ([3], "ok")


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (b"{nonsense\n", "JSON"),
        (b"[1]\n", "no JSON object"),
        (b"\n", "JSON"),
        (b'{"type":"step/end","seq":1,"time":1,"data":"\xff"}\n', "UTF-8"),
        (b'{"type":"step/end","seq":1,"time":1}\n', "no data"),
        (b'{"type":"step/end","seq":true,"time":1,"data":{}}\n', "no number"),
        (b'{"type":"step/end","seq":2,"time":1,"data":{}}\n', "event 1 is missing"),
        (b'{"type":"hook/result","seq":0,"time":1,"data":{}}\n', "event 1 is missing"),
        (b'{"type":7,"seq":1,"time":1,"data":{}}\n', "no event type"),
        (b"[" * 100_000 + b"\n", "JSON"),
        (b'{"type":"step/end","seq":' + b"1" * 5000 + b"}\n", "JSON"),
    ],
)
@pytest.mark.parametrize("compressed", [True, False])
def test_a_bad_line_is_damage_from_there_on(tmp_path: Path, bad: bytes, word: str, compressed: bool) -> None:
    text = line(event(0)) + bad + line(event(1))
    log, events = read(log_of(tmp_path, frame(text) if compressed else text, compressed=compressed))
    assert (seqs(events), log.status, log.cursor.next_seq) == ([0], "damaged", 1)
    assert word in log.reason


def test_keys_in_any_order_and_spaces_are_read(tmp_path: Path) -> None:
    text = b'  {"data": {"turn": 1}, "seq": 0, "type": "turn/start", "time": 1.5}\r\n'
    text += b'{"seq":1,"type":"hook/result","data":{}}\n' + line(event(2))
    log, events = read(log_of(tmp_path, frame(text)))
    assert [(e.seq, e.type, e.time) for e in events] == [(0, "turn/start", 1), (2, "step/start", 1)]
    assert log.status == "ok"


@pytest.mark.parametrize("compressed", [True, False])
def test_a_record_of_64_mb_is_left_out_and_the_rest_goes_on(tmp_path: Path, compressed: bool) -> None:
    texts = line(message(0, "before")) + line(message(1, "x" * (64 << 20))) + line(message(2, "after"))
    path = log_of(tmp_path, frame(texts) if compressed else texts, compressed=compressed)
    del texts
    tracemalloc.start()
    log, events = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (seqs(events), log.status, log.cursor.next_seq) == ([0, 2], "partly", 3)
    assert "64 MB" in log.reason and "left out" in log.reason
    assert peak < 3 * MAX_RECORD


def test_a_decompression_bomb_is_damage_and_fills_no_memory(tmp_path: Path) -> None:
    bomb = raw_frame([(1, b"x", 128 << 10)] * 40_000)
    path = log_of(tmp_path, frame(line(event(0))), bomb, frame(line(event(1))))
    tracemalloc.start()
    log, events = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size < 200_000
    assert (seqs(events), log.status) == ([0], "damaged")
    assert "far more text" in log.reason
    assert peak < 3 * MAX_RECORD


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(raw_frame([(0, b"ab\n", 3)], content_size=1 << 40), id="claims-a-terabyte"),
        pytest.param(raw_frame([(3, b"", 3)]), id="block-of-no-kind"),
        pytest.param(raw_frame([(1, b"x", 1 << 20)]), id="block-too-long"),
        pytest.param(b"\x28\xb5\x2f\xfd\x08" + b"\x58\x01\x00\x00", id="reserved-bit"),
        pytest.param(b"\x50\x2a\x4d\x18\x00\x00\x00\x00", id="skippable-frame"),
        pytest.param(frame(b"no newline"), id="text-without-newline"),
        pytest.param(frame(b""), id="no-text"),
        pytest.param(raw_frame([(0, line(event(1)), len(line(event(1))))], window=0xA0), id="window-of-a-gigabyte"),
    ],
)
def test_a_frame_dsh_never_writes_is_damage(tmp_path: Path, bad: bytes) -> None:
    log, events = read(log_of(tmp_path, frame(line(event(0))), bad, frame(line(event(1)))))
    assert (seqs(events), log.status) == ([0], "damaged")


@pytest.mark.parametrize(
    "options", [{"level": 1}, {"level": 19}, {"write_checksum": False}, {"write_content_size": True}]
)
@pytest.mark.parametrize("size", [1, 200, 300, 70_000, 1_000_000])
def test_frames_of_any_writer_are_read(tmp_path: Path, options: dict[str, Any], size: int) -> None:
    text = random.Random(size).randbytes(size // 2 + 1).hex()
    packed = zstandard.ZstdCompressor(**options).compress(line(message(0, text)))
    log, events = read(log_of(tmp_path, packed, frame(line(event(1)))))
    assert log.status == "ok"
    assert [text_of(e.data["content"]) for e in events[:1]] == [text]


def big(root: Path) -> tuple[Path, Generator]:
    """A log as an upgrade leaves it: all events in one frame that is too big to be unpacked in memory."""
    path = place(root)
    generator = write_log(path, IN_MEMORY + (4 << 20), one_frame=True)
    return path, generator


def test_log_10_a_whole_history_in_one_frame_needs_the_memory_of_one_record(tmp_path: Path) -> None:
    path, generator = big(tmp_path)
    tracemalloc.start()
    log, _ = read_count(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (log.status, log.cursor.next_seq) == ("ok", generator.seq)
    assert peak < 6 << 20


def read_count(path: Path) -> tuple[Any, int]:
    """Read without keeping anything."""
    log = DshLog(found(path))
    return log, sum(1 for _ in log.read())


def test_a_big_frame_gives_the_same_as_small_ones(tmp_path: Path) -> None:
    path, generator = big(tmp_path / "one")
    other = place(tmp_path / "many")
    write_log(other, IN_MEMORY + (4 << 20))
    log, events = read(path)
    assert [(e.seq, e.type, e.data) for e in events] == [(e.seq, e.type, e.data) for e in read(other)[1]]
    start = events[0]
    assert {(e.offset, e.first_seq) for e in events} == {(start.offset, 0)}
    middle = events[len(events) // 2].seq
    again = list(read_range(path, True, start.offset, 0, middle, log.header.session_id if log.header else ""))
    assert again == [e for e in events if e.seq < middle]
    assert generator.seq == log.cursor.next_seq


@pytest.mark.parametrize("back", [1, 4, 100_000])
def test_a_big_frame_with_a_flipped_byte_gives_out_nothing(tmp_path: Path, back: int) -> None:
    path, _ = big(tmp_path)
    data = bytearray(path.read_bytes())
    data[-back] ^= 0x10
    path.write_bytes(data)
    log, events = read(path)
    assert (events, log.status, log.cursor.next_seq) == ([], "damaged", 0)


def test_an_upgraded_fork_finds_its_mark_deep_in_the_big_frame(tmp_path: Path) -> None:
    generator = Generator(9)
    path = place(tmp_path, version=4)
    copied = [generator.one("step/start", {"turn": 1, "filler": generator.words(300)}) for _ in range(6000)]
    mark = generator.one("session/end-seed", {"inherited": True})
    own = generator.message()
    packed = zstandard.ZstdCompressor(level=1, write_checksum=True).compressobj()
    body = b"".join(map(packed.compress, [*copied, mark, own])) + packed.flush()
    path.write_bytes(frame(line(header(version=4, isSeeded=True))) + body)
    log, events = read(path)
    assert (log.cut, log.status, events[-1].type, events[-1].seq) == (6000, "ok", "user/message", 6001)


@pytest.mark.parametrize(
    "header_line", [b"{}\n", b"nonsense\n", line(header() | {"version": -1}), line(header() | {"id": 7})]
)
@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_without_a_header_is_damaged(tmp_path: Path, header_line: bytes, compressed: bool) -> None:
    path = place(tmp_path, compressed=compressed)
    path.write_bytes(frame(header_line) + frame(line(event(0))) if compressed else header_line + line(event(0)))
    log, events = read(path)
    assert (events, log.status, log.header) == ([], "damaged", None)


def test_a_file_that_is_no_log_at_all_is_damaged(tmp_path: Path) -> None:
    plain = place(tmp_path, compressed=False)
    plain.write_bytes(b"x" * (2 << 20))
    packed = place(tmp_path, "other")
    packed.write_bytes(b"PK\x03\x04 something else")
    assert [read(path)[0].status for path in (plain, packed)] == ["damaged", "damaged"]


def test_a_header_of_a_newer_format_in_an_old_name_asks_for_an_update(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_bytes(frame(line(header(version=7))) + frame(b"whatever\n"))
    log, events = read(path)
    assert (events, log.status) == ([], "unsupported")
    assert "update the companion" in log.reason
