"""Transcripts of Claude Code and Codex as events: fixtures, pieces, damage, and reading again from a place."""

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from engine.sources import lines
from engine.sources.agents import AGENTS, BY_KEY
from engine.sources.claude import CLAUDE
from engine.sources.codex import CODEX
from engine.sources.lines import parse
from engine.sources.model import Agent, Cursor, FoundLog, LogEvent, Place, RangeLost
from tests.sources.reading import DATA, text_of

EXPECTED = {
    key: json.loads((DATA / key / "expected.json").read_text("utf-8"))["sessions"] for key in ("claude", "codex")
}
CASES = [
    pytest.param(BY_KEY[key], path, id=f"{key}-{Path(path).name[-24:]}") for key in EXPECTED for path in EXPECTED[key]
]


def found(agent: Agent, path: Path) -> FoundLog:
    """The listing's row of one log."""
    home = next(parent for parent in path.parents if path in {log.path for log in agent.discover(parent).logs})
    return next(log for log in agent.discover(home).logs if log.path == path)


def read(agent: Agent, log: FoundLog, cursor: Cursor | None = None) -> tuple[Any, list[LogEvent]]:
    """One reading from a cursor to the end."""
    reader = agent.open(log, cursor)
    return reader, list(reader.read())


def said(events: list[LogEvent]) -> tuple[list[str], list[str], list[str]]:
    """What persons and agents said, and the tools that were called."""
    human = [text_of(event.data["content"]) for event in events if event.type == "user/message"]
    answers = [text_of(event.data["message"]["content"]) for event in events if event.type == "assistant/message"]
    return human, answers, [event.data["name"] for event in events if event.type == "tool/call"]


def agent_messages(agent: Agent, case: dict[str, Any]) -> list[str]:
    """What the agent said by the expectations; of the compaction's summary, which is its own no more, nothing."""
    if agent is CLAUDE:
        return list(case["assistant"])
    if "agent_messages" in case:
        return list(case["agent_messages"]) + list(case["rolled_back_agent"])
    return [text for text in case["assistant_response_items"] if not text.startswith("The user said")]


@pytest.mark.parametrize(("agent", "path"), CASES)
def test_every_fixture_is_read_as_expected(agent: Agent, path: str) -> None:
    case = EXPECTED[agent.key][path]
    reader, events = read(agent, found(agent, DATA / agent.key / path))
    assert reader.header is not None
    human, answers, tools = said(events)
    if reader.header.subagent:
        assert case["human"] == case["assistant"] == []
        return
    wanted = [one["text"] if isinstance(one, dict) else one for one in case["human"]]
    assert sorted(human) == sorted(wanted + case.get("rolled_back_human", []))
    assert answers == agent_messages(agent, case)
    assert tools == case["tools"]
    ids = [event.data["id"] for event in events if event.type == "user/message"]
    assert agent is CODEX or ids == [one["uuid"] for one in case["human"]]
    assert reader.records == case["lines"] - ("half written" in case.get("note", "")) + (reader.status == "torn")
    assert not reader.unknown
    assert [event.seq for event in events] == sorted({event.seq for event in events})


def test_headers_and_projects_come_from_the_records() -> None:
    cwds = {
        read(agent, log)[0].header.cwd for agent in (CLAUDE, CODEX) for log in agent.discover(DATA / agent.key).logs
    }
    assert cwds == {"/home/alex/code/demo", "/home/alex/code/old"}


@pytest.mark.parametrize(("agent", "path"), CASES)
def test_any_pieces_give_the_same_events(agent: Agent, path: str, tmp_path: Path) -> None:
    """Whatever is there at each reading, half lines among it, all events come once, with their positions."""
    source = DATA / agent.key / path
    data = source.read_bytes()
    if source.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    target = tmp_path / path.removesuffix(".zst")
    target.parent.mkdir(parents=True)
    target.write_bytes(data)
    _, whole = read(agent, found(agent, target))
    for seed in range(8):
        chance = random.Random(seed)
        cuts = sorted({chance.randrange(1, len(data)) for _ in range(6)} | {len(data)})
        target.write_bytes(b"")
        cursor: Cursor | None = None
        events: list[LogEvent] = []
        for end in cuts:
            target.write_bytes(data[:end])
            reader, news = read(agent, found(agent, target), cursor)
            assert not reader.rewound
            cursor = Cursor.from_json(reader.cursor.to_json())
            events += news
        assert events == whole


@pytest.mark.parametrize(("agent", "path"), CASES)
def test_reading_again_from_a_turn_gives_the_same_events(agent: Agent, path: str) -> None:
    log = found(agent, DATA / agent.key / path)
    reader, events = read(agent, log)
    end = reader.cursor.next_seq
    ends = [Place(event.offset, event.first_seq, event.data["turn"]) for event in events if event.type == "turn/end"]
    for place in [Place(), *ends]:
        again = list(agent.again(log.path, place, end, log.session_id, reader.cursor))
        known = [event for event in events if event.seq >= place.seq]
        key = [(e.seq, e.type, e.data.get("turn"), said([e])) for e in known if e.type not in ("rewind", "step/end")]
        assert [
            (e.seq, e.type, e.data.get("turn"), said([e])) for e in again if e.type not in ("rewind", "step/end")
        ] == key
    with pytest.raises(RangeLost):
        list(agent.again(log.path, Place(), end + 10_000, log.session_id, reader.cursor))


def test_a_closed_reading_goes_on_where_it_stood(tmp_path: Path) -> None:
    for agent in (CLAUDE, CODEX):
        for log in agent.discover(DATA / agent.key).logs:
            _, whole = read(agent, log)
            for count in range(len(whole)):
                reader = agent.open(log, None)
                first = reader.read()
                taken = [next(first) for _ in range(count)]
                cursor = reader.cursor
                first.close()
                _, rest = read(agent, log, cursor)
                # Of a line that was not taken to its end, everything comes again.
                assert taken + rest[len(taken) + len(rest) - len(whole) :] == whole


def test_one_row_of_data_per_agent() -> None:
    assert [agent.key for agent in AGENTS] == ["dsh", "claude", "codex"]
    assert all(agent.discover(Path("/nowhere/at/all")).logs == [] for agent in AGENTS)


def test_the_environment_may_name_several_folders(tmp_path: Path) -> None:
    several = os.pathsep.join([str(tmp_path / "a"), " ", str(tmp_path / "b"), str(tmp_path / "a")])
    assert CODEX.homes({"CODEX_HOME": several}) == [tmp_path / "a", tmp_path / "b"]
    assert CLAUDE.homes({"CLAUDE_CONFIG_DIR": several}) == [tmp_path / "a", tmp_path / "b"]
    assert CLAUDE.homes({}) == [Path.home() / ".claude"] and CODEX.homes({"CODEX_HOME": ""}) == [Path.home() / ".codex"]


def record(number: int, text: Any, **more: Any) -> bytes:
    """A prompt of Claude Code as one line."""
    row = {
        "type": "user",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "timestamp": f"2026-11-29T10:00:{number:02}.000Z",
        "cwd": "/home/alex/code/demo",
        "message": {"role": "user", "content": text},
        **more,
    }
    return json.dumps(row).encode() + b"\n"


GARBAGE = [
    b"no json at all\n",
    b"\xff\xfe broken \x80 bytes\n",
    b"[1, 2, 3]\n",
    b'"a text"\n',
    b"[" * 100_000 + b"\n",
    b'{"type":"user","message":' + b'{"a":' * 50_000 + b"\n",
    b'{"type": 7}\n',
    b'{"type":"user","message":{"content":7}}\n',
    b'{"type":"user","message":"text"}\n',
    b'{"type":"assistant","message":{"content":[7,null,{"type":"text","text":7},{"type":[]}]}}\n',
    b'{"type":"user","message":{"content":[{"type":"tool_result","content":{"a":1}}]},"uuid":5,"timestamp":[]}\n',
    b'{"type":"attachment","attachment":[]}\n',
    b'{"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt","prompt":{"a":1}}}\n',
    b'{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":"text"}}}\n',
    b'{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":"many"}}\n',
    b'{"type":"response_item","payload":{"type":"function_call","arguments":5}}\n',
    b'{"type":"response_item","payload":{"type":"function_call_output","output":{"a":[]}}}\n',
    b'{"type":"session_meta","payload":7}\n',
    b'{"timestamp":"2026-13-45T99:99:99Z","type":"turn_context"}\n',
    b'{"type":"summary","summary":[]}\n',
    b'{"n":' + b"9" * 10_000 + b"}\n",
    b"\n",
    b"\0" * 5000 + b"\n",
]


def test_garbage_among_the_lines_is_counted_and_hides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-demo" / "one.jsonl"
    path.parent.mkdir(parents=True)
    good = [record(number, f"said {number}") for number in range(len(GARBAGE) + 1)]
    path.write_bytes(b"".join(line + junk for line, junk in zip(good, [*GARBAGE, b""], strict=True)))
    reader, events = read(CLAUDE, found(CLAUDE, path))
    assert [text for text in said(events)[0] if text != "text"] == [f"said {n}" for n in range(len(good))]
    assert reader.status == "ok" and reader.unknown["no JSON object"] >= 6 and reader.unknown["user without content"]


def test_garbage_in_a_rollout_is_counted_and_hides_nothing(tmp_path: Path) -> None:
    source = DATA / "codex/sessions/2025/11/02/rollout-2025-11-02T10-00-00-019a4b00-0000-7000-8000-000000000001.jsonl"
    whole = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / "sessions" / source.name
    path.parent.mkdir(parents=True)
    for seed in range(5):
        chance = random.Random(seed)
        path.write_bytes(whole[0] + b"".join(line + chance.choice(GARBAGE) for line in whole[1:]))
        reader, events = read(CODEX, found(CODEX, path))
        assert set(said(read(CODEX, found(CODEX, source))[1])[0]) <= set(said(events)[0])
        assert reader.unknown.total() > 0


def test_bytes_changed_anywhere_raise_nothing(tmp_path: Path) -> None:
    chance = random.Random(3)
    for agent in (CLAUDE, CODEX):
        for source in agent.discover(DATA / agent.key).logs:
            path = tmp_path / source.path.relative_to(DATA / agent.key)
            path.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(6):
                data = bytearray(source.path.read_bytes())
                for _ in range(20):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                path.write_bytes(bytes(data[: chance.randrange(1, len(data))]))
                reader, events = read(agent, found(agent, path))
                assert reader.status in ("ok", "torn", "damaged")
                assert len(events) < 100
                path.unlink()


def scrambled(value: Any, chance: random.Random) -> Any:
    """A JSON value with a part of some other type in it."""
    if chance.random() < 0.04:
        return chance.choice([None, True, -1, 1e300, "", "text", [], {}, [[]], {"type": []}, [{"type": {}}]])
    if isinstance(value, dict):
        return {key: scrambled(one, chance) for key, one in value.items()}
    return [scrambled(one, chance) for one in value] if isinstance(value, list) else value


def test_parts_of_other_types_raise_nothing(tmp_path: Path) -> None:
    chance = random.Random(9)
    for agent in (CLAUDE, CODEX):
        for source in agent.discover(DATA / agent.key).logs:
            if source.compressed:
                continue
            rows = [parse(line) for line in source.path.read_bytes().splitlines()]
            path = tmp_path / source.path.relative_to(DATA / agent.key)
            path.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(12):
                text = "".join(json.dumps(scrambled(row, chance)) + "\n" for row in rows)
                path.write_text(text, "utf-8")
                reader, events = read(agent, found(agent, path))
                assert reader.status == "ok" and len(events) < 100
                if agent.hidden is not None:
                    assert agent.hidden([found(agent, path)], 0, 1 << 40) <= {
                        e.data.get("id") or e.data["message"]["id"] for e in events if e.surface
                    }
            path.unlink()


def test_an_unknown_kind_is_counted_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-demo" / "one.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(record(0, "hello") + b'{"type":"brand-new","x":1}\n' * 3)
    reader, _ = read(CLAUDE, found(CLAUDE, path))
    assert reader.unknown == Counter({"brand-new": 3})


def test_a_line_too_long_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-demo" / "one.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(record(0, "before") + record(1, "x" * (lines.MAX_RECORD + 1)) + record(2, "after"))
    reader, events = read(CLAUDE, found(CLAUDE, path))
    assert said(events)[0] == ["before", "after"]
    assert reader.status == "partly" and "16 MB" in reader.reason


def test_a_file_that_never_says_where_it_is_at_work_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-demo" / "one.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(record(number % 60, "x", cwd=None) for number in range(lines.ENOUGH - 1)))
    reader, events = read(CLAUDE, found(CLAUDE, path))
    assert reader.header is None and events == []  # it may still say
    with path.open("ab") as file:
        file.write(record(0, "y", cwd=None))
    reader, events = read(CLAUDE, found(CLAUDE, path), reader.cursor)
    assert reader.header is not None and reader.header.cwd is None and len(said(events)[0]) == lines.ENOUGH
    source = next(log for log in CODEX.discover(DATA / "codex").logs if "10-16" in log.path.name)
    _, *rest = source.path.read_bytes().splitlines(keepends=True)
    rollout = tmp_path / "sessions" / source.path.name
    rollout.parent.mkdir()
    rollout.write_bytes(b"{damaged\n" + b"".join(rest * 3))
    reader, events = read(CODEX, found(CODEX, rollout))
    assert reader.header is not None and reader.header.cwd == "/home/alex/code/demo" and len(said(events)[0]) == 9


def test_a_first_record_with_a_big_picture_hides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-demo" / "one.jsonl"
    path.parent.mkdir(parents=True)
    picture = {"type": "image", "source": {"type": "base64", "data": "A" * 9_000_000}}
    path.write_bytes(record(0, [{"type": "text", "text": "look"}, picture]))
    _, events = read(CLAUDE, found(CLAUDE, path))
    assert said(events)[0] == ["look"] and "AAAA" not in str(events)


def test_a_file_cut_back_or_replaced_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-demo" / "one.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(record(0, "one") + record(1, "two"))
    reader, _ = read(CLAUDE, found(CLAUDE, path))
    cursor = reader.cursor
    path.write_bytes(record(0, "one"))
    reader, events = read(CLAUDE, found(CLAUDE, path), cursor)
    assert reader.rewound and said(events)[0] == ["one"]
    path.write_bytes(record(0, "eins") + record(1, "zwei") + record(2, "drei"))
    reader, events = read(CLAUDE, found(CLAUDE, path), cursor)
    assert reader.rewound and said(events)[0] == ["eins", "zwei", "drei"]
    path.unlink()
    reader, events = read(CLAUDE, FoundLog(path, "claude-one", 0, False, 0, 0, 0, 0, "claude"), cursor)
    assert reader.status == "unreadable" and events == []


def test_an_archive_goes_on_where_the_plain_file_stood(tmp_path: Path) -> None:
    source = next(log for log in CODEX.discover(DATA / "codex").logs if "10-16" in log.path.name)
    data = source.path.read_bytes()
    day = tmp_path / "sessions" / "2026" / "11" / "29"
    day.mkdir(parents=True)
    path = day / source.path.name
    path.write_bytes(data[: data.index(b"Service 3 listens")])
    reader, before = read(CODEX, found(CODEX, path))
    path.unlink()
    archive = tmp_path / "archived_sessions" / (path.name + ".zst")
    archive.parent.mkdir()
    archive.write_bytes(zstandard.ZstdCompressor(level=3).compress(data))
    again, rest = read(CODEX, found(CODEX, archive), reader.cursor)
    assert not again.rewound and before + rest == read(CODEX, source)[1]
    # A stream that is cut gives its whole lines.
    stream = zstandard.ZstdCompressor(level=3).compressobj()
    half = stream.compress(data[:20_000]) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    archive.write_bytes(half + (stream.compress(data[20_000:]) + stream.flush())[:-100])
    cut, events = read(CODEX, found(CODEX, archive))
    assert events == [event for event in before + rest if event.seq < cut.cursor.next_seq] and len(events) > 5


def test_of_two_forms_of_one_rollout_one_is_found(tmp_path: Path) -> None:
    name = "rollout-2026-11-29T23-10-31-01a22993-090e-7370-b798-0c3eb81e8c43.jsonl"
    plain, packed = tmp_path / "sessions" / name, tmp_path / "archived_sessions" / f"{name}.zst"
    for path in (plain, packed):
        path.parent.mkdir()
    packed.write_bytes((DATA / "codex" / "archived_sessions" / packed.name).read_bytes())
    plain.write_bytes(b"{")
    assert [log.path for log in CODEX.discover(tmp_path).logs] == [packed]
    plain.write_bytes(b" " * 5000)
    assert [log.path for log in CODEX.discover(tmp_path).logs] == [plain]
