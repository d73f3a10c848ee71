"""What a model costs: shown in a line, and set by hand where the person knows better."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from desktop.i18n import tr
from desktop.widgets.fields import Choice, error_label
from desktop.widgets.flow import Flow
from desktop.widgets.text import GRID, spaced
from engine.settings import BY_KEY
from engine.views import RoutePrice

PRICES = "models.prices"


def price_line(price: RoutePrice | None) -> str:
    """One line about a price."""
    if price is None:
        return tr("unknown price")
    if price.free:
        return tr("free")
    return tr(
        "{input} in, {output} out per million tokens ({currency})",
        input=f"{price.input:g}",
        output=f"{price.output:g}",
        currency=price.currency,
    )


def source_name(source: str) -> str:
    """Who said what a model costs; a provider's page keeps its own name."""
    return {"on this machine": tr("on this machine"), "as you said": tr("as you said")}.get(source, source)


def with_price(lines: list[str], name: str, values: tuple[str, str, str, str] | None) -> list[str]:
    """The person's prices with another one for a model; None takes it out."""
    kept = [line for line in lines if line.strip().rsplit(maxsplit=4)[:1] != [name]]
    return kept if values is None else [*kept, " ".join((name, *values))]


class PriceForm(QWidget):
    """Three numbers and a currency; `saved` carries them as text, or None for the built-in price."""

    saved = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.input, self.cached, self.output = QLineEdit(), QLineEdit(), QLineEdit()
        self.currency = Choice()
        for currency in BY_KEY["budget.currency"].choices:
            self.currency.addItem(currency)
        self.save, self.builtin = QPushButton(tr("Save price")), QPushButton(tr("Use the built-in price"))
        self.error = error_label()
        line = Flow()
        for name, editor in (
            (tr("Input"), self.input),
            (tr("Cached input"), self.cached),
            (tr("Output"), self.output),
            (tr("Currency"), self.currency),
        ):
            label = QLabel(name)
            label.setBuddy(editor)
            editor.setAccessibleName(tr("{what}, per million tokens", what=name))
            if isinstance(editor, QLineEdit):
                editor.setAlignment(Qt.AlignmentFlag.AlignRight)
                editor.setFixedWidth(10 * GRID)
                editor.returnPressed.connect(self._save)
            pair = QWidget()
            both = spaced(QHBoxLayout(pair))
            both.addWidget(label)
            both.addWidget(editor)
            line.addWidget(pair)
        self.cached.setPlaceholderText(tr("none"))
        buttons = Flow()
        buttons.addWidget(self.save)
        buttons.addWidget(self.builtin)
        page = spaced(QVBoxLayout(self), gap=GRID // 2)
        page.addLayout(line)
        page.addWidget(self.error)
        page.addLayout(buttons)
        self.save.clicked.connect(self._save)
        self.builtin.clicked.connect(lambda: self.saved.emit(None))

    def show_price(self, price: RoutePrice | None) -> None:
        """Begin with what is known."""
        self.error.hide()
        self.input.setText("" if price is None else f"{price.input:g}")
        self.cached.setText("" if price is None or price.cached is None else f"{price.cached:g}")
        self.output.setText("" if price is None else f"{price.output:g}")
        if price is not None and not price.free:
            self.currency.setCurrentText(price.currency)

    def values(self) -> tuple[str, str, str, str]:
        """Input, cached input, output and currency, as they are written into the settings."""
        numbers = [one.text().strip().replace(",", ".") for one in (self.input, self.cached, self.output)]
        return numbers[0], numbers[1] or "-", numbers[2], self.currency.currentText()

    def _save(self) -> None:
        values = self.values()
        if BY_KEY[PRICES].problem([" ".join(("any/model", *values))]):
            self.error.setText(tr("Type the price of a million tokens as numbers, 0 where it is free."))
            self.error.show()
        else:
            self.error.hide()
            self.saved.emit(values)
