"""The settings file: what a person wrote is kept, what is wrong is named, nothing is saved by halves."""

import asyncio
import errno
import os
import random
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.errors import CompanionError, Environment, UserFixable
from engine.settings import SETTINGS, Setting, Settings
from engine.settings.store import unsaved
from engine.supervisor import Supervisor

ROUTE = {"provider": "deepseek", "model": "deepseek-v4-flash", "reasoningEffort": "off"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.toml"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold_and_none_is_made(path: Path) -> None:
    settings = Settings(path)
    assert {row.key: settings.get(row.key) for row in SETTINGS} == {row.key: row.default for row in SETTINGS}
    assert not settings.problems and not settings.unknown and not settings.broken
    assert not path.exists()


def test_a_value_is_saved_privately_and_read_again(path: Path) -> None:
    Settings(path).set("consolidation.models", [ROUTE])
    again = Settings(path)
    assert again.get("consolidation.models") == [ROUTE]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["settings.toml"], "no temporary file is left"


def test_a_key_that_is_not_in_the_table_is_refused(path: Path) -> None:
    settings = Settings(path)
    with pytest.raises(UserFixable, match=r"no setting queue\.speed"):
        settings.set("queue.speed", 1)
    with pytest.raises(KeyError):
        settings.get("queue.speed")


def test_a_list_cannot_be_changed_from_outside(path: Path) -> None:
    settings = Settings(path)
    settings.get("binaries").append("other")
    assert settings.get("binaries") == ["hypatia"]
    routes = [dict(ROUTE)]
    settings.set("consolidation.models", routes)
    routes[0]["model"] = "changed"
    assert settings.get("consolidation.models") == [ROUTE]


def test_aux_19_one_bad_value_among_good_ones_saves_nothing(path: Path) -> None:
    settings = Settings(path)
    changes = {"queue.concurrency": 2, "queue.maxAttempts": 11, "collector.toolLedger": True}
    with pytest.raises(UserFixable) as caught:
        settings.set_many(changes)
    assert caught.value.message == "queue.maxAttempts must be a whole number from 1 to 10, not 11."
    assert not path.exists() and settings.get("queue.concurrency") == 1


def test_comments_order_and_unknown_keys_are_kept(path: Path) -> None:
    write(
        path,
        "# mine\nshelf = 'work' # the one for work\nfuture = 3\n\n[collector] # what is recorded\n"
        "maxUserChars = 900\n\n[plugins.other]\nvalue = [1, 2]\n",
    )
    settings = Settings(path)
    assert settings.unknown == ("future", "plugins.other.value") and not settings.problems
    settings.set_many({"shelf": "home", "collector.toolLedger": True})
    text = path.read_text(encoding="utf-8")
    for kept in ("# mine", "# the one for work", "future = 3", "[collector] # what is recorded", "value = [1, 2]"):
        assert kept in text
    assert (settings.get("shelf"), settings.get("collector.maxUserChars")) == ("home", 900)


def test_a_wrong_value_is_named_and_its_default_used(path: Path) -> None:
    write(path, "shelf = 'my shelf'\n[queue]\nconcurrency = 99\nmaxAttempts = 4\n[collector]\nenabled = 'yes'\n")
    settings = Settings(path)
    assert {problem.message for problem in settings.problems} == {
        "shelf must be a name without spaces, not 'my shelf'.",
        "queue.concurrency must be a whole number from 1 to 8, not 99.",
        "collector.enabled must be true or false, not 'yes'.",
    }
    assert all(str(path) in problem.action for problem in settings.problems)
    assert settings.get("queue.concurrency") == 1 and settings.get("queue.maxAttempts") == 4
    settings.set("queue.concurrency", 3)
    assert len(settings.problems) == 2 and "'my shelf'" in path.read_text(encoding="utf-8")


def test_a_group_where_a_value_should_be_is_named_and_can_be_replaced(path: Path) -> None:
    write(path, "consolidation = 3\n[shelf]\nname = 'x'\n")
    settings = Settings(path)
    assert [problem.message.split()[0] for problem in settings.problems] == ["shelf"]
    settings.set_many({"shelf": "home", "consolidation.enabled": False})
    assert settings.get("shelf") == "home" and settings.get("consolidation.enabled") is False
    assert not settings.problems


def test_mod_05_a_bad_route_is_left_out_and_the_others_stay(path: Path) -> None:
    write(
        path,
        "[[consolidation.models]]\nprovider = 'ollama'\nmodel = ''\n\n"
        "[[consolidation.models]]\nprovider = 'deepseek'\nmodel = 'deepseek-v4-flash'\nreasoningEffort = 'off'\n",
    )
    settings = Settings(path)
    assert settings.get("consolidation.models") == [ROUTE]
    assert [problem.message for problem in settings.problems] == [
        "consolidation.models has a wrong entry 1: model must not be blank."
    ]
    settings.set("queue.concurrency", 2)
    assert "provider = 'ollama'" in path.read_text(encoding="utf-8"), "what was not changed is not touched"
    settings.set("consolidation.models", [ROUTE, {"provider": "openai", "model": "gpt-5.2"}])
    assert not settings.problems and len(Settings(path).get("consolidation.models")) == 2


def test_set_08_an_effort_that_is_cleared_leaves_the_file(path: Path) -> None:
    settings = Settings(path)
    settings.set("consolidation.models", [ROUTE])
    settings.set("consolidation.models", [{"provider": "deepseek", "model": "deepseek-v4-flash"}])
    assert "reasoningEffort" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"shelf = = 3\n", "is not written as TOML"),
        (b"[queue]\nconcurrency = 1\n[queue]\nmaxAttempts = 2\n", "is not written as TOML"),
        ("shelf = '书架'\n".encode("gb18030"), "not in UTF-8"),
        ("shelf = 'x'\n".encode("utf-16"), "not in UTF-8"),
        (b"\x00\x01\x02", "is not written as TOML"),
    ],
    ids=["nonsense", "twice", "gb18030", "utf-16", "binary"],
)
def test_a_file_that_cannot_be_read_is_never_overwritten(path: Path, content: bytes, message: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    settings = Settings(path)
    assert settings.broken and message in settings.problems[0].message and str(path) in settings.problems[0].action
    assert settings.get("shelf") == "default"
    with pytest.raises(UserFixable, match="Settings not read"):
        settings.set("shelf", "home")
    assert path.read_bytes() == content
    path.write_text("shelf = 'mended'\n", encoding="utf-8")
    assert settings.changed_on_disk() and settings.reload() == ("shelf",)
    assert not settings.broken and not settings.problems


def test_a_file_broken_while_running_keeps_the_last_good_values(path: Path) -> None:
    write(path, "enabled = false\n")
    settings = Settings(path)
    told: list[tuple[str, ...]] = []
    settings.on_change(lambda keys, *_: told.append(keys))
    write(path, "enabled = fal")
    assert settings.reload() == () and settings.broken
    assert settings.get("enabled") is False, "a torn file must not switch recording on"
    assert told == [()], "the problem is told although no value changed"
    assert settings.reload() == () and told == [()]


def test_a_byte_order_mark_is_no_fault(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xef\xbb\xbfshelf = 'notepad'\r\n")
    settings = Settings(path)
    assert settings.get("shelf") == "notepad"
    settings.set("enabled", False)
    assert Settings(path).get("shelf") == "notepad"


def test_an_edit_by_hand_is_not_lost_when_a_value_is_saved(path: Path) -> None:
    settings = Settings(path)
    settings.set("shelf", "one")
    write(path, path.read_text(encoding="utf-8") + "\n[queue]\nconcurrency = 4\n")
    settings.set("collector.toolLedger", True)
    assert settings.get("queue.concurrency") == 4
    assert Settings(path).get("queue.concurrency") == 4


def test_changes_are_told_once_with_old_and_new(path: Path) -> None:
    settings = Settings(path)
    told: list[tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]] = []
    remove = settings.on_change(lambda *change: told.append(change))
    settings.set_many({"queue.concurrency": 2, "shelf": "default"})
    settings.set("queue.concurrency", 2)
    assert told == [(("queue.concurrency",), {"queue.concurrency": 1}, {"queue.concurrency": 2})]
    remove()
    settings.set("queue.concurrency", 3)
    assert len(told) == 1


def test_a_part_that_fails_on_a_change_does_not_stop_the_others(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(path)
    told: list[tuple[str, ...]] = []

    def fail(*_: object) -> None:
        raise RuntimeError("broken part")

    settings.on_change(fail)
    settings.on_change(lambda keys, *_: told.append(keys))
    settings.set("shelf", "home")
    assert told == [("shelf",)] and "a part failed" in caplog.text


def test_a_renamed_key_keeps_its_value_and_moves_at_the_next_save(path: Path) -> None:
    def row(key: str, renamed_from: str = "") -> Setting:
        return Setting(key, "int", 1, "General", "a", "甲", "b", "乙", low=0, renamed_from=renamed_from)

    write(path, "[old]\nname = 5 # five\n")
    table = (row("new.name", "old.name"), row("other"))
    settings = Settings(path, table)
    assert settings.get("new.name") == 5 and not settings.unknown
    settings.set("other", 2)
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {"old": {}, "new": {"name": 5}, "other": 2}
    write(path, "[old]\nname = 5\n[new]\nname = 7\n")
    assert Settings(path, table).get("new.name") == 7, "the new name wins where both stand"


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    settings = Settings(tmp_path / "config" / "settings.toml")
    with pytest.raises(CompanionError, match=r"cannot be written|cannot be read"):
        settings.set("shelf", "home")
    assert settings.get("shelf") == "default"


def test_a_folder_where_the_file_should_be_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    settings = Settings(path)
    assert settings.broken and "Make" in settings.problems[0].action
    with pytest.raises(UserFixable, match="cannot be read"):
        settings.set("shelf", "home")


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, Environment), (errno.EIO, Environment), (errno.EACCES, UserFixable)]
)
def test_a_failed_save_says_whose_fault_it_is(path: Path, code: int, kind: type[CompanionError]) -> None:
    error = unsaved("Not saved", path, OSError(code, os.strerror(code)))
    assert type(error) is kind and str(path) in error.message and error.action


def test_a_linked_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "dotfiles" / "companion.toml", "shelf = 'linked'\n")
    path.parent.mkdir()
    path.symlink_to(target)
    Settings(path).set("enabled", False)
    assert path.is_symlink() and "enabled = false" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("enabled", "off", False),
        ("enabled", " True ", True),
        ("queue.concurrency", "4", 4),
        ("ui.language", "zh_CN", "zh_CN"),
        ("shelf", "工作", "工作"),
        ("sources.dshHome", "/home/me/my dsh", "/home/me/my dsh"),
        ("binaries", '["/opt/hypatia"]', ["/opt/hypatia"]),
        (
            "consolidation.models",
            '[{"provider":"ollama","model":"qwen3:8b"}]',
            [{"provider": "ollama", "model": "qwen3:8b"}],
        ),
    ],
)
def test_a_text_of_the_command_line_becomes_a_value(path: Path, key: str, text: str, value: object) -> None:
    assert Settings(path).parse_text(key, text) == value


@pytest.mark.parametrize(
    ("key", "text", "part"),
    [
        ("enabled", "maybe", "true or false"),
        ("queue.concurrency", "many", "from 1 to 8"),
        ("queue.concurrency", "9", "from 1 to 8"),
        ("consolidation.models", "deepseek", "JSON"),
        ("no.such", "1", "no setting"),
    ],
)
def test_a_text_that_means_no_value_is_refused(path: Path, key: str, text: str, part: str) -> None:
    with pytest.raises(UserFixable) as caught:
        Settings(path).parse_text(key, text)
    assert part in f"{caught.value.message} {caught.value.action}"


def test_rows_say_value_default_and_bounds(path: Path) -> None:
    settings = Settings(path)
    settings.set("queue.concurrency", 2)
    rows = {row["key"]: row for row in settings.as_rows()}
    assert rows["queue.concurrency"]["value"] == 2 and rows["queue.concurrency"]["default"] == 1
    assert rows["queue.concurrency"]["bounds"] == "a whole number from 1 to 8"
    assert list(rows) == [row.key for row in SETTINGS]


def test_any_order_of_changes_leaves_a_file_that_says_the_same(path: Path) -> None:
    """Tables, arrays and plain keys are added and replaced in every order; the file is read by another parser."""
    dice = random.Random(7)
    write(
        path,
        "# a person's file\n[consolidation.cascade]\nbatchSize = 8\n"
        "[[consolidation.models]]\nprovider='a'\nmodel='b'\n",
    )
    settings = Settings(path)
    wanted = {row.key: settings.get(row.key) for row in SETTINGS}
    choices: dict[str, list[Any]] = {
        "consolidation.models": [[], [ROUTE], [ROUTE, {"provider": "x", "model": 'y: "z" # no comment'}]],
        "binaries": [["hypatia"], ["C:\\Program Files\\h.exe", "书"]],
        "sources.dshHome": ["", "/a b/c", "C:\\dsh\\'x'"],
        "sources.notRecorded": [[], ["/home/me/private", "D:\\secret"]],
        "recall.agents": [[], ["codex"], ["claude", "dsh"]],
        "models.prices": [[], ["openai/gpt-5 1.25 0.125 10 USD", "x/y 0 - 0 CNY"]],
        "budget.maxMoneyPerDay": [0, 1.5, 20],
        "budget.maxMoneyPerHour": [0, 0.25],
        "consolidation.dedupMaxDistance": [0, 0.45, 2],
    }
    for _ in range(120):
        row = dice.choice(SETTINGS)
        if row.kind == "int":
            value: Any = dice.randint(row.low or 0, row.high or (row.low or 0) + 50)
        elif row.kind == "bool":
            value = dice.random() < 0.5
        else:
            value = dice.choice(choices.get(row.key, list(row.choices) or ["one", "two"]))
        settings.set(row.key, value)
        wanted[row.key] = value
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        assert _at(content, row.key) == value
    again = Settings(path)
    assert {row.key: again.get(row.key) for row in SETTINGS} == wanted
    assert not again.problems and not again.unknown
    assert path.read_text(encoding="utf-8").startswith("# a person's file")


def _at(content: Any, key: str) -> Any:
    for name in key.split("."):
        content = content[name]
    return content


async def test_saving_leaves_the_loop_free_and_keeps_the_order(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    seen: list[object] = []
    settings.on_change(lambda keys, old, new: seen.append(new["queue.concurrency"]))
    supervisor = Supervisor()
    tasks = [supervisor.start(settings.save({"queue.concurrency": n}), "save") for n in (2, 3, 4, 5)]
    tasks.append(supervisor.start(settings.save({"queue.concurrency": 99}), "wrong"))
    assert settings.get("queue.concurrency") == 1, "nothing was written on the way"
    await asyncio.wait(tasks)
    assert settings.get("queue.concurrency") == 5 and seen == [2, 3, 4, 5]
    with pytest.raises(UserFixable, match="from 1 to 8"):
        await tasks[-1]
    settings.set("shelf", "home")
    await settings.save({"queue.maxAttempts": 7})
    assert Settings(settings.path).as_rows() == settings.as_rows()


async def test_saving_into_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "file" / "settings.toml")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserFixable, match=r"settings.toml cannot be"):
        await settings.save({"shelf": "home"})
    assert settings.get("shelf") == "default"
