"""The icon: every size, readable on light and dark, states told apart by shape."""

import itertools

import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from desktop.icons import SIZES, app_icon, state_icon
from desktop.resources import resource
from engine.views import State


def drawn(state: State, size: int, panel: str) -> QImage:
    image = QImage(size, size, QImage.Format.Format_RGB32)
    image.fill(QColor(panel))
    painter = QPainter(image)
    painter.drawPixmap(0, 0, state_icon(state).pixmap(size, size))
    painter.end()
    return image


def pixels(image: QImage) -> list[QColor]:
    return [image.pixelColor(x, y) for y in range(image.height()) for x in range(image.width())]


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_every_size(qapp, state: State) -> None:
    assert resource("icons", f"{state.value}.svg").is_file()
    sizes = {size.width() for size in state_icon(state).availableSizes()}
    assert sizes == set(SIZES) and {16, 32, 48, 66, 192} <= sizes
    assert not state_icon(state).isMask()  # that is for the menu bar of macOS
    assert not app_icon().isNull()


@pytest.mark.parametrize("panel", ["#2f343f", "#eeeeee", "#000000", "#ffffff"])
@pytest.mark.parametrize("state", list(State))
def test_readable_on_any_panel(qapp, state: State, panel: str) -> None:
    """A good part of the picture stands out from the panel, at the smallest size."""
    ground = QColor(panel).lightness()
    standing_out = [colour for colour in pixels(drawn(state, 16, panel)) if abs(colour.lightness() - ground) > 80]
    assert len(standing_out) >= 30


def shape(state: State) -> list[bool]:
    """Dark parts against light ground, at the smallest size: what a person without colours sees."""
    return [colour.lightness() < 170 for colour in pixels(drawn(state, 16, "#ffffff"))]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(State, 2)))
def test_states_differ_by_shape(qapp, one: State, other: State) -> None:
    differing = sum(a != b for a, b in zip(shape(one), shape(other), strict=True))
    assert differing >= 8
