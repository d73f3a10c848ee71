"""Ties the page of agents to the engine: the change is worked out, shown, agreed to, and made."""

from typing import TYPE_CHECKING

from desktop.i18n import heard, join, tr
from desktop.undoing import Act
from desktop.widgets.agents import AgentList
from engine.views import AgentPlan

if TYPE_CHECKING:
    from engine.app import Engine


class AgentsDesk:
    """One page and what it asks of the engine."""

    def __init__(self, engine: "Engine", page: AgentList, act: Act) -> None:
        self._agents = engine.agents
        self._page = page
        page.connect_wanted.connect(lambda agent, parts: act("plan", lambda: self._plan(agent, parts), page.tell))
        page.disconnect_wanted.connect(lambda agent: act("plan", lambda: self._plan_back(agent), page.tell))
        page.agreed.connect(
            lambda plan, parts, connect: act("agent", lambda: self._do(plan, parts, connect=connect), page.tell)
        )

    async def show(self) -> None:
        """Look into the agents' files."""
        self._page.show_agents(await self._agents.list())

    async def _plan(self, agent: str, parts: list[str]) -> None:
        self._page.show_plan(await self._agents.plan(agent, parts), parts, connect=True)

    async def _plan_back(self, agent: str) -> None:
        self._page.show_plan(await self._agents.plan_disconnect(agent), None, connect=False)

    async def _do(self, plan: AgentPlan, parts: list[str] | None, *, connect: bool) -> str:
        try:
            if connect:
                done = await self._agents.connect(plan.agent, parts, plan)
            else:
                done = await self._agents.disconnect(plan.agent, parts, plan)
        finally:
            await self.show()
        said = [tr("Connected. It counts from the agent's next start.") if connect else tr("Disconnected.")]
        said += [join(one.title, one.message, one.action) for one in done.problems]
        return " ".join([*said, *(heard(note) for note in done.notes)])
