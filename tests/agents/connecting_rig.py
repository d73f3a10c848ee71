"""A machine for the tests of connecting: a person's home folder with all three agents, and a home of ours."""

import os
from collections.abc import Mapping
from pathlib import Path

from engine.agents.connecting.agents import Agents
from engine.agents.connecting.ourselves import Ourselves
from engine.paths import Home

FOLDERS = {"claude": ".claude", "codex": ".codex", "dsh": ".dsh"}
FILES = {
    ("claude", "mcp"): ".claude.json",
    ("claude", "hooks"): ".claude/settings.json",
    ("claude", "instructions"): ".claude/CLAUDE.md",
    ("claude", "skill"): ".claude/skills/hypatia-memory/SKILL.md",
    ("codex", "mcp"): ".codex/config.toml",
    ("codex", "hooks"): ".codex/hooks.json",
    ("codex", "instructions"): ".codex/AGENTS.md",
    ("codex", "skill"): ".agents/skills/hypatia-memory/SKILL.md",
    ("dsh", "mcp"): ".dsh/cordis.patch.yml",
    ("dsh", "recall"): ".dsh/cordis.patch.yml",
    ("dsh", "instructions"): ".dsh/AGENTS.md",
    ("dsh", "skill"): ".dsh/skills/hypatia-memory/SKILL.md",
}


class Machine:
    """Real files below one folder."""

    def __init__(self, root: Path, *, folders: bool = True) -> None:
        self.home = root / "person"
        self.own = Home.at(root / "own")
        self.home.mkdir(parents=True, exist_ok=True)
        for folder in FOLDERS.values() if folders else ():
            (self.home / folder).mkdir(exist_ok=True)

    def file(self, agent: str, part: str) -> Path:
        return self.home / FILES[agent, part]

    def agents(self, command: tuple[str, ...] = ("/opt/companion/hypatia-companion-console",), **env: str) -> Agents:
        surroundings: Mapping[str, str] = {"PATH": str(self.home / "bin"), "HOME": str(self.home), **env}
        return Agents(self.own, self.home, surroundings, Ourselves(command))

    def content(self) -> dict[str, bytes | str | None]:
        """Everything in the person's home: files with their bytes, links with their targets, folders."""
        found: dict[str, bytes | str | None] = {}
        for folder, folders, files in os.walk(self.home):
            for name in (*folders, *files):
                path = Path(folder, name)
                key = str(path.relative_to(self.home))
                found[key] = (
                    f"-> {path.readlink()}" if path.is_symlink() else path.read_bytes() if path.is_file() else None
                )
        return found

    async def states(self, agent: str, **env: str) -> dict[str, str]:
        row = next(row for row in await self.agents(**env).list() if row.id == agent)
        return {part.id: part.state for part in row.parts}
