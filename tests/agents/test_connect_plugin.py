"""The one-file plugin for DSH, run by a real Node against the real control socket."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.instance import acquire
from engine.jsonrpc import INTERNAL_ERROR, RpcError
from engine.paths import Home, resource

PLUGIN = resource("dsh", "hypatia-recall.mjs")
HOST = Path(__file__).with_name("plugin_host.mjs")
NODE = shutil.which("node")
HEADER = {"id": "session-1", "cwd": "/home/x/project", "version": 2}
USER = {"id": "m1", "role": "user", "source": {"kind": "user"}, "content": [{"type": "text", "text": "why tabs?"}]}
INJECTED = {
    "id": "m2",
    "role": "user",
    "source": {"kind": "plugin", "plugin": "x"},
    "content": [{"type": "text", "text": "x"}],
}


def test_it_is_one_small_file_that_names_no_host_and_writes_nothing() -> None:
    text = PLUGIN.read_text("utf-8")
    assert len(text) < 4_000
    assert "://" not in text
    assert all(word not in text for word in ("writeFile", "mkdir", "unlink", "child_process", "fetch("))
    imports = [line for line in text.splitlines() if line.startswith("import")]
    assert all("from 'node:" in line for line in imports)


async def enters(home: Home, header: dict[str, Any] = HEADER, messages: Any = (USER,), **more: Any) -> list[Any]:
    """The messages that enter DSH's next step."""
    assert NODE is not None
    case = {"config": {"address": str(home.data / "control.json")}, "header": header, "messages": messages, **more}
    process = await asyncio.create_subprocess_exec(
        NODE, str(HOST), PLUGIN.as_uri(), json.dumps(case), stdout=asyncio.subprocess.PIPE
    )
    stdout, _ = await process.communicate()
    assert process.returncode == 0
    said = json.loads(stdout)
    assert said["events"] == ["agent/pre-step"]
    result: list[Any] = said["result"].get("messages")
    return result


class App:
    """The control socket of a companion that answers with `text`, or raises it."""

    def __init__(self, root: Path, text: Any) -> None:
        self.home = Home.at(root)
        self.text = text
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __aenter__(self) -> "App":
        self.home.create()
        instance = acquire(self.home)
        assert instance is not None
        self.instance = instance
        await instance.serve(self.answer)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.instance.close()

    async def answer(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append((method, params))
        if isinstance(self.text, Exception):
            raise self.text
        if self.text is asyncio.sleep:
            await asyncio.sleep(60)
        return {"context": self.text}


if NODE:  # everywhere else only the text of the file is looked at

    @pytest.mark.parametrize(
        ("version", "source"),
        [(version, {"kind": "plugin", "plugin": "hypatia-companion", "form": "recall"}) for version in range(4)]
        + [(version, {"kind": "plugin:hypatia-companion", "form": "recall"}) for version in (4, 5)],
    )
    async def test_aux_01_recall_enters_with_the_source_of_the_sessions_format(
        tmp_path: Path, version: int, source: dict[str, str]
    ) -> None:
        async with App(tmp_path, "<memory>tabs, since 2024</memory>") as app:
            entered = await enters(app.home, {**HEADER, "version": version})
        assert entered[0] == USER
        assert len(entered) == 2
        assert entered[1].pop("id")
        assert entered[1] == {
            "role": "user", "content": [{"type": "text", "text": "<memory>tabs, since 2024</memory>"}], "source": source
        }  # fmt: skip
        given = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "session-1",
            "cwd": "/home/x/project",
            "prompt": "why tabs?",
        }
        assert app.asked == [("agent/hook", {"agent": "dsh", "input": given})]

    @pytest.mark.parametrize("version", [None, "4", 1.5, -1, True])
    async def test_nothing_enters_a_session_of_unknown_format(tmp_path: Path, version: Any) -> None:
        async with App(tmp_path, "text") as app:
            assert await enters(app.home, {**HEADER, "version": version}) == [USER]
            assert app.asked == []

    async def test_only_a_persons_words_in_a_session_of_their_own_are_a_question(tmp_path: Path) -> None:
        async with App(tmp_path, "text") as app:
            assert await enters(app.home, {**HEADER, "origin": "subagent"}) == [USER]
            assert await enters(app.home, messages=[INJECTED]) == [INJECTED]
            assert await enters(app.home, messages=[{**USER, "content": [{"type": "image"}]}]) == [
                {**USER, "content": [{"type": "image"}]}
            ]
            assert await enters(app.home, decision={"kind": "reject"}) is None
            assert app.asked == []
            assert len(await enters(app.home, messages=[INJECTED, USER])) == 3
        assert [params["input"]["prompt"] for _, params in app.asked] == ["why tabs?"]

    @pytest.mark.parametrize("text", ["", None, 7, {"a": 1}, RpcError(INTERNAL_ERROR, "no"), asyncio.sleep])
    async def test_without_an_answer_in_time_the_step_goes_on_as_it_was(tmp_path: Path, text: Any) -> None:
        async with App(tmp_path, text) as app:
            assert await enters(app.home) == [USER]
            assert [method for method, _ in app.asked] == ["agent/hook"]

    async def test_a_step_that_is_stopped_is_not_held_up(tmp_path: Path) -> None:
        async with App(tmp_path, asyncio.sleep) as app:
            assert await enters(app.home, abort=True) == [USER]

    async def test_the_companion_is_not_running_or_was_killed(tmp_path: Path) -> None:
        home = Home.at(tmp_path)
        assert await enters(home) == [USER]
        async with App(tmp_path, "text") as app:
            address = (app.home.data / "control.json").read_bytes()
        (home.data / "control.json").write_bytes(address)
        assert await enters(home) == [USER]
        for damaged in (b"", b"{}", b"[]", b'{"socket": "/dev/null", "token": 1}', b'{"port": 1}'):
            (home.data / "control.json").write_bytes(damaged)
            assert await enters(home) == [USER]

    @pytest.mark.parametrize("answer", [b"not json\n", b"null\n[]\n", b"x" * 200_000, b'{"id": 2}\n', b""])
    async def test_another_program_at_the_address(tmp_path: Path, answer: bytes) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        (tmp_path / "control.json").write_text(json.dumps({"port": port, "token": "t"}))
        async with server:
            assert await enters(Home.at(tmp_path)) == [USER]
