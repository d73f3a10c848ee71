"""Text of a shelf to read: Markdown without anything active in it."""

from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QTextBrowser

_PLAIN = QTextDocument.MarkdownFeature.MarkdownDialectCommonMark | QTextDocument.MarkdownFeature.MarkdownNoHTML


class Reading(QTextBrowser):
    """Shows what agents and models wrote: no picture is loaded, no link is followed, no HTML is read."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.setAccessibleName(said)
        self.setOpenLinks(False)
        self.setTabChangesFocus(True)
        self._shown = ""

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        return ""

    def show_markdown(self, text: str) -> None:
        """The text, where it differs; the place that is being read stays."""
        if text == self._shown:
            return
        self._shown = text
        bar = self.verticalScrollBar()
        place = bar.value()
        self.document().setMarkdown(text, _PLAIN)
        bar.setValue(min(place, bar.maximum()))

    def shown(self) -> str:
        """The text as it was given."""
        return self._shown
