"""The first Hypatia spoken to in the language of the later ones: what is sent, and what its rows become."""

from typing import Any

import pytest

from engine.shelf.capabilities import FIRST_GENERATION, from_help, from_schemas
from engine.shelf.first_generation import query

HELP = "Usage: hypatia statement-create [OPTIONS] <SUBJECT> <PREDICATE> <OBJECT>"


class First:
    """Notes what it is asked, and answers with rows."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.asked: list[Any] = []
        self._answers = list(answers)

    async def ask(self, jse: Any) -> list[dict[str, Any]]:
        self.asked.append(jse)
        return self._answers.pop(0) if self._answers else []


def test_it_is_known_by_its_words_for_a_statement() -> None:
    assert FIRST_GENERATION in from_help({"statement-create": HELP})
    assert FIRST_GENERATION not in from_help({"statement-create": "<HEAD> <RELATION> <TAIL>"})
    assert FIRST_GENERATION not in from_schemas({})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (["$knowledge"], ["$knowledge"]),
        (["$knowledge", ["$contains", "tags", "rule"]], ["$knowledge", ["$contains", "tags", '"rule"']]),
        (["$knowledge", ["$contains", "scopes", ""]], ["$knowledge", ["$contains", "scopes", '""']]),
        (["$knowledge", ["$contains", "scopes", "$$x"]], ["$knowledge", ["$contains", "scopes", '"$x"']]),
        (["$knowledge", ["$contains", "tags", 'a"备']], ["$knowledge", ["$contains", "tags", '"a\\"备"']]),
        (["$knowledge", ["$contains", "data", "x"]], ["$knowledge", ["$contains", "data", "x"]]),
        (["$knowledge", ["$eq", "name", "head"]], ["$knowledge", ["$eq", "name", "head"]]),
        (
            {"$statement": [["$eq", "relation", "head"], ["$gte", "tail", "a"], ["$like", "head", "b"]]},
            {"$statement": [["$eq", "predicate", "head"], ["$gte", "object", "a"], ["$like", "subject", "b"]]},
        ),
        (
            ["$statement", ["$or", ["$eq", "head", "a"], ["$not", ["$ne", "tail", "b"]]]],
            ["$statement", ["$or", ["$eq", "subject", "a"], ["$not", ["$ne", "object", "b"]]]],
        ),
        (["$statement", ["$triple", "head", "$*", "tail"]], ["$statement", ["$triple", "head", "$*", "tail"]]),
        ('["$knowledge"]', '["$knowledge"]'),
        ([], []),
    ],
)  # fmt: skip
async def test_what_it_is_asked(given: Any, sent: Any) -> None:
    first = First()
    assert await query(first.ask, given) == []
    assert first.asked == [sent]


async def test_what_its_statements_become() -> None:
    row = {"triple": "a,r,b", "subject": "a", "predicate": "r", "object": "b", "content": {"data": ""}}
    found = await query(First([row]).ask, ["$statement"])
    assert found == [{"head": "a", "relation": "r", "tail": "b", "triple": "a,r,b", "content": {"data": ""}}]


async def test_what_no_summary_covers_is_told_from_two_answers() -> None:
    entries = [{"name": f"m{number}", "content": {}} for number in (4, 3, 2, 1)]
    edges = [{"subject": "sum", "predicate": "summary", "object": name} for name in ("m2", "other")]
    first = First(entries, edges)
    jse = {"$not-summaried": ["message", ["$contains", "scopes", "p"]], "limit": 2, "offset": 1}
    assert [row["name"] for row in await query(first.ask, jse)] == ["m3", "m4"]
    assert first.asked[0]["$knowledge"] == [["$contains", "tags", '"message"'], ["$contains", "scopes", '"p"']]
    assert first.asked[1]["$statement"] == [["$eq", "predicate", "summary"]]
