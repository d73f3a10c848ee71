"""One conversation: how far it is recorded and summarised, what waits, and what became of it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from desktop.i18n import heard, join, number, tr, trn
from desktop.widgets.reading import Reading
from desktop.widgets.text import GRID, heading, muted, paragraph, spaced
from desktop.words import ago, moment
from engine.views import ConversationDetail, Entry, SessionContent, SessionState

_AGENTS = {"dsh": "DSH", "claude": "Claude Code", "codex": "Codex"}


class Whole(NamedTuple):
    """All that is shown of one conversation."""

    detail: ConversationDetail | None
    state: SessionState
    content: SessionContent


class OneConversation(QWidget):
    """Shows values; what a person wants is told by signals."""

    summarise = Signal()
    forget = Signal()
    review = Signal()
    connections = Signal(str)

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now
        self._whole: Whole | None = None
        self._title = heading()
        self._facts = QGridLayout()
        self._facts.setHorizontalSpacing(2 * GRID)
        self._facts.setColumnStretch(1, 1)
        self._lines: dict[str, tuple[QLabel, QLabel]] = {}
        for name, label in (
            ("project", tr("Project")),
            ("agent", tr("Agent")),
            ("recorded", tr("Recorded up to")),
            ("messages", tr("Messages")),
            ("waiting", tr("Waiting for a summary")),
            ("tasks", tr("Tasks")),
        ):
            self._add_line(name, label)
        self._reason = paragraph()
        self.summarise_button = QPushButton(tr("Summarise now"))
        self.summarise_button.clicked.connect(self.summarise)
        self.connections_button = QPushButton(tr("Show connections"))
        self.connections_button.clicked.connect(self._show_connections)
        self.review_button = QPushButton(tr("Review…"))
        self.review_button.clicked.connect(self.review)
        self.forget_button = QPushButton(tr("Forget this conversation…"))
        self.forget_button.clicked.connect(self.forget)
        self.text = Reading(tr("Summaries and lessons of the conversation"))
        self._build()

    def _add_line(self, name: str, label: str) -> None:
        left, right = QLabel(label), QLabel()
        right.setTextFormat(Qt.TextFormat.PlainText)
        right.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        right.setAccessibleName(label)
        row = len(self._lines)
        self._facts.addWidget(left, row, 0)
        self._facts.addWidget(right, row, 1)
        self._lines[name] = left, right

    def _build(self) -> None:
        shown = QWidget()
        column = spaced(QVBoxLayout(shown))
        column.addWidget(self._title)
        column.addLayout(self._facts)
        column.addWidget(self._reason)
        buttons = spaced(QHBoxLayout())
        for button in (self.summarise_button, self.connections_button, self.review_button):
            buttons.addWidget(button)
        buttons.addStretch()
        column.addLayout(buttons)
        column.addWidget(self.text, 1)
        column.addWidget(self.forget_button, alignment=Qt.AlignmentFlag.AlignLeft)
        nothing = muted(tr("Choose a conversation to see what is kept of it."))
        nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._pages = QStackedWidget()
        self._pages.addWidget(nothing)
        self._pages.addWidget(shown)
        spaced(QVBoxLayout(self)).addWidget(self._pages)

    def put(self, whole: Whole | None) -> None:
        """Show a conversation, or none."""
        self._whole = whole
        detail = whole.detail if whole is not None else None
        self._pages.setCurrentIndex(int(detail is not None))
        if whole is None or detail is None:
            self.text.show_markdown("")
            return
        state, now = whole.state, self._now()
        self._title.setText(detail.title)
        self._set("project", detail.project)
        self._set("agent", _AGENTS.get(detail.agent, detail.agent))
        recorded = detail.recorded_to / 1000
        self._set(
            "recorded", ago(recorded, now) if recorded else tr("Nothing yet"), moment(recorded) if recorded else ""
        )
        self._set("messages", number(detail.messages))
        waits = trn("{n} token", "{n} tokens", state.pending_tokens)
        self._set("waiting", waits if state.pending_tokens else tr("Nothing: all of it is summarised"))
        self._set("tasks", _tasks(state))
        self._reason.setText(join(heard(detail.reason)) if detail.reason else "")
        self._reason.setVisible(bool(detail.reason))
        self.summarise_button.setEnabled(state.pending_tokens > 0)
        self.review_button.setVisible(state.failed > 0)
        self.connections_button.setEnabled(bool(whole.content.summaries))
        self.text.show_markdown(_markdown(whole.content))

    def _set(self, name: str, text: str, hint: str = "") -> None:
        left, right = self._lines[name]
        right.setText(text)
        right.setToolTip(hint)
        for label in (left, right):
            label.setVisible(bool(text))

    def _show_connections(self) -> None:
        if self._whole is not None and self._whole.content.summaries:
            self.connections.emit(self._whole.content.summaries[0].name)


def _tasks(state: SessionState) -> str:
    parts = []
    if state.deferred:
        parts.append(trn("{n} waits until it can be done", "{n} wait until they can be done", state.deferred))
    if state.failed:
        parts.append(trn("{n} failed", "{n} failed", state.failed))
        parts.extend(heard(one.error) for one in state.failed_tasks[:1] if one.error)
    return tr(", ").join(parts)


def _markdown(content: SessionContent) -> str:
    """Summaries, then lessons, the newest first."""
    parts = []
    if content.error:
        parts.append(f"*{_plain(heard(content.error))}*")
    if not content.summaries and not content.units and not content.error:
        parts.append(f"*{tr('A summary appears here when enough was said, or when you press Summarise now.')}*")
    for title, count, entries in (
        (tr("Summaries"), content.summary_count, content.summaries),
        (tr("Lessons"), content.unit_count, content.units),
    ):
        if entries:
            shown = (
                tr("{n} of {all}", n=number(len(entries)), all=number(count)) if count > len(entries) else number(count)
            )
            parts.append(f"### {title} ({shown})")
            parts.extend(_section(entry) for entry in entries)
    if content.truncated:
        parts.append(f"*{tr('There is more on the shelf than is shown here.')}*")
    return "\n\n".join(parts)


def _section(entry: Entry) -> str:
    when = _local(entry.created_at)
    return f"---\n\n*{when}*\n\n{entry.text.strip()}"


def _local(created: str) -> str:
    """The shelf's time, which is UTC, to the minute in the person's zone."""
    try:
        return f"{datetime.fromisoformat(created).replace(tzinfo=UTC).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return created


def _plain(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_")
