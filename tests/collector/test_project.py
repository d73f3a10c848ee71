"""The project a conversation belongs to (engine.md 2.11; COL-41 to COL-50)."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.collector.project import NO_CWD, Projects
from tests.tools.memory import memory

_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def repository(path: Path) -> Path:
    """A work tree of git with a deep folder in it."""
    (path / "deep" / "deeper").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(path)], check=True, env=_ENV)
    return path


async def test_col_41_the_root_of_the_file_system() -> None:
    assert await Projects(git="no-such-git").label("/") == "/"


@pytest.mark.parametrize("below", [".", "deep/deeper"], ids=lambda below: f"COL-42 {below}")
async def test_col_42_anywhere_in_a_repository_it_is_the_repositorys_name(tmp_path: Path, below: str) -> None:
    assert await Projects().label(str(repository(tmp_path / "harbour") / below)) == "harbour"


async def test_col_43_outside_git_it_is_the_folders_own_name(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert (
        await Projects(env=_ENV | {"GIT_CEILING_DIRECTORIES": str(tmp_path)}).label(str(tmp_path / "notes")) == "notes"
    )


async def test_col_44_a_comma_is_no_part_of_a_scope(tmp_path: Path) -> None:
    assert await Projects().label(str(repository(tmp_path / "x,y") / "deep")) == "x_y"


async def test_col_45_a_link_leads_to_its_targets_name(tmp_path: Path) -> None:
    repository(tmp_path / "target")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert await Projects().label(str(tmp_path / "link" / "deep")) == "target"


@pytest.mark.parametrize(
    ("name", "label"), [("repo\ufeff", "repo\ufeff"), ("repo\u0085", "repo"), (" repo\u3000", "repo"), ("仓库", "仓库")]
)
async def test_col_46_what_is_trimmed_of_a_name(tmp_path: Path, name: str, label: str) -> None:
    assert await Projects().label(str(repository(tmp_path / name))) == label


async def test_col_47_the_environment_cannot_point_git_elsewhere(tmp_path: Path) -> None:
    here, there = repository(tmp_path / "here"), repository(tmp_path / "there")
    env = _ENV | {
        "GIT_DIR": str(there / ".git"),
        "GIT_WORK_TREE": str(there),
        "GIT_COMMON_DIR": str(there / ".git"),
    }
    assert await Projects(env=env).label(str(here)) == "here"


def hanging_once(folder: Path) -> Path:
    """A git that hangs the first time and works from then on."""
    program = folder / "git"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, time\n"
        f"first = {str(folder / 'first')!r}\n"
        "if not os.path.exists(first):\n"
        "    open(first, 'w').close()\n"
        "    time.sleep(600)\n"
        "os.execvp('git', ['git', *sys.argv[1:]])\n"
    )
    program.chmod(0o755)
    return program


async def test_col_48_a_git_that_hangs_costs_one_answer_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cwd = str(repository(tmp_path / "harbour") / "deep")
    projects = Projects(git=str(hanging_once(tmp_path)), timeout=2)
    with caplog.at_level(logging.WARNING):
        assert await asyncio.gather(projects.label(cwd), projects.label(cwd)) == ["deep", "harbour"]
    assert len(caplog.records) == 1


async def test_a_conversation_keeps_the_label_it_was_given(tmp_path: Path) -> None:
    cwd = repository(tmp_path / "harbour") / "deep"
    async with memory(tmp_path, projects=Projects(git=str(hanging_once(tmp_path)), timeout=2)) as m:
        log, other = m.log(cwd=str(cwd)), m.log("session-2", cwd=str(cwd))
        log.user("one")
        log.end_turn()
        await m.settle()
        log.user("two")
        log.end_turn()
        other.user("three")
        other.end_turn()
        await m.settle()
        assert [(await m.tags(f"msg-session-{s}"))[1] for s in ("1-0", "1-1", "2-0")] == [
            ["deep"],
            ["deep"],
            ["harbour"],
        ]


async def test_col_49_a_folder_that_is_gone_still_has_its_name(tmp_path: Path) -> None:
    assert await Projects().label(str(tmp_path / "gone" / "harbour")) == "harbour"


@pytest.mark.parametrize(("cwd", "label"), [(r"C:\code\demo", "demo"), ("C:\\", "/"), ("/home/alex/", "alex")])
async def test_paths_of_either_system(cwd: str, label: str) -> None:
    assert await Projects(git="no-such-git").label(cwd) == label


@pytest.mark.parametrize("cwd", [None, ""])
async def test_col_50_a_conversation_without_a_folder(tmp_path: Path, cwd: str | None) -> None:
    assert await Projects().label(cwd) == NO_CWD == "_no-cwd"
    async with memory(tmp_path) as m:
        log = m.log(cwd=None)
        log.user("one")
        log.end_turn()
        await m.settle()
        assert (await m.tags("msg-session-1-0"))[1] == ["_no-cwd"]


async def test_another_working_directory_later_on_changes_no_label(tmp_path: Path) -> None:
    """dsh-formats.md 16.12: the header's folder names the project of the whole conversation."""
    async with memory(tmp_path) as m:
        log = m.log(cwd="/home/alex/code/demo")
        log.user("one")
        log.event("working-directory/change", {"cwd": "/home/alex/code/other"})
        log.end_turn()
        log.user("two")
        log.end_turn()
        await m.settle()
        assert [(await m.tags(f"msg-session-1-{n}"))[1] for n in range(2)] == [["demo"], ["demo"]]
