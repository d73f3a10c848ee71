"""Before a conversation is forgotten: what goes and what stays."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from desktop.i18n import tr, trn
from desktop.widgets.text import GRID, card, muted, paragraph, spaced, strong
from engine.views import ForgetPreview

_SHOWN = 6


class ForgetPanel(QWidget):
    """Hidden until somebody wants to forget; asks once."""

    confirmed = Signal(str, str)  # the conversation and its title

    def __init__(self) -> None:
        super().__init__()
        self._session_id, self._title = "", ""
        frame = card()
        self._head, self._what, self._rest = strong(), paragraph(), muted()
        self.confirm = QPushButton(tr("Forget it"))
        self.keep = QPushButton(tr("Do not forget it"))
        self.confirm.clicked.connect(lambda: self.confirmed.emit(self._session_id, self._title))
        self.keep.clicked.connect(self.leave)
        inside = spaced(QVBoxLayout(frame), GRID + GRID // 2)
        for part in (self._head, self._what, self._rest):
            inside.addWidget(part)
        buttons = spaced(QHBoxLayout())
        for button in (self.confirm, self.keep):
            buttons.addWidget(button)
        buttons.addStretch()
        inside.addLayout(buttons)
        spaced(QVBoxLayout(self)).addWidget(frame)
        self.hide()

    def offer(self, preview: ForgetPreview) -> None:
        """Show what would go; nothing has happened yet."""
        self._session_id, self._title = preview.session_id, preview.title
        self._show(tr("Forget this conversation: {title}", title=preview.title), _goes(preview), _stays(preview))
        self._buttons(self.confirm, self.keep)
        self.keep.setFocus()

    def busy(self, title: str) -> None:
        """It is being done."""
        self._show(tr("“{title}” is being forgotten…", title=title), "", "")
        self._buttons()

    def leave(self) -> None:
        """Nothing more to ask."""
        self.hide()

    def _show(self, head: str, what: str, rest: str) -> None:
        self._head.setText(head)
        for label, text in ((self._what, what), (self._rest, rest)):
            label.setText(text)
            label.setVisible(bool(text))
        self.show()

    def _buttons(self, *shown: QPushButton) -> None:
        for button in (self.confirm, self.keep):
            button.setVisible(button in shown)


def _goes(preview: ForgetPreview) -> str:
    parts = [
        trn("{n} message", "{n} messages", preview.messages),
        trn("{n} summary", "{n} summaries", preview.summaries),
        trn("{n} lesson", "{n} lessons", len(preview.lessons)),
    ]
    lines = [tr("From the shelf go: {what}.", what=tr(", ").join(parts))]
    lines += [f"  • {title}" for title in preview.lessons[:_SHOWN]]
    if len(preview.lessons) > _SHOWN:
        lines.append("  • …")
    if preview.archives:
        lines.append(
            trn(
                "{n} archive that covers it goes too and is made again without it.",
                "{n} archives that cover it go too and are made again without it.",
                preview.archives,
            )
        )
    if len(preview.shelves) > 1:
        lines.append(tr("It goes from these shelves: {names}.", names=tr(", ").join(preview.shelves)))
    return "\n".join(lines)


def _stays(preview: ForgetPreview) -> str:
    lines = [
        tr("It is not recorded again, nor is what is said in it later. The log of your agent stays, and so do exports.")
    ]
    if preview.shared_lessons:
        lines.append(
            trn(
                "{n} lesson stays, because another conversation supports it.",
                "{n} lessons stay, because other conversations support them.",
                preview.shared_lessons,
            )
        )
    if not preview.log_exists:
        lines.append(tr("Its log is gone: this cannot be undone."))
    return "\n".join(lines)
