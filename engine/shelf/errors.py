"""What can go wrong between us and a shelf, in words for people."""

from typing import Literal

from engine.errors import Environment, UserFixable

type Kind = Literal["timeout", "crashed", "cannot start", "crash loop", "storage", "closed"]

_TITLES: dict[Kind, str] = {
    "timeout": "The shelf did not answer",
    "crashed": "The shelf server stopped",
    "cannot start": "The shelf server cannot start",
    "crash loop": "The shelf server keeps stopping",
    "storage": "The shelf cannot be written",
    "closed": "The shelf is closed",
}


class ShelfError(Environment):
    """The child or its disk failed; the same call may succeed later."""

    def __init__(self, kind: Kind, message: str, action: str = "It is tried again by itself.") -> None:
        super().__init__(_TITLES[kind], message, action)
        self.kind = kind


class ShelfNotConnected(UserFixable):
    """The server does not know the shelf or cannot open it, even after a restart."""

    def __init__(self, shelf: str, reason: str = "") -> None:
        super().__init__(
            "The shelf is not connected",
            f"“{shelf}”: {reason.rstrip('.') or 'the server does not know it, or cannot open its folder'}.",
            "Bring its folder back or connect it again under Settings, Shelves, or choose another shelf.",
        )
        self.shelf = shelf


class McpUnavailable(UserFixable):
    """This Hypatia cannot serve us; sticky until the program file changes (contracts/hypatia.md 1.2)."""

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(
            "This Hypatia is too old",
            f"{program} cannot be used: {reason}.",
            "Update Hypatia, or set “binaries” to “built-in” in the settings.",
        )


class ToolError(Exception):
    """A tool answered with an error; `message` is the server's own text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def not_found(self) -> bool:
        """Whether the entry or statement does not exist."""
        return self.message.startswith("not found:")
