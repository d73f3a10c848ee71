"""What is told about models: their names, where a test fails, what they cost and when they were asked."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.errors import UserFixable
from engine.model_care import ModelCare
from engine.models.budget import Budget, BudgetOptions
from engine.settings.secrets import Keys
from engine.settings.store import Settings
from tests.tools.model_client import World, world
from tests.tools.model_server import ModelServer, listing, ok, status

ROUTES = "consolidation.models"


class NoKeyring:
    """A machine whose keyring holds nothing."""

    def get_password(self, service: str, username: str) -> str | None:
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise AssertionError("nothing is stored here")

    delete_password = get_password  # type: ignore[assignment]


class Came:
    """Counts the keys that came."""

    count = 0

    async def __call__(self) -> None:
        self.count += 1


@contextlib.asynccontextmanager
async def care(tmp_path: Path, env: dict[str, str] | None = None) -> AsyncIterator[tuple[ModelCare, Settings, World]]:
    async with world(tmp_path) as w:
        settings = Settings(tmp_path / "settings.toml")
        keys = Keys(
            lambda provider: (f"{provider.upper()}_KEY",), tmp_path / "keys.toml", env=env or {}, backend=NoKeyring()
        )
        yield ModelCare(settings, w.client, w.calls, keys, Budget(w.calls, BudgetOptions), Came()), settings, w


async def test_a_key_that_came_is_told_and_kept(tmp_path: Path) -> None:
    async with care(tmp_path) as (one, settings, _):
        settings.set("consolidation.models", [{"provider": "deepseek", "model": "deepseek-chat"}])
        await one.set_key("deepseek", "sk-1", "session")
        assert isinstance(one._key_came, Came) and one._key_came.count == 1
        assert await one.key_places() == {"deepseek": "session"}
        assert one.routes() == ["deepseek/deepseek-chat"]


async def test_the_names_of_models_are_listed(tmp_path: Path) -> None:
    with ModelServer([listing("b", "A")]) as server:
        async with care(tmp_path) as (one, _, _):
            assert await one.names("ollama", f" {server.url}/ ") == ["A", "b"]


async def test_why_there_are_no_names_is_said(tmp_path: Path) -> None:
    with ModelServer([status(401)]) as server:
        async with care(tmp_path) as (one, _, _):
            with pytest.raises(UserFixable, match=r"refused the key \(401\)") as refused:
                await one.names("deepseek", server.url)
            assert "key" in refused.value.action
            with pytest.raises(UserFixable, match="no address of its own"):
                await one.names("custom")


async def test_a_test_says_where_it_failed(tmp_path: Path) -> None:
    with ModelServer([ok("pong"), status(401), status(404, message="no such model")]) as server:
        async with care(tmp_path) as (one, settings, _):
            here = {"provider": "deepseek", "model": "m", "baseUrl": server.url}
            settings.set(ROUTES, [here])
            worked = await one.test(0)
            assert worked.ok and worked.sentence.startswith("DeepSeek answered in ") and worked.hop == ""
            refused = await one.test(0)
            assert (refused.ok, refused.hop) == (False, "key") and refused.action
            unknown = await one.test(0)
            assert (unknown.ok, unknown.hop) == (False, "model")
            for place in (-1, 1):
                gone = await one.test(place)
                assert (gone.ok, gone.hop) == (False, "setting") and "not in the list" in gone.sentence
            settings.set(ROUTES, [here | {"baseUrl": "http://127.0.0.1:9/v1"}])
            unreachable = await one.test(0)
            assert (unreachable.ok, unreachable.hop) == (False, "connection")


async def test_each_model_has_its_price_and_its_last_use(tmp_path: Path) -> None:
    with ModelServer([ok("pong")]) as server:
        async with care(tmp_path) as (one, settings, w):
            settings.set(
                ROUTES,
                [
                    {"provider": "openai", "model": "gpt-5"},
                    {"provider": "openai", "model": "unheard-of"},
                    {"provider": "ollama", "model": "m", "baseUrl": server.url},
                ],
            )
            settings.set("models.prices", ["openai/gpt-5 3 - 7 CNY"])
            await one.test(2)
            own, unknown, local = await one.rows()
            assert own.price is not None and not own.own_machine and own.host == "api.openai.com"
            assert (own.price.input, own.price.cached, own.price.output, own.price.currency) == (3, None, 7, "CNY")
            assert unknown.price is None and (unknown.last_at, unknown.last_outcome) == (0, "")
            assert local.price is not None and local.price.free and local.own_machine
            assert (local.last_at, local.last_outcome) == (int(w.now * 1000), "ok")


async def test_where_a_key_is_is_told_and_never_the_key(tmp_path: Path) -> None:
    async with care(tmp_path, env={"OPENAI_KEY": "sk-from-the-environment"}) as (one, settings, _):
        settings.set(ROUTES, [{"provider": name, "model": "m"} for name in ("openai", "deepseek", "zai", "mine")])
        await one._keys.set("deepseek", "sk-made-up", "session")
        await one._keys.set("zai", "sk-made-up-too", "file")
        places = await one.key_places()
        assert places == {"openai": "OPENAI_KEY", "deepseek": "session", "zai": "file", "mine": ""}
        assert "sk-" not in str(places) + str(await one.rows())
