"""One engine per home: the lock, the address file and the control socket."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import instance
from engine.instance import Instance, NotReachable, answers, ask_running
from engine.jsonrpc import RpcError
from engine.paths import Home

_HOLDER = """
import sys, time
from pathlib import Path
from engine import instance
from engine.paths import Home
held = instance.acquire(Home.at(Path(sys.argv[1])))
print("held" if held else "taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home.at(tmp_path / "home")
    made.create()
    return made


def _acquired(home: Home) -> Instance:
    owner = instance.acquire(home)
    assert owner is not None
    return owner


async def _echo(method: str, params: dict[str, Any]) -> Any:
    if method == "refuse":
        raise RpcError(-32000, "no\nbecause\ndo that")
    if method == "wait":
        await asyncio.sleep(60)
    return {"method": method, **params}


async def test_only_one_holds_the_lock(home: Home) -> None:
    first = _acquired(home)
    assert instance.acquire(home) is None
    await first.close()
    second = _acquired(home)
    await second.close()


def test_the_lock_ends_with_its_process(home: Home) -> None:
    command = [sys.executable, "-c", _HOLDER, str(home.data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert instance.acquire(home) is None
        child.kill()
    owner = instance.acquire(home)
    assert owner is not None
    asyncio.run(owner.close())


async def test_questions_are_answered(home: Home) -> None:
    owner = _acquired(home)
    await owner.serve(_echo)
    assert await ask_running(home, "status", {"a": 1}) == {"method": "status", "a": 1}
    assert await answers(home, patience=5)
    with pytest.raises(RpcError, match="because"):
        await ask_running(home, "refuse")
    await owner.close()
    assert not (home.data / "control.json").exists()
    assert list(home.runtime.iterdir()) == []


async def test_only_this_user_can_ask(home: Home) -> None:
    owner = _acquired(home)
    await owner.serve(_echo)
    address = home.data / "control.json"
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    assert stat.S_IMODE((home.runtime / "control.sock").stat().st_mode) == 0o600
    where = json.loads(address.read_text("utf-8"))
    address.write_text(json.dumps(where | {"token": "guessed"}), "utf-8")
    with pytest.raises(RpcError, match="not allowed"):
        await ask_running(home, "status")
    await owner.close()


async def test_nobody_there(home: Home) -> None:
    with pytest.raises(NotReachable) as none:
        await ask_running(home, "status", reach=0.3)
    assert none.value.action
    assert not await answers(home, patience=0.1)


async def test_what_a_dead_one_left_behind_is_not_believed(home: Home) -> None:
    owner = _acquired(home)
    (home.data / "control.json").write_text('{"pid": 1, "token": "x", "socket": "/nowhere"}', "utf-8")
    (home.runtime / "control.sock").write_text("stale", "utf-8")
    with pytest.raises(NotReachable):
        await ask_running(home, "status", reach=0.3)
    await owner.serve(_echo)
    assert await ask_running(home, "status") == {"method": "status"}
    await owner.close()


async def test_one_that_starts_late_is_waited_for(home: Home) -> None:
    owner = _acquired(home)
    loop = asyncio.get_running_loop()
    asked = loop.run_in_executor(None, lambda: asyncio.run(ask_running(home, "status", reach=20)))
    await asyncio.sleep(0.3)
    await owner.serve(_echo)
    assert await asked == {"method": "status"}
    await owner.close()


async def test_an_answer_that_does_not_come(home: Home) -> None:
    owner = _acquired(home)
    await owner.serve(_echo)
    with pytest.raises(NotReachable):
        await ask_running(home, "wait", limit=0.2)
    # The end does not wait for guests either.
    guest = asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(_lost(home)))
    await asyncio.sleep(0.3)
    await owner.close()
    assert await guest == "lost"


async def _lost(home: Home) -> str:
    try:
        await ask_running(home, "wait", limit=30)
    except NotReachable:
        return "lost"
    return "answered"


async def test_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    long = Home.at(tmp_path / ("deep" * 20) / ("er" * 20))
    long.create()
    owner = _acquired(long)
    await owner.serve(_echo)
    where = Path(json.loads((long.data / "control.json").read_text("utf-8"))["socket"])
    assert len(os.fsencode(where)) < 108
    assert stat.S_IMODE(where.parent.stat().st_mode) == 0o700
    assert await ask_running(long, "status") == {"method": "status"}
    await owner.close()
    assert not where.exists()
