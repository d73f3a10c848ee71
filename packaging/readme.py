"""Write the README's generated tables and its guide again: `uv run python packaging/readme.py`."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from engine.cli import parser
from engine.settings.__main__ import markdown

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def commands(top: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command that can be given, in the order of its help."""
    below = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for one in action.choices.values():
            yield from commands(one)
    if not below:
        yield top


def command_table() -> str:
    """The commands as Markdown."""
    head = "| command | what it does |\n| --- | --- |\n"
    return head + "".join(f"| `{_usage(one)}` | {one.description} |\n" for one in commands(parser()))


def _usage(one: argparse.ArgumentParser) -> str:
    words = one.format_usage().removeprefix("usage: ").replace("[-h] ", "").split()
    return " ".join(words).replace("|", "\\|")


def guide() -> str:
    """The English guide, its pictures named from here."""
    return (ROOT / "resources" / "guide" / "en.md").read_text("utf-8").replace("](../", "](resources/")


def render(text: str) -> str:
    """The README with its tables and the guide as the program has them now."""
    for name, table in (("commands", command_table()), ("settings", markdown()), ("guide", guide())):
        start, end = f"<!-- {name}: packaging/readme.py -->\n", f"<!-- end of {name} -->"
        before, found, rest = text.partition(start)
        if not found or end not in rest:
            raise ValueError(f"the README has no place for {name}")
        text = before + start + "\n" + table + "\n" + end + rest.partition(end)[2]
    return text


if __name__ == "__main__":
    README.write_text(render(README.read_text("utf-8")), "utf-8")
