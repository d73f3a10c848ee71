"""What every desktop test gets: the application set up as the program sets it up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from PySide6.QtWidgets import QApplication

from desktop import i18n


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    """One application that closing a window never ends, as in desktop/app.py."""
    app = QApplication.instance() or QApplication(["hypatia-companion"])
    assert isinstance(app, QApplication)
    app.setQuitOnLastWindowClosed(False)
    app.setStyle("Fusion")
    return app


@pytest.fixture(autouse=True)
def as_at_the_start(qapp: QApplication) -> Iterator[None]:
    """Language and colours belong to the whole application: what one test chose must not reach the next."""
    yield
    i18n.use("en")
    qapp.styleHints().unsetColorScheme()


@pytest.fixture
def until() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Wait on the running loop until a condition holds; Qt's own waits would nest a loop inside the task."""

    async def wait(condition: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    return wait
