"""Where pictures and translations lie."""

from pathlib import Path


def resource(*parts: str) -> Path:
    """A file of `resources/`: beside this package in an installed wheel, in the source tree otherwise."""
    installed = Path(__file__).with_name("_resources")
    root = installed if installed.is_dir() else Path(__file__).parents[1] / "resources"
    return root.joinpath(*parts)
