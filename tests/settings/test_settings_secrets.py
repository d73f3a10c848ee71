"""Where keys come from and how a broken keyring is survived (platform.md 5)."""

import asyncio
import logging
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from keyring.backends.fail import Keyring as NoKeyring

from engine.errors import UserFixable
from engine.settings.secrets import RETRY_AFTER, Backend, Keys

VARIABLES = {"deepseek": ("DEEPSEEK_API_KEY",), "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
KEY = "sk-test-0123456789abcdef"
OTHER = "sk-test-another-key-9876"


class MemoryKeyring:
    """A working keyring without a service behind it; were it one of keyring's classes, other tests would find it."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class ForgetfulKeyring(MemoryKeyring):
    """Says yes and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass

    def delete_password(self, service: str, username: str) -> None:
        pass


class FailingKeyring(MemoryKeyring):
    """What a desktop service does that fails to come up: an error that is no keyring error."""

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        raise LookupError("Prompt dismissed")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise LookupError(f"cannot store {password}")


class HangingKeyring(MemoryKeyring):
    """Blocks until released, as a service does that waits for another one."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.release = threading.Event(), threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self.started.set()
        self.release.wait(30)
        return KEY


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def keys(tmp_path: Path, backend: Backend, env: dict[str, str] | None = None, **more: float) -> Keys:
    return Keys(lambda name: VARIABLES.get(name, ()), tmp_path / "keys.toml", env=env or {}, backend=backend, **more)


async def test_the_environment_comes_first_then_the_keyring(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    await keys(tmp_path, backend).set("gemini", KEY)
    assert await keys(tmp_path, backend).get("gemini") == KEY
    assert await keys(tmp_path, backend, {"GOOGLE_API_KEY": " second "}).get("gemini") == "second"
    env = {"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"}
    assert await keys(tmp_path, backend, env).get("gemini") == "first"
    assert await keys(tmp_path, backend, {"GEMINI_API_KEY": "  "}).get("gemini") == KEY
    assert await keys(tmp_path, backend).get("deepseek") == ""
    assert not (tmp_path / "keys.toml").exists()


async def test_a_key_is_read_from_the_keyring_once(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    backend.set_password("hypatia-companion", "deepseek", KEY)
    store = keys(tmp_path, backend)
    assert [await store.get("deepseek") for _ in range(3)] == [KEY] * 3
    assert backend.asked == 1


async def test_a_session_key_is_kept_nowhere(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = keys(tmp_path, backend)
    await store.set("deepseek", KEY, "session")
    assert await store.get("deepseek") == KEY
    assert not backend.kept and not list(tmp_path.iterdir())
    assert await keys(tmp_path, backend).get("deepseek") == ""


async def test_the_newest_key_wins_wherever_it_is_stored(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = keys(tmp_path, backend)
    await store.set("deepseek", "in-keyring")
    await store.set("deepseek", "in-file", "file")
    assert await store.get("deepseek") == "in-file"
    await store.set("deepseek", "in-session", "session")
    assert await store.get("deepseek") == "in-session"
    await store.set("deepseek", "in-file-again", "file")
    assert await store.get("deepseek") == "in-file-again"
    await store.set("deepseek", "in-keyring-again")
    assert await store.get("deepseek") == "in-keyring-again"
    assert not (tmp_path / "keys.toml").exists(), "an empty file is removed"


async def test_the_file_is_private_and_holds_only_what_was_asked_for(tmp_path: Path) -> None:
    store = keys(tmp_path, MemoryKeyring())
    await store.set("deepseek", KEY, "file")
    await store.set("gemini", OTHER, "file")
    path = tmp_path / "keys.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["keys.toml"]
    again = keys(tmp_path, MemoryKeyring())
    assert (await again.get("deepseek"), await again.get("gemini")) == (KEY, OTHER)


async def test_a_damaged_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text("deepseek = = x", encoding="utf-8")
    store = keys(tmp_path, MemoryKeyring())
    assert await store.get("deepseek") == ""
    with pytest.raises(UserFixable, match="cannot be read"):
        await store.set("deepseek", KEY, "file")
    assert (tmp_path / "keys.toml").read_text(encoding="utf-8") == "deepseek = = x"


async def test_a_blank_key_is_never_stored_and_removes_the_old_one_everywhere(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = keys(tmp_path, backend)
    await store.set("deepseek", KEY)
    await store.set("deepseek", KEY, "file")
    await store.set("deepseek", KEY, "session")
    await store.set("deepseek", "  ")
    assert await store.get("deepseek") == "" and not backend.kept and not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "密钥"], ids=["space", "line break", "not ascii"])
async def test_what_cannot_be_a_key_is_refused(tmp_path: Path, value: str) -> None:
    backend = MemoryKeyring()
    with pytest.raises(UserFixable, match="no spaces") as caught:
        await keys(tmp_path, backend).set("deepseek", value)
    assert value not in str(caught.value) and not backend.kept


@pytest.mark.parametrize(
    ("backend", "part"),
    [
        (NoKeyring(), "no keyring that protects keys"),
        (FailingKeyring(), "reports an error"),
        (ForgetfulKeyring(), "does not keep"),
    ],
    ids=["none", "failing", "forgetful"],
)
async def test_a_keyring_that_does_not_work_is_named(
    tmp_path: Path, backend: Backend, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = keys(tmp_path, backend)
    assert part in await store.probe()
    with pytest.raises(UserFixable) as caught:
        await store.set("deepseek", KEY)
    assert part in caught.value.message and "session" in caught.value.action
    assert KEY not in str(caught.value) and KEY not in caplog.text
    assert await store.get("deepseek") == ""
    await store.set("deepseek", KEY, "session")
    assert await store.get("deepseek") == KEY


async def test_a_working_keyring_passes_the_probe_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    assert await keys(tmp_path, backend).probe() == "" and not backend.kept


async def test_a_keyring_that_hangs_is_left_alone_for_a_while(tmp_path: Path) -> None:
    backend, clock = HangingKeyring(), Clock()
    store = Keys(lambda _: (), tmp_path / "keys.toml", env={}, backend=backend, clock=clock, limit=0.05)
    assert await store.get("deepseek") == "" and "does not answer" in store.reason
    assert await store.get("deepseek") == "" and backend.asked == 1, "no second wait"
    backend.release.set()
    assert await store.get("deepseek") == "" and backend.asked == 1
    clock.now += RETRY_AFTER
    assert await store.get("deepseek") == KEY and store.reason == ""


async def test_a_hanging_keyring_does_not_block_the_loop(tmp_path: Path) -> None:
    backend = HangingKeyring()
    store = keys(tmp_path, backend)
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(store.get("deepseek"))
        assert await asyncio.to_thread(backend.started.wait, 10)
        assert not asked.done(), "the loop runs while the keyring hangs"
        backend.release.set()
    assert asked.result() == KEY


def test_a_hanging_keyring_does_not_delay_the_end(tmp_path: Path) -> None:
    backend = HangingKeyring()
    asyncio.run(keys(tmp_path, backend, limit=0.05).get("deepseek"))
    waiting = [thread for thread in threading.enumerate() if thread.name == "keyring"]
    assert waiting and all(thread.daemon for thread in waiting)
    backend.release.set()
    for thread in waiting:
        thread.join(10)
        assert not thread.is_alive(), "its late answer meets a closed loop"


PROBE = """
import asyncio, sys
from pathlib import Path
from engine.settings.secrets import Keys
print(asyncio.run(Keys(lambda _: (), Path(sys.argv[1]), env={}).probe()))
"""
PLAINTEXT = """
from keyring.backend import KeyringBackend
class PlaintextKeyring(KeyringBackend):
    priority = 1
    kept = {}
    def get_password(self, service, username): return self.kept.get(username)
    def set_password(self, service, username, password): self.kept[username] = password
    def delete_password(self, service, username): del self.kept[username]
"""


@pytest.mark.parametrize(
    ("backend", "answer"),
    [
        ("keyring.backends.fail.Keyring", "This system has no keyring that protects keys."),
        ("keyrings.alt.file.PlaintextKeyring", "This system has no keyring that protects keys."),
        ("private_store.PlaintextKeyring", ""),
    ],
    ids=["none", "unprotected", "usable"],
)
def test_the_system_keyring_is_used_only_when_it_protects(tmp_path: Path, backend: str, answer: str) -> None:
    for module in ("keyrings/alt/file.py", "private_store.py"):
        path = tmp_path / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PLAINTEXT, encoding="utf-8")
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHON_KEYRING_BACKEND": backend, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = [sys.executable, "-c", PROBE, str(tmp_path / "keys.toml")]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == answer
