"""Sentences made from the engine's plain values."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from desktop.i18n import heard, number, tr, trn
from engine.views import (
    Backlog,
    FailedTask,
    Found,
    ModelOffer,
    Proposal,
    ReviewItem,
    ReviewKind,
    SessionRow,
    State,
    Status,
    SummariseResult,
)

MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Use:
    """What models used in a time; `calls`, `tokens` and `money` without the free ones, `unpriced` of unknown price."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    unpriced: int = 0
    free_calls: int = 0
    free_tokens: int = 0


def money(amount: float, currency: str) -> str:
    """Two significant digits, whole units from 10 on, and the currency."""
    if not amount:
        return f"0 {currency}"
    digits = max(0, 1 - math.floor(math.log10(abs(amount))))
    return f"{amount:,.{digits}f} {currency}".replace(",", "\u202f")


def usage_line(day: Use, tokens_limit: int, money_limit: float, currency: str) -> str:
    """What models used today, and the limits where there are some; 0 is no limit."""
    parts = []
    if day.calls or not day.free_calls:
        cost = money(day.money, currency) if day.money or not day.unpriced else ""
        unknown = trn("{n} call of unknown price", "{n} calls of unknown price", day.unpriced) if day.unpriced else ""
        used = (trn("{n} call", "{n} calls", day.calls), trn("{n} token", "{n} tokens", day.tokens), cost, unknown)
        parts.append(tr("Used today: {what}", what=_listed(used)))
    if day.free_calls:
        free = (trn("{n} call", "{n} calls", day.free_calls), trn("{n} token", "{n} tokens", day.free_tokens))
        parts.append(tr("Free of charge today: {what}", what=_listed(free)))
    tokens = trn("{n} token", "{n} tokens", tokens_limit) if tokens_limit else ""
    if limits := _listed((tokens, money(money_limit, currency) if money_limit else "")):
        parts.append(tr("Limit for a day: {what}", what=limits))
    return "\n".join(parts)


def _listed(parts: Iterable[str]) -> str:
    return tr(", ").join(part for part in parts if part)


def size(count: int) -> str:
    """Bytes as a person reads them, in powers of ten: `340 MB`."""
    value = float(count)
    units = iter(("B", "kB", "MB", "GB"))
    unit = next(units)
    while value >= 1000 and (larger := next(units, "")):
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"


def moment(when: float) -> str:
    """The full local date and time of epoch seconds."""
    return f"{datetime.fromtimestamp(when):%Y-%m-%d %H:%M}"


def ago(when: float, now: float) -> str:
    """Relative within a day, else the date (look.md). Both in epoch seconds."""
    passed = now - when
    if passed < MINUTE:
        return tr("just now")
    if passed < HOUR:
        return tr("{n} min ago", n=int(passed // MINUTE))
    if passed < DAY:
        return tr("{n} h ago", n=int(passed // HOUR))
    return moment(when)


def tomorrow(now: float) -> float:
    """Six in the morning of the next day, local time: when a pause `until tomorrow` ends."""
    day = datetime.fromtimestamp(now) + timedelta(days=1)
    return day.replace(hour=6, minute=0, second=0, microsecond=0).timestamp()


def state_line(status: Status, now: float) -> str:
    """One line on what is going on."""
    if not status.answered:
        return tr("Not recording yet: one question is open")
    if status.state is State.PAUSED:
        if status.paused_until:
            clock = moment(status.paused_until)
            same_day = clock[:10] == moment(now)[:10]
            return tr("Paused until {time}", time=clock[11:] if same_day else clock)
        return tr("Paused until you resume")
    if status.state is State.ATTENTION and status.failed:
        return trn("{n} failed task waits for you", "{n} failed tasks wait for you", status.failed)
    if status.state in (State.ATTENTION, State.DEGRADED):
        if status.problems:
            return tr("Needs attention: {what}", what=heard(status.problems[0].title))
        return tr("Needs attention")
    if status.state is State.WORKING:
        if status.pending:
            return trn("Working: {n} task left", "Working: {n} tasks left", status.pending)
        return tr("Working")
    return tr("Up to date")


def tooltip(status: Status, now: float) -> str:
    """Shelf, logged today, spend today, waiting for you (architecture.md 7)."""
    lines = ["Hypatia Companion", state_line(status, now)]
    if status.shelf:
        lines.append(tr("Shelf: {name}", name=status.shelf))
    lines.append(trn("{n} message recorded today", "{n} messages recorded today", status.logged_today))
    lines.append(trn("{n} model token used today", "{n} model tokens used today", status.tokens_today))
    lines.append(tr("Waiting for you: {n}", n=number(waiting(status))))
    return "\n".join(lines)


def waiting(status: Status) -> int:
    """How many things wait for a person: what stands in Review, and the first question while it is open."""
    return status.waiting + (not status.answered)


def server_name(server: str) -> str:
    """What holds the shelf, in a person's words."""
    return tr("built-in shelf") if server == "built-in" else "Hypatia"


def session_title(row: SessionRow) -> str:
    """A conversation in a menu: its title, shortened, and its project."""
    title = row.title or row.session_id[:8]
    if len(title) > 44:
        title = title[:43] + "…"
    return f"{title} · {row.project}" if row.project else title


def task_title(task: FailedTask) -> str:
    """What a failed task was to make."""
    name = task.conversation or task.session_id[:8]
    match task.kind:
        case "log-message":
            return tr("Recording of “{name}”", name=name)
        case "session-node":
            return tr("Shelf entry of “{name}”", name=name)
        case "consolidate":
            return tr("Summary of “{name}”", name=name)
        case "cascade":
            return tr("Archive of “{name}”", name=name)
    return tr("Work on “{name}”", name=name)


def kind_name(kind: ReviewKind) -> str:
    """What an item in Review is about."""
    return {
        ReviewKind.TASK: tr("Failed task"),
        ReviewKind.MEMORY: tr("Memory"),
        ReviewKind.SHELF: tr("Shelf"),
        ReviewKind.MODEL: tr("Model"),
        ReviewKind.BUDGET: tr("Budget"),
        ReviewKind.LOG: tr("Conversation that cannot be read"),
        ReviewKind.OTHER: tr("Program"),
    }[kind]


def item_title(item: ReviewItem) -> str:
    """What waits: what a task was to make, a conversation's own title, or what the engine says."""
    if item.task is not None:
        return task_title(item.task)
    return item.title if item.kind in (ReviewKind.LOG, ReviewKind.MEMORY) else heard(item.title)


def proposal_words(proposal: Proposal) -> str:
    """Why an agent's statement waits for the person."""
    why = {
        "rule": tr("{agent} wants this to be a rule. It becomes one only if you accept it.", agent=proposal.agent),
        "reach": tr("{agent} wants this to hold in all projects.", agent=proposal.agent),
    }
    unfiled = tr(
        "{agent} said this, and its project is not known. Accept it for the one it is about.", agent=proposal.agent
    )
    return why.get(proposal.why, unfiled)


def found_line(found: Found) -> str:
    """What there is in one place."""
    text = trn("{n} conversation, {size}", "{n} conversations, {size}", found.sessions, size=size(found.bytes))
    line = tr("{source}: {what} in {folder}", source=found.source, what=text, folder=found.folder)
    week, month = number(found.last_7_days), number(found.last_30_days)
    return f"{line}\n{tr('{week} of them in the last 7 days, {month} in the last 30 days', week=week, month=month)}"


def cost_words(cost: Backlog) -> str:
    """What work costs at most."""
    if cost.free:
        return tr("free of charge")
    return tr("unknown price") if cost.money is None else tr("at most {money}", money=money(cost.money, cost.currency))


def offer_words(offer: ModelOffer) -> str:
    """Where a model is, and what it still needs."""
    if offer.source == "local":
        return tr("Runs on this computer; nothing is sent away.")
    if offer.source == "key":
        return tr("The key in {name} is used.", name=offer.key_name)
    if offer.has_key:
        return tr("From DSH's settings; the key in {name} is used.", name=offer.key_name)
    return tr("From DSH's settings, without its key; enter one under Settings, Models.")


def summarise_sentence(result: SummariseResult) -> str:
    """What *Summarise now* did (engine.md 11.1)."""
    if result.queued:
        return tr("The summary is being made")
    reasons = {
        "empty": tr("Everything in this conversation is summarised already"),
        "busy": tr("This conversation is being summarised already"),
        "disabled": tr("Summaries are switched off in Settings"),
        "unavailable": tr("No summary can be made now: the shelf does not answer"),
        "unknown-session": tr("This conversation is not known any more"),
    }
    return reasons.get(result.reason, result.reason)
