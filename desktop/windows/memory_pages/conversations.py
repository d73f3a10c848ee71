"""Conversations: all of them in a list, one of them beside it, with what became of it."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import heard, join, number, tr, trn
from desktop.undoing import follow_undo
from desktop.widgets.table import Column, Rows, table
from desktop.widgets.text import GRID, literal, muted, paragraph, spaced
from desktop.widgets.undo_bar import UndoBar
from desktop.windows.memory_pages.forget import ForgetPanel
from desktop.windows.memory_pages.one_conversation import OneConversation, Whole
from desktop.windows.memory_pages.page import Page, Run
from desktop.words import ago, moment, summarise_sentence
from engine.errors import CompanionError
from engine.events import Event, Forgotten, MessagesLogged, ShelfSwitched, TaskFailed, TaskSettled
from engine.views import ForgottenConversation, SessionRow

if TYPE_CHECKING:
    from engine.app import Engine

_PAUSE_MS = 250  # after the last letter of a filter


class ConversationsPage(Page):
    """`connections` is emitted with the entry to walk from."""

    connections = Signal(str)
    review = Signal()

    def __init__(self, engine: "Engine", run: Run) -> None:
        super().__init__(engine, run, tr("Conversations"))
        self._chosen = ""
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Filter by title or project"))
        self.filter.setAccessibleName(tr("Filter by title or project"))
        self.filter.setClearButtonEnabled(True)
        self._typed = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._typed.timeout.connect(self._reload)
        self.filter.textChanged.connect(lambda: self._typed.start())
        self.rows = Rows(
            (
                Column(tr("Conversation"), lambda row: row.title, hint=_full_title),
                Column(tr("Project"), lambda row: row.project),
                Column(
                    tr("Last said"),
                    lambda row: ago(row.last_time / 1000, engine.clock.time()),
                    right=True,
                    hint=lambda row: moment(row.last_time / 1000),
                ),
                Column(
                    tr("Waiting"),
                    lambda row: number(row.unsummarised_tokens) if row.unsummarised_tokens else "",
                    right=True,
                    hint=lambda row: tr("{n} tokens wait for a summary", n=number(row.unsummarised_tokens)),
                ),
            ),
            lambda row: row.session_id,
        )
        self.rows.setParent(self)
        self.rows.wanted.connect(self._load_page)
        self.rows.modelReset.connect(self._choose_again)
        self.table = table(self.rows, "conversations", tr("Conversations"), (0, 12, 12, 8))
        self.table.selectionModel().currentRowChanged.connect(self._moved)
        self._empty = paragraph()
        self._count = muted()
        self._forgotten = QPushButton()
        self._forgotten.setMenu(QMenu(self))
        self._forgotten.hide()
        self._build()

    def _build(self) -> None:
        left = QWidget()
        column = spaced(QVBoxLayout(left))
        column.addWidget(self.filter)
        self._lists = QStackedWidget()
        self._lists.addWidget(self.table)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._lists.addWidget(self._empty)
        column.addWidget(self._lists, 1)
        foot = spaced(QHBoxLayout())
        foot.addWidget(self._count, 1)
        foot.addWidget(self._forgotten)
        column.addLayout(foot)
        self.one = OneConversation(self.engine.clock.time)
        self.one.summarise.connect(self._summarise)
        self.one.forget.connect(self._preview)
        self.one.review.connect(self.review)
        self.one.connections.connect(self.connections)
        self.forgetting = ForgetPanel()
        self.forgetting.confirmed.connect(self._forget)
        self.undo = UndoBar(self, self.engine.clock.time)
        follow_undo(
            self.undo, self.engine, ("forget",), lambda name, work, _: self._run(name, work, self.tell), self.tell
        )
        right = QWidget()
        beside = spaced(QVBoxLayout(right))
        beside.addWidget(self.undo)
        beside.addWidget(self.forgetting)
        beside.addWidget(self.one, 1)
        split = QSplitter()
        split.setChildrenCollapsible(False)
        split.addWidget(left)
        split.addWidget(right)
        split.setSizes([45 * GRID, 55 * GRID])
        self.body.addWidget(split, 1)
        self.body.addWidget(self.line)

    def load(self) -> None:
        self._reload()
        self._load_one()

    def heard(self, event: Event) -> None:
        match event:
            case MessagesLogged() | TaskSettled() | TaskFailed() if event.session_id == self._chosen:
                self.load()
            case MessagesLogged() | TaskSettled() | ShelfSwitched() | Forgotten():
                self._reload()

    def tick(self) -> None:
        self.rows.tell_ages()

    def look_for(self) -> None:
        self.filter.setFocus()
        self.filter.selectAll()

    def open(self, session_id: str) -> None:
        """Show one conversation, wherever it stands in the list."""
        self._choose(session_id)
        if (place := self.rows.place(session_id)) >= 0:
            self.table.selectRow(place)
        else:
            self.table.clearSelection()

    def _reload(self) -> None:
        self._typed.stop()
        words = self.filter.text()
        self.ask("conversations", lambda: self.engine.browsing.conversations.page(words), self._show_page)
        self.ask("count", lambda: self.engine.browsing.conversations.count(words), self._show_count)
        self.ask("forgotten", self.engine.forgetting.forgotten, self._show_forgotten)

    def _load_page(self, offset: int) -> None:
        words = self.filter.text()
        self.ask(
            "more conversations",
            lambda: self.engine.browsing.conversations.page(words, offset),
            lambda rows: self.rows.put(rows, offset),
        )

    def _show_page(self, rows: list[SessionRow]) -> None:
        self.rows.put(rows)
        self._lists.setCurrentIndex(int(not rows))
        if not rows:
            filtered = bool(self.filter.text().strip())
            self._empty.setText(
                tr("No conversation has these words in its title or project.")
                if filtered
                else tr("Conversations appear here once one is recorded: after the next answer of your agent.")
            )
        elif not self._chosen:
            self.table.selectRow(0)

    def _show_count(self, count: int) -> None:
        self._count.setText(trn("{n} conversation", "{n} conversations", count))

    def _choose_again(self) -> None:
        if (place := self.rows.place(self._chosen)) >= 0:
            self.table.selectRow(place)

    def _moved(self, now: QModelIndex) -> None:
        row = self.rows.row(now)
        if row is not None and row.session_id != self._chosen:
            self._choose(row.session_id)

    def _choose(self, session_id: str) -> None:
        self._chosen = session_id
        self.forgetting.leave()
        self._load_one()

    def _load_one(self) -> None:
        if self._chosen:
            self.ask("conversation", partial(self._whole, self._chosen), self.one.put)

    async def _whole(self, session_id: str) -> Whole:
        engine = self.engine
        return Whole(
            await engine.browsing.conversations.detail(session_id),
            await engine.summaries.state(session_id),
            await engine.summaries.content(session_id),
        )

    def _summarise(self) -> None:
        self.do("summarise", partial(self._summarised, self._chosen))

    async def _summarised(self, session_id: str) -> str:
        return summarise_sentence(await self.engine.summarise(session_id))

    def _preview(self) -> None:
        self.ask("preview", partial(self.engine.forgetting.preview, self._chosen), self.forgetting.offer)

    def _forget(self, session_id: str, title: str) -> None:
        async def forgotten() -> None:
            try:
                await self.engine.forgetting.forget(session_id)
            except CompanionError:
                self.forgetting.leave()
                raise
            self.forgetting.leave()
            if self._chosen == session_id:
                self._chosen = ""
                self.one.put(None)
            self._reload()

        self.forgetting.busy(title)
        self.do("forget", forgotten)

    def _show_forgotten(self, ones: list[ForgottenConversation]) -> None:
        self._forgotten.setVisible(bool(ones))
        self._forgotten.setText(trn("{n} forgotten conversation", "{n} forgotten conversations", len(ones)))
        menu = self._forgotten.menu()
        menu.clear()
        for one in ones:
            text = tr("Record {id} again, forgotten {when}", id=one.session_id[:18], when=moment(one.at / 1000))
            menu.addAction(literal(text)).triggered.connect(partial(self._remember, one.session_id))

    def _remember(self, session_id: str) -> None:
        async def remembered() -> str:
            await self.engine.forgetting.undo(session_id)
            self.open(session_id)
            return tr("The conversation is recorded again from its log; its summaries are made anew.")

        self.do("remember again", remembered)


def _full_title(row: SessionRow) -> str:
    return join(row.title, heard(row.reason)) if row.reason else row.title
