"""Every text of the windows exists in both languages, and nothing else does."""

import ast
import json
import re
import string
from pathlib import Path

import pytest

import desktop
import engine
from desktop import i18n
from desktop.resources import resource

ROOT = Path(desktop.__file__).parent
CHINESE: dict[str, str] = json.loads(resource("translations", "zh_CN.json").read_text("utf-8"))
ENGINE: dict[str, str] = json.loads(resource("translations", "engine.zh_CN.json").read_text("utf-8"))


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


def engine_texts() -> str:
    """Every text in the source of the engine, with `{}` where values go."""
    texts: list[str] = []
    for path in Path(engine.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def test_every_sentence_known_of_the_engine_is_one_it_says() -> None:
    said = engine_texts()
    for text, translated in ENGINE.items():
        assert fields(text) == fields(translated), text
        for piece in re.split(r"\{\w+\}", text):
            assert piece.strip(" .") in said, text


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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The disk is full", "磁盘已满"),
        ("Ollama does not answer at 127.0.0.1:9.", "Ollama 在 127.0.0.1:9 没有响应。"),
        ("DeepSeek refused the key (401): Key no. 5 is bad.", "DeepSeek 拒绝了密钥（401）：Key no. 5 is bad."),
        (
            "There is no key for OpenAI. Enter a key for OpenAI in Settings, or set OPENAI_API_KEY.",
            "没有 OpenAI 的密钥。请在设置中填写 OpenAI 的密钥，或设置环境变量 OPENAI_API_KEY。",
        ),
        (
            "queue.maxAttempts must be a whole number from 1 to 10, not 99.",
            "queue.maxAttempts 必须是 1 到 10 的整数，而不是 99。",
        ),
        ("the answer broke off: no answer within 5 s", "回答中断：5 秒内没有回答"),
        ("Something nobody foresaw. The disk is full", "Something nobody foresaw. The disk is full"),
    ],
)
def test_what_the_engine_says_is_shown_in_the_language_of_the_windows(english, said: str, shown: str) -> None:
    i18n.use("zh_CN")
    assert i18n.heard(said) == shown
    i18n.use("en")
    assert i18n.heard(said) == said


def test_sentences_are_ended_and_joined(english) -> None:
    assert i18n.join("The disk is full", "", "Free some space.") == "The disk is full. Free some space."
    assert i18n.join("the answer broke off", "a/b c") == "The answer broke off. a/b c."
    i18n.use("zh_CN")
    assert i18n.join("The disk is full", "No network") == "磁盘已满。没有网络。"
