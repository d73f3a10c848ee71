"""An embeddings endpoint on loopback: a text's vector counts its words, so that texts sharing words are near."""

import hashlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DIMENSIONS = 32


def vector(text: str) -> list[float]:
    """Deterministic; texts without words have no direction."""
    values = [0.0] * DIMENSIONS
    for word in "".join(c if c.isalnum() else " " for c in text.lower()).split():
        values[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSIONS] += 1.0
    return values


class Endpoint:
    """What it was asked, and how it answers: `status`, a wrong `dimensions`, a raw `body`, texts it refuses, slowly."""

    def __init__(self, address: str) -> None:
        self.url = address
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.status = 200
        self.dimensions = DIMENSIONS
        self.body: bytes | None = None
        self.seconds = 0.0

    @property
    def texts(self) -> list[str]:
        return [text for question in self.asked for text in question["input"]]

    def answer(self, question: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(question)
        if any("poison" in text for text in question["input"]):
            return 400, b"{}"
        if self.body is not None:
            return self.status, self.body
        rows = [
            {"index": index, "embedding": vector(text)[: self.dimensions]}
            for index, text in enumerate(question["input"])
        ]
        return self.status, json.dumps({"data": rows[::-1], "model": question["model"]}).encode()


@contextmanager
def serving() -> Iterator[Endpoint]:
    """A running endpoint."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.keys.append(self.headers["Authorization"])
            time.sleep(endpoint.seconds)
            status, body = endpoint.answer(question)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1/embeddings")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def toml(endpoint: Endpoint, extra: str = "", model: str = "test-embed") -> str:
    """`shelf.toml` for a shelf that uses the endpoint."""
    return (
        f'[embedding]\nprovider = "remote"\napi_url = "{endpoint.url}"\napi_model = "{model}"\n'
        f"dimensions = {DIMENSIONS}\n{extra}"
    )
