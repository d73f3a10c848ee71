"""One field of the settings window, made from one row of the settings table."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QPalette, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QLineEdit, QToolButton, QVBoxLayout, QWidget

from desktop.i18n import chinese, tr
from desktop.widgets.scheme import is_dark
from desktop.widgets.text import GRID, muted, spaced
from engine.settings import Setting

SEPARATOR = ";"


class ErrorLabel(QLabel):
    """A line for what is wrong with a field, in a colour that stands out on light and on dark."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setForegroundRole(QPalette.ColorRole.WindowText)  # inside a card it would be another one
        self._colour()
        self.hide()

    def changeEvent(self, event: QEvent) -> None:
        """The colours of the system or of the program changed."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.ParentChange):
            self._colour()

    def _colour(self) -> None:
        wanted = QColor("#ff9a8d" if is_dark(self.palette()) else "darkred")
        if self.palette().color(QPalette.ColorRole.WindowText) != wanted:
            palette = QPalette()  # says nothing but this one colour; the rest follows the program
            palette.setColor(QPalette.ColorRole.WindowText, wanted)
            self.setPalette(palette)


def error_label() -> ErrorLabel:
    """A line for what is wrong with a field; hidden while nothing is."""
    return ErrorLabel()


class Choice(QComboBox):
    """A list to choose from that a turn of the wheel over it leaves alone: a page is scrolled with the wheel."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def choice_label(choice: str) -> str:
    """A value of a closed list, in a person's words."""
    names = {
        "system": tr("As the system"),
        "light": tr("Light"),
        "dark": tr("Dark"),
        "en": "English",
        "zh_CN": "简体中文",
        "skip": tr("Do not record"),
        "log": tr("Record"),
    }
    return names.get(choice, choice)


def value_text(row: Setting, value: Any) -> str:
    """A value of a row, in a person's words."""
    if row.kind == "bool":
        return tr("on") if value else tr("off")
    if row.kind == "enum":
        return choice_label(value)
    if isinstance(value, list):
        return f"{SEPARATOR} ".join(str(one) for one in value) or tr("empty")
    return str(value) or tr("empty")


class Field(QWidget):
    """Label, editor, help, and the error right below; `edited` carries a value the row accepts.

    What a person is typing, or typed and was refused, stays until it is put right, reset or looked at anew.
    """

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
        head = spaced(QHBoxLayout())
        if row.kind == "bool":
            head.addWidget(self.editor)
        else:
            label = QLabel(self.label_text)
            label.setBuddy(self.editor)
            head.addWidget(label)
        head.addStretch()
        layout.addLayout(head)
        if row.kind != "bool":
            wide = row.kind in ("str", "list[str]")
            layout.addWidget(self.editor, alignment=Qt.AlignmentFlag(0) if wide else Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self.error)
        layout.addWidget(muted(self.help_text))
        if not row.live:
            layout.addWidget(muted(tr("Recording starts anew with this change.")))
        layout.addLayout(self._change_line())
        effect = tr("Takes effect at once.") if row.live else tr("Recording starts anew with this change.")
        self.editor.setToolTip(f"{row.key}\n{effect}")
        self.editor.setAccessibleName(self.label_text)
        self.editor.setAccessibleDescription(f"{self.help_text} {effect}")
        self.show_value(row.default)

    def _change_line(self) -> QHBoxLayout:
        """Said only where the value is not the one the program came with."""
        self.changed = muted(tr("Changed. Default: {default}", default=value_text(self.row, self.row.default)))
        self.reset = QToolButton()
        self.reset.setText(tr("Reset"))
        self.reset.setAccessibleName(tr("Reset “{name}”", name=self.label_text))
        self.reset.clicked.connect(self._reset)
        line = spaced(QHBoxLayout())
        line.addWidget(self.reset, alignment=Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.changed, 1)
        return line

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

    @property
    def pending(self) -> bool:
        """Whether it holds something typed that is not saved."""
        return isinstance(self.editor, QLineEdit) and self.editor.isModified()

    def forget(self) -> None:
        """Let go of what was typed and not saved."""
        if isinstance(self.editor, QLineEdit):
            self.editor.setModified(False)

    def show_value(self, value: Any) -> None:
        """Show what is in use, unless a person is typing."""
        is_changed = value != self.row.default
        self.changed.setVisible(is_changed)
        self.reset.setVisible(is_changed)
        if self.pending:
            return
        if isinstance(self.editor, QCheckBox):
            self.editor.setChecked(bool(value))
        elif isinstance(self.editor, QComboBox):
            self.editor.setCurrentIndex(self.editor.findData(value))
        else:
            text = f"{SEPARATOR} ".join(value) if isinstance(value, list) else str(value)
            if self.editor.text() != text:
                self.editor.setText(text)
        self.show_error("")

    def show_error(self, sentence: str) -> None:
        """Show what is wrong, or hide it again."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    def show_unsaved(self, sentence: str, value: Any) -> None:
        """It could not be saved: say why, show the value that stays in use, and keep what was typed."""
        if isinstance(self.editor, QLineEdit):
            self.editor.setModified(True)
        self.show_value(value)
        self.show_error(sentence)

    def matches(self, words: str) -> bool:
        """Whether a search finds this field."""
        choices = " ".join(choice_label(choice) for choice in self.row.choices)
        text = f"{self.row.key} {self.label_text} {self.help_text} {choices}".casefold()
        return all(word in text for word in words.casefold().split())

    def _offer(self) -> None:
        value = self.value()
        if self.row.problem(value):
            self.show_error(tr("It must be {bounds}. Not saved.", bounds=self.row.bounds(chinese=chinese())))
            return
        self.forget()
        self.show_error("")
        self.edited.emit(self.row.key, value)

    def _reset(self) -> None:
        self.forget()
        self.editor.setFocus()  # the button is about to go, and the keyboard's place must not go with it
        self.edited.emit(self.row.key, self.row.default)


class Toggle(QWidget):
    """A check box with help that is no row of the table: start at login."""

    def __init__(self, label: str, help_text: str, read: Callable[[], bool], write: Callable[[bool], None]) -> None:
        super().__init__()
        self._read, self._write = read, write
        self._words = f"{label} {help_text}".casefold().replace("&", "")
        self.box = QCheckBox(label)
        self.box.setAccessibleName(label.replace("&", ""))
        self.box.setAccessibleDescription(help_text)
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
