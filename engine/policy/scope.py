"""The project label as a shelf scope (engine.md 2.11)."""

from engine.policy.redact import redact
from engine.policy.text import white_trim


def scope_name(name: str | None) -> str:
    """A scope Hypatia neither splits nor trims, without secrets, `/` when nothing is left; a fixed point."""
    return white_trim(redact(name or "").replace(",", "_")) or "/"
