"""The window "Memory" over a real engine: every page, by mouse and keyboard, and nothing left when it is closed."""

import asyncio
import csv
import gc
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication, QLabel

from desktop import i18n
from desktop.windows.memory import MemoryWindow
from desktop.windows.memory_pages.activity import ActivityPage
from desktop.windows.memory_pages.conversations import ConversationsPage
from desktop.windows.memory_pages.graph import GraphPage
from desktop.windows.memory_pages.health import HealthPage
from desktop.windows.memory_pages.overview import OverviewPage
from desktop.windows.memory_pages.search import SearchPage
from engine.ledger.calls import CallLog
from tests.desktop.living import Living, living, talk
from tests.pipeline.talk import answer
from tests.tools.dsh_logs import LogWriter
from tests.tools.model_server import ModelServer, ok

pytestmark = [
    pytest.mark.qt_log_ignore("does not support", extend=True),
]
PAGES = ["overview", "conversations", "search", "graph", "activity", "health"]


def decide(tmp_path: Path, session_id: str = "session-1", turns: int = 3) -> LogWriter:
    """A conversation with something worth keeping in it."""
    log = LogWriter(tmp_path / "dsh" / "sessions", session_id, seed=session_id)
    log.title(f"Plans of {session_id}")
    for turn in range(turns):
        log.user(f"Turn {turn}: we decided that the ferry leaves from quay {turn}, because the wind is right. " * 20)
        log.assistant(f"Understood. The rule of {session_id} is number {turn}: keep to the quay. " * 20)
        log.end_turn()
    return log


async def summarised(one: Living, until: Any, session_id: str = "session-1") -> None:
    """Wait until all of a conversation has its summary."""

    async def done() -> bool:
        state = await one.engine.summaries.state(session_id)
        return state.known and state.caught_up

    while not await done():  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    await one.engine.drained()


def open_page[P](one: Living, name: str, kind: type[P]) -> tuple[MemoryWindow, P]:
    window = one.companion.open_memory(name)
    page = window.page()
    assert isinstance(page, kind)
    return window, page


async def test_the_icon_opens_the_memory_and_the_menu_does_too(tmp_path, until) -> None:
    async with living(tmp_path, answer="all") as one:
        one.companion.menu.memory.trigger()
        window = one.companion.memory_window
        assert window is not None and window.isVisible() and window.shown() == "overview"
        one.companion.menu.status_line.trigger()
        assert one.companion.memory_window is window
        window.open("health")
        one.companion.menu.memory.trigger()
        assert window.shown() == "health"


async def test_the_overview_shows_state_numbers_and_plots(tmp_path, until) -> None:
    decide(tmp_path)
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)
        _, page = open_page(one, "overview", OverviewPage)
        await until(lambda: page._figures is not None and len(page._plots) == 5)
        await until(lambda: "Up to date" in page._state.text())
        await until(lambda: ("Messages recorded today", "6") in page._shown_numbers)
        texts = [page._numbers.itemAt(n).widget().text() for n in range(page._numbers.count())]
        numbers = dict(zip(texts[::2], texts[1::2], strict=True))
        assert numbers["Messages on this shelf"] == "6"
        assert int(numbers["Summaries"]) > 0 and int(numbers["Lessons"]) > 0
        heads = [plot._head.text() for plot in page._plots]
        assert heads[0] == "Messages per day  6" and heads[-1].startswith("Cost per day  0")
        assert page._plots[0]._texts[-1].endswith(": 6 messages")
        assert "No model is set" in page._models.itemAt(0).widget().text()


async def test_the_overview_shows_every_problem_with_what_to_do(tmp_path, until) -> None:
    async with living(tmp_path, "unknown = 1\n[collector]\nmaxUserChars = -5\n", answer="now") as one:
        _, page = open_page(one, "overview", OverviewPage)
        await until(lambda: page._problem_list.count() == 1)
        labels = [label.text() for label in page.findChildren(QLabel) if label.isVisible()]
        assert any("maxUserChars" in text for text in labels)
        assert page._state.text().startswith("Needs attention")
        one.engine.settings.set("collector.maxUserChars", 32_000)
        await until(lambda: page._problem_list.count() == 0)


async def test_what_is_said_while_one_looks_appears(tmp_path, until) -> None:
    log = talk(tmp_path, turns=1)
    async with living(tmp_path, answer="all") as one:
        _, page = open_page(one, "overview", OverviewPage)
        await until(lambda: page._figures is not None and page._figures.days[-1].messages == 2)
        log.user("And another question?")
        log.assistant("And another answer.")
        log.end_turn()
        await until(lambda: page._figures.days[-1].messages == 4)


async def test_the_backlog_is_priced_before_it_is_summarised(tmp_path, until) -> None:
    decide(tmp_path)
    async with living(tmp_path, "[housekeeping]\nbackfillConsolidation = false\n", answer="all") as one:
        one.engine.settings.set("consolidation.enabled", False)
        _, page = open_page(one, "overview", OverviewPage)
        await until(lambda: one.engine.status().logged_today == 6)
        one.engine.settings.set("consolidation.enabled", True)
        page.load()
        await until(lambda: page.summarise_all.isVisible())
        assert "1 conversation is recorded" in page._owed.text()
        page.summarise_all.click()
        assert page._price.isVisible() and "It costs nothing" in page._price_text.text()
        assert page.later.hasFocus() or not page.isActiveWindow()
        page.later.click()
        assert not page._price.isVisible()
        page.summarise_all.click()
        page.go.click()
        await until(lambda: page.line.text() == "1 summary is being made.")
        await summarised(one, until)
        await until(lambda: page._owed.text() == "Everything that is recorded has its summary.")


async def test_a_conversation_shows_what_became_of_it(tmp_path, until) -> None:
    decide(tmp_path)
    talk(tmp_path, "session-2")
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)
        window, page = open_page(one, "conversations", ConversationsPage)
        await until(lambda: page.rows.rowCount() == 2)
        window.open_conversation("session-1")
        await until(lambda: "### Summaries" in page.one.text.shown())
        assert page.one._title.text() == "Plans of session-1"
        assert page.one._lines["messages"][1].text() == "6"
        assert "### Lessons" in page.one.text.shown() and "quay" in page.one.text.toPlainText()
        assert not page.one.summarise_button.isEnabled()
        assert page.rows.row(page.table.currentIndex()).session_id == "session-1"


async def test_view_27_an_answer_for_what_was_left_meanwhile_is_dropped(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        _, page = open_page(one, "conversations", ConversationsPage)
        answer, shown = asyncio.Event(), []

        async def late() -> str:
            await answer.wait()
            return "session-1"

        async def soon() -> str:
            return "session-2"

        page.ask("one of two", late, shown.append)
        page.ask("one of two", soon, shown.append)
        await until(lambda: shown == ["session-2"])
        answer.set()
        await until(lambda: "memory: one of two" not in one.companion._supervisor.names())
        assert shown == ["session-2"]


async def test_the_filter_narrows_the_list_and_says_when_nothing_fits(tmp_path, until, qtbot) -> None:
    decide(tmp_path)
    talk(tmp_path, "session-2")
    async with living(tmp_path, answer="all") as one:
        window, page = open_page(one, "conversations", ConversationsPage)
        await until(lambda: page.rows.rowCount() == 2)
        window._find()
        qtbot.keyClicks(page.filter, "plans")
        await until(lambda: page.rows.rowCount() == 1 and page._count.text() == "1 conversation")
        qtbot.keyClicks(page.filter, " nowhere")
        await until(lambda: page._empty.isVisible())
        assert "No conversation has these words" in page._empty.text()
        page.filter.clear()
        await until(lambda: page.rows.rowCount() == 2 and not page._empty.isVisible())


async def test_an_empty_memory_says_what_will_appear(tmp_path, until) -> None:
    async with living(tmp_path, answer="all") as one:
        _, conversations = open_page(one, "conversations", ConversationsPage)
        await until(lambda: "Conversations appear here" in conversations._empty.text())
        _, search = open_page(one, "search", SearchPage)
        assert "any of your words appear here" in search._hint.text()
        _, graph = open_page(one, "graph", GraphPage)
        await asyncio.sleep(0.2)
        assert graph._pages.currentIndex() == 0 and "once there is a summary" in graph._empty.text()
        _, activity = open_page(one, "activity", ActivityPage)
        await until(lambda: "Calls appear here" in activity._empty.text())


async def test_summarise_now_from_the_conversation(tmp_path, until) -> None:
    talk(tmp_path, words=2)
    async with living(tmp_path, answer="all") as one:
        _, page = open_page(one, "conversations", ConversationsPage)
        await until(lambda: one.engine.status().logged_today == 2)
        page.load()
        await until(lambda: page.one.summarise_button.isEnabled() and page.one.summarise_button.isVisible())
        page.one.summarise_button.click()
        await until(lambda: page.line.text() == "The summary is being made.")
        await until(lambda: "### Summaries" in page.one.text.shown())


async def test_forgetting_asks_first_and_can_be_taken_back(tmp_path, until) -> None:
    decide(tmp_path)
    talk(tmp_path, "session-2")
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)
        window, page = open_page(one, "conversations", ConversationsPage)
        window.open_conversation("session-1")
        panel = page.forgetting
        await until(lambda: page.one._title.text() == "Plans of session-1")
        page.one.forget_button.click()
        await until(lambda: panel.isVisible())
        assert panel._head.text() == "Forget this conversation: Plans of session-1"
        assert "6 messages" in panel._what.text() and "lesson" in panel._what.text()
        panel.keep.click()
        assert not panel.isVisible() and await one.engine.forgetting.forgotten() == []
        page.one.forget_button.click()
        await until(lambda: panel.isVisible())
        panel.confirm.click()
        await until(lambda: page.undo.isVisible() and not panel.isVisible())
        assert page.undo.text.text().startswith("“Plans of session-1” is forgotten.")
        await until(lambda: page.rows.rowCount() == 1)
        assert await one.engine.browsing.entries.search("ferry quay") == []
        await until(lambda: page._forgotten.text() == "1 forgotten conversation")
        page.undo.undo.click()
        await until(lambda: page.rows.rowCount() == 2 and not page._forgotten.isVisible())
        await summarised(one, until)
        assert await one.engine.browsing.entries.search("ferry quay", "message")


async def test_search_leads_to_the_conversation_and_to_the_connections(tmp_path, until, qtbot) -> None:
    decide(tmp_path)
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)
        window, page = open_page(one, "search", SearchPage)
        qtbot.keyClicks(page.words, "ferry quay")
        await until(lambda: page.rows.rowCount() > 0 and "quay" in page.text.toPlainText())
        page.layer.setCurrentIndex(page.layer.findData("lesson"))
        await until(lambda: page.rows.rowCount() > 0 and {hit.kind for hit in page._hits} == {"lesson"})
        lesson = page._hits[0].name
        page.open_button.click()
        await until(lambda: window.shown() == "conversations")
        conversations = window.page()
        assert isinstance(conversations, ConversationsPage)
        await until(lambda: conversations.one._title.text() == "Plans of session-1")
        window.open("search")
        page.connections_button.click()
        assert window.shown() == "graph"
        graph = window.page()
        assert isinstance(graph, GraphPage)
        await until(lambda: graph._around is not None and graph._around.centre.name == lesson)
        assert graph.list.item(0).text().startswith("comes from: ")


async def test_the_graph_is_walked_by_mouse_and_by_keyboard(tmp_path, until, qtbot) -> None:
    decide(tmp_path)
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)
        window, page = open_page(one, "graph", GraphPage)
        await until(lambda: page._around is not None and page.list.count() > 0)
        first = page._around.centre.name
        assert not page.back.isEnabled()
        page.list.setCurrentRow(0)
        qtbot.keyClick(page.list, Qt.Key.Key_Return)
        await until(lambda: page._around.centre.name != first)
        second = page._around.centre.name
        box = next(item for item in page.picture.items() if getattr(item, "node", None) and item.node.name == first)
        place = page.picture.mapFromScene(box.scenePos())
        qtbot.mouseClick(page.picture.viewport(), Qt.MouseButton.LeftButton, pos=place)
        await until(lambda: page._around.centre.name == first)
        page.back.click()
        await until(lambda: page._around.centre.name == second)
        before = page.picture.transform().m11()
        qtbot.keyClick(page.picture, Qt.Key.Key_Plus)
        assert page.picture.transform().m11() > before
        page.whole.click()
        page.open_button.click()
        await until(lambda: window.shown() == "conversations")


async def test_model_calls_are_listed_and_saved(tmp_path, until) -> None:
    async with living(tmp_path, answer="all") as one:
        log = CallLog(one.engine._ledger)
        for effort, outcome, money in (("high", "ok", 0.0123), ("", "error", None)):
            seq = await log.begin("memory-consolidation", "local", f"m-{outcome}", effort, money=money, currency="USD")
            await log.settle(seq, outcome, 2345, 1200, 300, 40, "what it said", money=money, cached_tokens=7)
        _, page = open_page(one, "activity", ActivityPage)
        await until(lambda: page.rows.rowCount() == 2)
        cells = [page.rows.data(page.rows.index(1, column)) for column in range(page.rows.columnCount())]
        assert cells[1:] == ["Summary", "local/m-ok", "high", "Answered", "1\u202f200", "300", "2.3", "0.012 USD"]
        assert page.rows.data(page.rows.index(0, 8)) == "unknown price"
        hint = page.rows.data(page.rows.index(1, 5), Qt.ItemDataRole.ToolTipRole)
        assert "7 of them from the provider’s cache" in hint
        page.outcome.setCurrentIndex(page.outcome.findData("error"))
        await until(lambda: page.rows.rowCount() == 1)
        page.save(str(tmp_path / "calls.csv"))
        await until(lambda: page.line.text().startswith("1 call was written"))
        with (tmp_path / "calls.csv").open(newline="") as file:
            assert [row[3] for row in csv.reader(file)] == ["model", "m-error"]
        (tmp_path / "file").write_text("")
        page.save(str(tmp_path / "file" / "calls.csv"))
        await until(lambda: "not written" in page.line.text())


async def test_health_is_told_and_copied_without_a_word_of_any_conversation(tmp_path, until) -> None:
    talk(tmp_path, "session-zanzibar")
    async with living(tmp_path, answer="all") as one:
        await until(lambda: one.engine.status().logged_today == 2)
        _, page = open_page(one, "health", HealthPage)
        await until(lambda: page._report is not None)
        assert page._lines["The companion"][1].text().endswith("MB of memory")
        assert page.rows.data(page.rows.index(0, 0)) == "default"
        page.check.click()
        await until(lambda: "is whole" in page.line.text())
        page.copy.click()
        await until(lambda: page.line.text().startswith("Copied."))
        text = QApplication.clipboard().text()
        assert "messages: 2" in text
        page.crash.click()
        await until(lambda: page.line.text() == "The program had no fault.")
        (one.home.data / "crash.txt").write_text("a report")
        page.crash.click()
        await until(lambda: QApplication.clipboard().text() == "a report")
        assert not [word for word in ("zanzibar", "importer", "About", "demo") if word in text]


async def test_a_model_that_is_asked_appears_in_overview_and_activity(tmp_path, until) -> None:
    with ModelServer([ok(answer())] * 20) as server:
        decide(tmp_path, turns=1)
        async with living(tmp_path, answer="all") as one:
            route = {"provider": "local", "model": "test-model", "baseUrl": server.url}
            one.engine.settings.set("consolidation.models", [route])
            await summarised(one, until)
            _, page = open_page(one, "activity", ActivityPage)
            await until(lambda: page.rows.rowCount() > 0)
            assert page.rows.data(page.rows.index(0, 2)) == "local/test-model"
            _, overview = open_page(one, "overview", OverviewPage)
            await until(lambda: overview._models.count() == 1)
            assert overview._figures is None or overview._figures.days


async def test_keys_turn_pages_search_and_close(tmp_path, until, qtbot) -> None:
    async with living(tmp_path, answer="all") as one:
        window = one.companion.open_memory()
        await until(window.isActiveWindow)
        for number, name in enumerate(PAGES, start=1):
            window.list.setCurrentRow(0)
            qtbot.keyClick(window, getattr(Qt.Key, f"Key_{number}"), Qt.KeyboardModifier.ControlModifier)
            assert window.shown() == name
        qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        assert window.shown() == "search"
        qtbot.keyClick(window, Qt.Key.Key_F5)
        qtbot.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        assert one.companion.settings_window is not None and one.companion.settings_window.isVisible()
        qtbot.keyClick(window, Qt.Key.Key_Escape)
        assert one.companion.memory_window is None


async def test_the_language_changes_with_the_page_open(tmp_path, until) -> None:
    async with living(tmp_path, answer="all") as one:
        try:
            one.companion.open_memory("health")
            one.engine.settings.set("ui.language", "zh_CN")
            window = one.companion.memory_window
            assert window is not None and window.isVisible()
            assert window.windowTitle() == "记忆" and window.shown() == "health"
        finally:
            i18n.use("en")


async def test_set_09_a_shelf_that_is_gone_stays_chosen_and_is_said_on_the_page(tmp_path, until) -> None:
    decide(tmp_path)
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)
        one.engine.settings.set("shelf", "a-shelf-that-is-none")
        _, page = open_page(one, "search", SearchPage)
        page.words.setText("ferry")
        await until(lambda: page.line.isVisible())
        assert "a-shelf-that-is-none" in page.line.text() and "Error" not in page.line.text()
        assert one.engine.settings.get("shelf") == "a-shelf-that-is-none"


def living_objects() -> dict[str, int]:
    """How many Qt objects and plots Python still knows, by kind."""
    gc.collect()
    counts: dict[str, int] = {}
    for one in gc.get_objects():
        kind = type(one)
        if isinstance(one, QObject) or str(kind.__module__).startswith(("pyqtgraph", "desktop.windows.memory")):
            counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
    return counts


async def test_a_closed_window_leaves_nothing_behind(tmp_path, until) -> None:
    decide(tmp_path)
    async with living(tmp_path, answer="all") as one:
        await summarised(one, until)

        async def visit() -> None:
            window = one.companion.open_memory()
            overview = window.pages["overview"]
            assert isinstance(overview, OverviewPage)
            await until(lambda: len(overview._plots) == 5 and overview._figures is not None)
            for name in PAGES:
                window.open(name)
                await asyncio.sleep(0.1)
            await until(lambda: not one.companion._supervisor.names("memory"))
            window.close()
            assert one.companion.memory_window is None
            await until(lambda: "release a window" not in one.companion._supervisor.names())
            for _ in range(5):
                await asyncio.sleep(0.02)

        await visit()
        await visit()
        before = living_objects()
        for _ in range(3):
            await visit()
        after = living_objects()
        assert {
            kind: (before.get(kind, 0), count) for kind, count in after.items() if count > before.get(kind, 0)
        } == {}
