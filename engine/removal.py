"""Takes back everything the companion wrote outside its own folders, and on request those folders too; reads it back.

One list of places: what connecting wrote in agents (kept in its own record), the login entry, keys in the system's
keyring, the control socket. What a person changed meanwhile stays and is named.
"""

import asyncio
import os
import plistlib
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine import instance
from engine.agents.connecting.agents import Agents
from engine.backup.saving import inside, shelves_of
from engine.errors import CompanionError
from engine.models.providers import PROVIDERS, key_variables
from engine.models.routes import sanitise
from engine.paths import APP, Home, login_file
from engine.settings.secrets import Keys
from engine.settings.store import Settings
from engine.views import Trace

_LOGIN_LINES = {
    *("[Desktop Entry]", "Type=Application", "Name=Hypatia Companion", "Terminal=false"),
    *("Comment=Gives coding agents a long-term memory", "X-GNOME-Autostart-Delay=5"),
    *("X-GNOME-Autostart-enabled=true", "X-GNOME-Autostart-enabled=false", "Hidden=true", "Hidden=false"),
}
"""What we write, and the switches that desktops add to turn it off."""
_LOGIN_KEYS = {"Label", "ProgramArguments", "RunAtLoad", "ProcessType", "LimitLoadToSessionType", "Disabled"}
_OWN = (
    *("settings.toml*", "keys.toml*", "ledger*.sqlite*", "copy", "shelves", "agents", "inbox", "restore"),
    *("before-restore-*", "companion.log*", "crash.txt*", "fatal.txt", "control.json*", "windows.json*"),
)
_LOCK = "engine.lock"
_RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"


class Removal:
    """One removal. `person` is the user's home; with `everything`, memory and settings go as well."""

    def __init__(
        self,
        home: Home,
        *,
        everything: bool,
        person: Path | None = None,
        env: Mapping[str, str] = os.environ,
        platform: str = sys.platform,
        agents: Agents | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._home = home
        self._everything = everything
        self._login = login_file(platform, env, person or Path.home())
        self._agents = agents or Agents(home, person, env)
        self._keys = keys or Keys(key_variables, home.config / "keys.toml", env=env)

    async def plan(self) -> list[Trace]:
        """What would be taken back; nothing is changed."""
        return await self._work(do=False)

    async def carry_out(self) -> list[Trace]:
        """Ask a running companion to end, then take everything back. Raises NotReachable when it does not end."""
        if await asyncio.to_thread(instance.held, self._home):
            await instance.end_running(self._home)
        owner = instance.acquire(self._home) if self._home.data.is_dir() else None
        try:
            traces = await self._work(do=True)
        finally:
            if owner is not None:
                owner.let_go()
        if self._everything:
            for folder in dict.fromkeys((self._home.data, self._home.config)):
                await asyncio.to_thread(_remove_folder_itself, folder)
                if folder.exists():
                    traces.append(Trace("folder", str(folder), "left", "There are files in it that are not ours."))
        return traces

    async def _work(self, *, do: bool) -> list[Trace]:
        settings = await asyncio.to_thread(Settings, self._home.settings_file)
        traces = await self._from_agents(do)
        traces += await asyncio.to_thread(lambda: list(self._from_login(do)))
        traces += await self._from_keyring(settings, do)
        traces += await asyncio.to_thread(lambda: list(self._from_runtime(do)))
        if self._everything:
            traces += await asyncio.to_thread(lambda: list(self._from_folders(do)))
        return traces

    async def _from_agents(self, do: bool) -> list[Trace]:
        traces: list[Trace] = []
        try:
            rows = await self._agents.list()
        except CompanionError as error:
            return [Trace("agent", str(self._home.data / "agents"), "left", f"{error.message} {error.action}")]
        recorded = (self._home.data / "agents").exists()  # what a connecting that was killed left lies there too
        for row in rows:
            try:
                plan = await self._agents.plan_disconnect(row.id)
                if do and (recorded or plan.changes):
                    plan = await self._agents.disconnect(row.id)
            except CompanionError as error:
                traces.append(Trace("agent", row.home, "left", f"{error.message} {error.action}"))
                continue
            changed = dict.fromkeys(change.path for change in plan.changes)
            traces += [Trace("agent", path, "gone" if do else "there") for path in changed]
            traces += [
                Trace("agent", row.title, "left", f"{one.message} {one.action}".strip()) for one in plan.problems
            ]
        if do:  # read back
            for row in await self._agents.list():
                still = [part for part in row.parts if part.state in ("connected", "outdated")]
                places = {place for part in still for place in part.places}
                traces = [one for one in traces if one.place not in places or one.state != "gone"]
                traces += [Trace("agent", place, "left", "It is still there.") for place in sorted(places)]
        return traces

    def _from_login(self, do: bool) -> Iterator[Trace]:
        if self._login is None:
            yield from _from_run_key(do)
            return
        path = self._login
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            yield Trace("login", str(path), "left", f"It cannot be read: {error.strerror}.")
            return
        if not _only_ours(content, path.suffix):
            yield Trace("login", str(path), "left", "It was changed since it was written; remove it yourself.")
            return
        if do:
            try:
                path.unlink()
            except OSError as error:
                yield Trace("login", str(path), "left", f"It cannot be removed: {error.strerror}.")
                return
        yield Trace("login", str(path), "gone" if do else "there")

    async def _from_keyring(self, settings: Settings, do: bool) -> list[Trace]:
        routes, _ = sanitise(settings.get("consolidation.models"))
        names = dict.fromkeys([*(one.id for one in PROVIDERS), *(route.provider for route in routes)])
        found, reason = await self._keys.take_back(list(names), remove=do)
        traces = [Trace("key", f"keyring: {name}", "gone" if do else "there") for name in found]
        if reason:
            traces.append(Trace("key", "keyring", "left", f"It could not be asked. {reason}"))
        return traces

    def _from_runtime(self, do: bool) -> Iterator[Trace]:
        places = [*instance.addresses(self._home), self._home.runtime]
        for place in dict.fromkeys(places):
            if not os.path.lexists(place):
                continue
            if do:
                _remove(place)
            left = do and os.path.lexists(place)
            yield Trace("socket", str(place), "left" if left else "gone" if do else "there")

    def _from_folders(self, do: bool) -> Iterator[Trace]:
        for name, path in shelves_of(self._home).items():
            if not inside(self._home, path):
                yield Trace("shelf", str(path), "left", f"The shelf “{name}” lies in a folder of yours; it stays.")
        for folder in dict.fromkeys((self._home.data, self._home.config)):
            for pattern in _OWN:
                for path in sorted(folder.glob(pattern)):
                    if do:
                        _remove(path)
                    left = do and os.path.lexists(path)
                    yield Trace("folder", str(path), "left" if left else "gone" if do else "there")


def _only_ours(content: bytes, suffix: str) -> bool:
    """Whether a login entry holds nothing but what we write, wherever the program lay."""
    try:
        if suffix == ".plist":
            found = plistlib.loads(content)
            return found.get("Label") == APP and set(found) <= _LOGIN_KEYS
        lines = [line.strip() for line in content.decode("utf-8").splitlines()]
    except (ValueError, AttributeError, plistlib.InvalidFileException):
        return False
    return all(not line or line in _LOGIN_LINES or line.startswith("Exec=") for line in lines)


def _from_run_key(do: bool) -> Iterator[Trace]:
    if sys.platform != "win32":
        return
    import winreg

    place = rf"HKEY_CURRENT_USER\{_RUN_KEY}\{APP}"
    try:
        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, _RUN_KEY, access=winreg.KEY_READ | winreg.KEY_SET_VALUE) as key:
            winreg.QueryValueEx(key, APP)
            if do:
                winreg.DeleteValue(key, APP)
    except FileNotFoundError:
        return
    yield Trace("login", place, "gone" if do else "there")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        try:
            path.unlink()
        except OSError:
            return  # it is looked at again, and named


def _remove_folder_itself(folder: Path) -> None:
    """The folder, when nothing of anybody else is in it; the lock is the last to go."""
    if not folder.is_dir():
        return
    if all(one.name == _LOCK for one in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        _remove(folder / _LOCK)
