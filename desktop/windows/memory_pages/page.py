"""What the pages share: asking the engine without waiting for it, and a line for what came of it."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop.i18n import join
from desktop.widgets.text import GRID, heading, muted, spaced
from engine.events import Event

if TYPE_CHECKING:
    from engine.app import Engine

type Tell = Callable[[str], None]
type Run = Callable[[str, Callable[[], Awaitable[object]], Tell], None]
"""Start work by name while the window is open; how it failed is told."""


class Page(QWidget):
    """Loads when it is looked at and when the engine tells of a change; nothing here waits."""

    def __init__(self, engine: "Engine", run: Run, said: str, about: str = "") -> None:
        super().__init__()
        self.engine = engine
        self._run = run
        self._turns: defaultdict[str, int] = defaultdict(int)
        self.setAccessibleName(said)
        self.line = muted()
        self.line.hide()
        self.body = spaced(QVBoxLayout(self), 2 * GRID, GRID + GRID // 2)
        self.head = heading(said)
        self.body.addWidget(self.head)
        if about:
            self.body.addWidget(muted(about))

    def load(self) -> None:
        """Read what is shown anew."""

    def heard(self, event: Event) -> None:
        """The engine tells something while this page is looked at."""

    def tick(self) -> None:
        """A minute has passed."""

    def look_for(self) -> None:
        """Somebody wants to look for something here."""

    def tell(self, sentence: str) -> None:
        """What came of it, or nothing."""
        self.line.setText(sentence)
        self.line.setVisible(bool(sentence))

    def ask[T](self, key: str, question: Callable[[], Awaitable[T]], show: Callable[[T], object]) -> None:
        """Put a question and show its answer, unless the same was asked again meanwhile."""
        self._turns[key] += 1
        turn = self._turns[key]

        async def work() -> None:
            answer = await question()
            if self._turns[key] == turn:
                show(answer)

        self._run(f"memory: {key}", work, self.tell)

    def do(self, key: str, deed: Callable[[], Awaitable[object]]) -> None:
        """Do something a person asked for; a sentence that comes back is told."""

        async def work() -> None:
            said = await deed()
            if isinstance(said, str):
                self.tell(join(said))

        self._run(f"memory: {key}", work, self.tell)
