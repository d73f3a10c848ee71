"""Which messages of a transcript lie on a branch that was left (contracts/agents.md, later findings).

A prompt whose chain of `parentUuid` leads past the prompt before it went back to an earlier place. Only a chain that is
known to its branching point is evidence: one that ends in nothing withdraws nothing.
"""

from collections.abc import Sequence

from engine.sources.claude.words import content, queued, whose, words
from engine.sources.lines import Text, lines, mapping, parse
from engine.sources.model import FoundLog

_START = -1


def hidden(group: Sequence[FoundLog], index: int, until: int) -> set[str]:
    """Ids of the messages that prompts before byte `until` of a file left behind."""
    found = group[index]
    tree = _Tree()
    with found.path.open("rb") as file:
        for line in lines(Text(file, found.compressed), 0):
            if line.start >= until:
                break
            if line.data is not None and b'"uuid"' in line.data and (row := parse(line.data)) is not None:
                tree.take(row)
    return tree.hidden()


class _Tree:
    """The prompts of a file, each with the prompt it follows, and what was said after each."""

    def __init__(self) -> None:
        self._owner: dict[int, int] = {}
        self._after: list[int | None] = []
        self._said: list[list[str]] = []
        self._left: set[int] = set()

    def take(self, row: dict[str, object]) -> None:
        uuid = row.get("uuid")
        if not isinstance(uuid, str) or row.get("isSidechain") is True:
            return
        parent = row.get("parentUuid") or row.get("logicalParentUuid")
        owner = self._owner.get(hash(parent)) if isinstance(parent, str) else None
        last = len(self._after) - 1
        if row.get("type") == "user":
            blocks = content(mapping(row.get("message")).get("content"))
            if whose(row, blocks) == "person":
                self._after.append(owner)
                self._said.append([uuid])
                self._owner[hash(uuid)] = last + 1
                if owner is not None:
                    self._leave(last, owner)
                return
        # Records beside the chain, such as notes of hooks, belong where they stand.
        place = owner if owner is not None else last
        self._owner[hash(uuid)] = place
        if place >= 0 and (queued(row) or _answers(row)):
            self._said[place].append(uuid)

    def _leave(self, last: int, parent: int) -> None:
        """The prompts from the last one back to `parent`, if it is before it on its chain, were left."""
        path: list[int] = []
        at: int | None = last
        while at is not None and at != parent:
            if at == _START or at in self._left:
                return
            path.append(at)
            at = self._after[at]
        if at == parent:
            self._left.update(path)

    def hidden(self) -> set[str]:
        """Everything said on branches that were left."""
        return {id_ for place in self._left for id_ in self._said[place]}


def _answers(row: dict[str, object]) -> bool:
    return row.get("type") == "assistant" and bool(words(content(mapping(row.get("message")).get("content"))))
