"""What a server said, made fit to be stored and shown: no key, no text of the conversation."""

from engine.policy.redact import one_line

_WINDOW = 20
_LEFT_OUT = "its message repeats text of the conversation and is left out"


def safe_detail(message: str, *, key: str = "", texts: tuple[str, ...] = ()) -> str:
    """One redacted line of at most 200 characters; left out when 20 characters in a row come from `texts`."""
    if key:
        message = message.replace(key, "…")
    message = message[:400]
    folded, texts = message.casefold(), tuple(text.casefold() for text in texts)
    for start in range(len(folded) - _WINDOW + 1):
        window = folded[start : start + _WINDOW]
        if window.strip() and any(window in text for text in texts):
            return _LEFT_OUT
    return one_line(message)
