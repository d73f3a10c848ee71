"""The two languages of the windows: the English text is the key, `zh_CN.json` holds the Chinese one.

The engine speaks English only; `engine.zh_CN.json` holds what it says often, with `{names}` for the parts that vary.
"""

import json
import re
from collections.abc import Iterable

from PySide6.QtCore import QLocale

from desktop.resources import resource

_words: dict[str, str] = {}
_heard: dict[str, str] = {}
_patterns: list[tuple[re.Pattern[str], str]] = []


def use(choice: str) -> None:
    """Speak `en`, `zh_CN`, or with `system` what the desktop speaks."""
    for known in (_words, _heard, _patterns):
        known.clear()
    if choice == "system":
        choice = "zh_CN" if any(name.startswith("zh") for name in QLocale.system().uiLanguages()[:1]) else "en"
    if choice == "zh_CN":
        _words.update(_catalogue("zh_CN.json"))
        _heard.update(_catalogue("engine.zh_CN.json"))
        _patterns.extend((_pattern(english), said) for english, said in _most_literal_first(_heard.items()))


def _catalogue(name: str) -> dict[str, str]:
    catalogue: dict[str, str] = json.loads(resource("translations", name).read_text("utf-8"))
    return catalogue


def _most_literal_first(texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    with_names = [text for text in texts if "{" in text[0]]
    return sorted(with_names, key=lambda text: -len(re.sub(r"\{\w+\}", "", text[0])))


def _pattern(english: str) -> re.Pattern[str]:
    """A value reaches over the end of a sentence only where nothing follows it."""
    pieces = re.split(r"\{(\w+)\}", english)
    parts = [f"(?P<{p}>(?:(?!\\. ).)+?)" if i % 2 else re.escape(p) for i, p in enumerate(pieces)]
    if len(pieces) > 1 and not pieces[-1]:
        parts[-2] = f"(?P<{pieces[-2]}>.+)"
    return re.compile("".join(parts), re.DOTALL)


def chinese() -> bool:
    """Whether Chinese is spoken now; settings carry their own two labels."""
    return bool(_words)


def tr(text: str, **values: object) -> str:
    """The text in the chosen language, with its `{names}` filled in."""
    text = _words.get(text, text)
    return text.format(**values) if values else text


def trn(one: str, many: str, n: int, **values: object) -> str:
    """The same with a count: `one` for exactly one, `many` otherwise; `{n}` is the formatted number."""
    return tr(one if n == 1 else many, n=number(n), **values)


def heard(text: str) -> str:
    """What the engine said, in the chosen language as far as it is known; what others said stays as it is."""
    if not _heard:
        return text
    if (known := _known(text)) is not None:
        return known
    for mark in re.finditer(r"(\.) |(: )", text):
        end = mark.end(1) if mark[1] else mark.start()
        if (known := _known(text[:end])) is not None:
            return known + ("" if mark[1] else "：") + heard(text[mark.end() :])
    return text


def _known(text: str) -> str | None:
    if text in _heard:
        return _heard[text]
    for pattern, said in _patterns:
        if found := pattern.fullmatch(text):
            return said.format(**{name: heard(value) for name, value in found.groupdict().items()})
    return f"{whole}。" if text.endswith(".") and (whole := _known(text[:-1])) is not None else None


def join(*sentences: str) -> str:
    """Sentences of the engine one after the other, each begun and ended as one, in the chosen language."""
    stop, gap = ("。", "") if chinese() else (".", " ")
    said = [heard(one) for one in sentences if one]
    said = [one[0].upper() + one[1:] if re.match("[a-z]+ ", one) else one for one in said]
    return gap.join(one if one[-1] in ".。!?？：:…" else one + stop for one in said)


def number(value: int) -> str:
    """Thousands apart by a narrow space that never breaks the line."""
    return f"{value:,}".replace(",", "\u202f")
