"""From which projects an entry of the shelf comes: the ledger's word, never the label alone (features.md E.8)."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.memory.projects import Project, Projects, session_of
from engine.memory.reading import Reader

_FRESH = 600.0
_KEPT = 20_000
_DEPTH = 9  # archives of archives


@dataclass(frozen=True, slots=True)
class Home:
    """Roots of the conversations behind an entry (none: written by another program) and when it was made (epoch ms).

    `mixed`: its text was made from all of them together.
    """

    roots: frozenset[str]
    mixed: bool
    created: int | None

    def within(self, project: Project, scopes: Iterable[str]) -> bool:
        """Whether the entry may be shown in a project. By its label alone only where no other project has that."""
        if self.roots:
            return self.roots == {project.root} if self.mixed else project.root in self.roots
        return project.alone and not set(project.labels).isdisjoint(scopes)


class Homes:
    """Finds homes and keeps them for ten minutes; an entry another project makes again gains a home."""

    def __init__(self, projects: Projects, reader: Reader, now: Callable[[], float] = time.monotonic) -> None:
        self._projects = projects
        self._reader = reader
        self._now = now
        self._kept: dict[tuple[str, str], tuple[float, Home]] = {}

    def forget(self) -> None:
        """Look again at everything."""
        self._kept.clear()

    async def of(self, names: Iterable[str]) -> dict[str, Home]:
        """The home of each of these entries."""
        shelf, now = self._reader.shelf(), self._now()
        wanted = list(dict.fromkeys(names))
        unknown = [name for name in wanted if self._kept.get((shelf, name), (0.0,))[0] < now]
        if unknown:
            if len(self._kept) > _KEPT:
                self._kept.clear()
            for name, home in (await self._find(unknown)).items():
                self._kept[shelf, name] = (now + _FRESH, home)
        return {name: self._kept[shelf, name][1] for name in wanted}

    async def _find(self, names: list[str]) -> dict[str, Home]:
        made = [name for name in names if session_of(name) is None]
        sources, created = await self._sources(made)
        sessions = {name: _sessions(name, sources) for name in names}
        roots = await self._projects.roots(one for some in sessions.values() for one in some)
        undated = [name for name in names if name not in created]
        created |= {name: row.created for name, row in (await self._reader.named(undated)).items()}
        return {
            name: Home(
                # One conversation that the ledger does not know makes a mixture foreign to everybody.
                frozenset(roots.get(one, "?") for one in some if one in roots or name.startswith("sum")),
                name.startswith("sum"),
                created.get(name),
            )
            if any(one in roots for one in some)
            else Home(frozenset(), False, created.get(name))
            for name, some in sessions.items()
        }

    async def _sources(self, names: list[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, int | None]]:
        """What entries were made from, down to names that tell their conversation."""
        sources: dict[str, tuple[str, ...]] = {}
        created: dict[str, int | None] = {}
        layer = names
        for _ in range(_DEPTH):
            if not layer:
                break
            found = await self._reader.origins(layer)
            sources |= {name: origin.sources for name, origin in found.items()}
            created |= {name: origin.created for name, origin in found.items() if origin.created is not None}
            below = (source for origin in found.values() for source in origin.sources)
            layer = [one for one in dict.fromkeys(below) if session_of(one) is None and one not in sources]
        return sources, created


def _sessions(name: str, sources: dict[str, tuple[str, ...]]) -> set[str]:
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        session = session_of(one)
        if session is not None:
            found.add(session)
        else:
            waiting += sources.get(one, ())
    return found
