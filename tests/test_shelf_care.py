"""Shelves made, named, looked after, exported and imported through the facade."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.app import Engine
from engine.errors import UserFixable
from engine.events import Event, ShelfJobChanged
from engine.paths import Home
from engine.shelf.errors import ShelfNotConnected
from engine.shelf.shelves import drop_vectors
from engine.shelf.source import LINES
from engine.shelf_care import JobStopped
from engine.views import Progress, ShelfRow
from tests.shelf.conftest import Hypatia, alive, until
from tests.shelf_server.embeddings import serving, toml
from tests.tools.dsh_logs import LogWriter


def say(folder: Path, session_id: str = "session-1", texts: int = 1) -> LogWriter:
    log = LogWriter(folder / "dsh" / "sessions", session_id, seed=session_id)
    log.title("Ports")
    for number in range(texts):
        log.user(f"Which port does heron {number} use?")
        log.assistant(f"It uses port {8000 + number}.")
        log.end_turn()
    return log


@contextlib.asynccontextmanager
async def engine(folder: Path, binaries: str = "built-in", **settings: str) -> AsyncIterator[Engine]:
    """An engine that has recorded what there is."""
    home = Home.at(folder / "home")
    home.create()
    if not home.settings_file.exists():
        text = [f'binaries = ["{binaries}"]', f'sources.dshHome = "{folder / "dsh"}"']
        text += [f'{key} = "{value}"' for key, value in settings.items()]
        home.settings_file.write_text("\n".join(text), "utf-8")
    one = await Engine.open(home)
    try:
        await one.attach(run=True)
        await one.answer("all")
        await one.catch_up(everything=True)
        await one.drained()
        yield one
    finally:
        await one.stop()


async def names(one: Engine) -> dict[str, bool]:
    return {row.name: row.active for row in await one.recording.shelves()}


async def test_a_shelf_is_made_beside_the_others_or_in_an_empty_folder(tmp_path: Path) -> None:
    async with engine(tmp_path) as one:
        made = await one.shelf_care.create("Work")
        assert made == ShelfRow("Work", str(one.home.shelves / "work"), False, True)
        assert (await one.shelf_care.create("other", tmp_path / "o")).path == str(tmp_path / "o")
        with pytest.raises(UserFixable, match="not empty"):
            await one.shelf_care.create("third", tmp_path / "o")
        with pytest.raises(UserFixable, match="holds a space"):
            await one.shelf_care.create("two words")
        assert await names(one) == {"default": True, "Work": False, "other": False}


async def recorded(one: Engine) -> int:
    return (await one.refresh()).logged_today


async def test_the_shelf_in_use_keeps_its_place_under_another_name(tmp_path: Path) -> None:
    log = say(tmp_path)
    async with engine(tmp_path) as one:
        await one.shelf_care.create("work")
        await one.recording.use("work")
        await one.answer("all")
        await one.catch_up(everything=True)
        await one.drained()
        before = await recorded(one)
        assert before == 2
        row = await one.shelf_care.rename("work", "office")
        assert row == ShelfRow("office", str(one.home.shelves / "work"), True, True)
        assert await names(one) == {"default": False, "office": True}
        assert one.settings.get("shelf") == "office"
        log.user("And the otter?")
        log.assistant("Port 9000.")
        log.end_turn()
        await one.catch_up(everything=True)
        await one.drained()
        assert await recorded(one) == before + 2
        written, already = one.recording.written()
        assert (written["msg"], already.get("msg", 0)) == (2, 0), "nothing is recorded again"
        tables = ("watermark", "session_node", "shelf_choice", "logged_day")
        for table in tables:
            rows = await one._ledger.read(f"SELECT DISTINCT shelf FROM {table} ORDER BY 1")
            assert [shelf for (shelf,) in rows] == ["default", "office"], table
    async with engine(tmp_path) as one:
        assert await names(one) == {"default": False, "office": True}
        assert one.recording.written()[0].get("msg", 0) == 0


async def test_a_shelf_not_in_use_takes_its_progress_along(tmp_path: Path) -> None:
    say(tmp_path)
    async with engine(tmp_path) as one:
        await one.shelf_care.create("work")
        await one.recording.use("work")
        await one.answer("all")
        await one.catch_up(everything=True)
        await one.drained()
        await one.recording.use("default")
        assert (await one.shelf_care.rename("work", "attic")).active is False
        await one.recording.use("attic")
        await one.catch_up(everything=True)
        await one.drained()
        assert one.recording.written()[0].get("msg", 0) == 0


async def test_a_name_that_cannot_be_taken_changes_nothing(tmp_path: Path) -> None:
    say(tmp_path)
    async with engine(tmp_path) as one:
        await one.shelf_care.create("work")
        await one.recording.use("work")
        for old, new, said in (
            ("work", "default", "another shelf named “default”"),
            ("work", "two words", "holds a space"),
            ("work", "", "is blank"),
            ("work", "work", "is taken"),
            ("default", "x", "made again"),
        ):
            with pytest.raises(UserFixable, match=said):
                await one.shelf_care.rename(old, new)
        with pytest.raises(ShelfNotConnected):
            await one.shelf_care.rename("nowhere", "x")
        assert await names(one) == {"default": False, "work": True}
        assert one.status().problems == ()


@pytest.mark.parametrize("step", ["planned", "named in the registry", "noted as named", "set"])
async def test_a_renaming_that_was_interrupted_is_finished_at_the_next_start(tmp_path: Path, step: str) -> None:
    say(tmp_path)
    async with engine(tmp_path) as one:
        await one.shelf_care.create("work")
        await one.recording.use("work")
        await one.answer("all")
        await one.catch_up(everything=True)
        await one.drained()
        path = str(one.home.shelves / "work")
        await one.recording._close()
        plan = {"old": "work", "new": "office", "path": path}
        if step != "planned":
            await one.recording.client.request("companion/rename", {"name": "work", "new": "office"})
        if step in ("noted as named", "set"):
            plan |= {"named": True}
        await one._logs.set_state("shelf_rename", json.dumps(plan))
        if step == "set":
            text = one.home.settings_file.read_text("utf-8")
            one.home.settings_file.write_text(text.replace('"work"', '"office"'), "utf-8")
    async with engine(tmp_path) as one:
        assert await names(one) == {"default": False, "office": True}
        assert one.settings.get("shelf") == "office"
        assert one.recording.written()[0].get("msg", 0) == 0
        assert await one._logs.state("shelf_rename") is None


def hypatia_program(folder: Path) -> str:
    """The scripted Hypatia with a home of its own, whatever the environment is."""
    made = Hypatia(folder)
    script = Path(made.program)
    own = " ".join(f"{key}='{made.command().env[key]}'" for key in ("HOME", "HYPATIA_LOG", "PYTHONPATH"))
    script.write_text(script.read_text().replace("exec ", f"exec env {own} "), "utf-8")
    return made.program


@pytest.mark.parametrize("transport", ["mcp", "cli"])
async def test_a_hypatia_shelf_is_renamed_also_when_only_half_was_done(tmp_path: Path, transport: str) -> None:
    async with engine(tmp_path, hypatia_program(tmp_path), transport=transport) as one:
        assert one.status().server == "hypatia"
        await one.shelf_care.create("work", tmp_path / "w")
        await one.shelf_care.rename("work", "office")
        assert await names(one) == {"default": True, "office": False}
        plan = {"old": "office", "new": "attic", "path": str(tmp_path / "w")}
        await one._logs.set_state("shelf_rename", json.dumps(plan))
        await one.recording.disconnect("office")
        await one.shelf_care.finish_rename()
        assert await names(one) == {"default": True, "attic": False}


async def test_the_road_to_hypatia_is_changed_while_it_is_used(tmp_path: Path) -> None:
    say(tmp_path)
    program = hypatia_program(tmp_path)
    log = tmp_path / "hypatia.log"

    def verbs() -> set[str]:
        runs = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        log.unlink()
        return {run[0] for run in runs if "--help" not in run}

    async with engine(tmp_path, program, transport="cli") as one:
        assert "mcp" not in verbs()
        one.settings.set("transport", "mcp")
        await one.recording.client.call("knowledge_get", {"name": "msg-session-1-0"})
        assert verbs() == {"mcp"}
        one.settings.set("transport", "cli")
        await one.recording.client.call("knowledge_get", {"name": "msg-session-1-0"})
        assert verbs() == {"knowledge-get"}
        with pytest.raises(UserFixable, match="auto, mcp, cli"):
            one.settings.set("transport", "http")


async def test_a_hypatia_that_makes_all_vectors_anew_holds_nothing_up_and_is_stopped(tmp_path: Path) -> None:
    say(tmp_path)
    program = Path(hypatia_program(tmp_path))
    whole = program.read_text()
    begun = tmp_path / "begun"
    program.write_text(
        whole.replace("exec env", f'test "$2" = --reembed && {{ echo $$ >"{begun}"; sleep 600; }}\nexec env')
    )
    async with engine(tmp_path, str(program), transport="cli") as one:
        care = one.shelf_care
        for stops in (care.stop, None):
            working = one._supervisor.start(care.embed("default", anew=True), "anew")
            await until(lambda: begun.exists() and begun.read_text().strip())
            pid = int(begun.read_text())
            assert alive(pid) and care.job is not None
            assert await one.recording.client.call("knowledge_get", {"name": "msg-session-1-0"})
            if stops is not None:
                assert stops()
                with pytest.raises(JobStopped):
                    await working
            else:
                working.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await working
            assert not alive(pid) and care.job is None
            begun.unlink()
        program.write_text(whole)
        await drop_vectors(one.recording.client, "default")
        asked = json.loads((tmp_path / "hypatia.log").read_text("utf-8").splitlines()[-1])
        assert asked == ["backfill", "--reembed", "--shelf=default"]
        program.write_text(whole.replace("exec env", "echo 'Error: model unavailable: off' >&2; exit 1\nexec env"))
        with pytest.raises(UserFixable, match="Model unavailable"):
            await drop_vectors(one.recording.client, "default")
        program.write_text(whole)


async def test_health_and_embedding_with_progress(tmp_path: Path) -> None:
    with serving() as endpoint:
        async with engine(tmp_path) as one:
            care, seen = one.shelf_care, list[Event]()
            assert (await care.health("default")).semantic_off.startswith("no embedding model is set up")
            with pytest.raises(UserFixable, match="no embedding model"):
                await care.embed("default")
            (tmp_path / "m").mkdir()
            (tmp_path / "m" / "shelf.toml").write_text(toml(endpoint), "utf-8")
            await one.recording.connect(tmp_path / "m", "meaning")
            for number in range(150):
                await one.recording.client.call("knowledge_create", {"name": f"n{number}", "shelf": "meaning"})
            before = await care.health("meaning")
            assert (before.pending, before.semantic_off, before.embedder) == (
                150, "", "the remote API model test-embed",
            )  # fmt: skip
            heard: list[Progress] = []
            one.bus.subscribe(seen.append)
            one.bus.subscribe(lambda _: heard.append(care.job.progress) if care.job is not None else None)
            assert (await care.embed("meaning")).pending == 0
            assert care.job is None
            jobs = [event for event in seen if isinstance(event, ShelfJobChanged)]
            assert len(jobs) >= 3 and heard[0] == Progress(0, 0)
            assert {one.total for one in heard[1:]} == {150} and heard[-1].done in (128, 150)
            assert heard[-1].seconds_left is not None

            # Another model: said, and made anew only when asked for.
            (tmp_path / "m" / "shelf.toml").write_text(toml(endpoint, model="other"), "utf-8")
            await one.recording.client.restart()
            changed = await care.health("meaning")
            assert changed.model_changed and changed.pending == 0
            with pytest.raises(UserFixable, match="another model"):
                await care.embed("meaning")
            endpoint.asked.clear()
            after = await care.embed("meaning", anew=True)
            assert (after.pending, after.model_changed, len(endpoint.texts)) == (0, False, 150)


async def test_a_long_job_is_stopped_and_goes_on_later(tmp_path: Path) -> None:
    with serving() as endpoint:
        async with engine(tmp_path) as one:
            care = one.shelf_care
            (tmp_path / "m").mkdir()
            (tmp_path / "m" / "shelf.toml").write_text(toml(endpoint), "utf-8")
            await one.recording.connect(tmp_path / "m", "meaning")
            for number in range(200):
                await one.recording.client.call("knowledge_create", {"name": f"n{number}", "shelf": "meaning"})
            assert care.stop() is False

            def stop(_: Event) -> None:
                if care.job is not None and care.job.progress.done:
                    assert care.stop()

            remove = one.bus.subscribe(stop)
            with pytest.raises(JobStopped):
                await care.embed("meaning")
            remove()
            assert 0 < (await care.health("meaning")).pending < 200
            assert (await care.embed("meaning")).pending == 0


@pytest.mark.parametrize("form", ["folder", "lines", "markdown"])
async def test_an_export_that_is_stopped_or_cancelled_leaves_nothing(tmp_path: Path, form: str) -> None:
    say(tmp_path, texts=60)
    async with engine(tmp_path) as one:
        care, target = one.shelf_care, tmp_path / "out" / "export"
        target.parent.mkdir()

        def stop(event: Event) -> None:
            if isinstance(event, ShelfJobChanged):
                care.stop()

        remove = one.bus.subscribe(stop)
        with pytest.raises(JobStopped):
            await care.export("default", target, form)
        remove()
        assert list(target.parent.iterdir()) == []
        working = one._supervisor.start(care.export("default", target, form), "export")
        await until(lambda: care.job)
        with pytest.raises(UserFixable, match="runs"):
            await care.import_from(target, "default")
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert care.job is None
        # The thread ended with it, and either was done or took its half along.
    assert list(target.parent.iterdir()) in ([], [target])


async def test_an_import_tells_how_far_it_is_and_can_be_stopped(tmp_path: Path) -> None:
    total, lines = 5000, tmp_path / "lines.jsonl"
    rows = [{"format": LINES, "version": 1}]
    for number in range(total):
        content = {"data": f"heron {number} " * 40, "tags": ["message"]}
        entry = {"name": f"n{number}", "content": content, "created_at": "2026-01-01 00:00:00.000"}
        rows.append({"knowledge": entry})
    rows.append({"end": total})
    lines.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    async with engine(tmp_path) as one:
        care = one.shelf_care
        await care.create("copy")
        heard: list[Progress] = []

        def stop(_: Event) -> None:
            if care.job is not None:
                heard.append(care.job.progress)
                if care.job.progress.done:
                    care.stop()

        remove = one.bus.subscribe(stop)
        with pytest.raises(JobStopped):
            await care.import_from(lines, "copy")
        remove()
        assert 0 < heard[-1].done < heard[-1].total == total
        read = await care.import_from(lines, "copy")
        assert heard[-1].done <= read.same < total and read.verified == total
