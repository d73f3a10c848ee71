"""Runs `async def` tests: on the product's own loop under tests/desktop, on plain asyncio elsewhere."""

import asyncio
import faulthandler
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Hundreds of programs are started: each would compile everything anew, which is half of what they cost.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Whoever runs the tests may use these agents: nothing of theirs is read.
os.environ["CLAUDE_CONFIG_DIR"] = os.environ["CODEX_HOME"] = f"{os.devnull}/no-agent"
LIMIT = 150


def _wants_qt(item: pytest.Item) -> bool:
    return "desktop" in Path(str(item.path)).parts


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if _wants_qt(pyfuncitem):
        from desktop.loop import AppLoop

        app = pyfuncitem._request.getfixturevalue("qapp")
        factory = lambda: AppLoop(app)  # noqa: E731
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def body() -> None:
        async with asyncio.timeout(LIMIT):
            await pyfuncitem.obj(**arguments)

    # A task that will not be cancelled keeps Qt's loop for good, where no signal reaches Python: the worker has to go.
    faulthandler.dump_traceback_later(LIMIT + 30, exit=True)
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(body())
    finally:
        faulthandler.cancel_dump_traceback_later()
    return True


LONG = ("test_kills.py", "test_cli.py", "test_models.py", "test_agents.py", "test_shelf_kills.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: Path(str(item.path)).name not in LONG)  # else one worker ends minutes after the others
    for item in items:
        wants = isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj) and _wants_qt(item)
        if wants and "qapp" not in item.fixturenames:
            item.fixturenames.insert(0, "qapp")
