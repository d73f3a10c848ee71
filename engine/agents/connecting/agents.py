"""The agents on this machine: what is connected, what connecting would change, doing it, and taking it back."""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.agents.connecting import files
from engine.agents.connecting.ourselves import Ourselves
from engine.agents.connecting.planning import Planner, Step, change_of
from engine.agents.connecting.store import Store
from engine.agents.connecting.table import AGENTS, Agent, Part, Surroundings
from engine.errors import UserFixable
from engine.paths import Home
from engine.settings.store import Settings
from engine.shelf.command import usual_folders
from engine.views import AgentPlan, AgentRow


class Agents:
    """Works on files alone, in threads: it needs no running engine, and two processes of ours do not cross."""

    def __init__(
        self,
        own: Home,
        home: Path | None = None,
        env: Mapping[str, str] = os.environ,
        ourselves: Ourselves | None = None,
        chosen: Callable[[str], str] = lambda agent: "",
    ) -> None:
        self._own = own
        self._home = home or Path.home()
        self._env = env
        self._ourselves = ourselves or Ourselves.now()
        self._chosen = chosen
        self._store = Store(own)

    @classmethod
    def of(cls, own: Home, settings: Settings) -> "Agents":
        """Those of this person, in the folders that the settings name."""
        return cls(own, chosen=lambda agent: str(settings.get(f"sources.{agent}Home")))

    @property
    def _around(self) -> Surroundings:
        chosen = {agent.id: self._chosen(agent.id) for agent in AGENTS}
        return Surroundings(self._home, self._env, chosen, self._own, self._ourselves)

    async def plan(self, agent: str, parts: Sequence[str] | None = None) -> AgentPlan:
        """What connecting would change; without `parts`, those wanted and those that are there. Writes nothing."""
        return await asyncio.to_thread(self._plan, agent, parts, True)

    async def plan_disconnect(self, agent: str, parts: Sequence[str] | None = None) -> AgentPlan:
        """What disconnecting would change. Writes nothing."""
        return await asyncio.to_thread(self._plan, agent, parts, False)

    async def connect(
        self, agent: str, parts: Sequence[str] | None = None, shown: AgentPlan | None = None
    ) -> AgentPlan:
        """Connect; what was done. With the plan a person was `shown`, nothing else than that is done.

        A part that cannot be connected is among the problems and stays as it is. Raises CompanionError.
        """
        return await asyncio.to_thread(self._carry_out, agent, parts, True, shown)

    async def disconnect(
        self, agent: str, parts: Sequence[str] | None = None, shown: AgentPlan | None = None
    ) -> AgentPlan:
        """Take everything back, wherever it was written; what was done. Raises CompanionError."""
        return await asyncio.to_thread(self._carry_out, agent, parts, False, shown)

    def _rows(self) -> tuple[AgentRow, ...]:
        records = self._store.records()
        rows = []
        for agent in AGENTS:
            planner = Planner(agent.id, records)
            home = agent.home(self._around)
            program = self._program(agent)
            parts = tuple(planner.look(part) for part in agent.parts(self._around, home))
            rows.append(AgentRow(agent.id, agent.title, bool(program) or home.is_dir(), str(home), program, parts))
        return tuple(rows)

    def _program(self, agent: Agent) -> str:
        env = self._around.env
        places = os.pathsep.join((env.get("PATH", os.defpath), *usual_folders(sys.platform, env)))
        found = (shutil.which(program, path=places) for program in agent.programs)
        return next((program for program in found if program), "")

    def _plan(self, name: str, parts: Sequence[str] | None, connect: bool) -> AgentPlan:
        return self._worked_out(_agent(name), parts, connect)[0]

    def _worked_out(self, agent: Agent, names: Sequence[str] | None, connect: bool) -> tuple[AgentPlan, Sequence[Step]]:
        planner = Planner(agent.id, self._store.records())
        home = agent.home(self._around)
        all_parts = agent.parts(self._around, home)
        if names is not None and (unknown := set(names) - {part.id for part in all_parts}):
            known = ", ".join(part.id for part in all_parts)
            raise UserFixable(
                f"{agent.title} has no such part", f"“{min(unknown)}” is none of {known}.", "Name one of them."
            )
        if connect and not home.is_dir() and not self._program(agent):
            raise UserFixable(
                f"{agent.title} is not on this machine",
                f"There is neither {home} nor a program {agent.programs[0]}.",
                f"Install it, or set {agent.variable} to its folder.",
            )
        if connect:
            parts = [part for part in all_parts if self._asked(part, names, planner)]
            planner.connect(parts)
        else:
            parts = [part for part in all_parts if names is None or part.id in names]
            planner.disconnect(parts, everything=names is None)
        changes = [change_of(step) for step in planner.steps if step.before != step.after]
        changed = {change.part for change in changes}
        notes = tuple(part.note for part in parts if connect and part.note and part.id in changed)
        return AgentPlan(agent.id, tuple(changes), tuple(planner.problems), notes), planner.steps

    @staticmethod
    def _asked(part: Part, names: Sequence[str] | None, planner: Planner) -> bool:
        if names is not None:
            return part.id in names
        return part.wanted or planner.look(part).state == "outdated"

    def _carry_out(self, name: str, names: Sequence[str] | None, connect: bool, shown: AgentPlan | None) -> AgentPlan:
        agent = _agent(name)
        with self._store.lock():
            parts = agent.parts(self._around, agent.home(self._around))
            files.unlock(self._store.note)
            files.clear_drafts(edit.path for part in parts for edit in part.edits)
            plan, steps = self._worked_out(agent, names, connect)
            if shown is not None and plan.changes != shown.changes:
                raise UserFixable(
                    "A file changed meanwhile",
                    "What would be done now is not what was shown.",
                    "Look at the change again.",
                )
            first = {step.path: step for step in reversed(steps) if step.before != step.after}
            for path, step in first.items():
                if step.before is not None:
                    self._store.back_up(path, step.before)
            for step in steps:
                is_state = step.path.name == ".claude.json"
                with files.locked(step.path, self._store.note) if is_state else contextlib.nullcontext():
                    self._do(step)
            if not connect:
                for path, after in {step.path: step.after for step in steps}.items():
                    self._store.clear_backups(path, after)
        return plan

    def _do(self, step: Step) -> None:
        """One file. Killed anywhere in between, doing it again or taking it back ends in the same state."""
        if step.record is not None:
            self._store.put(step.record)
            try:
                step.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise files.unwritten(step.path, error) from error
        if step.before != step.after:
            files.replace(step.path, step.after, step.before)
        if step.record is not None:
            self._store.put(step.record.settled())
        elif step.old is not None:
            files.remove_empty([Path(folder) for folder in step.old.folders])
            self._store.drop(step.old.key)

    async def list(self) -> tuple[AgentRow, ...]:
        """Every agent we know of, as it stands in the files now."""
        return await asyncio.to_thread(self._rows)


def _agent(name: str) -> Agent:
    for agent in AGENTS:
        if agent.id == name:
            return agent
    known = ", ".join(agent.id for agent in AGENTS)
    raise UserFixable("There is no such agent", f"“{name}” is none of {known}.", "Name one of them.")
