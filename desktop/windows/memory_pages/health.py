"""Health: the program's processes, files and checks, and a text about them for a report."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import number, tr
from desktop.widgets.table import Column, Rows, table
from desktop.widgets.text import GRID, spaced, strong
from desktop.windows.memory_pages.page import Page, Run
from desktop.words import ago, moment, server_name, size
from engine.events import Event, ShelfSwitched
from engine.views import HealthReport, ShelfSize

if TYPE_CHECKING:
    from engine.app import Engine


class HealthPage(Page):
    """Read when it is looked at; nothing is measured while nobody looks."""

    def __init__(self, engine: "Engine", run: Run) -> None:
        super().__init__(engine, run, tr("Health"))
        self._report: HealthReport | None = None
        self._facts = QGridLayout()
        self._facts.setHorizontalSpacing(2 * GRID)
        self._facts.setColumnStretch(2, 1)
        self._lines: dict[str, tuple[QLabel, QLabel]] = {}
        self.rows = Rows(
            (
                Column(tr("Shelf"), lambda one: one.name, hint=lambda one: one.path),
                Column(tr("State"), lambda one: tr("Connected") if one.connected else tr("Not connected")),
                Column(tr("Size"), lambda one: size(one.bytes), right=True),
                Column(
                    tr("Last copy"),
                    lambda one: _copied(one, engine.clock.time()),
                    right=True,
                    hint=_copied_at,
                ),
            ),
            lambda one: one.name,
        )
        self.rows.setParent(self)
        self.table = table(self.rows, "shelf sizes", tr("Shelves"), (0, 12, 10, 14))
        self.check = QPushButton(tr("Check the files now"))
        self.check.clicked.connect(self._check)
        self.copy = QPushButton(tr("Copy diagnostics"))
        self.copy.setToolTip(tr("Facts for a report of a fault, without a word of any conversation"))
        self.copy.clicked.connect(self._copy)
        self.crash = QPushButton(tr("Copy the last crash report"))
        self.crash.setToolTip(tr("Where in the program the last fault was; it stays on this machine"))
        self.crash.clicked.connect(lambda: self.do("crash report", self._crash_copied))
        inner = QWidget()
        column = spaced(QVBoxLayout(inner), 0, 2 * GRID)
        column.addLayout(self._facts)
        column.addWidget(strong(tr("Shelves")))
        column.addWidget(self.table, 1)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        buttons = spaced(QHBoxLayout())
        for button in (self.check, self.copy, self.crash):
            buttons.addWidget(button)
        buttons.addStretch()
        self.body.addWidget(scroll, 1)
        self.body.addLayout(buttons)
        self.body.addWidget(self.line)

    def load(self) -> None:
        self.ask("health", self.engine.browsing.health.read, self._show)

    def heard(self, event: Event) -> None:
        if isinstance(event, ShelfSwitched):
            self.load()

    def _show(self, report: HealthReport) -> None:
        self._report = report
        resting = tr("Resting: it is started when it is needed")
        server = _memory(report.server_memory) if report.server_pid else resting
        process = tr("Process {n}", n=report.server_pid) if report.server_pid else ""
        facts = (
            (tr("The companion"), _memory(report.memory), tr("Process {n}", n=report.pid)),
            (tr("Shelf server ({name})", name=server_name(report.server)), server, process),
            (tr("The companion’s own file"), size(report.ledger_bytes), ""),
            (tr("Log of the companion"), size(report.log_bytes), ""),
            (tr("Free on this disk"), size(report.free_bytes), ""),
            (tr("Conversations seen"), number(report.conversations), ""),
            (tr("Messages seen"), number(report.messages), ""),
            (tr("Logs that are not simply fine"), number(report.troubled_logs), ""),
        )
        for name, value, hint in facts:
            if name not in self._lines:
                label, shown = QLabel(name), QLabel()
                shown.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                shown.setAccessibleName(name)
                row = len(self._lines)
                self._facts.addWidget(label, row, 0)
                self._facts.addWidget(shown, row, 1)
                self._lines[name] = label, shown
            self._lines[name][1].setText(value)
            self._lines[name][1].setToolTip(hint)
        self.rows.put(report.shelves)

    def _check(self) -> None:
        self.tell(tr("Checking…"))
        self.do("check", self._checked)

    async def _checked(self) -> str:
        fault = await self.engine.browsing.health.check()
        if fault:
            return tr("The companion’s own file is damaged: {what}", what=fault)
        return tr("The companion’s own file is whole.")

    def _copy(self) -> None:
        self.do("diagnostics", self._copied)

    async def _copied(self) -> str:
        health = self.engine.browsing.health
        text = await health.diagnostics(self._report or await health.read())
        QApplication.clipboard().setText(text)
        return tr("Copied. It holds no title, no project and no word of any conversation.")

    async def _crash_copied(self) -> str:
        report = await self.engine.browsing.health.crash()
        if not report:
            return tr("The program had no fault.")
        QApplication.clipboard().setText(report)
        return tr("Copied. It holds no title, no project and no word of any conversation.")


def _memory(held: int) -> str:
    return tr("{size} of memory", size=size(held)) if held else tr("running")


def _copied(one: ShelfSize, now: float) -> str:
    return ago(one.last_copy, now) if one.last_copy else tr("None yet")


def _copied_at(one: ShelfSize) -> str:
    return moment(one.last_copy) if one.last_copy else tr("A copy is made once a day while the shelf is in use")
