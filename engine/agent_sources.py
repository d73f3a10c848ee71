"""The agents as sources: from when on each counts, what was read of it, and whether it is still understood."""

from collections.abc import Callable

from engine.configured import Configured
from engine.errors import UserFixable
from engine.ledger.agents import Agents, Tally
from engine.ledger.database import Ledger
from engine.notices import Notices
from engine.sources.agents import AGENTS, BY_KEY
from engine.views import SourceRow


class AgentSources:
    """Knows from when on each agent's conversations are recorded; `look` before reading any."""

    def __init__(self, ledger: Ledger, configured: Configured, notices: Notices, now: Callable[[], float]) -> None:
        self._ledger = ledger
        self._agents = Agents(ledger)
        self._configured = configured
        self._notices = notices
        self._now = now
        self._since: dict[str, int] = {}

    def since(self) -> dict[str, int]:
        """Per agent that is switched on the instant (epoch ms) before which nothing of it counts, as last looked up."""
        return self._since

    async def look(self) -> None:
        """Take note of agents that are new or were switched on or off."""
        self._since = await self._agents.since(self._configured.switched(), int(self._now() * 1000))

    async def answered(self, cutoff: int) -> None:
        """The person said from when on conversations may be recorded (epoch ms): of every agent switched on."""
        switched = self._configured.switched()
        await self._agents.answered([key for key, on in switched.items() if on], cutoff)

    async def rows(self) -> list[SourceRow]:
        """Every agent with its folders and what was read of it so far."""
        switched, sources = self._configured.switched(), self._configured.all_sources()
        tallies = {tally.agent: tally for tally in await self._agents.tallies()}
        return [
            SourceRow(
                agent=agent.key,
                name=agent.name,
                on=switched[agent.key],
                folders=tuple(str(source.home) for source in sources if source.agent is agent),
                since=self._since.get(agent.key, 0),
                records=(tally := tallies.get(agent.key, Tally(agent.key, 0, 0, 0, {}))).records,
                messages=tally.messages,
                unknown=tally.unknown,
                kinds=tally.kinds,
            )
            for agent in AGENTS
        ]

    async def mind_formats(self) -> None:
        """Say when an agent's records are not what they were."""
        if self._ledger.read_only:
            return
        moved = await self._agents.moved(self._now())
        for key, agent in BY_KEY.items():
            if key in moved:
                self._notices.problem(f"format {key}", format_moved(agent.name, moved[key]))
            else:
                self._notices.solved(f"format {key}")


def format_moved(name: str, kind: str) -> UserFixable:
    """An agent writes its conversations otherwise than the companion knows."""
    if not kind:
        return UserFixable(
            f"{name} writes its conversations otherwise",
            "No message was found in many of its new records; what is said there may be missing.",
            "Update the companion.",
        )
    return UserFixable(
        f"{name} writes its conversations otherwise",
        f"Many of its new records are of kinds the companion does not know ({kind}); some words may be missing.",
        "Update the companion.",
    )
