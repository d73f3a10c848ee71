"""One server per module, and the fixture shelf of contracts/hypatia.md 11."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shelf_server.child import Child

K1, K2, K3, K4 = "tide table", "rope rule", "备份策略", "bare note"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """A server with an empty default shelf."""
    child = Child(tmp_path_factory.mktemp("home"))
    yield child
    assert child.end() == 0


@pytest.fixture(scope="module")
def fx(server: Child) -> Child:
    """The same server with the rows of FX on its default shelf."""
    fill(server)
    return server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of its own for a test that breaks things."""
    made = tmp_path / "home"
    made.mkdir()
    return made


def fill(server: Child, shelf: str = "default") -> None:
    """Create FX; each entry at a later millisecond, because order is by time."""

    def create(tool: str, **arguments: object) -> None:
        server.call(tool, shelf=shelf, **arguments)
        time.sleep(0.002)

    def knowledge(name: str, data: str = "", tags: list[str] | None = None, scopes: list[str] | None = None) -> None:
        create("knowledge_create", name=name, data=data, tags=tags, scopes=scopes)

    knowledge(K1, "High water at the jetty is 06:40", ["fact", "harbour"], ["harbour", ""])
    knowledge(K2, "Never cut a mooring line under load", ["rule"], ["harbour"])
    knowledge(K3, "每天凌晨两点备份数据库", ["rule", "运维"], ["infra", ""])
    knowledge(K4)
    for number in (1, 2, 3):
        knowledge(f"msg-a-{number}", f"watch log {number}", ["message"], ["harbour"])
    create("statement_create", head="harbour", relation="has", tail="jetty", scopes=["harbour"])
    create("statement_create", head="jetty", relation="near", tail="lighthouse")
    create("statement_create", head="lighthouse", relation="near", tail="harbour")
    create("statement_create", head="Smith, John", relation='said "hi"', tail="harbour", data="greeting")
