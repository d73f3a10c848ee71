"""Every text of the windows exists in both languages, and nothing else does."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QMessageBox

import desktop
from desktop import i18n
from desktop.resources import resource

ROOT = Path(desktop.__file__).parent
FILE = resource("translations", "companion_zh_CN.ts")
SCRIPT = ROOT.parent / "packaging" / "translations.py"
CHINESE = i18n.read(FILE)["windows"]


def test_every_text_of_the_windows_is_a_literal_that_the_catalogue_can_hold() -> None:
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tr", "trn"):
                for argument in node.args[: 1 if node.func.id == "tr" else 2]:
                    literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                    assert literal or path.name == "i18n.py", f"{path.name}:{node.lineno}: a text that is no literal"


def test_a_missing_an_obsolete_and_an_unfinished_text_are_found() -> None:
    tool = runpy.run_path(str(SCRIPT))
    catalogue = i18n.read(FILE)
    del catalogue["windows"]["Settings"]
    del catalogue["engine"]["The disk is full"]
    catalogue["windows"]["Nobody shows this"] = "无人显示"
    catalogue["engine"]["Nobody ever says {this}"] = "无人说 {this}"
    catalogue["windows"]["Keys"] = ""
    catalogue["windows"]["Model: {route}"] = "模型"
    assert tool["faults"](catalogue) == [
        "not translated: Settings",
        "not translated: The disk is full",
        "nobody says: Nobody shows this",
        "nobody says: Nobody ever says {this}",
        "unfinished: Keys",
        "fills in other names: Model: {route}",
    ]


def test_qt_linguist_compiles_the_file_and_reads_the_same_from_it(tmp_path: Path, qapp) -> None:
    compiled = tmp_path / "companion.qm"
    program = Path(sys.executable).with_name("pyside6-lrelease")
    done = subprocess.run([program, FILE, "-qm", compiled], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    translator = QTranslator()
    assert translator.load(str(compiled))
    for context, texts in i18n.read(FILE).items():
        assert {text: translator.translate(context, text) for text in texts} == texts


def test_the_buttons_of_qts_own_dialogs_speak_the_language_too(qapp) -> None:
    i18n.use("zh_CN")
    box = QMessageBox()
    assert box.addButton(QMessageBox.StandardButton.Cancel).text() == "取消"
    i18n.use("en")
    box = QMessageBox()
    assert box.addButton(QMessageBox.StandardButton.Cancel).text() == "Cancel"


def test_words_of_the_inside_are_never_shown() -> None:
    forbidden = ("span", "watermark", "seq", "cascade", "adjudication", "ledger", "capability", "consolidat")
    for text in CHINESE:
        words = text.lower().replace(".", " ").split()
        assert not [word for word in words for bad in forbidden if word.startswith(bad)], text
        assert "!" not in text


def test_the_language_follows_the_setting() -> None:
    i18n.use("zh_CN")
    assert i18n.chinese()
    assert i18n.tr("Settings") == "设置"
    assert i18n.trn("{n} token", "{n} tokens", 1234) == "1\u202f234 个 token"
    i18n.use("en")
    assert not i18n.chinese()
    assert i18n.tr("Settings") == "Settings"
    assert i18n.trn("{n} token", "{n} tokens", 1) == "1 token"


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
        ("It ended with status -9.", "它以状态 -9 结束。"),
        ("The limit of 44,000 tokens per day is used up (40,000).", "限额（每日 44,000 个 token）已用完（40,000）。"),
        ("The limit of 2.5 USD per hour is used up (2.4).", "限额（每小时 2.5 USD）已用完（2.4）。"),
        ("“work”: its folder is missing: /srv/a.b.", "“work”：缺少文件夹：/srv/a.b。"),
        ("“work”: config error: hypatia.sqlite holds no shelf.", "“work”：配置错误：hypatia.sqlite 中没有书架。"),
        (
            "/srv/a cannot be read: it is neither a shelf nor an export.",
            "无法读取 /srv/a：它既不是书架，也不是导出文件。",
        ),
        ("/srv/a cannot be read: it is damaged (KeyError).", "无法读取 /srv/a：它已损坏（KeyError）。"),
        (
            "/bin/hypatia cannot be used: it has no “mcp” command; every call takes longer this way.",
            "无法使用 /bin/hypatia：它没有“mcp”命令；这样每次调用都会更慢。",
        ),
        ("Another program is writing to the shelf.", "另一个程序正在写入此书架。"),
        ("the answer broke off: no answer within 5 s", "回答中断：5 秒内没有回答"),
        ("Something nobody foresaw. The disk is full", "Something nobody foresaw. The disk is full"),
    ],
)
def test_what_the_engine_says_is_shown_in_the_language_of_the_windows(said: str, shown: str) -> None:
    i18n.use("zh_CN")
    assert i18n.heard(said) == shown
    i18n.use("en")
    assert i18n.heard(said) == said


def test_sentences_are_ended_and_joined() -> None:
    assert i18n.join("The disk is full", "", "Free some space.") == "The disk is full. Free some space."
    assert i18n.join("the answer broke off", "a/b c") == "The answer broke off. a/b c."
    i18n.use("zh_CN")
    assert i18n.join("The disk is full", "No network") == "磁盘已满。没有网络。"
