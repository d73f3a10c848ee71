"""Settings files of every version of the table are understood: nothing is lost, nothing is a problem."""

import tomllib
from pathlib import Path

import pytest

from engine.settings.store import Settings, _flatten
from engine.settings.table import SETTINGS

FILES = sorted((Path(__file__).parents[1] / "data" / "settings").glob("v*.toml"))
GONE = {"consolidation.maxChainedRuns"}
"""Keys that later versions have no use for: kept in the file and reported."""


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_settings_file_of_an_older_version_keeps_every_value(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(file.read_bytes())
    settings = Settings(path)
    assert settings.problems == () and set(settings.unknown) <= GONE
    rows = {row.key: row for row in SETTINGS}
    written = dict(_flatten(tomllib.loads(file.read_text("utf-8")), rows))
    assert len(written) >= 25
    for key, value in written.items():
        assert key in GONE or settings.get(key) == value
    settings.set("enabled", True)
    kept = dict(_flatten(tomllib.loads(path.read_text("utf-8")), rows))
    assert kept == {**written, "enabled": True}
