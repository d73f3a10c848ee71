"""The agents on this machine: what each gets from the memory, connected and taken back part by part."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import heard, join, tr
from desktop.widgets.fields import error_label
from desktop.widgets.flow import Flow
from desktop.widgets.text import GRID, card, clear, heading, muted, paragraph, spaced, strong
from engine.views import AgentPart, AgentPlan, AgentRow

CONNECTED = ("connected", "outdated")


class AgentCard(QFrame):
    """One agent with its parts; a ticked part is wanted."""

    connect_wanted = Signal(str, object)  # agent, parts
    disconnect_wanted = Signal(str)

    def __init__(self, row: AgentRow) -> None:
        super().__init__()
        self.row = row
        frame = card()
        inside = spaced(QVBoxLayout(frame), GRID, GRID // 2)
        inside.addWidget(strong(row.title))
        inside.addWidget(muted(state_line(row)))
        self.parts = {part.id: self._part(part, inside) for part in row.parts} if row.found or row.connected else {}
        self.connect_button, self.disconnect_button = QPushButton(tr("Connect…")), QPushButton(tr("Disconnect…"))
        self.connect_button.setAccessibleName(tr("Connect {name}…", name=row.title))
        self.disconnect_button.setAccessibleName(tr("Disconnect {name}…", name=row.title))
        self.connect_button.clicked.connect(lambda: self.connect_wanted.emit(row.id, self.wanted()))
        self.disconnect_button.clicked.connect(lambda: self.disconnect_wanted.emit(row.id))
        self.disconnect_button.setEnabled(row.connected)
        self._update()
        if self.parts:
            buttons = Flow()
            buttons.addWidget(self.connect_button)
            buttons.addWidget(self.disconnect_button)
            inside.addLayout(buttons)
        else:
            self.connect_button.hide()
            self.disconnect_button.hide()
        spaced(QVBoxLayout(self)).addWidget(frame)

    def _part(self, part: AgentPart, inside: QVBoxLayout) -> QCheckBox:
        box = QCheckBox(part_name(part.id))
        box.setToolTip("\n".join(part.places))
        box.setChecked(part.state in CONNECTED or (part.wanted and not self.row.connected and part.state == "absent"))
        box.setEnabled(self.row.found and part.state == "absent")
        box.setAccessibleDescription(part_state(part))
        box.toggled.connect(lambda _: self._update())
        inside.addWidget(box)
        where = muted(" · ".join((part_state(part), *part.places)))
        where.setIndent(3 * GRID)  # under the words of the box
        inside.addWidget(where)
        if part.problem:
            problem = error_label()
            problem.setText(join(part.problem))
            problem.setIndent(3 * GRID)
            problem.show()
            inside.addWidget(problem)
        return box

    def wanted(self) -> list[str]:
        """The parts that connecting would bring or mend."""
        states = {part.id: part.state for part in self.row.parts}
        return [id_ for id_, box in self.parts.items() if box.isChecked() and states[id_] in ("absent", "outdated")]

    def _update(self) -> None:
        self.connect_button.setEnabled(self.row.found and bool(self.wanted()))


class AgentList(QWidget):
    """Plain rows in, wishes out; the exact change is shown before it is made."""

    connect_wanted = Signal(str, object)
    disconnect_wanted = Signal(str)
    agreed = Signal(object, object, bool)  # the plan shown, its parts, whether it connects

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[AgentRow] = ()
        self.dialog: PlanDialog | None = None
        self.line = muted(tr("Looking for agents…"))
        self._cards = spaced(QVBoxLayout())
        page = spaced(QVBoxLayout(self))
        page.addWidget(heading(tr("Agents that use the memory")))
        page.addWidget(
            muted(
                tr(
                    "A connected agent finds what earlier conversations hold, and can keep something on purpose."
                    " What would change in its files is shown first, and can be taken back."
                )
            )
        )
        page.addLayout(self._cards)
        page.addWidget(self.line)

    def show_agents(self, rows: Sequence[AgentRow]) -> None:
        """How each agent stands in its files now."""
        if rows == self._rows:
            return
        self._rows = rows
        clear(self._cards)
        for row in sorted(rows, key=lambda one: not (one.found or one.connected)):
            made = AgentCard(row)
            made.connect_wanted.connect(self.connect_wanted)
            made.disconnect_wanted.connect(self.disconnect_wanted)
            self._cards.addWidget(made)
            made.show()
        self.tell("")

    def cards(self) -> list[AgentCard]:
        """The cards shown now."""
        items = [self._cards.itemAt(index) for index in range(self._cards.count())]
        return [one for item in items if item is not None and isinstance(one := item.widget(), AgentCard)]

    def show_plan(self, plan: AgentPlan, parts: list[str] | None, *, connect: bool) -> None:
        """Show the exact change and ask; without any change only why."""
        title = next((row.title for row in self._rows if row.id == plan.agent), plan.agent)
        dialog = self.dialog = PlanDialog(self, title, plan, connect=connect)
        dialog.accepted.connect(lambda: self.agreed.emit(plan, parts, connect))
        dialog.finished.connect(self._closed)
        dialog.open()

    def _closed(self) -> None:
        self.dialog = None

    def tell(self, sentence: str) -> None:
        """The outcome of the last wish."""
        self.line.setText(sentence)
        self.line.setVisible(bool(sentence))


class PlanDialog(QDialog):
    """Each file that would change, as the lines that go and come."""

    def __init__(self, parent: QWidget, agent: str, plan: AgentPlan, *, connect: bool) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Connect {name}", name=agent) if connect else tr("Disconnect {name}", name=agent))
        page = spaced(QVBoxLayout(self), 2 * GRID)
        self.changes = QPlainTextEdit()
        self.changes.setReadOnly(True)
        self.changes.setTabChangesFocus(True)
        self.changes.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.changes.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.changes.setAccessibleName(tr("Changes in files"))
        self.changes.setPlainText("\n\n".join(f"{kind_name(one.kind)}: {one.path}\n{one.diff}" for one in plan.changes))
        if plan.changes:
            page.addWidget(paragraph(tr("This is changed, and nothing else. A copy of each file is kept.")))
            page.addWidget(self.changes, 1)
        else:
            page.addWidget(paragraph(tr("There is nothing to change.")))
            self.changes.hide()
        for problem in plan.problems:
            page.addWidget(paragraph(join(problem.title, problem.message, problem.action)))
        for note in plan.notes:
            page.addWidget(paragraph(heard(note)))
        buttons = QDialogButtonBox()
        label = tr("Connect") if connect else tr("Disconnect")
        self.do = buttons.addButton(label, QDialogButtonBox.ButtonRole.AcceptRole)
        self.do.setEnabled(bool(plan.changes))
        self.keep = buttons.addButton(tr("Change nothing"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        page.addWidget(buttons)
        self.resize(640, 440 if plan.changes else 160)


def part_name(id_: str) -> str:
    """What an agent gets, in a person's words."""
    names = {
        "mcp": tr("Tools to look into the memory and to keep something"),
        "hooks": tr("What fits, at the start and with each question"),
        "recall": tr("What fits, with each question"),
        "skill": tr("A skill: when and how to use the memory"),
        "instructions": tr("A paragraph in its instructions"),
    }
    return names.get(id_, id_)


def part_state(part: AgentPart) -> str:
    """How one part stands."""
    return {
        "absent": tr("not connected"),
        "connected": tr("connected"),
        "outdated": tr("from an older version: connect again"),
        "taken": tr("taken by something else"),
        "unreadable": tr("its file cannot be read"),
    }[part.state]


def state_line(row: AgentRow) -> str:
    """How an agent stands."""
    if not row.found and not row.connected:
        return tr("Not on this machine.")
    if any(part.state == "outdated" for part in row.parts):
        return tr("Connected by an older version: connect again. {folder}", folder=row.home)
    return (
        tr("Connected. {folder}", folder=row.home) if row.connected else tr("Not connected. {folder}", folder=row.home)
    )


def kind_name(kind: str) -> str:
    """What happens to a file."""
    return {"create": tr("New file"), "change": tr("Changed file"), "remove": tr("Removed file")}.get(kind, kind)
