"""Light and dark by choice: what is drawn around is seen, and goes with the choice."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QRadioButton, QWidget

from desktop.widgets.scheme import Scheme, is_dark

SEEN = 60  # how much lighter or darker a line is than what lies around it, of 255


def contrast(widget: QWidget) -> int:
    """Between the darkest and the lightest point of an empty widget."""
    widget.resize(widget.sizeHint())
    image = widget.grab().toImage()
    tones = [image.pixelColor(x, y).lightness() for x in range(image.width()) for y in range(image.height())]
    return max(tones) - min(tones)


@pytest.mark.parametrize("make", [QCheckBox, QRadioButton, QLineEdit])
@pytest.mark.parametrize("choice", ["light", "dark"])
def test_an_empty_field_is_seen(qtbot, qapp: QApplication, choice: str, make: Callable[[], QWidget]) -> None:
    scheme = Scheme(qapp)
    before = qapp.palette(make().metaObject().className())
    try:
        scheme.use(choice)
        widget = make()
        qtbot.addWidget(widget)
        assert is_dark(qapp.palette()) == (choice == "dark")
        assert contrast(widget) > SEEN
    finally:
        scheme.use("system")
    assert qapp.palette(make().metaObject().className()) == before
