"""`python -m tests.tools.cases`: write tests/README.md, the table of the specification's cases and their tests.

A case is covered by the tests that carry its id: in the name, as in `test_que_03_…`, or in the id of a parameter.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
README = TESTS / "README.md"

GROUPS = {
    "POL": ("Content policy", 40),
    "COL": ("Collector, formatting, project", 51),
    "WDR": ("Withdrawn messages", 17),
    "QUE": ("Queue", 32),
    "PRG": ("Progress and shelves", 8),
    "WRT": ("Writer", 25),
    "CON": ("Consolidator", 41),
    "MOD": ("Routes, effort, model log", 20),
    "CAS": ("Cascade", 16),
    "HSK": ("Housekeeping", 19),
    "VIEW": ("On demand, status, content", 36),
    "SET": ("Settings", 10),
    "AUX": ("Recall, auto-approve, skills, configuration", 20),
    "LOG": ("Log reader", 14),
}

_RECALL = (
    "Recall is not part of the program yet; outside of the agent's process nothing can be put into a conversation."
)
_APPROVE = "Not offered: only something inside the agent's process could approve its commands."
_ROUTES = "The list of models as the settings window edits it comes with that page."
_WINDOW = "Comes with the window that shows it."
_BRIDGE = "There is no HTTP bridge: nothing listens on a TCP port, windows and engine share one process."
_VALUES = "Windows and engine share one process and pass typed values; there is no text that could be malformed."

REASONS: dict[str, str] = {
    **{f"AUX-{n:02}": _RECALL for n in range(1, 8)},
    **{f"AUX-{n:02}": _APPROVE for n in range(8, 14)},
    **{f"SET-{n:02}": _ROUTES for n in (1, 2, 3, 4, 5, 6, 7, 9)},
    "VIEW-09": "Outside of an agent no session calls; the command without an id lists the conversations.",
    "VIEW-27": _WINDOW,
    "VIEW-29": _VALUES,
    "VIEW-30": _BRIDGE,
    "VIEW-31": _WINDOW,
    "VIEW-35": _VALUES,
    "VIEW-36": _BRIDGE,
}

_ID = re.compile(rf"(?<![A-Z])({'|'.join(GROUPS)})[-_](\d\d)(?!\d)")
_RANGE = re.compile(rf"(?<![A-Z])({'|'.join(GROUPS)})_(\d\d)_TO_\1_(\d\d)(?!\d)")


def cases() -> list[str]:
    """Every id of the specification, in its order."""
    return [f"{group}-{number:02}" for group, (_, count) in GROUPS.items() for number in range(1, count + 1)]


def ids_in(text: str) -> set[str]:
    """The ids that a name or a text carries; `con_28_to_con_31` carries four."""
    upper = text.upper()
    found = {f"{group}-{number}" for group, number in _ID.findall(upper)}
    for group, low, high in _RANGE.findall(upper):
        found |= {f"{group}-{number:02}" for number in range(int(low), int(high) + 1)}
    return found


def covered() -> dict[str, list[str]]:
    """Tests per id, as `folder/file.py::name`."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, ids in _of_module(ast.parse(path.read_text("utf-8"))):
            for case in ids:
                found[case].add(f"{path.relative_to(TESTS).as_posix()}::{name}")
    return {case: sorted(tests) for case, tests in found.items()}


def _of_module(module: ast.Module) -> Iterator[tuple[str, set[str]]]:
    tables = {
        target.id: _in_texts(node)
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            ids = ids_in(node.name)
            for decorator in node.decorator_list:
                ids |= _in_texts(decorator)
                for part in ast.walk(decorator):
                    if isinstance(part, ast.Name):
                        ids |= tables.get(part.id, set())
            yield node.name, ids


def _in_texts(node: ast.AST) -> set[str]:
    texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return set().union(*(ids_in(text) for text in texts if _ID.match(text)))


def table() -> str:
    """The README."""
    tests = covered()
    lines = [
        "# The cases of the specification and their tests",
        "",
        "Written by `python -m tests.tools.cases`; a test holds it to what is there. A case without a test says why.",
    ]
    for group, (title, _) in GROUPS.items():
        lines += ["", f"## {title} ({group})", "", "| case | tests |", "| --- | --- |"]
        for case in (case for case in cases() if case.startswith(f"{group}-")):
            cell = "<br>".join(f"`{test}`" for test in tests.get(case, []))
            lines.append(f"| {case} | {cell or REASONS.get(case, '')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    README.write_text(table(), "utf-8")
