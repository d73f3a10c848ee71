"""The two languages of the windows: the English text is the key, `zh_CN.json` holds the Chinese one."""

import json

from PySide6.QtCore import QLocale

from desktop.resources import resource

_words: dict[str, str] = {}


def use(choice: str) -> None:
    """Speak `en`, `zh_CN`, or with `system` what the desktop speaks."""
    _words.clear()
    if choice == "system":
        choice = "zh_CN" if any(name.startswith("zh") for name in QLocale.system().uiLanguages()[:1]) else "en"
    if choice == "zh_CN":
        _words.update(json.loads(resource("translations", "zh_CN.json").read_text("utf-8")))


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


def number(value: int) -> str:
    """Thousands apart by a narrow space that never breaks the line."""
    return f"{value:,}".replace(",", "\u202f")
