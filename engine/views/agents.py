"""What agents are connected with."""

from dataclasses import dataclass
from typing import Literal

from engine.views.status import Problem

type AgentPartState = Literal["absent", "connected", "outdated", "taken", "unreadable"]


type AgentChangeKind = Literal["create", "change", "remove"]


@dataclass(frozen=True, slots=True)
class AgentPart:
    """One thing an agent can get from us, and how it stands: `outdated` is mended by connecting again.

    `wanted`: part of connecting unless the person says otherwise; `problem`: why it is taken or cannot be read.
    """

    id: str
    state: AgentPartState
    places: tuple[str, ...]
    wanted: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent: whether it is on this machine (its folder or its program), and its parts."""

    id: str
    title: str
    found: bool
    home: str
    program: str
    parts: tuple[AgentPart, ...]

    @property
    def connected(self) -> bool:
        """Whether anything of ours is there."""
        return any(part.state in ("connected", "outdated") for part in self.parts)


@dataclass(frozen=True, slots=True)
class AgentChange:
    """One file that would change, as a unified diff."""

    part: str
    path: str
    kind: AgentChangeKind
    diff: str


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """Everything that connecting or disconnecting an agent would change, what cannot be, and what is left to do."""

    agent: str
    changes: tuple[AgentChange, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
