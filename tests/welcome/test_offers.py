"""Models within reach: servers on this machine, keys in the environment, the settings of DSH."""

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from engine.models.prices import price
from engine.models.providers import PROVIDERS, provider
from engine.models.routes import sanitise
from engine.views import ModelOffer
from engine.welcome.local_servers import on_this_machine
from engine.welcome.offers import from_dsh, from_environment

SETTINGS = """
# what DSH writes
agent-default-model: { provider: deepseek-official, model: deepseek-v4-flash, reasoningEffort: low }
llm-deepseek:
  baseURL: "https://mirror.example/v1"  # ours
  apiKeyEnv: DEEPSEEK_API_KEY
llm-pi-ai:
  providers:
    my-gateway:
      apiKeyEnv: GATEWAY_API_KEY
      api: openai-completions
      baseURL: https://gate.example/v1
      displayName: The gateway
      headers: { Authorization: "Bearer sk-never-read" }
      models:
        - id: big-model
          contextWindow: 128000
        - id: small-model
    answers:
      api: openai-responses
      baseURL: https://other.example/v1
      models: [ { id: m } ]
"""


class Models(BaseHTTPRequestHandler):
    answer: bytes = b"{}"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (
            {"data": [{"id": "qwen3:8b"}, {"id": "nomic-embed-text"}, {"id": "gpt-oss:20b"}]},
            ["qwen3:8b", "gpt-oss:20b"],
        ),
        ({"data": []}, []),
        ({"data": None}, []),
        ([1, 2], []),
        ("no JSON", []),
    ],
)
async def test_a_server_on_this_machine_offers_its_models(answer: object, names: list[str]) -> None:
    body = answer if isinstance(answer, str) else json.dumps(answer)
    handler = type("Handler", (Models,), {"answer": body.encode()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        here = replace(provider("ollama"), base_url=f"http://127.0.0.1:{server.server_port}/v1")
        elsewhere = replace(provider("openai"), base_url="https://example.invalid/v1")
        found = await on_this_machine([here, elsewhere])
        server.shutdown()
        thread.join()
    assert found == [ModelOffer("ollama", "Ollama", name, "local") for name in names]


async def test_a_server_that_is_not_there_offers_nothing() -> None:
    assert await on_this_machine([replace(provider("ollama"), base_url="http://127.0.0.1:9/v1")]) == []


def test_a_key_in_the_environment_offers_a_model_of_known_price() -> None:
    keys = {name: "sk-made-up" for one in PROVIDERS for name in one.key_env}
    offers = from_environment(keys)
    assert {"deepseek", "openai", "anthropic"} <= {offer.provider for offer in offers}
    for offer in offers:
        [route], _ = sanitise([offer.route()])
        assert price(route, ()) is not None, offer
        assert "sk-made-up" not in repr(offer)
    assert from_environment({"OPENAI_API_KEY": " "}) == []


def test_dsh_offers_its_default_model_and_its_gateways_without_any_secret(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    (tmp_path / ".credentials.yaml").write_text("version: 1\nrefs: {DEEPSEEK_API_KEY: sk-secret}\n")
    default, gateway = from_dsh(tmp_path, {"DEEPSEEK_API_KEY": "sk-secret"})
    assert default == ModelOffer(
        "deepseek", "DeepSeek", "deepseek-v4-flash", "dsh",
        base_url="https://mirror.example/v1", effort="low", key_name="DEEPSEEK_API_KEY", has_key=True,
    )  # fmt: skip
    assert (gateway.provider, gateway.label, gateway.model) == ("my-gateway", "The gateway", "big-model")
    assert gateway.route() == {
        "provider": "my-gateway", "model": "big-model", "baseUrl": "https://gate.example/v1", "api": "openai",
    }  # fmt: skip
    assert not gateway.has_key
    assert "sk-" not in repr((default, gateway))


@pytest.mark.parametrize(
    "text", ["", "agent-default-model: {", "- a\n- b: [", "\x00", "agent-default-model: 3\n", "a:\n" * 5000]
)
def test_settings_that_are_not_understood_offer_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    assert from_dsh(tmp_path, {}) == []
    assert from_dsh(tmp_path / "missing", {}) == []
