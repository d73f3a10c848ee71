"""The log writer writes what DSH writes."""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from engine.sources.dsh import DshLog, discover
from tests.tools.dsh_logs import LogWriter, generate, project_folder, session_folder


def frames(data: bytes) -> list[bytes]:
    found = []
    while data:
        assert zstandard.get_frame_parameters(data).has_checksum
        assert zstandard.frame_content_size(data) == -1
        decoder = zstandard.ZstdDecompressor().decompressobj()
        found.append(decoder.decompress(data))
        assert decoder.eof
        data = decoder.unused_data
    return found


def rows(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = b"".join(frames(data)) if path.suffix == ".zstd" else data
    assert text.endswith(b"\n")
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def next_seqs(events: list[dict[str, Any]]) -> int:
    """Check that seq has no gap; return how many events there are."""
    expected = 0
    for event in events:
        assert event.get("seq", event.get("seq0")) == expected
        expected += len(event["data"]["texts"]) if "seq0" in event else 1
    return expected


def conversation(log: LogWriter) -> None:
    log.user("Where is the deploy window written down?")
    log.title("Deploy window")
    log.frame()
    log.tool("read", {"file_path": "notes.txt"}, "deploy window: Tuesday 09:00 UTC", say="I'll read the notes first.")
    log.assistant("It is Tuesday 09:00 UTC, written in notes.txt. 部署窗口是星期二。")
    log.end_turn()


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("version", [0, 4])
def test_a_conversation(version: int, compressed: bool, tmp_path: Path) -> None:
    log = LogWriter(tmp_path, "session-a", "/home/alex/code/咖啡", version=version, compressed=compressed)
    conversation(log)
    assert log.path.parent.parent.name == "--home-alex-code-~5496~5561--"
    assert log.path.name == {0: "session.jsonl", 4: "session.v4.jsonl"}[version] + (".zstd" if compressed else "")
    assert [path.name for path in log.path.parent.iterdir()] == [log.path.name]
    header, *events = rows(log.path)
    assert header["id"] == "session-a" and header["version"] == version
    assert ("isSeeded" in header) == (version == 4)
    assert next_seqs(events) == log.seq
    kinds = [event["type"] for event in events if "chunk" not in event["type"]]
    assert kinds == [
        *("turn/start", "step/start", "user/message", "session/title"),
        *("assistant/message", "tool/call", "tool/result", "step/end"),
        *("step/start", "assistant/message", "step/end", "turn/end"),
    ]
    answer = [event for event in events if event["type"] == "assistant/message"][-1]
    streamed = [event for event in events if event["type"] == "text-chunks"][-1:]
    deltas = streamed[0]["data"]["texts"] if version == 0 else answer["data"]["stream"][0]["texts"]
    assert "".join(deltas) == answer["data"]["message"]["content"][0]["text"]
    assert ("sourceEventSeqs" in answer) == (version == 0)
    result = next(event for event in events if event["type"] == "tool/result")["data"]["message"]
    assert result["role"] == ("user" if version == 0 else "tool")


def test_frames_are_one_batch_each(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    conversation(log)
    header, first, second = frames(log.path.read_bytes())
    assert header.count(b"\n") == 1
    assert b'"user/message"' in first and b'"turn/end"' not in first
    assert b'"turn/end"' in second


def test_a_frame_can_be_torn(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    conversation(log)
    before = log.path.read_bytes()
    log.user("One more thing.")
    data = log.take_frame()
    log.append(data[:7])
    assert log.path.read_bytes() == before + data[:7]
    log.append(data[7:])
    assert rows(log.path)[-1]["data"]["content"] == [{"type": "text", "text": "One more thing."}]


def test_an_empty_batch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="empty batch"):
        LogWriter(tmp_path).frame()


@pytest.mark.parametrize("version", [0, 4])
def test_generated_log(version: int, tmp_path: Path) -> None:
    made = generate(tmp_path / "one", 300_000, version=version, seed=7)
    again = generate(tmp_path / "two", 300_000, version=version, seed=7)
    assert made.path.read_bytes() == again.path.read_bytes()
    batches = frames(made.path.read_bytes())
    assert len(batches) == made.frames and sum(map(len, batches)) == made.decoded >= 300_000
    assert made.path.stat().st_size > made.decoded / 4
    _, *events = rows(made.path)
    assert next_seqs(events) == made.events
    counts = [sum(event["type"] == type_ for event in events) for type_ in ("turn/end", "assistant/message")]
    assert counts == [made.turns, made.answers]


@pytest.mark.parametrize("version", [0, 4])
def test_the_reader_takes_what_is_written(version: int, tmp_path: Path) -> None:
    made = generate(tmp_path, 300_000, version=version)
    log = LogWriter(tmp_path, "session-a", version=version, origin="subagent")
    conversation(log)
    found = {item.session_id: DshLog(item) for item in discover(tmp_path).logs}
    assert found.keys() == {made.session_id, "session-a"}
    types = [event.type for event in found[made.session_id].read()]
    assert types.count("user/message") == made.humans and types.count("assistant/message") == made.answers
    assert list(found["session-a"].read())[-1].seq == log.seq - 1
    assert {reader.status for reader in found.values()} == {"ok"}
    assert found["session-a"].header is not None and found["session-a"].header.subagent


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/alex/code/demo", "--home-alex-code-demo--"),
        ("C:\\Users\\alex\\my app", "--C-Users-alex-my~0020app--"),
        ("D:\\", "--D---"),
        ("/", "--root--"),
        ("/home/alex/a~b", "--home-alex-a~007Eb--"),
        ("-lead", "--lead--"),
        ("/home/alex/😀", "--home-alex-~D83D~DE00--"),
        ("/home/alex/.config", "--home-alex-.config--"),
        (None, "_no-cwd"),
    ],
)
def test_project_folder(cwd: str | None, folder: str) -> None:
    assert project_folder(cwd) == folder


@pytest.mark.parametrize(("id_", "folder"), [("a/b~c:咖", "a~002Fb~007Ec~003A~5496"), ("..", "~002E~002E")])
def test_session_folder(id_: str, folder: str) -> None:
    assert session_folder(id_) == folder
