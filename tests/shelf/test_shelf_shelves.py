"""Connecting, making, naming and listing shelves on every kind of server (contracts/hypatia.md 8)."""

import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from engine.errors import Environment, UserFixable
from engine.shelf.process import ShelfClient, ShelfNotConnected, ToolError
from engine.shelf.shelves import Shelf, connect, create, disconnect, list_shelves, rename, status
from engine.shelf.writer import Writer
from tests.shelf.conftest import REAL, Hypatia, alive, built_in, hypatia_of

type Opened = Callable[[], AbstractAsyncContextManager[ShelfClient]]


@pytest.fixture(
    params=[
        "built-in",
        "scripted-mcp",
        "scripted-cli",
        pytest.param("real-mcp", marks=REAL),
        pytest.param("real-cli", marks=REAL),
    ]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """A client of every kind of server."""
    kind, _, transport = request.param.partition("-")
    if kind == "built":
        return lambda: built_in(tmp_path / "home")
    hypatia = hypatia_of(kind, tmp_path)
    return lambda: hypatia.client(transport=transport)


def names(shelves: list[Shelf]) -> list[str]:
    return [shelf.name for shelf in shelves]


async def test_a_shelf_is_connected_named_anew_used_and_disconnected(opened: Opened, tmp_path: Path) -> None:
    async with opened() as client:
        folder = tmp_path / "my notes"
        assert await connect(client, folder) == Shelf("my notes", str(folder), True)
        await Writer(client, "my notes").message("msg-s-0", "text", "P")
        assert await rename(client, "my notes", "-notes") == Shelf("-notes", str(folder), True)
        assert names(await list_shelves(client)) == ["-notes", "default"]
        assert await Writer(client, "-notes").exists("msg-s-0")
        with pytest.raises(ShelfNotConnected, match="my notes"):
            await Writer(client, "my notes").exists("msg-s-0")
        assert not await Writer(client, "default").exists("msg-s-0")
        await disconnect(client, "-notes")
        assert names(await list_shelves(client)) == ["default"]
        assert [file for file in folder.iterdir() if file.name in ("hypatia.sqlite", "data.duckdb")]


async def test_a_refusal_is_said_in_the_programs_words_and_changes_nothing(opened: Opened, tmp_path: Path) -> None:
    async with opened() as client:
        with pytest.raises(UserFixable) as caught:
            await connect(client, tmp_path / "x", "default")
        assert caught.value.message == "Shelf 'default' is already connected."
        with pytest.raises(UserFixable, match="is not connected"):
            await disconnect(client, "none")
        assert names(await list_shelves(client)) == ["default"]


async def test_a_shelf_whose_folder_is_gone_is_listed_as_away(opened: Opened, tmp_path: Path) -> None:
    async with opened() as client:
        await connect(client, tmp_path / "gone")
        await client.restart()
        (tmp_path / "gone").rename(tmp_path / "moved")
        (tmp_path / "gone").touch()  # nothing can be made in its place
        away = next(shelf for shelf in await list_shelves(client) if shelf.name == "gone")
        assert away == Shelf("gone", str(tmp_path / "gone"), False)
        with pytest.raises(ShelfNotConnected, match="gone"):
            await Writer(client, "gone").exists("x")
        (tmp_path / "gone").unlink()
        (tmp_path / "moved").rename(tmp_path / "gone")
        assert not await Writer(client, "gone").exists("x")


async def test_l_03_a_shelf_connected_by_another_program_is_found_after_a_restart(
    hypatia: Hypatia, tmp_path: Path
) -> None:
    hypatia.need("mcp")
    async with hypatia.client() as client, hypatia.client(transport="cli") as other:
        pid = (await list_shelves(client)) and client.pid
        await connect(other, tmp_path / "late")
        assert await Writer(client, "late").message("msg-s-0", "text", "P")
        assert names(await list_shelves(client)) == ["default", "late"]
        assert pid is not None
        assert not alive(pid)


async def test_a_new_shelf_needs_an_empty_folder(tmp_path: Path) -> None:
    async with built_in(tmp_path / "home") as client:
        (tmp_path / "empty").mkdir()
        for name in ("empty", "absent"):
            assert (await create(client, tmp_path / name)).connected
        with pytest.raises(UserFixable, match="not empty"):
            await create(client, tmp_path / "empty", "again")
        (tmp_path / "file").touch()
        with pytest.raises(UserFixable, match="not empty"):
            await create(client, tmp_path / "file")
        with pytest.raises((UserFixable, Environment)):
            await create(client, tmp_path / "file" / "below")
        assert names(await list_shelves(client)) == ["absent", "default", "empty"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("none", "x", "no shelf “none”"),
        ("work", "default", "is taken"),
        ("work", " ", "needs a name"),
        ("default", "x", "made again"),
        ("away", "x", "cannot be opened"),
    ],
)
async def test_a_label_that_cannot_be_changed_stays(tmp_path: Path, old: str, new: str, said: str) -> None:
    async with built_in(tmp_path / "home") as client:
        await connect(client, tmp_path / "work")
        await connect(client, tmp_path / "away")
        shutil.rmtree(tmp_path / "away")
        before = await list_shelves(client)
        with pytest.raises(UserFixable, match=said):
            await rename(client, old, new)
        assert await list_shelves(client) == before


async def test_the_status_of_a_shelf_without_a_model(opened: Opened) -> None:
    async with opened() as client:
        await client.call("knowledge_create", {"name": "n"})
        if client.server_name == "hypatia" and "embedding_debt" not in client.features:  # the first generation
            with pytest.raises(ToolError, match="shelf_status"):
                await status(client, "default")
            return
        found = await status(client, "default")
        assert (found.name, found.pending, found.paused) == ("default", 1, "")
        assert found.attention
