"""Every agent whose conversations can be read: one row each."""

from engine.sources.claude import CLAUDE
from engine.sources.codex import CODEX
from engine.sources.dsh import DSH
from engine.sources.model import Agent

AGENTS: tuple[Agent, ...] = (DSH, CLAUDE, CODEX)
BY_KEY: dict[str, Agent] = {agent.key: agent for agent in AGENTS}
