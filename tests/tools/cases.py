"""`python -m tests.tools.cases`: write tests/README.md, the table of the specifications' cases and their tests.

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
    "P": ("Hypatia: protocol", 15),
    "K": ("Hypatia: knowledge", 23),
    "S": ("Hypatia: statements", 10),
    "Q": ("Hypatia: JSE", 28),
    "N": ("Hypatia: what has no summary, current session", 8),
    "F": ("Hypatia: full text", 10),
    "V": ("Hypatia: similar", 8),
    "B": ("Hypatia: backfill", 4),
    "M": ("Hypatia: models", 1),
    "G": ("Hypatia: scopes and tags", 4),
    "L": ("Hypatia: shelves", 3),
    "A": ("Hypatia: archives", 3),
    "R": ("Hypatia: resources", 4),
    "X": ("Hypatia: client", 17),
    "CASE": ("Memory of agents and people", 100),
}

_SEED = "A hook or DSH's plugin asks at the start of each conversation; nothing has to be put into one that goes on."
_SHELF = "Agents ask the companion, which knows its shelf; they are not told to name one."
_APPROVE = "Not offered: only something inside the agent's process could approve its commands."
_BRIDGE = "There is no HTTP bridge: nothing listens on a TCP port, windows and engine share one process."
_VALUES = "Windows and engine share one process and pass typed values; there is no text that could be malformed."
_CHECKS = "Statements are not checked against the files of a project; there are no guards."
_CAPTURE = "Not offered: what is said is remembered by summaries and lessons, not by a sentence that asks for it."
_CANDIDATES = "Not offered: nothing is proposed from single sentences or commands; a lesson needs its evidence."
_ERASE = "A conversation is forgotten as a whole (tests/forgetting); single statements are refused or undone in Review."
_RETRY = "A statement that cannot be written stays pending and is tried again as long as it takes; nothing is given up."
_HANDBOOK = "There is no handbook: memory is read through the windows, the command line and the agents' tools."

REASONS: dict[str, str] = {
    "AUX-03": _SHELF,
    "AUX-06": _SEED,
    **{f"AUX-{n:02}": _APPROVE for n in range(8, 14)},
    "QUE-24": "Nobody waits for one record: events tell what became of it, and the end of a run drains all.",
    "VIEW-09": "Outside of an agent no session calls; the command without an id lists the conversations.",
    "VIEW-29": _VALUES,
    "VIEW-30": _BRIDGE,
    "VIEW-35": _VALUES,
    "VIEW-36": _BRIDGE,
    **{f"CASE-{n:02}": _CHECKS for n in (*range(1, 17), 52, 100)},
    **{f"CASE-{n:02}": _CAPTURE for n in range(17, 28)},
    **{f"CASE-{n:02}": _CANDIDATES for n in range(28, 38)},
    "CASE-43": "Lessons are compared with earlier ones; statements of agents are not.",
    **{f"CASE-{n:02}": _ERASE for n in (*range(62, 71), 85)},
    **{f"CASE-{n:02}": _RETRY for n in (79, 80)},
    **{f"CASE-{n:02}": _HANDBOOK for n in range(87, 100)},
}

_ID = re.compile(rf"(?<![A-Z])({'|'.join(name for name in GROUPS if len(name) > 1)})[-_](\d\d\d?)(?!\d)")
_RANGE = re.compile(r"(?<![A-Z])([A-Z]{3,4})_(\d\d)_TO_\1_(\d\d)(?!\d)")
_FIRST = re.compile(r"(?:TEST_)?((?:[A-Z]{1,4}[-_]\d\d\d?(?![A-Z\d])[-_ ]?)+)")
_SHORT = re.compile(r"(?<![A-Z])([A-Z])[-_](\d\d)")


def cases() -> list[str]:
    """Every id of the specification, in its order."""
    return [f"{group}-{number:02}" for group, (_, count) in GROUPS.items() for number in range(1, count + 1)]


def ids_in(text: str) -> set[str]:
    """The ids that a name or a text carries; `con_28_to_con_31` carries four. Ids of one letter only stand in front."""
    upper = text.upper()
    found = {f"{group}-{number}" for group, number in _ID.findall(upper)}
    for group, low, high in _RANGE.findall(upper):
        found |= {f"{group}-{number:02}" for number in range(int(low), int(high) + 1)}
    if first := _FIRST.match(upper):
        found |= {f"{group}-{number}" for group, number in _SHORT.findall(first[1])}
    return found & _KNOWN


_KNOWN = frozenset(cases())


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
    return set().union(*(ids_in(text) for text in texts if _FIRST.match(text)))


def table() -> str:
    """The README."""
    tests = covered()
    lines = [
        "# The cases of the specifications and their tests",
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
