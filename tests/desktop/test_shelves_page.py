"""The page of shelves over a real engine: made, named, exported, imported, explained, with progress and a stop."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox

from desktop.widgets.long_work import LongWork, time_left
from desktop.widgets.shelves import ShelfList, about
from desktop.windows.settings import SettingsWindow
from engine.events import Event, ShelfJobChanged
from engine.views import Progress, ShelfHealth, ShelfHolding, ShelfJob
from tests.desktop.living import Living, living, talk
from tests.desktop.samples import SHELVES

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)
HEALTHY = ShelfHealth("work", 0, 0, "a model", "", "", "", False)


def column(shelves: ShelfList, name: str, place: int) -> str:
    items = [shelves.list.topLevelItem(row) for row in range(shelves.list.topLevelItemCount())]
    return next((item.text(place) for item in items if item.text(0) == name), "")


def choose(shelves: ShelfList, name: str) -> None:
    for row in range(shelves.list.topLevelItemCount()):
        if shelves.list.topLevelItem(row).text(0) == name:
            shelves.list.setCurrentItem(shelves.list.topLevelItem(row))


def answer_text(shelves: ShelfList, text: str) -> None:
    assert isinstance(shelves.dialog, QInputDialog)
    shelves.dialog.setTextValue(text)
    shelves.dialog.accept()


def answer_path(shelves: ShelfList, path: Path) -> None:
    assert isinstance(shelves.dialog, QFileDialog)
    shelves.dialog.fileSelected.emit(str(path))
    shelves.dialog.reject()


async def recorded(one: Living, tmp_path: Path, until: Callable) -> SettingsWindow:
    """The page, with a shelf in use that holds something."""
    await until(lambda: one.engine.status().logged_today == 4 and one.engine.status().pending == 0)
    window = one.companion.open_settings("Shelves")
    await until(lambda: column(window.shelves, "default", 2) not in ("", "0"))
    return window


async def test_a_shelf_is_made_named_and_named_back(tmp_path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        window = one.companion.open_settings("Shelves")
        shelves = window.shelves
        await until(lambda: column(shelves, "default", 1) == "in use")
        shelves.create_button.click()
        answer_text(shelves, " second ")
        await until(lambda: column(shelves, "second", 1) == "connected")
        assert shelves.line.text().startswith("second is made in ")
        choose(shelves, "second")
        shelves.rename_button.click()
        answer_text(shelves, "third")
        await until(lambda: column(shelves, "third", 1) == "connected" and not column(shelves, "second", 1))
        assert window.undo.text.text() == "The shelf is named “third” now."
        window.undo.undo.click()
        await until(lambda: column(shelves, "second", 1) == "connected" and not column(shelves, "third", 1))
        shelves.create_button.click()
        answer_text(shelves, "two words")
        await until(lambda: "two words" not in shelves.line.text() and "name" in shelves.line.text())
        assert len(await one.engine.recording.shelves()) == 2


async def test_a_shelf_is_exported_and_read_into_another(tmp_path, until: Callable) -> None:
    talk(tmp_path, turns=2)
    async with living(tmp_path, answer="all") as one:
        window = await recorded(one, tmp_path, until)
        shelves = window.shelves
        entries, size = column(shelves, "default", 2), column(shelves, "default", 4)
        assert int(entries) >= 4 and size.endswith(("kB", "MB"))
        choose(shelves, "default")
        shelves._ask_destination("lines")
        target = tmp_path / "out.jsonl"
        answer_path(shelves, target)
        await until(lambda: f"written to {target}" in shelves.line.text())
        assert json.loads(target.read_text("utf-8").splitlines()[0])
        shelves.export_button.menu().actions()[2].trigger()
        answer_path(shelves, tmp_path)
        await until(lambda: "default-markdown-" in shelves.line.text())
        assert list(tmp_path.glob("default-markdown-*/**/*.md"))
        shelves.create_button.click()
        answer_text(shelves, "second")
        await until(lambda: column(shelves, "second", 1) == "connected")
        for said in ("were added. 0 were there already.", "0 entries were added."):
            choose(shelves, "second")
            shelves.import_button.click()
            assert isinstance(shelves.dialog, QMessageBox)
            next(b for b in shelves.dialog.buttons() if "file" in b.text()).click()
            answer_path(shelves, target)
            await until(lambda said=said: said in shelves.line.text())
        assert shelves.work.isHidden()
        choose(shelves, "second")
        shelves.import_button.click()
        next(b for b in shelves.dialog.buttons() if "folder" in b.text()).click()
        answer_path(shelves, tmp_path / "nothing here")
        await until(lambda: "neither a shelf nor an export" in shelves.line.text())


async def test_a_long_job_is_shown_and_stopped(tmp_path, until: Callable) -> None:
    talk(tmp_path, turns=12, words=4)
    async with living(tmp_path, answer="all") as one:
        await until(lambda: one.engine.status().logged_today == 24 and one.engine.status().pending == 0)
        shelves = one.companion.open_settings("Shelves").shelves
        await until(lambda: column(shelves, "default", 1) == "in use")
        path = tmp_path / "many.jsonl"
        shelves.export.emit("default", "lines", str(path))
        await until(lambda: "are written to" in shelves.line.text())
        shelves.make.emit("second")
        await until(lambda: column(shelves, "second", 1) == "connected")
        choose(shelves, "second")
        seen: list[tuple[str, bool, bool]] = []

        def stop_at_once(event: Event) -> None:
            job = one.engine.shelf_care.job
            if isinstance(event, ShelfJobChanged) and job is not None and not seen:
                shelves.work.cancel.click()
                shelves.work.cancel.click()
                seen.append((shelves.work.title.text(), shelves.work.isVisible(), shelves.import_button.isEnabled()))

        one.engine.bus.subscribe(stop_at_once)
        shelves.import_into.emit("second", str(path))
        await until(lambda: seen and shelves.work.isHidden())
        assert seen == [("Importing into the shelf “second”", True, False)]
        await until(lambda: shelves.line.text().startswith("Stopped. What was done so far stays as it is."))
        assert shelves.import_button.isEnabled()
        shelves.import_into.emit("second", str(path))
        await until(lambda: "were added" in shelves.line.text())


def test_a_shelf_that_cannot_be_reached_is_explained(qtbot) -> None:
    page = ShelfList()
    qtbot.addWidget(page)
    page.show_shelves(SHELVES)
    page.show_facts({"work": ShelfHolding(1284, 3100, 4_200_000)}, {"work": HEALTHY})
    assert (column(page, "work", 2), column(page, "work", 4)) == ("1\u202f284", "4.2 MB")
    choose(page, "old-laptop")
    assert page.about.text().startswith("The folder /media/backup/memory is gone or cannot be opened.")
    assert not page.export_button.isEnabled() and page.disconnect_button.isEnabled()
    choose(page, "work")
    assert page.about.text() == "" and not page.embed_button.isEnabled()
    waits = ShelfHealth("work", 3, 1, "", "no model is attached", "", "", True)
    page.show_facts({}, {"work": waits})
    assert page.embed_button.isEnabled()
    assert page.about.text() == (
        "3 entries have no vector yet. 1 entry could not get one. The vectors are those of another model."
        " Found by words, not by meaning: No model is attached."
    )
    page.show_facts({}, {"work": "It does not say."})
    assert page.about.text() == "It does not say." and about(SHELVES[1], None) == ""


def test_progress_says_how_far_and_how_long_and_can_be_stopped_once(qtbot) -> None:
    page = ShelfList()
    qtbot.addWidget(page)
    page.show_shelves(SHELVES)
    stops: list[str] = []
    page.stop.connect(lambda: stops.append("stop"))
    page.show_job(ShelfJob("import", "work", Progress(0, 0)))
    assert page.work.isVisibleTo(page) and page.work.title.text() == "Importing into the shelf “work”"
    page.show_job(ShelfJob("import", "work", Progress(1500, 6000, 150.0)))
    assert page.work.line.text() == "1\u202f500 of 6\u202f000 · about 3 min left"
    assert (page.work.bar.value(), page.work.bar.maximum()) == (1500, 6000)
    page.work.cancel.click()
    page.work.cancel.click()
    assert stops == ["stop"]
    page.show_job(None)
    assert page.work.isHidden()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "less than a minute left"),
        (59, "less than a minute left"),
        (61, "about 2 min left"),
        (9000, "about 3 h left"),
    ],
)
def test_the_time_left_is_rounded_up(seconds: float, said: str) -> None:
    assert time_left(seconds) == said


def test_an_unknown_amount_is_no_error(qtbot) -> None:
    work = LongWork()
    qtbot.addWidget(work)
    work.begin("Something")
    work.show_progress(5, 0, None)
    assert work.line.text() == "5" and work.bar.maximum() == 0
