"""What agents want remembered: stored once, read back, or before the person; whatever ends the program in between."""

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UserFixable
from engine.memory.memory import Memory
from engine.memory.remember import PROPOSED, Refused
from tests.memory.rig import SHELF, Rig, rig

ROOT = Path(__file__).parents[2]


async def stored(one: Rig) -> list[tuple[str, str, list[str], list[str]]]:
    """Name, text, tags and scopes of every statement on the shelf."""
    rows = (await one.client.call("query", {"jse": {"$knowledge": [["$like", "name", "mem:%"]]}, "shelf": SHELF}))[
        "rows"
    ]
    return [(r["name"], r["content"]["data"], r["content"]["tags"], r["content"]["scopes"]) for r in rows]


async def test_a_statement_is_stored_under_a_name_of_its_own(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        answer = await one.memory.statements.remember(where, " the port\r\nis 8080 ", kind="fact", title="Port")
        assert (answer.status, answer.trust) == ("stored", "stated")
        ((name, data, tags, scopes),) = await stored(one)
        assert name.startswith("mem:v1:")
        assert name.endswith(answer.id)
        assert data == "# Port\n\nthe port\nis 8080"
        assert tags == ["memory", "fact", "stated"]
        assert scopes == ["app"]


async def test_case_78_one_call_stores_and_one_reads_back(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        asked: list[str] = []

        class Told:
            async def call(self, tool: str, arguments: Mapping[str, object], *, first: bool = False) -> dict[str, Any]:
                asked.append(tool)
                return await one.client.call(tool, arguments, first=first)

        memory = Memory(one.ledger, Told, lambda: SHELF)
        answer = await memory.statements.remember(await one.where(one.project("app")), "the port is 8080")
        assert (answer.status, asked) == ("stored", ["knowledge_create", "knowledge_get"])


async def test_case_42_case_83_said_again_it_is_the_same_memory_of_the_same_time(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        one.at = 1_000.0
        first = await one.memory.statements.remember(where, "the cache lives in var/cache")
        one.at = 5_000.0
        again = await one.memory.statements.remember(where, "Please note that the cache lives in var/cache.")
        assert (first.status, again.status, again.id) == ("stored", "already", first.id)
        row = await one.memory.statements.records.get(SHELF, first.id)
        assert row is not None
        assert row.created_at == 1_000_000
        assert len(await stored(one)) == 1


@pytest.mark.parametrize(
    ("kind", "reach", "why"),
    [
        ("rule", "project", "rule"),
        ("taboo", "project", "rule"),
        ("fact", "user", "reach"),
        ("rule", "user", "reach"),
    ],
)
async def test_what_binds_waits_for_the_person(tmp_path: Path, kind: str, reach: str, why: str) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        statements = one.memory.statements
        answer = await statements.remember(where, "never push", kind=kind, reach=reach)  # type: ignore[arg-type]
        assert answer.status == "proposed"
        assert await stored(one) == []
        (proposal,) = await one.memory.proposals()
        assert (proposal.text, proposal.why, proposal.reach, proposal.agent) == ("never push", why, reach, "claude")
        assert proposal.project == ("app" if reach == "project" else "")
        assert "never push" not in (await one.memory.recall.pull(where, "push")).text
        assert await one.memory.accept(proposal.id)
        ((_, _, tags, scopes),) = await stored(one)
        assert tags == ["memory", kind, "confirmed"]
        assert scopes == (["app"] if reach == "project" else [""])
        assert await one.memory.proposals() == []
        found = await one.memory.recall.pull(where, "push")
        assert [(entry.trust, entry.origin) for entry in found.entries] == [("confirmed", "confirmed by the person")]
        other = await one.memory.recall.brief(await one.where(one.project("other")))
        assert ("never push" in other.text) == (reach == "user" and kind == "rule")
        if kind != "fact":
            assert "never push" in (await one.memory.recall.brief(where)).text


async def test_a_dismissed_statement_is_not_proposed_again_in_any_dress(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        statements = one.memory.statements
        proposed = await statements.remember(where, "never push", kind="rule")
        assert await one.memory.dismiss(proposed.id)
        assert not await one.memory.dismiss(proposed.id)
        for kind in ("rule", "fact", "note"):
            answer = await statements.remember(where, "Never push!", kind=kind)
            assert answer.status == "refused"
        assert await one.memory.proposals() == []
        assert await stored(one) == []
        assert await one.memory.restore(proposed.id)
        assert [proposal.id for proposal in await one.memory.proposals()] == [proposed.id]
        assert await one.memory.accept(proposed.id)
        assert not await one.memory.restore(proposed.id)
        assert not await one.memory.accept("unknown")


async def test_a_statement_from_nowhere_waits_until_the_person_files_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        app = one.project("app")
        await one.conversation("s1", app)
        answer = await one.memory.statements.remember(await one.where(None, "dsh"), "the port is 8080", kind="fact")
        assert answer.status == "proposed"
        (proposal,) = await one.memory.proposals()
        assert (proposal.why, proposal.project) == ("unfiled", "")
        with pytest.raises(UserFixable):
            await one.memory.accept(proposal.id)
        assert await one.memory.known_projects() == [(str(app), "app")]
        assert await one.memory.accept(proposal.id, str(app))
        assert await one.memory.proposals() == []
        assert "8080" in (await one.memory.recall.pull(await one.where(app), "port")).text
        assert not (await one.memory.recall.pull(await one.where(one.project("other")), "port")).text


async def test_secrets_recall_and_hidden_marks_are_gone_before_anything_is_kept(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        secret = "ghp_" + "a1B2" * 9
        await one.memory.statements.remember(where, f"the token is {secret}\x1b[31m", title=f"key {secret}")
        recalled = (await one.memory.recall.pull(where, "token")).text
        await one.memory.statements.remember(where, f"deploys run at night\n{recalled}\n")
        texts = sorted(data for _, data, _, _ in await stored(one))
        assert texts[1] == "deploys run at night"
        assert "[REDACTED:secret:github]" in texts[0]
        with pytest.raises(Refused):
            await one.memory.statements.remember(where, recalled)
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in everything
    assert b"\x1b[31m" not in everything


async def test_too_long_and_too_many(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        statements = one.memory.statements
        for text, title in (("x" * 4_001, ""), ("x", "y" * 121), ("", ""), (" \n\t", ""), ("\u200b", "")):
            with pytest.raises(Refused):
                await statements.remember(where, text, title=title)
        assert (await statements.remember(where, "记" * 4_000)).status == "stored"
        for number in range(PROPOSED):
            await statements.note(where, f"rule {number}", kind="rule", reach="project")
        with pytest.raises(Refused):
            await statements.remember(where, "one more", kind="rule")
        assert (await statements.remember(where, "rule 7", kind="rule")).status == "proposed"


async def test_case_82_somebody_elses_entry_under_our_name_is_left_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        noted = await one.memory.statements.note(where, "the port is 8080", reach="project")
        await one.foreign(noted.name, "something else", "app", "note")
        assert (await one.memory.statements.remember(where, "the port is 8080")).status == "collision"
        ((_, data, _, _),) = await stored(one)
        assert data == "something else"
        assert not (await one.memory.recall.pull(where, "something port")).text


async def test_case_81_the_same_entry_that_is_there_already_is_stored(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        noted = await one.memory.statements.note(where, "the port is 8080", reach="project")
        await one.foreign(noted.name, noted.body, "app", *noted.tags)
        assert (await one.memory.statements.remember(where, "the port is 8080")).status == "stored"
        assert len(await stored(one)) == 1


async def test_while_the_shelf_cannot_be_written_a_statement_waits(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        await one.client.call("list_shelves", {})
        pid = one.client.pid
        assert pid is not None
        shelf = one.home.shelves / "default" / "hypatia.sqlite"
        shelf.rename(shelf.with_suffix(".away"))
        shelf.mkdir()
        await one.client.restart()
        answer = await one.memory.statements.remember(where, "the port is 8080")
        assert answer.status == "pending"
        assert "8080" not in (await one.memory.recall.pull(where, "port")).text
        shelf.rmdir()
        shelf.with_suffix(".away").rename(shelf)
        await one.client.restart()
        assert await one.memory.statements.settle() == 1
        assert await one.memory.statements.settle() == 0
        assert "8080" in (await one.memory.recall.pull(where, "port")).text


async def test_at_once_it_is_stored_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as one:
        where = await one.where(one.project("app"))
        answers = await asyncio.gather(
            *(one.memory.statements.remember(where, "the port is 8080") for _ in range(8)),
            *(one.memory.statements.settle() for _ in range(3)),
        )
        assert {one.status for one in answers[:8]} <= {"stored", "already"}  # type: ignore[union-attr]
        assert len(await stored(one)) == 1


_CHILD = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from tests.memory.rig import rig

    async def main():
        async with rig(Path(sys.argv[1])) as one:
            where = await one.where(one.project("app"))
            await one.client.call("list_shelves", {})
            print("ready", flush=True)
            for number in range(400):
                await one.memory.statements.settle()
                await one.memory.statements.remember(where, f"fact number {number}", kind="fact")
                print(number, flush=True)

    asyncio.run(main())
""")


def _killed(folder: Path, round_: int) -> set[int]:
    """Start it, kill it at some instant; what it had said until then."""
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        told = {int(child.stdout.readline()) for _ in range(round_ % 4)}
        time.sleep(0.003 * round_)
        child.kill()
        return told | {int(line) for line in child.stdout.read().split()}


async def test_case_84_killed_at_any_instant_nothing_said_is_lost_or_stored_twice(tmp_path: Path) -> None:
    told: set[int] = set()
    for round_ in range(12):
        told |= await asyncio.to_thread(_killed, tmp_path, round_)
    async with rig(tmp_path) as one:
        await one.memory.statements.settle()
        texts = [data for _, data, _, _ in await stored(one)]
        assert len(texts) == len(set(texts))
        assert {f"fact number {number}" for number in told} <= set(texts)
        counts = await one.memory.statements.records.count(SHELF)
        assert counts == {"stored": len(texts)}
