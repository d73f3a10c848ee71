"""The guide, in the chosen language, with its pictures."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QTextBrowser

from desktop.i18n import chinese, tr
from desktop.icons import app_icon
from desktop.resources import resource
from desktop.widgets.text import GRID

SIZE = QSize(800, 720)  # wide enough for its pictures


class GuideWindow(QTextBrowser):
    """Reads `resources/guide`; links of the web open in the browser."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle(tr("Guide"))
        self.setWindowIcon(app_icon())
        self.setAccessibleName(tr("Guide"))
        self.setOpenExternalLinks(True)
        self.setSearchPaths([str(resource("guide"))])
        self.resize(SIZE)
        self.setMarkdown(resource("guide", "zh_CN.md" if chinese() else "en.md").read_text("utf-8"))
        self.document().setDocumentMargin(2 * GRID)
