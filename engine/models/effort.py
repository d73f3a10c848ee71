"""How much a model thinks, and the room its answer gets for that (engine.md 8.2, 8.3)."""

from collections.abc import Collection

CONSOLIDATION = "memory-consolidation"
ADJUDICATION = "memory-adjudication"
CASCADE = "memory-cascade"
TEST = "route-test"

OFF = "off"
THINKING_TOKENS = 4000

_OFF_BY_DEFAULT = (CONSOLIDATION, ADJUDICATION, TEST)


def resolve(configured: object, declared: Collection[str] | None, purpose: str) -> tuple[str, str]:
    """The level to send (empty = none) and why a wish was not followed (empty = nothing to say).

    `declared` None: nobody can be asked what the model offers.
    """
    wish = configured.strip() if isinstance(configured, str) else ""
    if declared is None:
        if not wish:
            return "", "It is not known whether this model can switch thinking off; its own default is used."
        return "", f"Thinking effort “{wish}” is not sent: this provider cannot be asked which levels it has."
    if wish in declared:
        return wish, ""
    if wish:
        offered = f"it has {', '.join(declared)}" if declared else "it declares none"
        return "", f"Thinking effort “{wish}” is not sent: this model does not declare it ({offered})."
    return (OFF, "") if purpose in _OFF_BY_DEFAULT and OFF in declared else ("", "")


def output_cap(base: int, sent: str) -> int:
    """Token limit of an answer: thinking and answer share one limit, so thinking gets room beside the answer."""
    return base if sent == OFF else base + THINKING_TOKENS
