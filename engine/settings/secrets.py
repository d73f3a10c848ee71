"""Keys of model providers: environment, this session, a private file, the system's keyring (platform.md 5)."""

import asyncio
import contextlib
import logging
import os
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from engine.errors import UserFixable
from engine.paths import write_private
from engine.settings.store import unsaved

log = logging.getLogger(__name__)

SERVICE = "hypatia-companion"
NO_KEYRING = "This system has no keyring that protects keys."
LIMIT = 10.0
CLICK_LIMIT = 30.0
RETRY_AFTER = 300.0

type Where = Literal["keyring", "session", "file"]


class Backend(Protocol):
    """The part of a keyring backend that is used."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


class Keys:
    """The key of each provider. No value is ever logged.

    The first that has one counts: environment, this session, file, keyring; so the newest wish of the person wins, as
    storing a key in one place removes it from the places before that. `variables` names a provider's environment
    variables. `file` is made only when a person asks for it.
    """

    def __init__(
        self,
        variables: Callable[[str], Sequence[str]],
        file: Path,
        *,
        env: Mapping[str, str] = os.environ,
        backend: Backend | None = None,
        clock: Callable[[], float] = time.monotonic,
        limit: float = LIMIT,
        click_limit: float = CLICK_LIMIT,
    ) -> None:
        self._variables = variables
        self._file = file
        self._env = env
        self._backend = backend
        self._clock = clock
        self._limit = limit
        self._click_limit = click_limit
        self._session: dict[str, str] = {}
        self._remembered: dict[str, str] = {}
        self._broken_at: float | None = None
        self.reason = ""

    async def get(self, provider_id: str) -> str:
        """The key, empty when there is none or the keyring does not answer (then `reason` says why)."""
        for name in self._variables(provider_id):
            if value := self._env.get(name, "").strip():
                return value
        return (
            self._session.get(provider_id)
            or await asyncio.to_thread(self._from_file, provider_id)
            or await self._from_keyring(provider_id)
        )

    async def place(self, provider_id: str) -> str:
        """Where the key that counts is: the variable's name, session, file or keyring; empty where there is none."""
        for name in self._variables(provider_id):
            if self._env.get(name, "").strip():
                return name
        if self._session.get(provider_id):
            return "session"
        if await asyncio.to_thread(self._from_file, provider_id):
            return "file"
        return "keyring" if await self._from_keyring(provider_id) else ""

    async def set(self, provider_id: str, value: str, where: Where = "keyring") -> None:
        """Store a key; a blank one removes the key everywhere. UserFixable says why it could not be stored."""
        value = value.strip()
        if not value:
            await self._remove(provider_id)
            return
        if not (value.isascii() and value.isprintable() and " " not in value):
            raise UserFixable(
                "Key not stored", "A key has only letters, digits and signs, and no spaces.", "Paste it again."
            )
        if where == "session":
            self._session[provider_id] = value
            return
        if where == "file":
            await asyncio.to_thread(self._change_file, provider_id, value)
        else:
            await self._store(provider_id, value)
            await asyncio.to_thread(self._change_file, provider_id, "")
            self._remembered[provider_id] = value
        self._session.pop(provider_id, None)

    async def probe(self) -> str:
        """Try the keyring by writing, reading and deleting; why it cannot be used, empty when it can."""

        def attempt(backend: Backend) -> str:
            backend.set_password(SERVICE, "probe", "works")
            read = backend.get_password(SERVICE, "probe")
            backend.delete_password(SERVICE, "probe")
            return "" if read == "works" else "It does not keep what is stored in it."

        result, reason = await self._ask(attempt, self._click_limit)
        return reason or result or ""

    async def take_back(self, provider_ids: Sequence[str], *, remove: bool) -> tuple[list[str], str]:
        """Which providers have a key in the keyring, removed and read back if asked; why it could not be asked.

        A system without a keyring never got one of ours.
        """

        def look(backend: Backend) -> str:
            found = [name for name in provider_ids if _read(backend, name)]
            for name in found if remove else ():
                backend.delete_password(SERVICE, name)
                if _read(backend, name):
                    raise OSError(f"the key of {name} is still there")
            return "\n".join(found)

        result, reason = await self._ask(look, self._click_limit)
        if remove:
            self._remembered.clear()
        return (result or "").split("\n") if result else [], "" if reason == NO_KEYRING else reason

    async def _from_keyring(self, provider_id: str) -> str:
        if known := self._remembered.get(provider_id):
            return known
        if self._broken_at is not None and self._clock() - self._broken_at < RETRY_AFTER:
            return ""
        value, _ = await self._ask(lambda backend: _read(backend, provider_id), self._limit)
        if value:
            self._remembered[provider_id] = value
        return value or ""

    async def _store(self, provider_id: str, value: str) -> None:
        def store(backend: Backend) -> str:
            backend.set_password(SERVICE, provider_id, value)
            return (
                "" if backend.get_password(SERVICE, provider_id) == value else "It does not keep what is stored in it."
            )

        result, reason = await self._ask(store, self._click_limit)
        if sentence := reason or result:
            raise UserFixable(
                "Key not stored",
                f"The system's keyring cannot be used. {sentence}",
                "Keep the key for this session only, put it into a private file, or set an environment variable.",
            )

    async def _remove(self, provider_id: str) -> None:
        def delete(backend: Backend) -> str:
            if backend.get_password(SERVICE, provider_id) is not None:
                backend.delete_password(SERVICE, provider_id)
            return ""

        self._session.pop(provider_id, None)
        self._remembered.pop(provider_id, None)
        await asyncio.to_thread(self._change_file, provider_id, "")
        _, reason = await self._ask(delete, self._click_limit)
        if reason:
            log.info("the keyring was not asked to forget a key: %s", reason)

    async def _ask(self, call: Callable[[Backend], str], limit: float) -> tuple[str | None, str]:
        """Result of a keyring call, or None and the reason why there is none."""
        try:
            result = await in_daemon_thread(lambda: call(self._backend or _system_keyring()), limit=limit)
        except TimeoutError:
            self.reason = f"It does not answer within {limit:g} seconds."
        except Exception as error:  # noqa: BLE001 - a backend raises whatever its own service raises
            self.reason = _reason(error)
        else:
            self._broken_at, self.reason = None, ""
            return result, ""
        self._broken_at = self._clock()
        return None, self.reason

    def _read_file(self) -> dict[str, str]:
        try:
            content = tomllib.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        return {name: value for name, value in content.items() if isinstance(value, str)}

    def _from_file(self, provider_id: str) -> str:
        try:
            return self._read_file().get(provider_id, "")
        except (OSError, ValueError):
            log.warning("%s cannot be read", self._file)
            return ""

    def _change_file(self, provider_id: str, value: str) -> None:
        try:
            keys = self._read_file()
        except (OSError, ValueError) as error:
            action = f"Correct {self._file}, or move it away."
            raise UserFixable("Key not stored", f"{self._file.name} cannot be read.", action) from error
        if keys.get(provider_id, "") == value:
            return
        keys.pop(provider_id, None)
        if value:
            keys[provider_id] = value
        try:
            if not keys:
                self._file.unlink(missing_ok=True)
                return
            import tomlkit  # only here: it takes longer to load than the rest of the room, and reading needs none

            write_private(self._file, tomlkit.dumps(keys))
        except OSError as error:
            raise unsaved("Key not stored", self._file, error) from error


async def in_daemon_thread[T](call: Callable[[], T], *, limit: float) -> T:
    """Run a call that may hang for minutes; TimeoutError after `limit` seconds, and the thread never delays an exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def put(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(put, result, failure)

    threading.Thread(target=run, daemon=True, name="keyring").start()
    async with asyncio.timeout(limit):
        return await future


class _Unsafe(Exception):
    """The keyring found is one that stores keys unprotected."""


def _system_keyring() -> Backend:
    import keyring

    backend = keyring.get_keyring()
    parts = [backend, *getattr(backend, "backends", [])]
    if any(type(part).__module__.startswith("keyrings.alt") for part in parts):
        raise _Unsafe
    return backend


def _read(backend: Backend, name: str) -> str:
    """A stored key. A desktop whose key store has no collection yet would ask for a new password out of the blue."""
    parts = [backend, *getattr(backend, "backends", [])]
    if any(type(part).__module__ == "keyring.backends.SecretService" for part in parts) and not _has_collection():
        return ""
    return backend.get_password(SERVICE, name) or ""


def _has_collection() -> bool:
    import secretstorage

    with contextlib.closing(secretstorage.dbus_init()) as connection:
        try:
            secretstorage.Collection(connection)
        except secretstorage.ItemNotFoundException:
            return False
    return True


def _reason(error: BaseException) -> str:
    name = type(error).__name__
    if name in ("NoKeyringError", "_Unsafe"):
        return NO_KEYRING
    if name in ("KeyringLocked", "InitError") or "dismissed" in str(error).lower():
        return "It is locked."
    return f"It reports an error ({name})."
