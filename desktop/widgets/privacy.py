"""What leaves this computer, to whom, in plain words."""

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop.i18n import tr
from desktop.widgets.text import heading, paragraph, spaced
from engine.views import RouteRow


class PrivacyNote(QWidget):
    """Said from the list of models in use."""

    def __init__(self) -> None:
        super().__init__()
        self.text = paragraph()
        page = spaced(QVBoxLayout(self))
        page.addWidget(heading(tr("What leaves this computer")))
        page.addWidget(self.text)
        page.addWidget(
            paragraph(
                tr(
                    "The program sends nothing else: no statistics, no reports. Passwords and keys are hidden before "
                    "anything is stored or sent. Memory itself is kept in files on this computer."
                )
            )
        )
        self.show_rows((), summarising=True)

    def show_rows(self, rows: Sequence[RouteRow], *, summarising: bool) -> None:
        """The models of the list, and whether they are asked at all."""
        away = [tr("{host} ({model})", host=row.host, model=row.name) for row in rows if not row.own_machine]
        if not summarising:
            self.text.setText(tr("Nothing: summaries are switched off."))
        elif not rows:
            self.text.setText(tr("Nothing: summaries are made on this computer, without a model."))
        elif not away:
            self.text.setText(tr("Nothing: all models in your list run on your own machines."))
        else:
            first = tr("Parts of conversations go to these servers when a summary is made:")
            self.text.setText("\n".join([first, *(f"• {one}" for one in away)]))
