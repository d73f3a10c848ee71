"""The way to a model server: proxies, certificates, no network, and which hop failed."""

import asyncio
import errno
import socket
import ssl
import sys
from pathlib import Path

import httpx
import pytest

from engine.errors import Environment
from engine.models.call import Hop, ModelError
from engine.models.network import explain, online, proxy_for
from engine.models.routes import Limits, Route
from tests.tools.model_client import KEY, World, world
from tests.tools.model_server import Behaviour, ModelServer, drop, garbage, hang, listing, ok, raw, status
from tests.tools.socks import socks5

FAR = "http://model.example/v1"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "NO_PROXY", "no_proxy")
PEM = Path(__file__).parent.parent / "data" / "tls" / "loopback.pem"


@pytest.fixture(autouse=True)
def no_proxy_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    return context


async def hop_of(w: World, route: Route) -> tuple[Hop, ModelError]:
    with pytest.raises(ModelError) as caught:
        await w.client.test(route)
    return caught.value.hop, caught.value


# -- proxies -----------------------------------------------------------------------------------------------------------


async def test_a_route_may_have_a_proxy_of_its_own(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as proxy:
        async with world(tmp_path) as w:
            route = Route("mine", "m", base_url=FAR, proxy=proxy.url.removesuffix("/v1"))
            assert (await w.chat(route)).text == "yes"
        assert proxy.requests[0].path == "http://model.example/v1/chat/completions"


async def test_a_socks_proxy_looks_up_the_name(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w, socks5(server.port) as (proxy, names):
            assert (await w.chat(Route("mine", "m", base_url=FAR, proxy=proxy))).text == "yes"
            await w.client.aclose()
        assert names == ["model.example"] and server.requests[0].path == "/v1/chat/completions"


async def test_the_systems_proxy_is_used_unless_the_route_wants_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([ok("yes")]) as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        async with world(tmp_path) as w:
            assert (await w.chat(Route("mine", "m", base_url=FAR))).text == "yes"
            w.online = False
            with pytest.raises(Environment):
                await w.chat(Route("mine", "m", base_url="http://nowhere.invalid/v1", proxy="none"))
        assert len(proxy.requests) == 1


@pytest.mark.parametrize(
    ("env", "url", "wish", "proxy"),
    [
        ({}, "https://api.openai.com/v1", "", ""),
        ({"https_proxy": "http://corp:3128"}, "https://api.openai.com/v1", "", "http://corp:3128"),
        ({"https_proxy": "http://corp:3128"}, "https://api.openai.com/v1", "none", ""),
        ({"https_proxy": "http://corp:3128"}, "https://api.openai.com/v1", "socks5://me:1", "socks5://me:1"),
        ({"https_proxy": "corp:3128"}, "https://api.openai.com/v1", "", "http://corp:3128"),
        ({"all_proxy": "socks://corp:1080"}, "https://api.openai.com/v1", "", "socks5://corp:1080"),
        ({"https_proxy": "http://corp:3128", "no_proxy": "openai.com"}, "https://api.openai.com/v1", "", ""),
        ({"http_proxy": "http://corp:3128"}, "https://api.openai.com/v1", "", ""),
        ({"http_proxy": "http://corp:3128"}, "http://localhost:11434/v1", "", ""),
        ({"http_proxy": "http://corp:3128"}, "http://192.168.1.9:8000/v1", "", ""),
    ],
)
def test_which_proxy_leads_to_an_address(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], url: str, wish: str, proxy: str
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url, wish) == proxy


# -- certificates ------------------------------------------------------------------------------------------------------


async def test_a_certificate_that_the_system_does_not_trust_is_named(tmp_path: Path) -> None:
    with ModelServer([ok("yes")], tls()) as server:
        async with world(tmp_path) as w:
            hop, error = await hop_of(w, Route("mine", "m", base_url=server.url))
            assert hop == "tls" and "not trusted" in str(error) and not error.permanent
        assert not server.requests


if sys.platform == "linux":

    async def test_a_certificate_that_the_system_trusts_is_enough(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
        with ModelServer([ok("yes")], tls()) as server:
            async with world(tmp_path) as w:
                assert (await w.chat(Route("mine", "m", base_url=server.url))).text == "yes"


async def test_a_server_without_tls_is_named(tmp_path: Path) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server, world(tmp_path) as w:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        hop, error = await hop_of(w, Route("mine", "m", base_url=url))
        assert hop == "tls" and "does not speak TLS" in str(error)


async def test_a_server_that_takes_connections_and_says_nothing(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            route = Route("mine", "m", base_url=server.url.replace("http:", "https:"))
            reply = await w.chat(route, timeout=0.9)
            assert (reply.finish, reply.detail) == ("aborted", "no connection within 0.3 s")
            assert ((await w.row()).outcome, (await w.row()).input_tokens) == ("incomplete", 0)


# -- which hop ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "hop", "word"),
    [
        (status(401), "key", "refused the key"),
        (status(403), "key", "refused the key"),
        (status(402, message="Insufficient Balance"), "quota", "used up"),
        (status(429, message="You exceeded your current quota"), "quota", "used up"),
        (status(404, message="The model `m` does not exist"), "model", "404"),
        (status(400, message="Model Not Exist"), "model", "400"),
        (raw(b"nothing here", content_type="text/plain", code=404), "setting", "404"),
        (status(405), "setting", "405"),
        (status(500), "server", "500"),
        (raw(b"<html></html>", content_type="text/html"), "stream", "web page"),
        (raw(b"hello", content_type="text/plain"), "stream", "text/plain"),
        (garbage(), "stream", "no whole answer"),
        (drop(), "connection", "does not answer"),
    ],
    ids=[
        "401", "403", "402", "quota", "model", "model 400", "path", "method", "500", "page", "text", "garbage", "drop",
    ],
)  # fmt: skip
async def test_the_test_of_a_route_says_which_hop_failed(
    tmp_path: Path, behaviour: Behaviour, hop: Hop, word: str
) -> None:
    with ModelServer([behaviour]) as server:
        async with world(tmp_path) as w:
            found, error = await hop_of(w, Route("mine", "m", base_url=server.url))
            assert found == hop and word in str(error)


async def test_hops_before_the_server(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{taken.getsockname()[1]}"
        async with world(tmp_path) as w:
            hop, error = await hop_of(w, Route("ollama", "m", base_url=f"http://{closed}/v1"))
            assert (hop, error.action) == ("connection", "Start Ollama.")
            for scheme in ("http", "socks5"):
                hop, error = await hop_of(w, Route("mine", "m", base_url=FAR, proxy=f"{scheme}://{closed}"))
                assert hop == "proxy" and closed in str(error)
            hop, error = await hop_of(w, Route("mine", "m", base_url=FAR, proxy="gopher://x"))
            assert hop == "proxy" and "not supported" in str(error)
            assert (await hop_of(w, Route("mine", "m")))[0] == "setting"
            assert (await hop_of(w, Route("openai", "m")))[0] == "key"


async def test_a_proxy_that_lets_nobody_through(tmp_path: Path) -> None:
    with ModelServer([status(407), status(502)]) as proxy:
        async with world(tmp_path) as w:
            route = Route("mine", "m", base_url=FAR, proxy=proxy.url.removesuffix("/v1"))
            hop, error = await hop_of(w, route)
            assert hop == "proxy" and "name and password" in str(error) and error.permanent
            secure = Route("mine", "m", base_url="https://model.example/v1", proxy=proxy.url.removesuffix("/v1"))
            hop, error = await hop_of(w, secure)
            assert hop == "proxy" and "model.example" in str(error) and not error.permanent


async def test_a_server_that_never_answers_a_test(tmp_path: Path) -> None:
    with ModelServer([hang()]) as server:
        async with world(tmp_path, idle=0.3) as w:
            hop, error = await hop_of(w, Route("mine", "m", base_url=server.url))
            assert hop == "stream" and "no answer within 0.3 s" in str(error)


def failure(cause: BaseException) -> httpx.ConnectError:
    """A failed connection as httpx tells it: the reason is two causes deep."""
    middle, error = OSError("All connection attempts failed"), httpx.ConnectError("failed")
    middle.__cause__, error.__cause__ = cause, middle
    return error


UNKNOWN_NAME = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
TRY_AGAIN = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
NO_WAY = OSError(errno.ENETUNREACH, "Network is unreachable")
REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
SEVERAL = ExceptionGroup("several", [REFUSED, NO_WAY])


@pytest.mark.parametrize(
    ("cause", "is_online", "proxy", "hop"),
    [
        (UNKNOWN_NAME, True, "", "name"),
        (UNKNOWN_NAME, False, "", None),
        (TRY_AGAIN, True, "", None),
        (NO_WAY, True, "", "connection"),
        (NO_WAY, False, "", None),
        (SEVERAL, False, "", None),
        (REFUSED, False, "", "connection"),
        (REFUSED, True, "", "connection"),
        (UNKNOWN_NAME, True, "http://corp:3128", "proxy"),
        (UNKNOWN_NAME, False, "http://corp:3128", None),
        (REFUSED, False, "http://127.0.0.1:7890", "proxy"),
        (ssl.SSLCertVerificationError("self-signed certificate"), True, "", "tls"),
        (ssl.SSLError("wrong version number"), True, "http://corp:3128", "tls"),
    ],
)
def test_what_a_failed_connection_means(cause: BaseException, is_online: bool, proxy: str, hop: Hop | None) -> None:
    told = explain(failure(cause), "https://api.openai.com/v1", "OpenAI", proxy, lambda: is_online)
    if hop is None:
        assert isinstance(told, Environment) and told.until is None and "no network" in told.message
    else:
        assert isinstance(told, ModelError) and told.hop == hop and told.action


def test_a_server_on_this_machine_needs_no_network() -> None:
    told = explain(failure(NO_WAY), "http://127.0.0.1:11434/v1", "Ollama", "", lambda: False)
    assert isinstance(told, ModelError) and told.action == "Start Ollama."


async def test_without_a_network_work_waits_and_the_route_stays_well(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.online = False
        route = Route("mine", "m", base_url="http://nowhere.invalid/v1")
        with pytest.raises(Environment, match="no network connection"):
            await w.chat(route)
        row = await w.row()
        assert (row.outcome, row.input_tokens) == ("error", 0) and "no network" in row.detail
        assert await w.client.usable([route]) == [route]
        assert (await hop_of(w, route))[0] == "connection"


def test_whether_there_is_a_network_can_be_asked() -> None:
    assert online() in (True, False)


# -- lists of models ---------------------------------------------------------------------------------------------------


async def test_the_models_of_a_server(tmp_path: Path) -> None:
    with ModelServer([listing("b", "A", "b", "")]) as server:
        async with world(tmp_path) as w:
            w.keys.keys["mine"] = KEY
            assert await w.client.models(Route("mine", "", base_url=server.url)) == ["A", "b"]
        request = server.requests[0]
        assert (request.method, request.path) == ("GET", "/v1/models")
        assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_the_models_of_a_server_of_the_other_kind(tmp_path: Path) -> None:
    with ModelServer([listing("claude-opus-5-5")]) as server:
        async with world(tmp_path) as w:
            base = server.url.removesuffix("/v1") + "/anthropic"
            assert await w.client.models(Route("anthropic", "", base_url=base)) == ["claude-opus-5-5"]
        request = server.requests[0]
        assert request.path == "/anthropic/v1/models" and request.headers["x-api-key"] == KEY


async def test_models_listed_by_name(tmp_path: Path) -> None:
    with ModelServer([raw(b'{"models":[{"name":"qwen3:8b"}]}', content_type="application/json")]) as server:
        async with world(tmp_path) as w:
            assert await w.client.models(Route("mine", "", base_url=server.url)) == ["qwen3:8b"]


@pytest.mark.parametrize(
    ("behaviour", "hop"),
    [
        (status(401, message=f"bad key {KEY}"), "key"),
        (status(404), "setting"),
        (raw(b"<html>"), "stream"),
        (raw(b'{"data":[]}'), "stream"),
        (raw(b'{"data":{"id":"m"}}'), "stream"),
        (raw(b"[" * 10_000), "stream"),
        (raw(b"x" * (9 * 2**20)), "stream"),
        (drop(), "connection"),
    ],
    ids=["401", "404", "page", "none", "shape", "depth", "9 MB", "drop"],
)
async def test_no_list_of_models(tmp_path: Path, behaviour: Behaviour, hop: Hop) -> None:
    with ModelServer([behaviour]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError) as caught:
                await w.client.models(Route("deepseek", "", base_url=server.url))
            assert caught.value.hop == hop and KEY not in str(caught.value)


def test_routes_differ_by_their_way() -> None:
    assert Route("a", "b") != Route("a", "b", proxy="none") != Route("a", "b", limits=Limits(calls_per_hour=1))
