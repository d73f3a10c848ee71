"""What connecting or disconnecting an agent would change, worked out on the files as they are; nothing is written."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.agents.connecting import files
from engine.agents.connecting.edits import Edit, NotUnderstood, Standing, cut
from engine.agents.connecting.store import Record
from engine.agents.connecting.table import Part
from engine.errors import CompanionError, UserFixable
from engine.policy.redact import redact
from engine.views import AgentChange, AgentChangeKind, AgentPart, Problem

_BOM = "\ufeff"
_AROUND = 2
_HUNK = re.compile(r"@@ -(\d+)(.*) \+(\d+)(.*) @@")
_LONG_LINE = 2000  # such as a whole file in one line: only what is ours is shown of it


@dataclass(frozen=True, slots=True)
class Step:
    """One file from `before` to `after`; None is no file. `record`: what to remember, None when it is taken back."""

    part: str
    path: Path
    before: bytes | None
    after: bytes | None
    old: Record | None
    record: Record | None


class Planner:
    """Plans for one agent. Blocking; `records` are what we know of earlier changes."""

    def __init__(self, agent: str, records: Iterable[Record]) -> None:
        self._agent = agent
        self._records = {record.key: record for record in records if record.agent == agent}
        self._now: dict[Path, bytes | None] = {}
        self.steps: list[Step] = []
        self.problems: list[Problem] = []

    def look(self, part: Part) -> AgentPart:
        """How one part stands now."""
        places = tuple(str(edit.path) for edit in part.edits)
        try:
            found = {self._standing(part, edit) for edit in part.edits}
        except CompanionError as error:
            return AgentPart(part.id, "unreadable", places, part.wanted, f"{error.title}: {error.message}")
        if "taken" in found:
            taken = next(edit for edit in part.edits if self._standing(part, edit) == "taken")
            return AgentPart(part.id, "taken", places, part.wanted, _taken(taken).title)
        state = found.pop() if len(found) == 1 else "outdated"
        return AgentPart(part.id, state, places, part.wanted)

    def connect(self, parts: Sequence[Part]) -> None:
        """Every part as it would be written now; what cannot be is named and left out as a whole."""
        for part in parts:
            now, steps = dict(self._now), list(self.steps)
            try:
                for edit in part.edits:
                    self._add(part.id, edit)
            except CompanionError as error:
                self._now, self.steps = now, steps
                self._refuse(part.id, error)

    def disconnect(self, parts: Sequence[Part], everything: bool) -> None:
        """Take the parts out; with `everything`, also what lies in places we would not use today."""
        for part in reversed(parts):
            for edit in reversed(part.edits):
                self._remove(part.id, edit)
        known = {(self._agent, part.id, str(edit.path)) for part in parts for edit in part.edits}
        by_id = {part.id: part for part in parts}
        for key, record in self._records.items():
            if everything and key not in known and record.part in by_id:
                for edit in by_id[record.part].edits:
                    if edit.path.name == Path(record.path).name:
                        self._remove(record.part, replace(edit, path=Path(record.path)))  # type: ignore[type-var]

    def _refuse(self, part: str, error: CompanionError) -> None:
        self.problems.append(Problem(part, error.title, error.message, error.action))

    def _standing(self, part: Part, edit: Edit) -> Standing:
        try:
            return self._standing_in(part.id, edit, self._text(edit.path)[1])
        except NotUnderstood as error:
            raise error.at(edit.path) from error

    def _standing_in(self, part: str, edit: Edit, text: str) -> Standing:
        standing = edit.standing(text)
        if standing == "taken" and (record := self._record(part, edit.path)) is not None:
            # What an earlier version of us wrote, untouched since, is ours under whatever name.
            before = [cut(text, pieces) for pieces in record.variants]
            if any(one is not None and edit.standing(one) == "absent" for one in before):
                return "outdated"
        return standing

    def _add(self, part: str, edit: Edit) -> None:
        try:
            mark, text = self._text(edit.path)
            standing = self._standing_in(part, edit, text)
            if standing == "taken":
                raise _taken(edit)
            if standing == "connected":
                return
            old = self._record(part, edit.path)
            kept = old if standing == "outdated" else None
            before = self._now[edit.path]
            put = edit.put(text if standing == "absent" else self._without(edit, text, old))
        except NotUnderstood as error:
            raise error.at(edit.path) from error
        record = Record(
            agent=self._agent,
            part=part,
            path=str(edit.path),
            variants=(put.pieces, *(kept.variants if kept else ())),
            made=tuple(dict.fromkeys((*put.made, *(kept.made if kept else ())))),
            created=before is None or (kept is not None and kept.created),
            folders=tuple(dict.fromkeys((*(old.folders if old else ()), *map(str, files.missing_folders(edit.path))))),
        )
        self._step(part, edit.path, (mark + put.text).encode(), old, record)

    def _remove(self, part: str, edit: Edit) -> None:
        """Take one edit out; a file that cannot be read or changed is named, and what we know of it is kept."""
        old = self._record(part, edit.path)
        text = None
        try:
            mark, text = self._text(edit.path)
            before = self._now[edit.path]
            standing = self._standing_in(part, edit, text)
            if standing in ("connected", "outdated"):
                text = self._without(edit, text, old)
            elif old is None:
                return
            gone = before is None or (not text and (old is None or old.created))
            self._step(part, edit.path, None if gone else (mark + text).encode(), old, None)
        except NotUnderstood as error:
            # Whatever we write has our name in it: in a file without it there is nothing to take back.
            if old is not None or text is None or "hypatia" in text.lower():
                self._refuse(part, error.at(edit.path))
        except CompanionError as error:
            self._refuse(part, error)

    def _without(self, edit: Edit, text: str, old: Record | None) -> str:
        return edit.take(text, old.variants if old else (), old.made if old else ())

    def _step(self, part: str, path: Path, after: bytes | None, old: Record | None, record: Record | None) -> None:
        if self._now[path] is not None and self._now[path] != after and path.exists():
            files.check(path)
        self.steps.append(Step(part, path, self._now[path], after, old, record))
        self._now[path] = after

    def _record(self, part: str, path: Path) -> Record | None:
        return self._records.get((self._agent, part, str(path)))

    def _text(self, path: Path) -> tuple[str, str]:
        """The byte order mark, and the text after it, as the file would be by now."""
        if path not in self._now:
            self._now[path] = files.read(path)
        raw = self._now[path] or b""
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise NotUnderstood("It is not UTF-8 text.") from error
        return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def change_of(step: Step) -> AgentChange:
    """A step as a person is shown it; what stands around our lines may hold a secret, and shows none."""
    before, after = ((raw or b"").decode().splitlines() for raw in (step.before, step.after))
    if max(map(len, (*before, *after)), default=0) > _LONG_LINE:
        sign, known = ("+", step.record) if step.record else ("-", step.old)
        pieces = known.variants[0] if known else ()
        lines = [f"{sign}{line}" for piece in pieces for line in piece.splitlines()]
    else:
        lines = _diff(before, after, str(step.path))
    kind: AgentChangeKind = "create" if step.before is None else "remove" if step.after is None else "change"
    return AgentChange(step.part, str(step.path), kind, redact("\n".join(lines)))


def _diff(before: Sequence[str], after: Sequence[str], name: str) -> list[str]:
    """A unified diff with two lines around; what both begin and end with is not compared, which takes long."""
    head = _in_common(before, after)
    tail = min(_in_common(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    first, last = max(head - _AROUND, 0), max(tail - _AROUND, 0)
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    import difflib  # only when a person looks at a change

    lines = list(difflib.unified_diff(old, new, name, name, n=_AROUND, lineterm=""))
    for place, line in enumerate(lines):
        if hunk := _HUNK.fullmatch(line):
            lines[place] = f"@@ -{int(hunk[1]) + first}{hunk[2]} +{int(hunk[3]) + first}{hunk[4]} @@"
    return lines


def _in_common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _taken(edit: Edit) -> UserFixable:
    return UserFixable(
        f"{edit.path} has something else under our name",
        "It is not from the companion, so it stays as it is.",
        "Rename or remove it, then connect again.",
    )
