"""Bring `resources/translations/companion_zh_CN.ts` in line with the texts in the source.

`uv run python packaging/translations.py` adds what is missing as unfinished, drops what nobody says any more, and
sorts. Fill in the Chinese there by hand or with Qt Linguist, and run it again. The program reads the file as it is.
"""

import ast
import re
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from desktop.i18n import ENGINE, WINDOWS, Catalogue, read, unmet

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "resources" / "translations" / "companion_zh_CN.ts"
TOLD = {
    "DamagedLedger",
    "NoBackup",
    "UserFixable",
    "Environment",
    "Notice",
    "Problem",
    "ModelError",
    "ShelfError",
    "NotUnderstood",
    "Trace",
}  # what reaches a person
HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS version="2.1" language="zh_CN" sourcelanguage="en">\n'
)


def calls(package: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call in a package with the name of what is called."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                yield name, node


def window_texts() -> set[str]:
    """The literal keys of all calls of tr and trn."""
    texts = set()
    for name, call in calls("desktop"):
        for argument in call.args[: {"tr": 1, "trn": 2}.get(name, 0)]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                texts.add(argument.value)
    return texts


def told_texts() -> set[str]:
    """Titles, sentences and actions that the engine writes into an error or a notice, with `{names}` for values."""
    texts = set()
    for name, call in calls("engine"):
        if name in TOLD:
            given = [*call.args[name in ("Notice", "Problem") :], *(one.value for one in call.keywords)]
            texts |= {text for one in given if " " in (text := written(one)) and re.search("[A-Za-z]{3}", plain(text))}
    return texts


def said_texts() -> str:
    """Every text in the source of the engine, with `{}` where values go."""
    texts = []
    for path in (ROOT / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            texts.append(re.sub(r"\{\w+\}", "{}", written(node)))
    return "\n".join(texts)


def written(node: ast.AST) -> str:
    """The text of a literal, with a name for each value in it; nothing for what is no literal."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else f"{{{_name(one)}}}" for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _name(value: ast.AST) -> str:
    inner = getattr(value, "value", value)
    return inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else "value"


def plain(text: str) -> str:
    """A text without its names."""
    return re.sub(r"\{\w+\}", "", text)


def fields(text: str) -> set[str]:
    """The names a text fills in."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def missing(catalogue: Catalogue) -> dict[str, set[str]]:
    """Texts without a translation, by context."""
    told = {re.sub(r"\{\w+\}", "X", text): text for text in told_texts()}
    unknown = {told[one] for one in unmet(told, catalogue[ENGINE])}
    return {WINDOWS: window_texts() - catalogue[WINDOWS].keys(), ENGINE: unknown}


def obsolete(catalogue: Catalogue) -> dict[str, set[str]]:
    """Translations of texts that are nowhere in the source, by context."""
    said = said_texts()
    gone = {
        text for text in catalogue[ENGINE] if not all(piece.strip(" .") in said for piece in re.split(r"\{\w+\}", text))
    }
    return {WINDOWS: catalogue[WINDOWS].keys() - window_texts(), ENGINE: gone}


def faults(catalogue: Catalogue) -> list[str]:
    """What is wrong, a line each."""
    lines = [f"not translated: {one}" for texts in missing(catalogue).values() for one in sorted(texts)]
    lines += [f"nobody says: {one}" for texts in obsolete(catalogue).values() for one in sorted(texts)]
    for texts in catalogue.values():
        lines += [f"unfinished: {text}" for text, said in texts.items() if not said.strip()]
        lines += [
            f"fills in other names: {text}" for text, said in texts.items() if said and fields(text) != fields(said)
        ]
    return lines


def render(catalogue: Catalogue) -> str:
    """The Linguist file, a message on each line, so that two branches that add texts merge by themselves."""
    parts = [HEAD]
    for name, texts in catalogue.items():
        parts.append(f"<context>\n    <name>{name}</name>\n")
        for text, said in sorted(texts.items()):
            unfinished = "" if said else ' type="unfinished"'
            parts.append(
                f"    <message><source>{escape(text)}</source>"
                f"<translation{unfinished}>{escape(said)}</translation></message>\n"
            )
        parts.append("</context>\n")
    return "".join(parts) + "</TS>\n"


def main() -> None:
    """Write the file anew and say what is left to do."""
    catalogue = read(FILE)
    for name, texts in obsolete(catalogue).items():
        for text in texts:
            del catalogue[name][text]
    for name, texts in missing(catalogue).items():
        catalogue[name].update(dict.fromkeys(texts, ""))
    FILE.write_text(render(catalogue), "utf-8")
    sys.stdout.write(("\n".join(faults(catalogue)) or "complete") + "\n")


if __name__ == "__main__":
    main()
