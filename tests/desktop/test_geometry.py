"""Windows come back where they were on each screen, columns too; and every window has the same keys."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QApplication, QTreeWidget, QVBoxLayout, QWidget

from desktop.widgets.geometry import FRAME, Geometry, inside, screen_name, window_keys


def a_window(qtbot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    tree = QTreeWidget()
    tree.setHeaderLabels(["one", "two"])
    tree.header().setObjectName("things")
    QVBoxLayout(window).addWidget(tree)
    window.resize(300, 200)
    return window


def shown_again(qtbot, path: Path) -> QWidget:
    window = a_window(qtbot)
    Geometry(path, lambda: None).follow(window, "w")
    window.show()
    return window


def test_a_window_and_its_columns_come_back_after_a_restart(qtbot, tmp_path: Path) -> None:
    path, told = tmp_path / "windows.json", []
    geometry = Geometry(path, lambda: told.append("changed"))
    window = a_window(qtbot)
    geometry.follow(window, "w")
    window.show()
    window.setGeometry(40, 50, 420, 310)
    window.findChild(QTreeWidget).header().resizeSection(0, 173)
    window.close()
    assert told == ["changed"]
    geometry.save()
    again = shown_again(qtbot, path)
    assert again.geometry() == QRect(40, 50, 420, 310)
    assert again.findChild(QTreeWidget).header().sectionSize(0) == 173


def test_a_place_of_another_screen_does_not_count_here(qtbot, tmp_path: Path) -> None:
    path = tmp_path / "windows.json"
    other = {"last": "gone 100x100@1", "gone 100x100@1": [1, 2, 99, 99]}
    path.write_text(json.dumps({"w": other}))
    assert shown_again(qtbot, path).size() == QSize(300, 200)
    here = screen_name(QApplication.primaryScreen())
    path.write_text(json.dumps({"w": other | {here: [7, 8, 250, 150]}}))
    assert shown_again(qtbot, path).geometry() == QRect(7, 8, 250, 150)


@pytest.mark.parametrize("place", [[-5000, 90_000, 400, 300], [0, 0, 99_999, 99_999], [5000, -4000, 1, 1]])
def test_a_window_never_comes_back_out_of_reach(qtbot, tmp_path: Path, place: list[int]) -> None:
    path = tmp_path / "windows.json"
    here = screen_name(QApplication.primaryScreen())
    path.write_text(json.dumps({"w": {"last": here, here: place}}))
    room = QApplication.primaryScreen().availableGeometry()
    assert room.contains(shown_again(qtbot, path).geometry())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no json",
        "[]",
        '{"w": 5}',
        '{"w": {"last": 7, "columns": {"things": "*"}}}',
        '{"w": {"columns": ["things"]}}',
        '{"w": {"last": null, "columns": {"things": 4}}}',
    ],
)
def test_a_damaged_file_only_costs_the_memory_of_places(qtbot, tmp_path: Path, content: str) -> None:
    path = tmp_path / "windows.json"
    path.write_text(content)
    geometry = Geometry(path, lambda: None)
    window = a_window(qtbot)
    geometry.follow(window, "w")
    window.show()
    assert window.size() == QSize(300, 200)
    window.close()
    geometry.save()
    assert "w" in json.loads(path.read_text())


def test_a_place_that_cannot_be_written_harms_nothing(qtbot, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    geometry = Geometry(tmp_path / "file" / "windows.json", lambda: None)
    window = a_window(qtbot)
    geometry.follow(window, "w")
    window.show()
    window.close()
    geometry.save()
    assert (tmp_path / "file").read_text() == ""


def test_a_place_larger_than_the_screen_is_made_to_fit() -> None:
    room = QRect(0, 24, 426, 242)
    assert inside(QRect(0, 0, 760, 600), room) == QRect(0, 24, 426 - FRAME.width(), 242 - FRAME.height())


@pytest.mark.parametrize(
    ("key", "modifier", "what"),
    [
        (Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier, "closed"),
        (Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier, "closed"),
        (Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier, "find"),
        (Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier, "settings"),
    ],
)
def test_every_window_has_the_same_keys(qtbot, key, modifier, what: str) -> None:
    window, done = a_window(qtbot), []
    window_keys(window, find=lambda: done.append("find"), settings=lambda: done.append("settings"))
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, key, modifier)
    if not window.isVisible():
        done.append("closed")
    assert done == [what]


def test_escape_closes_only_when_it_has_no_other_use(qtbot) -> None:
    window, uses = a_window(qtbot), [True, False]
    window_keys(window, escape=lambda: uses.pop(0))
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()
