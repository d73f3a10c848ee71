"""Each damaged or odd log gives what can be trusted of it, one status word and one sentence; none stops another."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.sources.dsh import DshLog, discover
from tests.sources.generate import frame, header, line, place
from tests.sources.reading import DATA, found, read, reading

V0, V4 = DATA / "dsh" / "damaged", DATA / "dsh-v4" / "damaged"


def only(case: Path) -> tuple[DshLog, list[Any]]:
    """The one log of a case, read."""
    (log,) = discover(case / "root").logs
    return read(log.path)


def expect(case: Path) -> dict[str, Any]:
    return json.loads((case / "expected.json").read_text("utf-8"))["expect"]


@pytest.mark.parametrize(
    ("case", "status", "events"),
    [
        pytest.param(V0 / "torn-last-frame", "torn", 13, id="LOG-02-torn-last-frame"),
        pytest.param(V0 / "torn-magic-only", "torn", 13, id="torn-magic-only"),
        pytest.param(V0 / "torn-last-line-plain", "torn", 37, id="LOG-03-torn-last-line-plain"),
        pytest.param(V0 / "bit-flip-middle-frame", "damaged", 6, id="bit-flip-middle-frame"),
        pytest.param(V0 / "bad-magic-middle", "damaged", 6, id="bad-magic-middle"),
        pytest.param(V0 / "malformed-packed-row", "damaged", 19, id="malformed-packed-row"),
        pytest.param(V0 / "seq-gap", "damaged", 11, id="LOG-11-seq-gap"),
        pytest.param(V0 / "frame-without-final-newline", "damaged", 37, id="frame-without-final-newline"),
        pytest.param(V0 / "unknown-event-required", "partly", 39, id="LOG-09-unknown-event-required"),
        pytest.param(V0 / "unknown-event-ignorable", "ok", 39, id="unknown-event-ignorable"),
        pytest.param(V0 / "newer-format-version", "mismatch", 0, id="newer-format-version"),
        pytest.param(V0 / "header-with-unknown-field", "ok", 38, id="header-with-unknown-field"),
        pytest.param(V0 / "single-frame", "ok", 38, id="single-frame"),
        pytest.param(V0 / "empty-file", "empty", 0, id="empty-file"),
        pytest.param(V0 / "header-only", "ok", 0, id="header-only"),
        pytest.param(V0 / "id-mismatch", "mismatch", 0, id="id-mismatch"),
        pytest.param(V0 / "no-cwd", "ok", 38, id="no-cwd"),
        pytest.param(V0 / "escaped-id", "ok", 38, id="escaped-id"),
        pytest.param(V0 / "leftover-tmp", "ok", 38, id="leftover-tmp"),
        pytest.param(V0 / "legacy-v0-shapes", "ok", 24, id="legacy-v0-shapes"),
        pytest.param(V4 / "late-question-reply", "ok", 25, id="late-question-reply"),
        pytest.param(V4 / "name-and-header-disagree", "mismatch", 0, id="name-and-header-disagree"),
        pytest.param(V4 / "newer-format-version", "unsupported", 0, id="LOG-08-newer-format-version"),
        pytest.param(V4 / "other-names", "ok", 20, id="other-names"),
        pytest.param(V4 / "plugin-record", "ok", 21, id="plugin-record"),
        pytest.param(V4 / "seeded-without-mark", "held", 0, id="seeded-without-mark"),
        pytest.param(V4 / "torn-last-frame", "torn", 14, id="v4-torn-last-frame"),
        pytest.param(V4 / "unknown-event-required", "partly", 21, id="v4-unknown-event-required"),
    ],
)
def test_status_and_events(case: Path, status: str, events: int) -> None:
    log, given = only(case)
    assert log.status == status
    assert log.cursor.next_seq == events
    assert bool(log.reason) == (status != "ok")
    assert len(given) == 0 if status in ("mismatch", "unsupported", "held", "empty") else events == 0 or given
    wanted = expect(case)
    for key in ("events", "events_from_complete_frames", "events_before_damage"):
        assert wanted.get(key, events) in (events, None)
    for key in ("torn_start", "committed_bytes"):
        assert wanted.get(key, log.cursor.offset) == log.cursor.offset


def test_every_case_of_the_folders_is_tested() -> None:
    tested = {param.values[0] for param in test_status_and_events.pytestmark[0].args[1]}
    elsewhere = {
        V0 / "duplicate-id",
        V0 / "legacy-flat-layout",
        V0 / "mixed-encodings",
        V4 / "newer-beside-known",
    }
    assert tested | elsewhere == {case for folder in (V0, V4) for case in folder.iterdir()}


def test_a_damaged_log_is_looked_at_again_only_when_its_size_changes(tmp_path: Path) -> None:
    lines = [line({"type": "step/start", "seq": seq, "time": 1, "data": {}}) for seq in range(6)]
    begin = frame(line(header())) + frame(b"".join(lines[:2]))
    path = place(tmp_path)
    path.write_bytes(begin + frame(b"".join(lines[2:4]) + b"{nonsense\n" + lines[5]))
    log, given = read(path)
    assert [event.seq for event in given] == [0, 1, 2, 3]
    assert (log.status, log.cursor.first_seq, log.cursor.next_seq) == ("damaged", 2, 4)

    same_size = DshLog(found(path), log.cursor)
    assert (list(same_size.read()), same_size.status) == ([], "damaged")

    path.write_bytes(path.read_bytes() + frame(lines[5]))
    still, more = read(path, same_size.cursor)
    assert (more, still.status, still.rewound) == ([], "damaged", False)

    path.write_bytes(begin + frame(b"".join(lines[2:])))
    repaired, rest = read(path, still.cursor)
    assert [event.seq for event in rest] == [4, 5]
    assert (repaired.status, repaired.rewound) == ("ok", False)


def test_duplicate_id_is_read_once_and_reported() -> None:
    found_ = discover(V0 / "duplicate-id" / "root")
    assert [log.path.parents[1].name for log in found_.logs] == ["--home-alex-code-demo--"]
    assert [(problem.path.parents[1].name, problem.status) for problem in found_.problems] == [
        ("--home-alex-code-other--", "duplicate")
    ]
    assert read(found_.logs[0].path)[0].cursor.next_seq == 38


def test_flat_layout_is_reported() -> None:
    found_ = discover(V0 / "legacy-flat-layout" / "root")
    assert found_.logs == []
    assert [(problem.path.name, problem.status) for problem in found_.problems] == [
        ("session-00000000-0000-4000-8000-000000000009.jsonl.zstd", "flat")
    ]


def test_mixed_encodings_are_both_read() -> None:
    logs = discover(V0 / "mixed-encodings" / "root").logs
    assert sorted(log.compressed for log in logs) == [False, True]
    assert [read(log.path)[0].cursor.next_seq for log in logs] == [38, 38]


def test_a_newer_generation_beside_a_known_one_changes_nothing_for_the_known() -> None:
    known, newer = discover(V4 / "newer-beside-known" / "root").logs
    assert (read(known.path)[0].status, read(known.path)[0].cursor.next_seq) == ("ok", 20)
    assert (newer.version, read(newer.path)[0].status) == (9, "unsupported")


def test_legacy_shapes_read_as_todays() -> None:
    log, events = only(V0 / "legacy-v0-shapes")
    wanted = expect(V0 / "legacy-v0-shapes")
    got = reading(log, events)
    assert [{"seq": m["seq"], "text": m["text"]} for m in got["human_messages"]] == wanted["human_messages"]
    assert [{"seq": m["seq"], "text": m["text"]} for m in got["assistant_messages"]] == wanted["assistant_messages"]
    assert [call["name"] for call in got["tool_calls"]] == wanted["tool_calls"]
    ids = [m["id"] for m in got["human_messages"] + got["assistant_messages"]]
    assert log.header is not None
    assert ids == [f"legacy-message:{log.header.session_id}:{seq}" for seq in (2, 10, 16, 21, 5, 11)]
    reasons = [event.data["reason"] for event in events if event.type == "turn/end"]
    assert reasons == [
        {"kind": "completed"},
        {"kind": "aborted", "reason": {"kind": "legacy"}},
        {"kind": "error", "error": {"message": "boom", "code": "UNKNOWN"}},
    ]
    (result,) = [event.data["message"] for event in events if event.type == "tool/result"]
    assert (result["role"], result["toolCallId"], result["isError"]) == ("tool", "call_1", False)
    assert result["content"] == [{"type": "text", "text": "The deploy window is Tuesday."}]
    assert [event.data for event in events if event.type == "turn/start"] == [{"turn": n} for n in (1, 2, 3)]


def test_a_late_answer_to_a_question_is_found() -> None:
    got = reading(*only(V4 / "late-question-reply"))
    assert [a for a in got["question_answers"] if "answers" in a] == expect(V4 / "late-question-reply")[
        "question_answers"
    ]


def test_header_mismatch_sentences_say_what_differs() -> None:
    assert "format 3" in only(V4 / "name-and-header-disagree")[0].reason
    assert "another conversation" in only(V0 / "id-mismatch")[0].reason
    assert "update the companion" in only(V4 / "newer-format-version")[0].reason
    assert "acme/thing" in only(V4 / "unknown-event-required")[0].reason
    assert "event 11 is missing" in only(V0 / "seq-gap")[0].reason
