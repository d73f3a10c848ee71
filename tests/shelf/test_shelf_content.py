"""What of a conversation is shown: exact names, newest first, limits, and how long it is kept (engine.md 11.3)."""

import asyncio
from typing import Any

import pytest

from engine.shelf.content import BODIES, BODY, SCAN, SHOWN, Contents, is_summary_of
from engine.shelf.errors import ShelfError, ToolError

type Row = dict[str, Any]


def summary(name: str, text: str = "text", at: str = "2026-01-01 00:00:00", tags: list[str] | None = None) -> Row:
    content = {"data": text, "tags": ["summary", "summary 1"] if tags is None else tags}
    return {"name": name, "content": content, "created_at": at}


def edge(head: str, tail: str, at: str = "2026-01-01 00:00:00") -> Row:
    return {"head": head, "relation": "derivedFrom", "tail": tail, "created_at": at}


class Shelf:
    """Answers like a server that orders and limits nothing by itself; counts what it was asked."""

    def __init__(self, knowledge: list[Row], statements: list[Row] | None = None) -> None:
        self.knowledge = knowledge
        self.statements = statements or []
        self.asked = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached = asyncio.Event()
        self.clock = 100.0
        self.contents = Contents(self.call, "work", lambda: self.clock)

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert tool == "query" and arguments["shelf"] == "work"
        self.asked += 1
        self.reached.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        jse = arguments["jse"]
        if "$statement" in jse:
            return {"rows": self.statements[: jse["limit"]]}
        wanted, *below = jse["$knowledge"]
        if below:
            assert (wanted[:2], below[0][:2]) == (["$gte", "name"], ["$lt", "name"])
            rows = [row for row in self.knowledge if wanted[2] <= row["name"] < below[0][2]]
            return {"rows": rows[: jse["limit"]]}
        names = {wanted[2]} if wanted[0] == "$eq" else {part[2] for part in wanted[1:]}
        return {"rows": [row for row in self.knowledge if row["name"] in names]}


@pytest.mark.parametrize("session_id", ["abc", "abc-def", "a_c", "a.c"], ids=lambda one: f"VIEW-17 {one}")
def test_names_are_of_exactly_one_conversation(session_id: str) -> None:
    names = [f"sum-{one}-0-9" for one in ("abc", "abc-def", "a_c", "a.c")]
    assert [name for name in names if is_summary_of(name, session_id)] == [f"sum-{session_id}-0-9"]
    assert not is_summary_of(f"sum-{session_id}-0-9-more", session_id)


async def test_view_18_the_newest_edge_orders_and_other_heads_are_ignored() -> None:
    units = [summary(name, tags=["memory"]) for name in ("wu-a", "wu-b", "note-c")]
    edges = [
        edge("wu-a", "sum-s-0-4", "2026-01-01"),
        edge("wu-b", "sum-s-0-4", "2026-01-02"),
        edge("wu-a", "sum-s-4-9", "2026-01-03"),
        edge("note-c", "sum-s-4-9", "2026-01-04"),
        edge("wu-b", "sum-s-more-0-4", "2026-01-09"),
    ]
    content = await Shelf(units, edges).contents.read("s", 0)
    assert [unit.name for unit in content.units] == ["wu-a", "wu-b"] and content.unit_count == 2


@pytest.mark.parametrize(
    ("tags", "tier"),
    [([], 1), (["summary", "summary x"], 1), (["summary 03"], 1), (["summary", "summary 2"], 2)],
    ids=lambda value: f"VIEW-19 {value}",
)
async def test_the_tier(tags: list[str], tier: int) -> None:
    content = await Shelf([summary("sum-s-0-4", tags=tags)]).contents.read("s", 0)
    assert content.summaries[0].tier == tier


async def test_view_20_a_long_body_is_cut() -> None:
    content = await Shelf([summary("sum-s-0-4", "x" * 4010)]).contents.read("s", 0)
    assert content.summaries[0].text == "x" * BODY + "…" and content.summaries[0].cut and content.truncated


async def test_view_21_one_budget_for_all_sections() -> None:
    # Forty bodies of the largest size are more than the budget: 29 of them fit, and a short unit still does.
    rows = [summary(f"sum-s-{n}-{n + 1}", "x" * (BODY + 1), f"2026-01-01 00:00:{n:02}") for n in range(SHOWN)]
    units = [summary("wu-short", "y" * 10), summary("wu-long", "y" * BODY)]
    edges = [edge("wu-short", "sum-s-0-1", "2026-01-03"), edge("wu-long", "sum-s-0-1", "2026-01-02")]
    content = await Shelf(rows + units, edges).contents.read("s", 0)
    fits = BODIES // (BODY + 1)
    assert [one.name for one in content.summaries] == [f"sum-s-{n}-{n + 1}" for n in range(39, 39 - fits, -1)]
    assert content.summary_count == SHOWN and content.truncated
    assert [one.name for one in content.units] == ["wu-short"] and content.unit_count == 2


async def test_view_23_a_shelf_that_fails_leaves_what_is_shown() -> None:
    shelf = Shelf([summary("sum-s-0-4")])
    good = await shelf.contents.read("s", 0)
    for error in (ToolError("out of memory"), ShelfError("crashed", "It is gone.")):
        shelf.error = error
        content = await shelf.contents.read("s", 0, fresh=True)
        assert (content.summaries, content.summary_count) == (good.summaries, 1) and content.error == str(error)
    shelf.error = None
    assert (await shelf.contents.read("s", 0, fresh=True)).error == ""


async def test_view_24_what_was_read_is_kept_for_15_seconds() -> None:
    shelf = Shelf([summary("sum-s-0-4")])

    async def asks(watermark: int) -> bool:
        before = shelf.asked
        await shelf.contents.read("s", watermark)
        return shelf.asked > before

    assert await asks(4)
    shelf.clock += 14.9
    assert not await asks(4)
    assert await asks(9)  # the watermark moved
    shelf.contents.invalidate("other")
    assert not await asks(9)
    shelf.contents.invalidate("s")
    assert await asks(9)
    shelf.clock += 15
    assert await asks(9)


async def test_view_25_what_was_invalid_while_it_was_read_is_not_kept() -> None:
    shelf = Shelf([summary("sum-s-0-4")])
    shelf.gate.clear()
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(shelf.contents.read("s", 0))
        await shelf.reached.wait()
        shelf.contents.invalidate("s")
        shelf.gate.set()
    assert reading.result().summary_count == 1
    before = shelf.asked
    await shelf.contents.read("s", 0)
    assert shelf.asked > before


async def test_view_26_a_scan_that_ends_at_its_limit_says_so() -> None:
    rows = [summary(f"sum-s-{n}-{n + 1}") for n in range(SCAN + 5)]
    content = await Shelf(rows).contents.read("s", 0)
    assert content.truncated and content.summary_count == SCAN and len(content.summaries) <= SHOWN


async def test_view_33_the_newest_of_many_and_none_of_another() -> None:
    rows = [summary(f"sum-s-{n}-{n + 1}", at=f"2026-01-01 00:00:{n:02}") for n in range(50)]
    content = await Shelf([*rows, summary("sum-s-9-1-2", at="2027-01-01")]).contents.read("s", 0)
    assert [one.name for one in content.summaries] == [f"sum-s-{n}-{n + 1}" for n in range(49, 9, -1)]
    assert content.summary_count == 50 and content.truncated


async def test_names_order_what_is_equally_old() -> None:
    content = await Shelf([summary("sum-s-0-4"), summary("sum-s-4-9")]).contents.read("s", 0)
    assert [one.name for one in content.summaries] == ["sum-s-4-9", "sum-s-0-4"] and not content.truncated


async def test_view_34_a_failure_with_nothing_shown_yet() -> None:
    shelf = Shelf([])
    shelf.error = ToolError("no such shelf")
    content = await shelf.contents.read("s", 0)
    assert (content.summaries, content.units, content.error) == ((), (), "no such shelf")
