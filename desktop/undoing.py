"""Lets a window's undo bar follow what the engine can take back."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from desktop.i18n import join
from desktop.widgets.undo_bar import UndoBar
from engine.errors import CompanionError
from engine.events import Event, UndoChanged

if TYPE_CHECKING:
    from engine.app import Engine

type Act = Callable[[str, Callable[[], Awaitable[object]], Callable[[str], None] | None], None]
"""Start some work by name; what it returns or how it fails is told."""


def follow_undo(
    bar: UndoBar, engine: "Engine", kinds: tuple[str, ...], act: Act, tell: Callable[[str], object]
) -> None:
    """Show the steps of these kinds, take them back when asked, and `tell` why one could not be."""

    def show() -> None:
        bar.show_steps(engine.undo.offers(*kinds))

    def on_event(event: Event) -> None:
        if isinstance(event, UndoChanged):
            show()

    async def take(id_: int) -> None:
        try:
            await engine.undo.take_back(id_)
        except CompanionError as error:
            tell(join(error.title, error.message, error.action))

    unsubscribe = engine.bus.subscribe(on_event)
    bar.destroyed.connect(lambda: unsubscribe())
    bar.wanted.connect(lambda id_: act("undo", lambda: take(id_), None))
    bar.dismissed.connect(engine.undo.dismiss)
    show()
