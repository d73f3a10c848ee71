"""Light or dark: as the system, followed live, or as the person chose."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

_SCHEMES = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
_ROLE = QPalette.ColorRole
_INK = {"light": "#1b1b1b", "dark": "#f0f0f0"}
_COLOURS = {
    "light": {_ROLE.Window: "#f3f3f3", _ROLE.Base: "#ffffff", _ROLE.Button: "#eaeaea", _ROLE.AlternateBase: "#f7f7f7"},
    "dark": {_ROLE.Window: "#2b2b2b", _ROLE.Base: "#363636", _ROLE.Button: "#444444", _ROLE.AlternateBase: "#3c3c3c"},
}
# What Fusion draws an outline around; it takes a darker tone of the window's colour, which nobody sees on a dark one.
_OUTLINED = ("QCheckBox", "QRadioButton", "QLineEdit", "QAbstractSpinBox")
_OUTLINE = QColor("#c1c1c1")


class Scheme:
    """Puts a choice into effect for the whole program; windows that are open follow."""

    def __init__(self, app: QApplication) -> None:
        self._app = app
        self._style = app.style().name()
        self._own = False

    def use(self, choice: str) -> None:
        """`system`, `light` or `dark`."""
        if self._own:
            self._own = False
            self._app.setStyle(self._style)
            for name in (None, *_OUTLINED):
                self._app.setPalette(QPalette(), name)  # type: ignore[arg-type]  # text it is, whatever PySide says
        hints = self._app.styleHints()
        if choice not in _SCHEMES:
            hints.unsetColorScheme()
            return
        hints.setColorScheme(_SCHEMES[choice])
        if is_dark(self._app.palette()) != (choice == "dark"):  # this platform leaves colours to the program
            self._own = True
            self._app.setStyle("Fusion")
            palette = own_palette(choice)
            self._app.setPalette(palette)
            if choice == "dark":
                palette.setColor(_ROLE.Window, _OUTLINE)
                for name in _OUTLINED:
                    self._app.setPalette(palette, name)  # type: ignore[arg-type]


def is_dark(palette: QPalette) -> bool:
    """Whether windows of these colours are dark."""
    return palette.color(_ROLE.Window).lightness() < 128


def faint(palette: QPalette) -> QColor:
    """The colour of lines that only guide the eye."""
    colour = QColor(palette.color(_ROLE.Text))
    colour.setAlphaF(0.4)
    return colour


def own_palette(choice: str) -> QPalette:
    """The colours of a choice, with the system's accent."""
    accent = QApplication.palette().color(_ROLE.Highlight)
    palette = QPalette(QColor(_COLOURS[choice][_ROLE.Button]), QColor(_COLOURS[choice][_ROLE.Window]))
    ink = QColor(_INK[choice])
    quiet = QColor(ink)
    quiet.setAlphaF(0.6)
    for role, colour in _COLOURS[choice].items():
        palette.setColor(role, QColor(colour))
    for role in (_ROLE.WindowText, _ROLE.Text, _ROLE.ButtonText, _ROLE.ToolTipText):
        palette.setColor(role, ink)
        palette.setColor(QPalette.ColorGroup.Disabled, role, quiet)
    palette.setColor(_ROLE.PlaceholderText, quiet)
    palette.setColor(_ROLE.ToolTipBase, QColor(_COLOURS[choice][_ROLE.Base]))
    palette.setColor(_ROLE.Highlight, accent)
    palette.setColor(_ROLE.HighlightedText, QColor("#ffffff" if accent.lightness() < 150 else "#000000"))
    palette.setColor(_ROLE.Link, QColor("#8ab4f8" if choice == "dark" else "#0b57d0"))
    return palette
