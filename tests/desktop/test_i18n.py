"""Every text of the windows exists in both languages, and nothing else does."""

import ast
import json
import string
from pathlib import Path

import pytest

import desktop
from desktop import i18n
from desktop.resources import resource

ROOT = Path(desktop.__file__).parent
CHINESE: dict[str, str] = json.loads(resource("translations", "zh_CN.json").read_text("utf-8"))


def spoken_texts() -> set[str]:
    """The literal keys of all calls of tr and trn."""
    texts: set[str] = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tr", "trn"):
                count = 1 if node.func.id == "tr" else 2
                for argument in node.args[:count]:
                    if isinstance(argument, ast.Constant):
                        texts.add(argument.value)
                    else:
                        assert path.name == "i18n.py", f"{path.name}:{node.lineno}: a text that is no literal"
    return texts


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_text_has_its_chinese_and_no_chinese_is_left_over() -> None:
    assert spoken_texts() == set(CHINESE)


@pytest.mark.parametrize("text", sorted(CHINESE))
def test_the_chinese_text_fills_in_the_same_names(text: str) -> None:
    assert fields(CHINESE[text]) == fields(text)
    assert CHINESE[text].strip()


def test_words_of_the_inside_are_never_shown() -> None:
    forbidden = ("span", "watermark", "seq", "cascade", "adjudication", "ledger", "capability", "consolidat")
    for text in CHINESE:
        words = text.lower().replace(".", " ").split()
        assert not [word for word in words for bad in forbidden if word.startswith(bad)], text
        assert "!" not in text


@pytest.fixture
def english():
    yield
    i18n.use("en")


def test_the_language_follows_the_setting(english) -> None:
    i18n.use("zh_CN")
    assert i18n.chinese()
    assert i18n.tr("Settings") == "设置"
    assert i18n.trn("{n} failed task", "{n} failed tasks", 1234) == "1\u202f234 个失败的任务"
    i18n.use("en")
    assert not i18n.chinese()
    assert i18n.tr("Settings") == "Settings"
    assert i18n.trn("{n} failed task", "{n} failed tasks", 1) == "1 failed task"
