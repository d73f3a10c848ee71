"""One field of the settings window, made from one row of the settings table."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from desktop.i18n import chinese, tr
from desktop.widgets.text import GRID, muted, spaced
from engine.settings import Setting

SEPARATOR = ";"


def error_label() -> QLabel:
    """A line for what is wrong with a field; hidden while nothing is."""
    label = muted()
    palette = label.palette()
    dark = palette.color(QPalette.ColorRole.Window).lightness() < 128
    palette.setColor(QPalette.ColorRole.PlaceholderText, Qt.GlobalColor.yellow if dark else Qt.GlobalColor.darkRed)
    label.setPalette(palette)
    label.hide()
    return label


class Choice(QComboBox):
    """A list to choose from that a turn of the wheel over it leaves alone: a page is scrolled with the wheel."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def choice_label(choice: str) -> str:
    """A value of a closed list, in a person's words."""
    names = {
        "system": tr("As the system"),
        "en": "English",
        "zh_CN": "简体中文",
        "skip": tr("Do not record"),
        "log": tr("Record"),
    }
    return names.get(choice, choice)


class Field(QWidget):
    """Label, editor, help, and the error right below; `edited` carries a value the row accepts."""

    edited = Signal(str, object)

    def __init__(self, row: Setting) -> None:
        super().__init__()
        self.row = row
        zh = chinese()
        self.label_text = row.label_zh if zh else row.label_en
        self.help_text = row.help_zh if zh else row.help_en
        self.error = error_label()
        self.editor: QCheckBox | QComboBox | QLineEdit
        layout = spaced(QVBoxLayout(self), gap=GRID // 2)
        match row.kind:
            case "bool":
                self.editor = box = QCheckBox(self.label_text)
                box.clicked.connect(self._offer)
            case "enum":
                self.editor = combo = Choice()
                for choice in row.choices:
                    combo.addItem(choice_label(choice), choice)
                combo.activated.connect(lambda _: self._offer())
            case _:
                self.editor = line = QLineEdit()
                if row.kind in ("int", "number"):
                    line.setAlignment(Qt.AlignmentFlag.AlignRight)
                    line.setMaximumWidth(16 * GRID)
                line.editingFinished.connect(self._offer)
        if row.kind != "bool":
            label = QLabel(self.label_text)
            label.setBuddy(self.editor)
            layout.addWidget(label)
        wide = row.kind in ("str", "list[str]")
        layout.addWidget(self.editor, alignment=Qt.AlignmentFlag(0) if wide else Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self.error)
        layout.addWidget(muted(self.help_text))
        self.editor.setAccessibleName(self.label_text)
        self.editor.setAccessibleDescription(self.help_text)

    def value(self) -> Any:
        """What the editor holds, as the row's kind; text where it is no number."""
        if isinstance(self.editor, QCheckBox):
            return self.editor.isChecked()
        if isinstance(self.editor, QComboBox):
            return self.editor.currentData()
        text = self.editor.text().strip()
        if self.row.kind == "list[str]":
            return [part.strip() for part in text.split(SEPARATOR) if part.strip()]
        return self.row.parse(text)

    def show_value(self, value: Any) -> None:
        """Show what is in use."""
        if isinstance(self.editor, QCheckBox):
            self.editor.setChecked(bool(value))
        elif isinstance(self.editor, QComboBox):
            self.editor.setCurrentIndex(self.editor.findData(value))
        elif isinstance(value, list):
            self.editor.setText(f"{SEPARATOR} ".join(value))
        else:
            self.editor.setText(str(value))

    def show_error(self, sentence: str) -> None:
        """Show what is wrong, or hide it again."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    def matches(self, words: str) -> bool:
        """Whether a search finds this field."""
        text = f"{self.row.key} {self.label_text} {self.help_text}".casefold()
        return all(word in text for word in words.casefold().split())

    def _offer(self) -> None:
        value = self.value()
        if self.row.problem(value):
            self.show_error(tr("It must be {bounds}. Not saved.", bounds=self.row.bounds(chinese=chinese())))
            return
        self.show_error("")
        self.edited.emit(self.row.key, value)


class Toggle(QWidget):
    """A check box with help that is no row of the table: start at login."""

    def __init__(self, label: str, help_text: str, read: Callable[[], bool], write: Callable[[bool], None]) -> None:
        super().__init__()
        self._read, self._write = read, write
        self._words = f"{label} {help_text}".casefold()
        self.box = QCheckBox(label)
        self.error = error_label()
        layout = spaced(QVBoxLayout(self), gap=GRID // 2)
        layout.addWidget(self.box)
        layout.addWidget(self.error)
        layout.addWidget(muted(help_text))
        self.box.clicked.connect(self._apply)
        self.refresh()

    def refresh(self) -> None:
        """Show what the system says now."""
        self.box.setChecked(self._read())

    def matches(self, words: str) -> bool:
        """Whether a search finds this field."""
        return all(word in self._words for word in words.casefold().split())

    def _apply(self, on: bool) -> None:
        try:
            self._write(on)
        except OSError as error:
            self.error.setText(tr("Not changed: {why}", why=error.strerror or str(error)))
            self.error.show()
        else:
            self.error.hide()
        self.refresh()
