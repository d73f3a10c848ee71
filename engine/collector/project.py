"""The project a conversation belongs to: base name of the git top level, else of its folder (engine.md 2.11)."""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath

from engine.policy.scope import scope_name

log = logging.getLogger(__name__)

NO_CWD = "_no-cwd"
_TIMEOUT = 3.0
_HIDDEN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")


def last_component(path: str) -> str:
    """Base name of a path of either system; `/` for a root."""
    windows = "\\" in path and not path.startswith("/")
    return PureWindowsPath(path).name if windows else PurePosixPath(path).name


class Projects:
    """Resolves working directories to project labels; an answer is cached, a timeout is not."""

    def __init__(self, *, git: str = "git", timeout: float = _TIMEOUT, env: Mapping[str, str] = os.environ) -> None:
        self._git = git
        self._timeout = timeout
        self._env = {k: v for k, v in env.items() if k not in _HIDDEN}
        self._known: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def label(self, cwd: str | None) -> str:
        """The scope of a session with this working directory."""
        if not cwd:
            return NO_CWD
        async with self._locks.setdefault(cwd, asyncio.Lock()):
            if cwd in self._known:
                return self._known[cwd]
            try:
                top = await self._top_level(cwd)
            except TimeoutError:
                log.warning("git did not answer within %.0f s; the folder's own name is used", self._timeout)
                return scope_name(last_component(cwd))
            label = scope_name(last_component(top or cwd))
            self._known[cwd] = label
            return label

    async def _top_level(self, cwd: str) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                *(self._git, "-C", cwd, "rev-parse", "--show-toplevel"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._env,
                creationflags=0x08000000 if os.name == "nt" else 0,  # CREATE_NO_WINDOW
            )
        except (OSError, ValueError):
            return ""
        try:
            async with asyncio.timeout(self._timeout):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            return ""
        text = output.decode(errors="surrogateescape")
        return text.removesuffix("\n").removesuffix("\r")
