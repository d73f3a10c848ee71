"""Removal over real files of agents, a real running companion and a real keyring object: nothing of ours is left."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

from desktop.autostart import LoginFile, desktop_entry, launch_agent
from engine import instance
from engine.agents.connecting.agents import Agents
from engine.models.providers import key_variables
from engine.paths import Home, login_file
from engine.removal import Removal
from engine.settings.secrets import SERVICE, Keys
from engine.views import Trace
from tests.scenarios.program import Program, left_behind
from tests.tools.dsh_logs import LogWriter


class Ring:
    """A key store in memory."""

    def __init__(self, **keys: str) -> None:
        self.keys = {(SERVICE, name): value for name, value in keys.items()} | {("another", "openai"): "theirs"}

    def get_password(self, service: str, username: str) -> str | None:
        return self.keys.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.keys[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.keys[service, username]


class Machine:
    """A person's home with agents in it, and our folders elsewhere."""

    def __init__(self, tmp_path: Path) -> None:
        self.person = tmp_path / "person"
        self.home = Home(tmp_path / "config", tmp_path / "data", tmp_path / "run")
        self.env = {"PATH": "/nowhere", "XDG_CONFIG_HOME": str(self.person / ".config")}
        for folder in (".claude", ".codex", ".config"):
            (self.person / folder).mkdir(parents=True)
        (self.person / ".claude" / "settings.json").write_text('{\n\t"model": "mine" }\n', "utf-8")
        (self.person / ".codex" / "config.toml").write_text('model = "mine"  # yes\n', "utf-8")
        self.home.create()
        (self.home.config / "settings.toml").write_text('binaries = ["built-in"]\n', "utf-8")
        self.agents = Agents(self.home, self.person, self.env)
        login = login_file("linux", self.env, self.person)
        assert login is not None
        self.login = login

    def removal(self, *, everything: bool = False, ring: Ring | None = None) -> Removal:
        keys = Keys(key_variables, self.home.config / "keys.toml", env={}, backend=ring or Ring())
        options: dict[str, Any] = {"person": self.person, "env": self.env, "platform": "linux", "keys": keys}
        return Removal(self.home, everything=everything, agents=self.agents, **options)

    def tree(self) -> dict[str, bytes | None]:
        """Everything below the person's home."""
        found = sorted(self.person.rglob("*"))
        return {str(one.relative_to(self.person)): one.read_bytes() if one.is_file() else None for one in found}


def places(traces: list[Trace], state: str) -> list[str]:
    return [one.place for one in traces if one.state == state]


async def test_everything_outside_goes_byte_for_byte_and_memory_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    before = machine.tree()
    for agent in ("claude", "codex"):
        assert not (await machine.agents.connect(agent)).problems
    LoginFile(machine.login, desktop_entry(["/opt/it", "--x"]).encode()).set(True)
    ring = Ring(openai="ours", anthropic="ours")
    with_ours = machine.tree()
    planned = await machine.removal(ring=ring).plan()
    assert machine.tree() == with_ours and ring.keys[SERVICE, "openai"] == "ours"
    assert places(planned, "left") == [] and places(planned, "gone") == []
    done = await machine.removal(ring=ring).carry_out()
    assert sorted(places(done, "gone")) == sorted(places(planned, "there"))
    assert str(machine.login) in places(done, "gone") and "keyring: openai" in places(done, "gone")
    machine.login.parent.rmdir()
    assert machine.tree() == before
    assert ring.keys == {("another", "openai"): "theirs"}
    assert (machine.home.config / "settings.toml").exists() and not machine.home.runtime.exists()
    assert await machine.removal(ring=ring).carry_out() == []


async def test_what_a_person_changed_meanwhile_stays_and_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.agents.connect("codex")
    config = machine.person / ".codex" / "config.toml"
    config.write_text('personality = "kind"\n' + config.read_text("utf-8"), "utf-8")
    machine.login.parent.mkdir()
    machine.login.write_text(desktop_entry(["it"]) + "X-Mine=true\n", "utf-8")
    done = await machine.removal().carry_out()
    assert places(done, "left") == [str(machine.login)]
    assert "X-Mine=true" in machine.login.read_text("utf-8")
    assert config.read_text("utf-8") == 'personality = "kind"\nmodel = "mine"  # yes\n'


async def test_a_login_entry_switched_off_elsewhere_is_still_ours(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.login.parent.mkdir()
    machine.login.write_text(desktop_entry(["it"]) + "Hidden=true\n", "utf-8")
    assert places(await machine.removal().carry_out(), "gone") == [str(machine.login), str(machine.home.runtime)]
    mac = login_file("darwin", {}, machine.person)
    assert mac is not None
    LoginFile(mac, launch_agent(["it"])).set(True)
    keys = Keys(key_variables, tmp_path / "keys.toml", env={}, backend=Ring())
    removal = Removal(
        machine.home,
        everything=False,
        person=machine.person,
        env={},
        platform="darwin",
        agents=machine.agents,
        keys=keys,
    )
    assert places(await removal.carry_out(), "gone") == [str(mac)]
    assert not mac.exists()


async def test_half_of_what_connecting_wrote_is_taken_back_as_well(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    before = machine.tree()
    await machine.agents.connect("claude")
    skill = next(machine.person.rglob("SKILL.md"))
    skill.unlink()
    done = await machine.removal().carry_out()
    assert places(done, "left") == []
    assert machine.tree() == before
    await machine.agents.connect("claude")
    (machine.home.data / "agents" / "changes.json").write_text("{", "utf-8")
    [left] = [one for one in await machine.removal().carry_out() if one.state == "left"]
    assert left.kind == "agent" and "cannot be read" in left.why


async def test_all_leaves_nothing_but_what_is_not_ours(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "companion.log.1", "windows.json", "crash.txt", "engine.lock"):
        (machine.home.data / name).write_text("x")
    (machine.home.data / "before-restore-20260101-000000").mkdir()
    (machine.home.data / "shelves" / "default").mkdir(parents=True)
    (machine.home.data / "shelves" / "shelves.json").write_text(f'{{"shelves": {{"mine": "{tmp_path}/mine"}}}}')
    (machine.home.data / "letter.txt").write_text("dear you")
    done = await machine.removal(everything=True).carry_out()
    assert not machine.home.config.exists() and not machine.home.runtime.exists()
    assert [path.name for path in machine.home.data.iterdir()] == ["letter.txt"]
    assert places(done, "left") == [f"{tmp_path}/mine", str(machine.home.data)]
    (machine.home.data / "letter.txt").unlink()
    await machine.removal(everything=True).carry_out()
    assert not machine.home.data.exists()


async def test_a_keyring_that_fails_is_named(tmp_path: Path) -> None:
    class Broken(Ring):
        def get_password(self, service: str, username: str) -> str | None:
            raise OSError("no")

    [left] = [one for one in await Machine(tmp_path).removal(ring=Broken()).carry_out() if one.state == "left"]
    assert left.kind == "key" and "could not be asked" in left.why


def test_killed_at_any_moment_and_run_again_it_leaves_nothing(tmp_path: Path) -> None:
    state = tmp_path / ".claude.json"
    (tmp_path / "claude").mkdir()
    program = Program(tmp_path, XDG_CONFIG_HOME=str(tmp_path / ".config"))
    program.settings(binaries=["built-in"], sources_claude=False)
    program.once()
    before = state.read_bytes() if state.exists() else None
    program.run("agents", "connect", "claude")
    login = login_file("linux", program.env, tmp_path)
    assert login is not None
    LoginFile(login, desktop_entry(["it"]).encode()).set(True)
    lived = 0.2
    while True:
        with program.start("uninstall", "--all") as child:
            try:
                child.wait(lived)
                break  # it came to its end
            except subprocess.TimeoutExpired:
                child.kill()
        lived += 0.1
    assert program.json("uninstall", "--all")["traces"] == []
    assert not program.home.exists() and not login.exists()
    assert (state.read_bytes() if state.exists() else None) == before
    assert [path for path in (tmp_path / "claude").rglob("*") if path.is_file()] == []


async def test_a_running_companion_is_asked_to_end_and_its_whole_home_goes(tmp_path: Path) -> None:
    program = Program(tmp_path, XDG_CONFIG_HOME=str(tmp_path / ".config"))
    program.settings(binaries=["built-in"], queue_flushWindowMs=0)
    log = LogWriter(program.sessions, "session-1", seed=1)
    log.user("hello?")
    log.assistant("hello!")
    log.end_turn()
    login = login_file("linux", program.env, tmp_path)
    assert login is not None
    LoginFile(login, desktop_entry(["it"]).encode()).set(True)
    with program.running() as child:
        planned = await asyncio.to_thread(program.json, "uninstall", "--all", "--dry-run", code=None)
        assert not planned["done"] and login.exists() and child.poll() is None
        output = await asyncio.to_thread(program.run, "uninstall", "--all", code=None)
        await asyncio.to_thread(child.wait, 20)
        assert child.returncode == 0
    assert f"Gone: {login}" in output
    assert not login.exists() and not program.home.exists(), list(program.home.rglob("*"))
    assert not instance.held(Home.at(program.home)) and left_behind(program.home) == []
    assert os.listdir(program.sessions) != []
