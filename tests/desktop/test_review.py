"""Review, over plain values and over a real engine."""

import time
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from desktop.windows.review import PAGE, ReviewWindow
from engine.memory.answers import Where
from engine.views import Attempt, FailedTask, Proposal, ReviewItem, ReviewKind
from tests.desktop.living import living, talk
from tests.desktop.samples import FAILED, ITEMS, task_item
from tests.tools.model_server import ModelServer, status

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # offscreen has no stacking order
BUDGET = "[budget]\nmaxTokensPerDay = 100\n[models]\nprices = ['local/m 1 - 1 USD']\n"
TASKS = [task_item(task) for task in FAILED]


@pytest.fixture
def window(qtbot) -> ReviewWindow:
    one = ReviewWindow()
    qtbot.addWidget(one)
    one.show()
    return one


def texts(window: ReviewWindow) -> str:
    return " ".join(label.text() for label in window.findChildren(QLabel) if label.isVisibleTo(window))


def buttons(card) -> list[str]:
    return [button.text() for button in card.findChildren(QPushButton)]


def many(count: int) -> list[ReviewItem]:
    return [
        task_item(replace(FAILED[0], task_id=f"consolidate:{n}:4", session_id=str(n), conversation=f"Talk {n}"))
        for n in range(count)
    ]


def test_it_says_what_which_model_why_and_what_to_do(window, qtbot) -> None:
    assert window.empty.isVisible()
    window.show_items(TASKS)
    assert not window.empty.isVisible()
    qtbot.wait(10)
    said = texts(window)
    for part in (
        "2 things wait for you",
        "Summary of “Why does the importer drop the last row?”",
        "Failed task · Model: deepseek/deepseek-chat",
        "failed 3 times",
        "project importer",
        "The key was refused (HTTP 401).",
        "What to do: Check the key of DeepSeek in Settings, Models, then press Retry.",
        "Archive of “部署脚本改成蓝绿发布”",
    ):
        assert part in said
    retried: list[tuple[list[str], int | None]] = []
    window.retry.connect(lambda ids, place: retried.append((ids, place)))
    card = window.cards()[1]
    card.retry.setFocus()
    qtbot.keyClick(card.retry, Qt.Key.Key_Space)
    assert retried == [(["cascade:2b77-b:0"], None)]
    assert not card.isEnabled()
    before = window.cards()
    window.show_items(list(TASKS))
    assert window.cards() == before


def test_it_shows_the_attempts_and_offers_the_other_models(window) -> None:
    at = FAILED[0].failed_at
    attempts = (
        Attempt(at - 9000, "deepseek/chat", "DeepSeek refused the key (401).", 0, 0),
        Attempt(at - 5000, "ollama/qwen", "the answer broke off", 1200, 34),
        Attempt(at, "ollama/qwen", "the answer broke off", 1200, 0),
    )
    retried: list[tuple[list[str], int | None]] = []
    window.retry.connect(lambda ids, place: retried.append((ids, place)))
    window.show_items([task_item(FAILED[0], attempts), TASKS[1]], ["deepseek/chat", "ollama/qwen"])
    card, without = window.cards()
    told = [label.text().partition(" · ")[2] for label in card.history]
    assert told == [
        "deepseek/chat\nDeepSeek refused the key (401).",
        "ollama/qwen · 2 times · 2\u202f434 tokens\nThe answer broke off.",
    ]
    assert without.history == []
    assert card.others is not None and card.others.text() == "Retry with ollama/qwen"
    card.others.click()
    assert retried == [([FAILED[0].task_id], 1)] and not card.isEnabled()
    window.show_items(TASKS, ["deepseek/chat", "ollama/qwen", "R&D/model"])
    others = window.cards()[1].others
    assert others is not None
    entries = others.menu().actions()
    assert [entry.text() for entry in entries] == ["ollama/qwen", "R&&D/model"]
    entries[1].trigger()
    assert retried[1:] == [([FAILED[1].task_id], 2)]
    recording: FailedTask = replace(FAILED[0], kind="log-message")
    window.show_items([task_item(recording)], ["deepseek/chat", "ollama/qwen"])
    assert window.cards()[0].others is None


def test_each_kind_has_the_actions_that_settle_it(window) -> None:
    told: list[object] = []
    window.take_over.connect(lambda: told.append("take over"))
    window.open_settings.connect(told.append)
    window.open_conversation.connect(told.append)
    window.dismiss.connect(told.append)
    window.show_items(ITEMS)
    plugin, budget, model, task, _, log = window.cards()
    assert buttons(plugin) == ["Open Settings", "Take over 37 conversations"]
    assert buttons(budget) == ["Open Settings"]
    assert buttons(model) == ["Open Settings"]
    assert buttons(task) == ["Open conversation", "Open Settings", "Discard…", "Retry"]
    assert buttons(log) == ["Open conversation", "Do not mention again"]
    for card in (plugin, budget, model, task, log):
        for button in card.findChildren(QPushButton):
            assert button.accessibleName().endswith(card.title)
            if button.text().startswith(("Open", "Take", "Do not")):
                button.click()
    assert told == ["Shelves", "take over", "Budget", "Models", "1f0c-a", "Models", "5e01-e", ["log:4fd1"]]


def test_what_an_agent_proposes_is_accepted_or_refused(window) -> None:
    told: list[tuple[str, ...]] = []
    window.accept.connect(lambda id_, root: told.append(("accept", id_, root)))
    window.refuse.connect(lambda id_: told.append(("refuse", id_)))
    proposals = [
        Proposal(str(n), "rule", "Locks", "Lock A before B", "user", "demo", "Codex", why, 1)
        for n, why in enumerate(("rule", "reach", "unfiled"))
    ]
    items = [
        ReviewItem(f"memory:{one.id}", ReviewKind.MEMORY, one.title, one.text, 1, proposal=one) for one in proposals
    ]
    window.show_items(items)
    assert buttons(window.cards()[2]) == ["Refuse"], "no project is known yet"
    window.show_items(items, projects=[("/home/alex/a&b", "a&b"), ("/srv/demo", "demo")])
    first, second, unfiled = window.cards()
    said = " ".join(label.text() for label in first.findChildren(QLabel))
    assert "Codex wants this to be a rule." in said and "Lock A before B" in said
    assert buttons(unfiled) == ["Refuse", "Accept for"]
    for card, label in ((first, "Accept"), (second, "Refuse")):
        next(button for button in card.findChildren(QPushButton) if button.text() == label).click()
        assert not card.isEnabled()
    menu = next(button.menu() for button in unfiled.findChildren(QPushButton) if button.menu())
    assert [action.text() for action in menu.actions()] == ["a&&b — /home/alex/a&&b", "demo — /srv/demo"]
    menu.actions()[1].trigger()
    assert not unfiled.isEnabled()
    assert told == [("accept", "0", ""), ("refuse", "1"), ("accept", "2", "/srv/demo")]


async def test_a_statement_from_nowhere_is_refused_wanted_back_and_accepted_for_a_project(tmp_path, until) -> None:
    talk(tmp_path)
    async with living(tmp_path, answer="all") as one:
        await until(lambda: one.engine.status().logged_today == 2)
        one.companion.open_review()
        review = one.companion.review_window
        assert review is not None
        await one.engine.memory.statements.remember(Where(None, "", "dsh"), "The port is 8080.", title="Port")
        await until(lambda: [buttons(card) for card in review.cards()] == [["Refuse", "Accept for"]])
        review.cards()[0].findChildren(QPushButton)[0].click()
        await until(lambda: not review.cards() and review.undo.isVisible())
        assert review.undo.text.text() == "“Port” was refused."
        review.undo.undo.click()
        await until(lambda: len(review.cards()) == 1)
        [button] = [button for button in review.cards()[0].findChildren(QPushButton) if button.menu()]
        button.menu().actions()[0].trigger()
        await until(lambda: not review.cards())
        counts = await one.engine.memory.counts()
        assert counts["stored"] == 1 and "proposed" not in counts


def test_the_filter_looks_at_words_and_kinds(window) -> None:
    window.show_items(ITEMS)
    kinds = [window.kind.itemText(index) for index in range(window.kind.count())]
    assert kinds[0] == "Everything (6)"
    assert "Failed task (2)" in kinds and "Conversation that cannot be read (1)" in kinds
    window.filter.setText("deploy archive")
    assert [card.item.key for card in window.cards()] == ["task:cascade:2b77-b:0"]
    window.kind.setCurrentIndex(window.kind.findData(ReviewKind.LOG))
    assert window.cards() == [] and window.no_match.isVisible() and not window.empty.isVisible()
    window.filter.clear()
    assert [card.item.kind for card in window.cards()] == [ReviewKind.LOG]
    window.show_items(ITEMS[:5])
    assert window.kind.currentIndex() == 0
    assert len(window.cards()) == 5


def test_several_are_settled_at_once(window) -> None:
    told: list[object] = []
    window.retry.connect(lambda ids, place: told.append(("retry", ids, place)))
    window.discard.connect(lambda ids: told.append(("discard", ids)))
    window.dismiss.connect(lambda keys: told.append(("dismiss", keys)))
    window.show_items(ITEMS)
    assert not window.retry_all.isEnabled() and not window.discard_all.isEnabled()
    window.all.click()
    assert all(card.pick.isChecked() for card in window.cards())
    ids = [task.task_id for task in FAILED]
    window.retry_all.click()
    window.dismiss_all.click()
    window.discard_all.click()
    assert window.question is not None and window.question.text() == "Discard 2 tasks?"
    next(button for button in window.question.buttons() if button.text() == "Discard").click()
    assert told == [("retry", ids, None), ("dismiss", ["log:4fd1"]), ("discard", ids)]
    window.cards()[0].pick.setChecked(False)
    assert not window.all.isChecked()
    window.show_items(ITEMS[1:])
    assert len(window.selected()) == 5  # what was ticked stays so when the list changes


def test_a_long_list_is_built_in_parts(window) -> None:
    window.show_items(many(PAGE + 3), total=250)
    assert len(window.cards()) == PAGE
    assert "250 things wait for you" in texts(window)
    assert window.more.text() == "Show 3 more"
    window.more.click()
    assert len(window.cards()) == PAGE + 3 and not window.more.isVisible()


def test_times_are_told_anew_whenever_they_are_looked_at(qtbot) -> None:
    now = time.time()
    one = ReviewWindow()
    qtbot.addWidget(one)
    one.show_items([replace(TASKS[0], at=int((now - 7 * 60) * 1000))])
    [card] = one.cards()
    card.tell_ages(now + 3 * 3600)
    assert "3 h ago" in card._facts.text()
    one.show()
    assert "7 min ago" in card._facts.text()
    assert one._minute.isActive()
    one.hide()
    assert not one._minute.isActive()


async def test_the_list_and_the_badge_agree_whatever_waits(tmp_path, until) -> None:
    talk(tmp_path, turns=3)
    with ModelServer([status(401)] * 4) as server:
        async with living(tmp_path, more="[ui]\nlanguage = 'klingon'\n") as one:
            damaged = tmp_path / "dsh/sessions/--home-alex--/session-00000000-0000-4000-8000-000000000077"
            damaged.mkdir(parents=True)
            (damaged / "session.jsonl").write_text("this is no record\n")
            one.engine.settings.set(
                "consolidation.models", [{"provider": "local", "model": "m", "baseUrl": server.url}]
            )
            await one.engine.answer("all", "")
            await until(lambda: one.engine.status().failed == 1)
            one.companion.open_review()
            review = one.companion.review_window
            assert review is not None
            kinds = [ReviewKind.OTHER, ReviewKind.MODEL, ReviewKind.TASK, ReviewKind.LOG]
            await until(lambda: [card.item.kind for card in review.cards()] == kinds)
            await until(lambda: one.companion.menu.review.text() == "&Review… (4)")
            assert "Waiting for you: 4" in one.tray._tooltip
            log = review.cards()[3]
            assert "session-00000000-0000-4000-8000-000000000077" in log.title
            log.dismiss.click()
            await until(lambda: len(review.cards()) == 3)
            await until(lambda: one.companion.menu.review.text() == "&Review… (3)")
            assert review.undo.text.text() == f"“{log.title}” is not mentioned any more."
            review.undo.undo.click()
            await until(lambda: len(review.cards()) == 4)
            review.cards()[1].settings_pressed.emit("Models")
            settings = one.companion.settings_window
            assert settings is not None and settings.groups.currentItem().text() == "Models"


async def test_a_budget_that_is_used_up_is_a_card_with_its_page(tmp_path, until) -> None:
    talk(tmp_path, turns=3)
    with ModelServer([]) as server:
        async with living(tmp_path, more=BUDGET) as one:
            one.engine.settings.set(
                "consolidation.models", [{"provider": "local", "model": "m", "baseUrl": server.url}]
            )
            await one.engine.answer("all", "")
            await until(lambda: one.engine.status().problems)
            [item] = await one.engine.review.items()
            assert (item.kind, item.page, item.title) == (ReviewKind.BUDGET, "Budget", "Limit too small")
            assert one.engine.status().waiting == 1
            assert not server.requests
