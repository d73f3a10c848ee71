"""Opens the window "Memory" when it is wanted, and gives back everything it held when it is closed."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from desktop.i18n import join
from desktop.menu import CompanionMenu
from engine.errors import CompanionError
from engine.supervisor import Supervisor

if TYPE_CHECKING:
    from desktop.windows.memory import MemoryWindow
    from engine.app import Engine

type Tell = Callable[[str], None]
GROUP = "memory"
_END = 1.0  # seconds in which what the window asked for must end


class MemoryDesk:
    """At most one window; work that it starts ends with it. `made` gets each window before it is shown."""

    def __init__(
        self,
        engine: "Engine",
        supervisor: Supervisor,
        menu: CompanionMenu,
        made: Callable[["MemoryWindow"], None],
        settings: Callable[[str], object],
        review: Callable[[], object],
    ) -> None:
        self._engine = engine
        self._supervisor = supervisor
        self._menu = menu
        self._made = made
        self._settings = settings
        self._review = review
        self.window: MemoryWindow | None = None

    def open(self, page: str = "") -> "MemoryWindow":
        """The window at a page; without one at the page it shows, or at the first."""
        # Its pages are a quarter of the program's windows, and most starts never need them.
        from desktop.windows.memory import MemoryWindow

        window = self.window
        if window is None:
            window = self.window = MemoryWindow(self._engine, self._menu, self._run)
            window.closed.connect(self._closed)
            window.settings.connect(self._settings)
            window.review.connect(self._review)
            self._made(window)
            page = page or "overview"
        if page:
            window.open(page)
        return window

    def close(self) -> str:
        """Close the window; the page it showed, empty where there was none."""
        window = self.window
        if window is None:
            return ""
        page = window.shown()
        window.close()
        return page

    def _run(self, name: str, work: Callable[[], Awaitable[object]], tell: Tell) -> None:
        self._supervisor.start(self._ran(work, tell), name, GROUP)

    @staticmethod
    async def _ran(work: Callable[[], Awaitable[object]], tell: Tell) -> None:
        try:
            await work()
        except CompanionError as error:
            tell(join(error.title, error.message, error.action))

    def _closed(self) -> None:
        window, self.window = self.window, None
        if window is not None:
            self._supervisor.start(self._release(window), "release a window", "desktop")

    async def _release(self, window: "MemoryWindow") -> None:
        await self._supervisor.cancel(GROUP, timeout=_END)
        window.release()
