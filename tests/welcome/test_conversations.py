"""How much there is to record, from a few logs that are read and the sizes of the others."""

from pathlib import Path

from engine.configured import Configured
from engine.settings.store import Settings
from engine.sources.dsh import DSH
from engine.sources.model import Source
from engine.welcome import Welcome
from engine.welcome.conversations import weigh
from tests.desktop.living import talk


def test_small_logs_are_counted_exactly(tmp_path: Path) -> None:
    talk(tmp_path, "one", turns=3)
    talk(tmp_path, "two", turns=1)
    found = weigh([Source(DSH, tmp_path / "dsh")])
    assert sorted(one.messages for one in found) == [2, 6]
    assert all(one.exact and one.tokens > 100 for one in found)


def test_a_large_log_is_judged_by_the_others(tmp_path: Path) -> None:
    talk(tmp_path, "small", turns=4)
    size = talk(tmp_path, "large", turns=40).path.stat().st_size
    found = weigh([Source(DSH, tmp_path / "dsh")], largest=size - 1)
    small, large = sorted(found, key=lambda one: one.tokens)
    assert small.exact and not large.exact
    assert large.tokens > 3 * small.tokens


def test_no_conversation_is_no_conversation(tmp_path: Path) -> None:
    assert weigh([Source(DSH, tmp_path)]) == []
    assert weigh([]) == []


async def test_the_price_is_that_of_the_model_and_the_built_in_way_is_free(tmp_path: Path) -> None:
    welcome = Welcome(
        list,
        lambda: tmp_path,
        Configured(Settings(tmp_path / "settings.toml")).options,
        lambda: ("lab/m 1 - 2 USD",),
    )
    assert await welcome.conversations() == []
    assert welcome.cost([5000, 100], None).free
    priced = welcome.cost([5000, 100], {"provider": "lab", "model": "m"})
    assert priced.calls == 2 and priced.money is not None and priced.money > 0
    assert welcome.cost([5000], {"provider": "lab", "model": "other"}).money is None
