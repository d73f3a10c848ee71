"""Real and damaged logs in one DSH home: exactly the expected messages, once, and every damage named."""

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.policy.dates import absolutise
from engine.policy.redact import redact
from tests.scenarios.program import Program, Shelf, cases, damaged

# Earlier states of files that other cases hold in a later state; they are played in tests of their own.
_EARLIER = {"crash-open-turn", "upgraded-three-generations"}


def _expected(case: Path) -> dict[str, Any]:
    return json.loads((case / "expected.json").read_text("utf-8"))


def _wanted(found: list[Path]) -> Counter[tuple[str, str, str]]:
    """(session, role, text) of every message to remember, each id once over all files."""
    by_id: dict[str, tuple[str, str, str]] = {}
    unnamed: dict[str, Counter[tuple[str, str, str]]] = {}
    withdrawn: set[str] = set()
    for case in found:
        for file in _expected(case)["sessions"].values():
            session = file["header"]["id"]
            withdrawn |= {one["id"] for one in file.get("withdrawn", ())}
            if file["subagent"]:
                continue
            for one in file["remember"]["human_messages"]:
                text = "\n".join(filter(None, [one["text"], *["[image]"] * one.get("images", 0)]))
                by_id.setdefault(one["id"], (session, "user", text))
            without_id: Counter[tuple[str, str, str]] = Counter()
            for one in file["remember"]["assistant_messages"]:
                text = one["text"] + ("\n\n[turn interrupted mid-stream]" if one.get("interrupted") else "")
                if "id" in one:
                    by_id.setdefault(one["id"], (session, "assistant", text))
                else:
                    without_id[session, "assistant", text] += 1
            unnamed[session] = unnamed.get(session, Counter()) | without_id
    named = Counter(value for id_, value in by_id.items() if id_ not in withdrawn)
    for session, rows in unnamed.items():
        # A newer file of the same conversation names the answers an older one has without ids.
        named |= Counter({key: n for key, n in rows.items() if key[0] == session})
    return named


def _found(shelf: Shelf) -> Counter[tuple[str, str, str]]:
    return Counter(
        (message.name.removeprefix("msg-").rpartition("-")[0], message.role, message.text)
        for message in shelf.messages()
    )


def _policed(rows: Counter[tuple[str, str, str]], shelf: Shelf) -> Counter[tuple[str, str, str]]:
    """Expected texts after policy; every fixture was recorded on two days, so each is tried."""
    days = {message.timestamp[:10] for message in shelf.messages()}
    on_shelf = _found(shelf)
    policed: Counter[tuple[str, str, str]] = Counter()
    for (session, role, text), count in rows.items():
        forms = {text}
        for day in days:
            at = datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000
            forms.add(absolutise(redact(text), at, local=datetime.UTC))
        match = next((form for form in forms if (session, role, form) in on_shelf), text)
        policed[session, role, match] += count
    return policed


def test_every_recorded_case_in_one_home_and_a_second_run_logs_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path)
    whole = [case for case in cases() if case.name not in _EARLIER]
    program.add(*whole)
    first = program.once()
    shelf = program.shelf()
    wanted = _policed(_wanted(whole), shelf)
    assert _found(shelf) == wanted
    assert first["messages"] == {"logged": wanted.total(), "already": 0}
    assert first["tasks"]["failed"] == first["tasks"]["pending"] == first["tasks"]["deferred"] == 0
    before = shelf.picture()
    second = program.once()
    assert second["messages"]["logged"] == 0
    assert second["entries"] == {"msg": 0, "session": 0, "sum": 0, "wu": 0}
    assert second["edges"] == 0
    assert program.shelf().picture() == before


# Alone only where files of one case share messages; the others are told apart by the test above.
_ALONE = ("fork", "rewind", "upgraded", "old-writer", "subagent", "crash")


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.name.startswith(_ALONE)], ids=lambda c: f"{c.parent.name}/{c.name}"
)
def test_each_case_alone_gives_exactly_its_messages(case: Path, tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.add(case)
    report = program.once()
    shelf = program.shelf()
    wanted = _policed(_wanted([case]), shelf)
    assert _found(shelf) == wanted
    assert report["messages"]["logged"] == wanted.total()


def test_a_conversation_goes_on_after_a_crash(tmp_path: Path) -> None:
    program = Program(tmp_path)
    old, new = (
        next(c for c in cases() if c.parent.name == "dsh" and c.name == n)
        for n in ("crash-open-turn", "crash-recovered")
    )
    program.add(old)
    assert program.once()["messages"]["logged"] == _wanted([old]).total()
    program.add(new)
    assert program.once()["messages"]["logged"] == _wanted([new]).total() - _wanted([old]).total()
    assert _found(program.shelf()) == _policed(_wanted([new]), program.shelf())


def test_a_conversation_goes_on_in_a_newer_formats_file(tmp_path: Path) -> None:
    case = next(c for c in cases() if c.name == "upgraded-three-generations")
    files = sorted((case / "root").glob("*/*/session*"), key=lambda p: ("v3" in p.name, "v4" in p.name))
    program = Program(tmp_path)
    folder = program.sessions / files[0].parent.relative_to(case / "root")
    folder.mkdir(parents=True)
    logged = 0
    for file in files:
        (folder / file.name).write_bytes(file.read_bytes())
        logged += program.once()["messages"]["logged"]
        assert program.once()["messages"]["logged"] == 0
    wanted = _wanted([case])
    assert logged == wanted.total()
    assert _found(program.shelf()) == _policed(wanted, program.shelf())
    names = sorted(int(m.name.rpartition("-")[2]) for m in program.shelf().messages())
    assert names == list(range(len(names)))


def test_every_damaged_case_is_named_and_stops_no_other(tmp_path: Path) -> None:
    program = Program(tmp_path)
    healthy = next(c for c in cases() if c.parent.name == "dsh" and c.name == "multi-turn")
    program.add(healthy, *damaged())
    report = program.once()
    session = next(iter(_expected(healthy)["sessions"].values()))["header"]["id"]
    found = Counter({key: n for key, n in _found(program.shelf()).items() if key[0] == session})
    assert found == _policed(_wanted([healthy]), program.shelf())
    assert report["tasks"]["failed"] == 0
    named = {(Path(row["path"]).parent.name, row["status"]) for row in program.json("status")["files"]}
    wanted = {
        "torn-last-frame": "torn", "torn-magic-only": "torn", "torn-last-line-plain": "torn",
        "bit-flip-middle-frame": "damaged", "bad-magic-middle": "damaged", "malformed-packed-row": "damaged",
        "seq-gap": "damaged", "frame-without-final-newline": "damaged", "unknown-event-required": "partly",
        "newer-format-version": "unsupported", "id-mismatch": "mismatch", "empty-file": "empty",
        "seeded-without-mark": "held", "name-and-header-disagree": "mismatch", "newer-beside-known": "unsupported",
    }  # fmt: skip
    for case in damaged():
        if case.name not in wanted:
            continue
        folders = {p.parent.name for p in (case / "root").rglob("session*.jsonl*") if p.is_file()}
        statuses = {status for folder, status in named if folder in folders}
        # Format 1 under the name of format 0: name and header disagree, which is said first.
        word = "mismatch" if f"{case.parts[-3]}/{case.name}" == "dsh/newer-format-version" else wanted[case.name]
        assert word in statuses, (case.name, statuses)
    reasons = [row["reason"] for row in program.json("status")["files"]]
    assert all(reason.endswith(".") for reason in reasons)
