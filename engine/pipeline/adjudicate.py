"""How a new work unit stands to what the shelf already holds (engine.md 7.9)."""

import json
import logging
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from engine.errors import TaskError
from engine.models.cues import STOP_WORDS
from engine.pipeline import prompts
from engine.pipeline.asking import ask
from engine.pipeline.context import Context
from engine.pipeline.queue import Task
from engine.pipeline.reply import UnitDraft, Verdict, parse_verdict
from engine.policy.redact import redact
from engine.policy.text import utf16_cut
from engine.shelf.errors import ToolError
from engine.shelf.names import operational

log = logging.getLogger(__name__)

JUDGED = 3
BASE_CAP = 1024
QUERY_CHARS, UNIT_CHARS, ENTRY_CHARS = 500, 1000, 300
OVERSAMPLE, MOST = 4, 40
MOST_BY_WORDS = 200  # where the log layer, which holds the same words, cannot be left out of a search
QUERY_WORDS = 12
NEAR = 0.4  # share of common words from which on two texts without a distance may say the same
OPERATIONAL = ["message", "session", "hypatia-dream-run", "summary"]
_TERM = re.compile("[a-z0-9_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may say the same."""

    name: str
    body: str


async def adjudicate(context: Context, task: Task, unit: UnitDraft, name: str) -> Verdict:
    """The verdict on a unit that would be stored under `name`; in doubt it is unrelated to everything.

    What a model does not answer costs the link, never the unit; without room in the budget the task waits.
    """
    if not context.options().adjudicate or not context.options().routes or await context.writer.exists(name):
        return Verdict()
    found = await candidates(context, unit, name, task.project)
    if not found:
        return Verdict()
    known = frozenset(candidate.name for candidate in found)
    entries = [(c.name, utf16_cut(" ".join(redact(c.body).split()), ENTRY_CHARS)) for c in found]
    try:
        reply = await ask(
            context,
            task,
            "memory-adjudication",
            prompts.adjudication(unit.title, utf16_cut(unit.content, UNIT_CHARS), entries),
            lambda text: parse_verdict(text, known) is not None,
            BASE_CAP,
        )
    except TaskError as error:
        log.warning("a work unit is stored without comparing it: %s", error)
        return Verdict()
    return (parse_verdict(reply.text, known) if reply is not None else None) or Verdict()


async def candidates(context: Context, unit: UnitDraft, name: str, project: str) -> list[Candidate]:
    """Entries of this project, or of all, that are near the unit, nearest first; by words where meaning is not known.

    Another project's entries are never judged: a repetition of one would be lost to this project.
    """
    text = utf16_cut(f"{unit.title}\n{unit.content}", QUERY_CHARS)
    try:
        return _by_meaning(await _similar(context, text, project), name, project, context.options().dedup_distance)
    except ToolError as error:
        log.info("similar entries are looked for by words: %s", error.message)
    words = " OR ".join(_query(unit))
    if not words:
        return []
    try:
        return _by_words(await _matching(context, words, project), text, name, project)
    except ToolError as error:
        log.warning("entries like a new work unit cannot be looked for: %s", error.message)
        return []


async def _similar(context: Context, text: str, project: str) -> list[dict[str, Any]]:
    wanted = context.options().dedup_candidates
    arguments: dict[str, Any] = {"query": text, "target": "knowledge", "shelf": context.shelf}
    if "similar_filters" in context.features():
        here = ["$contains", "scopes", f"${project}" if project.startswith("$") else project]
        where = ["$or", here, ["$contains", "scopes", ""]]
        arguments |= {"limit": wanted, "exclude_tags": OPERATIONAL, "where": where}
    else:
        arguments["limit"] = min(OVERSAMPLE * wanted, MOST)
    return _rows(await context.call_shelf("similar", arguments))


async def _matching(context: Context, words: str, project: str) -> list[dict[str, Any]]:
    arguments: dict[str, Any] = {"query": words, "catalog": "knowledge", "shelf": context.shelf}
    if "search_filters" in context.features():
        arguments |= {"limit": MOST, "exclude_tags": OPERATIONAL, "scopes": [project, ""]}
    else:
        arguments["limit"] = MOST_BY_WORDS
    return _rows(await context.call_shelf("search", arguments))


def _by_meaning(rows: list[dict[str, Any]], name: str, project: str, ceiling: float) -> list[Candidate]:
    found = []
    for row in rows:
        distance = row.get("distance")
        far = isinstance(distance, int | float) and distance > ceiling
        if not far and (candidate := _candidate(row, name, project)) is not None:
            found.append(candidate)
    return found[:JUDGED]


def _by_words(rows: list[dict[str, Any]], text: str, name: str, project: str) -> list[Candidate]:
    terms, found = _terms(text), []
    for row in rows:
        if (candidate := _candidate(row, name, project)) is not None:
            others = _terms(f"{candidate.name}\n{candidate.body}")
            shared = len(terms & others) / max(1, min(len(terms), len(others)))
            if shared >= NEAR:
                found.append((-shared, candidate.name, candidate))
    # Not in the server's order, which what else is on the shelf may change.
    return [candidate for _, _, candidate in sorted(found, key=lambda item: item[:2])[:JUDGED]]


def _candidate(row: dict[str, Any], own: str, project: str) -> Candidate | None:
    """The entry of a row, if it is knowledge of this project or of all, and not the unit itself."""
    name, content = row.get("name", row.get("key")), row.get("content")
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return None
    if not isinstance(name, str) or not isinstance(content, dict) or name == own:
        return None
    scopes = content.get("scopes") or [""]
    if operational(name, content.get("tags") or []) or not {project, ""} & set(scopes):
        return None
    return Candidate(name, str(content.get("data", "")))


def _rows(answered: dict[str, Any]) -> list[dict[str, Any]]:
    rows = answered.get("rows")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _terms(text: str) -> set[str]:
    """Words that carry content; ideographs by neighbouring pairs."""
    return set(_words(text))


def _query(unit: UnitDraft) -> list[str]:
    """The first words of a unit, its title's before those of its content."""
    return list(dict.fromkeys(_words(f"{unit.title}\n{unit.content}")))[:QUERY_WORDS]


def _words(text: str) -> list[str]:
    words: list[str] = []
    for word in _TERM.findall(unicodedata.normalize("NFKC", text).casefold()):
        if word.isascii():
            words += [word] if word not in STOP_WORDS else []
        else:
            words += [word[i : i + 2] for i in range(len(word) - 1)]
    return words
