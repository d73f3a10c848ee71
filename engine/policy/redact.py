"""Secrets out of text before anything else sees it (engine.md 3.1)."""

import re

from engine.policy.text import utf16_cut, utf16_len


def _rule(label: str, pattern: str, flags: int = 0) -> tuple[str, re.Pattern[str]]:
    return f"[REDACTED:secret:{label}]", re.compile(pattern, flags | re.ASCII)


_RULES = (
    _rule("key", r"\b(sk-[A-Za-z0-9_-]{8,})\b"),
    _rule("github", r"(gh[pousr]_[A-Za-z0-9]{8,})"),
)


def redact(text: str) -> str:
    """Text with every secret replaced by `[REDACTED:secret:<class>]`; doing it twice changes nothing."""
    for placeholder, pattern in _RULES:
        text = pattern.sub(placeholder, text)
    return text


def one_line(text: str, limit: int = 200) -> str:
    """A redacted single line of at most `limit` UTF-16 units, for errors that are stored or shown."""
    line = " ".join(redact(text).split())
    return line if utf16_len(line) <= limit else utf16_cut(line, limit - 1) + "…"
