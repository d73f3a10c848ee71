"""What a tool answers instead of a result."""


class ToolError(Exception):
    """A message for the caller; the texts are part of the contract (contracts/hypatia.md 3.2, 4.4)."""
