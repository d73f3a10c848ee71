"""Every page of the Memory window: names for screen readers, a way for the keyboard, no text cut off."""

import asyncio
import time

import pytest
from PySide6.QtWidgets import QApplication

from desktop import i18n
from desktop.memory_desk import MemoryDesk
from desktop.menu import CompanionMenu
from desktop.windows.memory_pages.conversations import ConversationsPage
from desktop.windows.memory_pages.overview import OverviewPage
from desktop.windows.memory_pages.search import SearchPage
from engine.supervisor import Supervisor
from tests.desktop.lived_in import lived_in
from tests.desktop.reach import clipped, unnamed, unreached

pytestmark = pytest.mark.qt_log_ignore("does not support", extend=True)
PAGES = ["overview", "conversations", "search", "graph", "activity", "health"]


@pytest.mark.parametrize(("language", "size"), [("en", 1.0), ("zh_CN", 1.0), ("en", 2.0), ("zh_CN", 3.0)])
async def test_every_page_is_named_reached_and_whole(tmp_path, until, language: str, size: float) -> None:
    font = QApplication.font()
    large = QApplication.font()
    large.setPointSizeF(font.pointSizeF() * size)
    engine = await lived_in(tmp_path, time.time())
    supervisor, menu = Supervisor(), CompanionMenu()
    try:
        i18n.use(language)
        QApplication.setFont(large)
        window = MemoryDesk(engine, supervisor, menu, lambda _: None, lambda at: None, lambda: None).open()
        window.show()
        window.resize(int(1080 * size), int(760 * size))
        window.activateWindow()
        await until(window.isActiveWindow)
        for name in PAGES:
            page = window.open(name)
            if isinstance(page, OverviewPage):
                await until(lambda page=page: len(page._plots) == 5 and page._figures is not None)
            if isinstance(page, ConversationsPage):
                await until(lambda page=page: page.one.text.shown())
                page._preview()
                await until(lambda page=page: page.forgetting.isVisible())
            if isinstance(page, SearchPage):
                page.words.setText("last row")
                await until(lambda page=page: page.rows.rowCount() > 0)
            await until(lambda: not supervisor.names("memory"))
            await asyncio.sleep(0.05)
            assert unnamed(window) == [], name
            # Qt's own cross in a field that can be cleared has a picture, no text.
            assert [one for one in clipped(window) if not one.startswith("QToolButton '' ''")] == [], name
            window.list.setFocus()
            assert unreached(window) == [], name
        window.close()
        await until(lambda: not supervisor.names())
    finally:
        QApplication.setFont(font)
        i18n.use("en")
        await supervisor.cancel()
        await engine.stop()
