"""The guide opens from the menu in the chosen language, with its pictures; both languages say the same things."""

import re

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication

from desktop import i18n
from desktop.resources import resource
from desktop.windows.guide import GuideWindow


@pytest.mark.parametrize(("language", "heading"), [("en", "The first minute"), ("zh_CN", "第一分钟")])
def test_it_reads_the_guide_of_the_language_with_its_pictures(qapp: QApplication, language: str, heading: str) -> None:
    i18n.use(language)
    window = GuideWindow()
    try:
        assert window.toPlainText().startswith(heading)
        pictures = re.findall(r"\]\((\S+\.png)\)", resource("guide", f"{language}.md").read_text("utf-8"))
        assert len(pictures) == 2
        for name in pictures:
            picture = window.loadResource(QTextDocument.ResourceType.ImageResource, QUrl(name))
            assert picture, name
        window.show()
        assert not window.horizontalScrollBar().maximum()  # text and pictures fit
    finally:
        window.deleteLater()


def test_both_languages_have_the_same_parts_pictures_and_commands() -> None:
    english, chinese = (resource("guide", f"{name}.md").read_text("utf-8") for name in ("en", "zh_CN"))
    for pattern in (r"^## ", r"!\[", r"^\* "):
        assert len(re.findall(pattern, english, re.M)) == len(re.findall(pattern, chinese, re.M))
    assert set(re.findall(r"`hypatia-companion [-\w]+", english)) == set(
        re.findall(r"`hypatia-companion [-\w]+", chinese)
    )
