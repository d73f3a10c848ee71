"""Overview: what is going on, what there is, what it costs, day by day."""

import asyncio
import contextlib
import importlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from desktop.i18n import heard, join, number, tr, trn
from desktop.icons import state_icon
from desktop.widgets.text import GRID, card, clear, heading, muted, paragraph, spaced, strong
from desktop.windows.memory_pages.page import Page, Run
from desktop.words import Use, money, server_name, state_line, usage_line
from engine.events import Event, Forgotten, MessagesLogged, SettingsChanged, ShelfSwitched, StatusChanged, TaskSettled
from engine.views import Backlog, Day, Figures, Problem

if TYPE_CHECKING:
    from desktop.windows.memory_pages.plots import DayBars
    from engine.app import Engine

_WIDE = 90 * GRID  # from this width on plots stand in two columns


class OverviewPage(Page):
    """Status on top, then numbers, then plots; the plots' library is loaded in a thread when this is first seen."""

    review = Signal()

    def __init__(self, engine: "Engine", run: Run) -> None:
        super().__init__(engine, run, tr("Overview"))
        self._problems: tuple[Problem, ...] | None = None
        self._figures: Figures | None = None
        self._shown_numbers: list[tuple[str, str]] = []
        self._plots: list[DayBars] = []
        self._drawing = False
        self._wide = True
        self._picture, self._state, self._place = QLabel(), heading(), muted()
        self._picture.setAccessibleName(tr("State"))
        self.review_button = QPushButton()
        self.review_button.clicked.connect(self.review)
        self._problem_list = spaced(QVBoxLayout())
        self._numbers = QGridLayout()
        self._numbers.setHorizontalSpacing(2 * GRID)
        self._models = spaced(QVBoxLayout(), gap=GRID // 2)
        self._use = paragraph()
        self._owed = paragraph()
        self.summarise_all = QPushButton(tr("Summarise all…"))
        self.summarise_all.clicked.connect(self._ask_price)
        self._price = card()
        self._price_text = paragraph()
        self.go = QPushButton(tr("Summarise all"))
        self.go.clicked.connect(self._summarise_all)
        self.later = QPushButton(tr("Not now"))
        self.later.clicked.connect(self._price.hide)
        self._plot_grid = QGridLayout()
        self._plot_grid.setSpacing(3 * GRID)
        self._waiting = muted(tr("The plots are being drawn…"))
        self.head.hide()  # the state is this page's heading
        self._build()

    def _build(self) -> None:
        head = spaced(QHBoxLayout(), gap=2 * GRID)
        words = spaced(QVBoxLayout(), gap=GRID // 2)
        words.addWidget(self._state)
        words.addWidget(self._place)
        head.addWidget(self._picture, alignment=Qt.AlignmentFlag.AlignTop)
        head.addLayout(words, 1)
        head.addWidget(self.review_button, alignment=Qt.AlignmentFlag.AlignTop)
        inner = QWidget()
        body = spaced(QVBoxLayout(inner), 0, 2 * GRID)
        body.addLayout(head)
        body.addLayout(self._problem_list)
        body.addLayout(self._numbers)
        body.addLayout(self._backlog_row())
        body.addWidget(self._price)
        body.addWidget(self._waiting)
        body.addLayout(self._plot_grid)
        body.addWidget(strong(tr("Models")))
        body.addWidget(self._use)
        body.addLayout(self._models)
        body.addStretch()
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        scroll.setAccessibleName(tr("Overview"))
        self.body.addWidget(scroll, 1)
        self.body.addWidget(self.line)
        self._scroll = scroll

    def _backlog_row(self) -> QHBoxLayout:
        inside = spaced(QVBoxLayout(self._price), GRID + GRID // 2)
        inside.addWidget(self._price_text)
        buttons = spaced(QHBoxLayout())
        for button in (self.go, self.later):
            buttons.addWidget(button)
        buttons.addStretch()
        inside.addLayout(buttons)
        self._price.hide()
        row = spaced(QHBoxLayout())
        row.addWidget(self._owed, 1)
        row.addWidget(self.summarise_all, alignment=Qt.AlignmentFlag.AlignTop)
        return row

    def load(self) -> None:
        self._show_status()
        self._show_models()
        self.ask("figures", self.engine.browsing.figures.read, self._show_figures)
        self.ask("backlog", self.engine.summaries.backlog, self._show_backlog)
        self.ask("use", self.engine.model_care.standing, self._show_use)
        if not self._drawing:
            self._drawing = True
            self.ask("plots", self._build_plots, lambda _: self._waiting.hide())

    def heard(self, event: Event) -> None:
        match event:
            case StatusChanged():
                self._show_status()
                self._show_models()
            case MessagesLogged() | TaskSettled() | ShelfSwitched() | SettingsChanged() | Forgotten():
                self.load()

    def _show_status(self) -> None:
        status = self.engine.status()
        self._fill_numbers()
        self._picture.setPixmap(state_icon(status.state).pixmap(5 * GRID, 5 * GRID))
        self._state.setText(state_line(status, self.engine.clock.time()))
        self._place.setText(tr("Shelf: {name} ({server})", name=status.shelf, server=server_name(status.server)))
        self.review_button.setText(tr("Review ({n})", n=number(status.waiting)))
        self.review_button.setVisible(status.waiting > 0)
        if status.problems != self._problems:
            self._problems = status.problems
            clear(self._problem_list)
            for problem in status.problems:
                self._problem_list.addWidget(_problem_card(problem))

    def _show_figures(self, figures: Figures) -> None:
        self._figures = figures
        self._fill_numbers()
        self._fill_plots()

    def _fill_numbers(self) -> None:
        status, totals = self.engine.status(), self._figures.totals if self._figures is not None else None
        rows = [(tr("Messages recorded today"), number(status.logged_today))]
        if totals is not None:
            rows += [(tr("Messages on this shelf"), number(totals.messages))]
            for tier, count in totals.tiers:
                name = tr("Summaries") if tier == 1 else tr("Archives, tier {n}", n=tier)
                rows.append((name, number(count)))
            rows += [(tr("Lessons"), number(totals.lessons))]
            if totals.others:
                rows.append((tr("Entries of others"), number(totals.others)))
        rows += [(tr("Conversations known"), number(status.sessions)), (tr("Tasks left"), number(status.pending))]
        if status.deferred:
            rows.append((tr("Waiting until they can be done"), number(status.deferred)))
        if rows == self._shown_numbers:
            return
        self._shown_numbers = rows
        clear(self._numbers)
        half = -(-len(rows) // 2)
        for place, (name, value) in enumerate(rows):
            label, shown = QLabel(name), QLabel(value)
            shown.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            shown.setAccessibleName(name)
            row, column = place % half, 3 * (place // half)
            self._numbers.addWidget(label, row, column)
            self._numbers.addWidget(shown, row, column + 1)
        self._numbers.setColumnMinimumWidth(2, 3 * GRID)
        self._numbers.setColumnStretch(5, 1)

    async def _build_plots(self) -> None:
        """One with each turn of the loop: all of them would hold it up for a tenth of a second and more."""
        make = await _load_plots()
        currency = str(self.engine.settings.get("budget.currency"))
        units = (
            (tr("Messages per day"), tr("messages")),
            (tr("Summaries per day"), tr("summaries")),
            (tr("Lessons per day"), tr("lessons")),
            (tr("Model tokens per day"), tr("tokens")),
            (tr("Cost per day"), currency),
        )
        for title, unit in units:
            await asyncio.sleep(0)
            self._plots.append(make(title, unit))
            self._place_plots()
            self._fill_plots()

    def _place_plots(self) -> None:
        columns = 2 if self._wide else 1
        for place, plot in enumerate(self._plots):
            self._plot_grid.addWidget(plot, place // columns, place % columns)
        for column in range(2):
            self._plot_grid.setColumnStretch(column, int(column < columns))

    def _fill_plots(self) -> None:
        if not self._plots or self._figures is None:
            return
        from desktop.windows.memory_pages.plots import Series

        days, currency = self._figures.days, self._figures.currency
        names = [day.day for day in days]

        def values(field: str) -> list[float]:
            return [getattr(day, field) for day in days]

        tokens = [float(day.input_tokens + day.output_tokens) for day in days]
        parts: list[tuple[list[Any], str, Callable[[Day], str]]] = [
            ([Series(tr("Messages"), "messages", values("messages"))], _sum(values("messages")), _day_messages),
            (
                [
                    Series(tr("Summaries"), "summaries", values("summaries")),
                    Series(tr("Archives"), "archives", values("archives")),
                ],
                _sum(values("summaries") + values("archives")),
                _day_summaries,
            ),
            ([Series(tr("Lessons"), "lessons", values("lessons"))], _sum(values("lessons")), _day_lessons),
            ([Series(tr("Tokens"), "tokens", tokens)], _sum(tokens), _day_tokens),
            (
                [Series(tr("Cost"), "money", values("money"))],
                self._cost(days, currency),
                lambda day: money(day.money, currency),
            ),
        ]
        for plot, (series, total, text) in zip(self._plots, parts, strict=False):  # some may still be to come
            plot.put(names, series, total, [f"{day.day}: {text(day)}" for day in days])

    @staticmethod
    def _cost(days: tuple[Day, ...], currency: str) -> str:
        unpriced = sum(day.unpriced for day in days)
        spent = sum(day.money for day in days)
        if not unpriced:
            return money(spent, currency)
        unknown = trn("{n} call of unknown price", "{n} calls of unknown price", unpriced)
        return f"{money(spent, currency)}, {unknown}" if spent else unknown

    def _show_models(self) -> None:
        clear(self._models)
        routes = self.engine.model_care.health()
        for one in routes:
            row = QWidget()
            line = spaced(QHBoxLayout(row), gap=2 * GRID)
            line.addWidget(QLabel(str(one.route)))
            line.addWidget(muted(join(one.reason, one.action) if one.reason else _model_state(one.state)), 1)
            self._models.addWidget(row)
        if not routes:
            self._models.addWidget(
                muted(tr("No model is set: summaries are put together from sentences of the conversation itself."))
            )

    def _show_use(self, standing: Any) -> None:
        day, limits = standing.day, standing.limits
        use = Use(day.calls, day.tokens, day.money, day.unpriced, day.free_calls, day.free_tokens)
        self._use.setText(usage_line(use, limits.tokens_per_day, limits.money_per_day, standing.currency))

    def _show_backlog(self, owed: Backlog) -> None:
        self._owed.setText(_owed_line(owed))
        self.summarise_all.setVisible(owed.conversations > 0)
        self._price_text.setText(_price_line(owed))
        if not owed.conversations:
            self._price.hide()

    def _ask_price(self) -> None:
        self._price.show()
        self.later.setFocus()

    def _summarise_all(self) -> None:
        self._price.hide()
        self.do("summarise all", self._summarised)

    async def _summarised(self) -> str:
        queued = await self.engine.summaries.summarise_backlog()
        return trn("{n} summary is being made", "{n} summaries are being made", queued)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= _WIDE
        if wide != self._wide:
            self._wide = wide
            self._place_plots()

    def release(self) -> None:
        """Before the window goes."""
        for plot in self._plots:
            plot.release()


async def _load_plots() -> Callable[[str, str], "DayBars"]:
    """A second or more of importing, beside everything else, in a thread that a quit need not wait for."""
    loop = asyncio.get_running_loop()
    loaded: asyncio.Future[Callable[[str, str], DayBars]] = loop.create_future()

    def tell(done: Callable[[Any], None], value: object) -> None:
        if not loaded.done():
            done(value)

    def told(done: Callable[[Any], None], value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, done, value)

    def load() -> None:
        try:
            module = importlib.import_module("desktop.windows.memory_pages.plots")
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            told(loaded.set_exception, error)
        else:
            told(loaded.set_result, module.DayBars)

    threading.Thread(target=load, name="plots", daemon=True).start()
    return await loaded


def _problem_card(problem: Problem) -> QFrame:
    frame = card()
    inside = spaced(QVBoxLayout(frame), GRID + GRID // 2, GRID // 2)
    inside.addWidget(strong(heard(problem.title)))
    inside.addWidget(paragraph(join(problem.message)))
    if problem.action:
        inside.addWidget(muted(join(problem.action)))
    return frame


def _sum(values: list[float]) -> str:
    return number(int(sum(values)))


def _day_messages(day: Day) -> str:
    return trn("{n} message", "{n} messages", day.messages)


def _day_summaries(day: Day) -> str:
    made = trn("{n} summary", "{n} summaries", day.summaries)
    return tr(", ").join([made, trn("{n} archive", "{n} archives", day.archives)]) if day.archives else made


def _day_lessons(day: Day) -> str:
    return trn("{n} lesson", "{n} lessons", day.lessons)


def _day_tokens(day: Day) -> str:
    calls = trn("{n} call", "{n} calls", day.calls)
    return tr(
        "{calls}, {sent} tokens sent, {received} received",
        calls=calls,
        sent=number(day.input_tokens),
        received=number(day.output_tokens),
    )


def _owed_line(owed: Backlog) -> str:
    if not owed.conversations:
        return tr("Everything that is recorded has its summary.")
    return trn(
        "{n} conversation is recorded and not wholly summarised.",
        "{n} conversations are recorded and not wholly summarised.",
        owed.conversations,
    )


def _price_line(owed: Backlog) -> str:
    tokens = number(owed.input_tokens + owed.output_tokens)
    work = trn("{n} call", "{n} calls", owed.calls)
    if owed.free:
        return tr(
            "Summarising all of it takes {work} and at most {tokens} tokens. It costs nothing.",
            work=work,
            tokens=tokens,
        )
    if owed.money is None:
        return tr(
            "Summarising all of it takes {work} and at most {tokens} tokens, of unknown price.",
            work=work,
            tokens=tokens,
        )
    return tr(
        "Summarising all of it takes {work} and at most {tokens} tokens, {price} at most.",
        work=work,
        tokens=tokens,
        price=money(owed.money, owed.currency),
    )


def _model_state(state: str) -> str:
    return tr("Answers") if state == "ready" else tr("Not asked yet since the start")
