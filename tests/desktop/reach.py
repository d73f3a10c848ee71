"""Checks for every window: names for people who listen, a way for the keyboard, a focus that shows, no text cut off."""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QSlider,
    QTextEdit,
    QWidget,
)

INTERACTIVE = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QTextEdit,
)
SLACK = 1  # pixels that rounding may take


def interactive(window: QWidget) -> Iterator[QWidget]:
    """What a person can work with in a window, without the parts that such things are made of."""
    for widget in window.findChildren(QWidget):
        if not (isinstance(widget, INTERACTIVE) and widget.isVisible()):
            continue
        parent = widget.parentWidget()
        inside = isinstance(widget, QHeaderView) or widget.objectName().startswith("qt_")
        while not inside and parent is not None and parent is not window:
            inside = isinstance(parent, INTERACTIVE)
            parent = parent.parentWidget()
        if not inside:
            yield widget


def describe(widget: QWidget) -> str:
    """Which widget is meant, in a failed assertion."""
    text = widget.text() if isinstance(widget, QLabel | QAbstractButton | QLineEdit) else ""
    return f"{type(widget).__name__} {widget.accessibleName()!r} {text!r}"


def unnamed(window: QWidget) -> list[str]:
    """Interactive widgets that a screen reader has no name for."""
    missing = []
    for widget in interactive(window):
        interface = QAccessible.queryAccessibleInterface(widget)
        name = interface.text(QAccessible.Text.Name) if interface is not None else ""
        if not any(letter.isalnum() for letter in name):
            missing.append(describe(widget))
    return missing


def tab_walk(window: QWidget, limit: int = 400) -> list[QWidget]:
    """What the Tab key visits, from where the keyboard is until it is there again."""
    seen: list[QWidget] = []
    for _ in range(limit):
        focused = QApplication.focusWidget()
        assert focused is not None and window.isAncestorOf(focused), "the keyboard left the window"
        if focused in seen:
            return seen
        seen.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    raise AssertionError("Tab never comes back")


def unreached(window: QWidget) -> list[str]:
    """Enabled interactive widgets that Tab does not visit. Of radio buttons, the chosen one stands for its group."""
    visited = tab_walk(window)
    missed = []
    for widget in interactive(window):
        if not widget.isEnabled() or widget in visited or (isinstance(widget, QRadioButton) and not widget.isChecked()):
            continue
        if not any(one in visited for one in widget.findChildren(QWidget)) and widget.focusProxy() not in visited:
            missed.append(describe(widget))
    return missed


def hidden_focus(window: QWidget) -> list[str]:
    """Widgets that look the same with the keyboard as after it went on by Tab."""
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)  # from now on the keyboard leads
    seen: list[QWidget] = []
    same = []
    while (widget := QApplication.focusWidget()) not in seen and len(seen) < 400:
        assert widget is not None and window.isAncestorOf(widget), "the keyboard left the window"
        seen.append(widget)
        QApplication.processEvents()
        with_focus = widget.grab().toImage()
        QTest.keyClick(widget, Qt.Key.Key_Tab)
        QApplication.processEvents()
        # A text shows its cursor, which blinks, and the style draws the frame of lists and scrolled pages around them.
        if not isinstance(widget, QLineEdit | QAbstractScrollArea) and widget.grab().toImage() == with_focus:
            same.append(describe(widget))
    return same


def clipped(window: QWidget) -> list[str]:
    """Texts that do not fit where they are drawn."""
    QApplication.processEvents()
    found = []
    for widget in window.findChildren(QWidget):
        if widget.isVisible() and _is_cut(widget):
            found.append(f"{describe(widget)} in {widget.width()}x{widget.height()}, wants {widget.sizeHint()}")
    return found


def _is_cut(widget: QWidget) -> bool:
    if isinstance(widget, QLabel):
        if not widget.text() or widget.wordWrap():
            needed = widget.heightForWidth(widget.width()) if widget.text() else 0
            longest = max(widget.text().split(), key=len, default="")
            word = widget.fontMetrics().horizontalAdvance(longest) if longest.isascii() and len(longest) < 24 else 0
            return needed > widget.height() + SLACK or word > widget.width() + SLACK
        hint = widget.sizeHint()
        return hint.width() > widget.width() + SLACK or hint.height() > widget.height() + SLACK
    if isinstance(widget, QAbstractButton | QComboBox | QCheckBox | QGroupBox):
        hint = widget.minimumSizeHint() if isinstance(widget, QComboBox) else widget.sizeHint()
        return hint.width() > widget.width() + SLACK or hint.height() > widget.height() + SLACK
    return False
