"""`python -m engine.settings` prints the README's table of settings."""

import json
import sys

from engine.settings.setting import Setting
from engine.settings.table import SETTINGS


def markdown() -> str:
    """The settings table as Markdown."""
    head = "| setting | what it does | default | valid | takes effect |\n| --- | --- | --- | --- | --- |\n"
    return head + "".join(_line(row) for row in SETTINGS)


def _line(row: Setting) -> str:
    effect = "at the next use" if row.live else "recording starts anew"
    default = json.dumps(row.default, ensure_ascii=False)
    return f"| `{row.key}` | {row.label_en}. {row.help_en} | `{default}` | {row.bounds()} | {effect} |\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
