"""tests/README.md names what is there: every case of the specifications, with tests that exist or with a reason."""

import re

import pytest

from tests.tools.cases import README, REASONS, cases, covered, ids_in

_ROW = re.compile(r"\| ([A-Z]+-\d\d\d?) \| (.*) \|")
_TEST = re.compile(r"`([^`]+::\w+)`")


def _rows() -> list[tuple[str, str]]:
    return [(match[1], match[2]) for line in README.read_text("utf-8").splitlines() if (match := _ROW.fullmatch(line))]


def test_every_case_stands_in_the_table_once() -> None:
    assert [case for case, _ in _rows()] == cases()
    assert len(cases()) == 349 + 138 + 100


def test_every_test_in_the_table_exists_and_carries_the_case() -> None:
    tests = covered()
    gone = [(case, test) for case, cell in _rows() for test in _TEST.findall(cell) if test not in tests.get(case, [])]
    assert gone == [], "run python -m tests.tools.cases"


def test_a_case_without_a_test_says_why() -> None:
    for case, cell in _rows():
        if not _TEST.search(cell):
            assert cell == REASONS[case], "run python -m tests.tools.cases"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("test_que_03_in_order", {"QUE-03"}),
        ("test_con_28_to_con_31_con_36_what", {"CON-28", "CON-29", "CON-30", "CON-31", "CON-36"}),
        ("WDR-05 similar name", {"WDR-05"}),
        ("test_view_100_things", set()),
        ("recall_01", set()),
        ("test_k_13_k_14_gone", {"K-13", "K-14"}),
        ("Q-02-limit", {"Q-02"}),
        ("test_aux_05_case_73_what", {"AUX-05", "CASE-73"}),
        ("CASE-100", {"CASE-100"}),
        ("test_what_a_01_says", set()),
        ("test_x_99_unknown", set()),
    ],
)
def test_ids_in_a_text(text: str, ids: set[str]) -> None:
    assert ids_in(text) == ids
