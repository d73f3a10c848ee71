"""Activity: every model call of the last weeks, with what was sent and what it cost."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QStackedWidget

from desktop.i18n import heard, join, number, tr, trn
from desktop.widgets.table import Column, Rows, table
from desktop.widgets.text import paragraph, spaced
from desktop.windows.memory_pages.page import Page, Run
from desktop.words import ago, moment, money
from engine.events import Event, TaskFailed, TaskSettled
from engine.views import CallRow

if TYPE_CHECKING:
    from engine.app import Engine

_PAUSE_MS = 250
_FREE = "free"


class ActivityPage(Page):
    """A table that can be filtered, and written to a file."""

    def __init__(self, engine: "Engine", run: Run) -> None:
        super().__init__(engine, run, tr("Activity"), tr("Every call to a model in the last 35 days."))
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Filter by model or purpose"))
        self.filter.setAccessibleName(tr("Filter by model or purpose"))
        self.filter.setClearButtonEnabled(True)
        self._typed = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._typed.timeout.connect(self.load)
        self.filter.textChanged.connect(lambda: self._typed.start())
        self.outcome = QComboBox()
        self.outcome.setAccessibleName(tr("Outcome"))
        self.outcome.addItem(tr("Any outcome"), "")
        for name in ("ok", "incomplete", "error", "pending"):
            self.outcome.addItem(_outcome(name), name)
        self.outcome.currentIndexChanged.connect(lambda: self.load())
        self.export = QPushButton(tr("Save as CSV…"))
        self.export.clicked.connect(self._choose_file)
        self.rows = Rows(
            (
                Column(
                    tr("When"),
                    lambda call: ago(call.at / 1000, engine.clock.time()),
                    hint=lambda call: moment(call.at / 1000),
                ),
                Column(tr("For"), lambda call: _purpose(call.purpose)),
                Column(tr("Model"), lambda call: f"{call.provider}/{call.model}"),
                Column(tr("Thinking effort"), lambda call: call.effort),
                Column(tr("Outcome"), lambda call: _outcome(call.outcome), hint=_detail),
                Column(tr("Sent"), lambda call: number(call.input_tokens), right=True, hint=_sent),
                Column(tr("Received"), lambda call: number(call.output_tokens), right=True, hint=_received),
                Column(tr("Seconds"), lambda call: f"{call.ms / 1000:.1f}" if call.ms else "", right=True),
                Column(tr("Cost"), _cost, right=True),
            ),
            lambda call: (call.at, call.provider, call.model, call.purpose),
        )
        self.rows.setParent(self)
        self.rows.wanted.connect(self._load_page)
        self.table = table(self.rows, "calls", tr("Model calls"), (18, 20, 0, 15, 12, 8, 9, 9, 13))
        self._empty = paragraph()
        self._lists = QStackedWidget()
        self._lists.addWidget(self.table)
        self._lists.addWidget(self._empty)
        top = spaced(QHBoxLayout())
        top.addWidget(self.filter, 1)
        top.addWidget(self.outcome)
        top.addWidget(self.export)
        self.body.addLayout(top)
        self.body.addWidget(self._lists, 1)
        self.body.addWidget(self.line)

    def load(self) -> None:
        self._typed.stop()
        self.ask("calls", partial(self.engine.browsing.calls.page, *self._wanted()), self._show_page)

    def heard(self, event: Event) -> None:
        if isinstance(event, TaskSettled | TaskFailed):
            self.load()

    def tick(self) -> None:
        self.rows.tell_ages()

    def look_for(self) -> None:
        self.filter.setFocus()
        self.filter.selectAll()

    def _wanted(self) -> tuple[str, str]:
        return self.filter.text(), str(self.outcome.currentData())

    def _load_page(self, offset: int) -> None:
        self.ask(
            "more calls",
            partial(self.engine.browsing.calls.page, *self._wanted(), offset),
            lambda rows: self.rows.put(rows, offset),
        )

    def _show_page(self, rows: list[CallRow]) -> None:
        self.rows.put(rows)
        self._lists.setCurrentIndex(int(not rows))
        self.export.setEnabled(bool(rows))
        self._empty.setText(
            tr("No call fits this filter.")
            if any(self._wanted())
            else tr("Calls appear here once a model was asked. Without a model nothing is sent anywhere.")
        )

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, tr("Save as CSV"), str(Path.home() / "model-calls.csv"), "CSV (*.csv)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.fileSelected.connect(self.save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, path: str) -> None:
        """Write what the filter lets through."""
        self.do("save calls", partial(self._saved, Path(path)))

    async def _saved(self, path: Path) -> str:
        count = await self.engine.browsing.calls.export(path, *self._wanted())
        return trn("{n} call was written to {path}.", "{n} calls were written to {path}.", count, path=path)


def _purpose(purpose: str) -> str:
    names = {
        "memory-consolidation": tr("Summary"),
        "memory-adjudication": tr("Comparing with earlier memories"),
        "memory-cascade": tr("Archive"),
        "test": tr("Test"),
    }
    return names.get(purpose, purpose)


def _outcome(outcome: str) -> str:
    names = {
        "ok": tr("Answered"),
        "incomplete": tr("Not usable"),
        "error": tr("Failed"),
        "pending": tr("Not answered yet"),
    }
    return names.get(outcome, outcome)


def _detail(call: CallRow) -> str:
    said = [heard(call.detail)] if call.detail else []
    if call.rejected:
        said.append(
            trn("{n} lesson was left out: no evidence", "{n} lessons were left out: no evidence", call.rejected)
        )
    return join(*said) if said else _outcome(call.outcome)


def _sent(call: CallRow) -> str:
    text = trn("{n} token", "{n} tokens", call.input_tokens)
    if not call.cached_tokens:
        return text
    return tr("{tokens}, {n} of them from the provider’s cache", tokens=text, n=number(call.cached_tokens))


def _received(call: CallRow) -> str:
    text = trn("{n} token", "{n} tokens", call.output_tokens)
    if not call.reasoning_tokens:
        return text
    return tr("{tokens}, {n} of them for thinking", tokens=text, n=number(call.reasoning_tokens))


def _cost(call: CallRow) -> str:
    if call.currency == _FREE:
        return tr("free")
    if call.money is None or not call.currency:
        return tr("unknown price")
    return money(call.money, call.currency)
