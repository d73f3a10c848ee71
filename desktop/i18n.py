"""The two languages of the windows: the English text is the key, a Qt Linguist file holds the Chinese one.

Its context `windows` has the texts given to `tr` and `trn`, its context `engine` what the engine says, with `{names}`
for the parts that vary: the engine speaks English only. `packaging/translations.py` keeps the file complete. It is read
as it is: nothing has to be built, and the sentences of the engine are met by pattern, which a compiled file cannot do.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from desktop.resources import resource

WINDOWS, ENGINE = "windows", "engine"

type Catalogue = dict[str, dict[str, str]]
type Pattern = tuple[re.Pattern[str], str]

_words: dict[str, str] = {}
_heard: dict[str, str] = {}
_patterns: list[Pattern] = []
_qt: list[QTranslator] = []  # Qt's own texts: the buttons of its dialogs


def use(choice: str) -> None:
    """Speak `en`, `zh_CN`, or with `system` what the desktop speaks."""
    for known in (_words, _heard, _patterns):
        known.clear()
    while _qt:
        QCoreApplication.removeTranslator(_qt.pop())
    if choice == "system":
        choice = "zh_CN" if any(name.startswith("zh") for name in QLocale.system().uiLanguages()[:1]) else "en"
    if choice == "zh_CN":
        catalogue = read(resource("translations", "companion_zh_CN.ts"))
        for known, context in ((_words, WINDOWS), (_heard, ENGINE)):
            known.update({text: said for text, said in catalogue[context].items() if said})
        _patterns.extend(_patterns_of(_heard))
        translator = QTranslator()
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if QCoreApplication.instance() is not None and translator.load("qtbase_zh_CN", folder):
            QCoreApplication.installTranslator(translator)
            _qt.append(translator)


def read(path: Path) -> Catalogue:
    """The texts of a Linguist file by context; a text that is not translated yet is empty."""
    from xml.etree import ElementTree  # English needs none of it

    return {
        context.findtext("name", ""): {
            message.findtext("source", ""): message.findtext("translation", "") for message in context.iter("message")
        }
        for context in ElementTree.parse(path).getroot().iter("context")
    }


def _patterns_of(texts: Mapping[str, str]) -> list[Pattern]:
    return [(_pattern(english), said) for english, said in _most_literal_first(texts.items())]


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
    return _met(text, _heard, _patterns)


def _met(text: str, heard_: Mapping[str, str], patterns: Iterable[Pattern]) -> str | None:
    if text in heard_:
        return heard_[text]
    for pattern, said in patterns:
        if found := pattern.fullmatch(text):
            return said.format(**{name: heard(value) for name, value in found.groupdict().items()})
    return f"{whole}。" if text.endswith(".") and (whole := _met(text[:-1], heard_, patterns)) is not None else None


def unmet(texts: Iterable[str], catalogue: Mapping[str, str]) -> set[str]:
    """Those texts of the engine that a catalogue does not know, values in place of its names."""
    patterns = _patterns_of(catalogue)
    return {text for text in texts if _met(text, catalogue, patterns) is None}


def join(*sentences: str) -> str:
    """Sentences of the engine one after the other, each begun and ended as one, in the chosen language."""
    stop, gap = ("。", "") if chinese() else (".", " ")
    said = [heard(one) for one in sentences if one]
    said = [one[0].upper() + one[1:] if re.match("[a-z]+ ", one) else one for one in said]
    return gap.join(one if one[-1] in ".。!?？：:…" else one + stop for one in said)


def number(value: int) -> str:
    """Thousands apart by a narrow space that never breaks the line."""
    return f"{value:,}".replace(",", "\u202f")
