"""Removing the companion: what it wrote elsewhere is listed, memory stays or goes as wished, and a person agrees."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import join, tr
from desktop.widgets.flow import Flow
from desktop.widgets.text import GRID, heading, muted, paragraph, spaced
from engine.views import Trace

MEMORY = ("folder", "shelf")  # kinds that stay with the memory


class RemovalPart(QWidget):
    """A heading and a button; what the dialog agreed on goes out."""

    wanted = Signal()  # to see what would go
    agreed = Signal(bool)  # whether memory and settings go too

    def __init__(self) -> None:
        super().__init__()
        self.dialog: RemovalDialog | None = None
        self.button = QPushButton(tr("&Remove the companion…"))
        self.button.clicked.connect(lambda: self.wanted.emit())
        self.line = muted()
        self.line.hide()
        buttons = Flow()
        buttons.addWidget(self.button)
        page = spaced(QVBoxLayout(self))
        page.addWidget(heading(tr("Remove the companion")))
        page.addWidget(
            muted(
                tr(
                    "Takes back what was written outside the companion’s own folders: in files of agents, for the"
                    " login, in the key store. All of it is shown first."
                )
            )
        )
        page.addLayout(buttons)
        page.addWidget(self.line)

    def tell(self, sentence: str) -> None:
        """The outcome of the last wish."""
        self.line.setText(sentence)
        self.line.setVisible(bool(sentence))

    def show_plan(self, traces: Sequence[Trace]) -> None:
        """Show everything that can go, and ask."""
        dialog = self.dialog = RemovalDialog(self, traces)
        dialog.accepted.connect(lambda: self.agreed.emit(dialog.everything.isChecked()))
        dialog.finished.connect(self._closed)
        dialog.open()

    def _closed(self) -> None:
        self.dialog = None


class RemovalDialog(QDialog):
    """The list of what goes follows the choice; memory goes only after a second yes."""

    def __init__(self, parent: QWidget, traces: Sequence[Trace]) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Remove the companion"))
        self._traces = traces
        self.keep = QRadioButton(tr("&Keep memory and settings"))
        self.everything = QRadioButton(tr("&Delete memory and settings too"))
        self.sure = QCheckBox(tr("&Yes, delete everything that was remembered, for good"))
        self.list = QPlainTextEdit(readOnly=True, tabChangesFocus=True)
        self.list.setAccessibleName(tr("What goes"))
        self.list.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        buttons = QDialogButtonBox()
        self.do = buttons.addButton(tr("Remove and quit"), QDialogButtonBox.ButtonRole.DestructiveRole)
        self.leave = buttons.addButton(tr("Change nothing"), QDialogButtonBox.ButtonRole.RejectRole)
        self.leave.setDefault(True)
        self.do.clicked.connect(self.accept)
        buttons.rejected.connect(self.reject)
        page = spaced(QVBoxLayout(self), 2 * GRID)
        for part in (self.keep, self.everything, self.sure):
            page.addWidget(part)
        page.addWidget(paragraph(tr("This is taken back, then the companion quits:")))
        page.addWidget(self.list, 1)
        page.addWidget(muted(tr("The program itself stays until you remove it the way it was installed.")))
        page.addWidget(buttons)
        self.keep.setChecked(True)
        self.everything.toggled.connect(lambda _: self._follow())
        self.sure.toggled.connect(lambda _: self._follow())
        self._follow()
        self.resize(640, 440)

    def _follow(self) -> None:
        """What goes with this choice, and whether it may."""
        everything = self.everything.isChecked()
        self.sure.setVisible(everything)
        self.do.setEnabled(not everything or self.sure.isChecked())
        shown = [one for one in self._traces if everything or one.kind not in MEMORY]
        self.list.setPlainText("\n".join(map(trace_line, shown)) or tr("Nothing was written outside its folders."))


def trace_line(one: Trace) -> str:
    """Something we wrote, in a person's words."""
    kinds = {
        "agent": tr("In a file of an agent"),
        "login": tr("Start at login"),
        "key": tr("In the key store"),
        "socket": tr("While it runs"),
        "folder": tr("Memory and settings"),
        "shelf": tr("A shelf of yours"),
    }
    line = f"{kinds[one.kind]}: {one.place}"
    return f"{line} – {tr('stays')}: {join(one.why)}" if one.state == "left" else line
