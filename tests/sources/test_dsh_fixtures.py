"""Every recorded and derived log gives exactly what its expected.json says."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.sources.dsh import discover
from engine.sources.dsh.shapes import GIVEN_OUT
from engine.sources.model import LogEvent, Replace
from tests.sources.reading import DATA, read, reading

CASES = [
    pytest.param(
        file.parent,
        path,
        wanted,
        id=f"{file.parent.parent.name}/{file.parent.name}/{path.split('/')[1][-12:]}.{path.split('.', 1)[1]}",
    )
    for file in sorted(DATA.glob("dsh*/*/expected.json"))
    for path, wanted in json.loads(file.read_text("utf-8"))["sessions"].items()
]


def subset(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Only the keys the fixture speaks of: not every set names ids."""
    keys = set().union(*wanted)
    return [{key: value for key, value in entry.items() if key in keys or key == "interrupted"} for entry in got]


def source_name(event: LogEvent) -> str:
    source = event.data["source"] if event.type == "user/message" else event.data["message"]["source"]
    return source["plugin"] if source.get("kind") == "plugin" else source["kind"]


def test_every_log_of_the_fixtures_is_a_case() -> None:
    logs = {log.path for root in DATA.glob("dsh*/*/root") for log in discover(root).logs}
    assert logs == {case.values[0] / "root" / case.values[1] for case in CASES}
    assert Counter(case.id.split("/")[0] for case in CASES) == {
        "dsh": 26,
        "dsh-v1": 11,
        "dsh-v2": 12,
        "dsh-v3": 18,
        "dsh-v4": 30,
    }


@pytest.mark.parametrize(("case", "path", "wanted"), CASES)
def test_reading(case: Path, path: str, wanted: dict[str, Any]) -> None:
    log, events = read(case / "root" / path)
    header, line = log.header, wanted["header"]
    assert header is not None
    assert log.status == "ok" and log.reason == ""
    assert (header.session_id, header.version, header.created_at) == (line["id"], line["version"], line["createdAt"])
    assert (header.cwd, header.seed_length) == (line.get("cwd"), line.get("seedLength"))
    assert header.seeded is bool(line.get("isSeeded") or line.get("seedLength"))
    assert header.subagent is wanted["subagent"]
    assert log.cut == wanted["inherited_events"]
    assert log.cursor.next_seq == wanted["events"] == wanted["last_seq"] + 1
    assert log.cursor.offset == wanted["file"]["bytes"]
    assert Counter(event.type for event in events) == {
        type_: count for type_, count in wanted["event_types"].items() if type_ in GIVEN_OUT
    }
    got = reading(log, events)
    assert got.keys() == wanted["remember"].keys()
    for key, entries in wanted["remember"].items():
        assert (subset(got[key], entries) if entries and key != "question_answers" else got[key]) == entries
    titles = [event for event in events if event.type == "session/title"]
    assert (titles[-1].data["title"] if titles else None) == (wanted["title"] or {}).get("title")


@pytest.mark.parametrize(("case", "path", "wanted"), CASES)
def test_turns_and_replacements(case: Path, path: str, wanted: dict[str, Any]) -> None:
    _, events = read(case / "root" / path)
    ends = {event.data["turn"]: event.data["reason"]["kind"] for event in events if event.type == "turn/end"}
    assert [ends.get(turn["turn"]) for turn in wanted["turns"]] == [
        turn["end"] and turn["end"]["kind"] for turn in wanted["turns"]
    ]
    assert [
        (event.seq, event.type, event.surface.start, event.surface.end)
        for event in events
        if isinstance(event.surface, Replace)
    ] == [
        (entry["seq"], entry["type"], entry.get("start", entry.get("startSeq")), entry.get("end", entry.get("endSeq")))
        for entry in wanted["surface_replaces"]
    ]
    injected = {
        event.seq: source_name(event)
        for event in events
        if event.type in ("user/message", "system/message", "developer/message")
    }
    for entry in wanted["do_not_remember"]:
        assert injected[entry["seq"]] == entry["source"]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(file.parent, id=f"{file.parts[-3]}-{file.parts[-2]}")
        for file in sorted(DATA.glob("dsh*/*/expected.json"))
    ],
)
def test_a_root_is_found_whole(case: Path) -> None:
    wanted = json.loads((case / "expected.json").read_text("utf-8"))["sessions"]
    found = discover(case / "root")
    assert {log.path.relative_to(case / "root").as_posix() for log in found.logs} == wanted.keys()
    assert found.problems == []


def test_messages_keep_their_ids_over_three_generations() -> None:
    case = DATA / "dsh-v4" / "old-writer-after-upgrade"
    wanted = json.loads((case / "expected.json").read_text("utf-8"))["generations"]
    seen: dict[str, str] = {}
    logs = discover(case / "root").logs
    assert [log.version for log in logs] == [0, 3, 4]
    for log in logs:
        for message in reading(*read(log.path))["human_messages"]:
            assert seen.setdefault(message["id"], message["text"]) == message["text"]
    assert sorted(seen) == sorted(entry["id"] for entry in wanted["log_once_human_messages"])
    assert len(seen) == 7
