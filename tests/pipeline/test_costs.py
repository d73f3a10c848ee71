"""What summaries cost, against an arithmetic that knows only the texts (engine.md 7.2 to 7.4)."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.collector.triggers import Thresholds
from engine.models.routes import Route
from engine.pipeline.on_demand import summarise_file
from engine.pipeline.prompts import SYSTEM, extraction
from tests.tools.dsh_logs import START_MS, LogWriter
from tests.tools.memory import Memory, memory
from tests.tools.model_server import Behaviour, ModelServer, Request, ok

TURNS, TOKENS = 5, 3000  # as the settings have it
LEAST_REST = 200
WORDS = (
    "harbour",
    "crane",
    "tide",
    "rope",
    "winch",
    "buoy",
    "anchor",
    "ballast",
    "mooring",
    "pilot",
    "lantern",
    "gull",
)


@dataclass
class Turn:
    """One turn as it was written: the lines a model may see, the tokens that count, and all that the agent read."""

    lines: list[str] = field(default_factory=list)
    tokens: int = 0
    transcript_tokens: int = 0

    def says(self, role: str, text: str) -> None:
        self.lines.append(f"{role}: {text}")
        if role != "T":
            self.tokens += -(-len(text) // 4)
            self.transcript_tokens += -(-len(text) // 4)


@dataclass(frozen=True)
class Cost:
    """Calls and input tokens, and the tokens of the conversations themselves with what their tools put out."""

    calls: int
    input_tokens: int
    transcript_tokens: int


def talk(log: LogWriter, turns: int, chance: random.Random) -> Iterator[Turn]:
    """A working session: each turn asks, reads a few files, and answers."""

    def words(least: int, most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(least, most)))

    for _ in range(turns):
        turn = Turn()
        text = words(20, 80)
        log.user(text)
        turn.says("U", text)
        for _ in range(chance.randint(2, 5)):
            output = words(200, 900)
            log.tool("read", {"file_path": "notes"}, output)
            turn.says("T", "read ✅")
            turn.transcript_tokens += -(-len(output) // 4)
        text = words(40, 160)
        log.assistant(text)
        turn.says("A", text)
        log.close_turn()
        yield turn
    log.frame()


def spans(turns: list[Turn]) -> Iterator[list[Turn]]:
    """After at least so many turns and tokens, and what is left when the conversation ends, if it is worth it."""
    span: list[Turn] = []
    for turn in turns:
        span.append(turn)
        if len(span) >= TURNS and sum(one.tokens for one in span) >= TOKENS:
            yield span
            span = []
    if span and sum(one.tokens for one in span) >= LEAST_REST:
        yield span


def questions(span: list[Turn], budget: int) -> Iterator[str]:
    """What is read at a time: whole lines, oldest first, as many as fit into so many characters."""
    lines = [line for turn in span for line in turn.lines]
    while lines:
        fit = used = 0
        while fit < len(lines) and (used := used + len(lines[fit]) + 1) <= budget:
            fit += 1
        text = "\n".join(lines[:fit])
        if lines[fit:]:
            text += f"\n[{len(lines) - fit} later entries are left for the next summary]"
        if any(not line.startswith("T:") for line in lines[:fit]):
            yield text
        lines = lines[fit:]


def reckon(sessions: list[list[Turn]], max_input: int) -> Cost:
    calls = tokens = 0
    for turns in sessions:
        for span in spans(turns):
            for text in questions(span, 4 * max_input):
                calls += 1
                tokens += -(-len(SYSTEM) // 4) + -(-len(extraction(text, 3)) // 4)
    return Cost(calls, tokens, sum(turn.transcript_tokens for turns in sessions for turn in turns))


class Model:
    """Answers shortly, counts nothing, and remembers the longest transcript it was shown."""

    longest = 0

    def __call__(self, request: Request) -> Behaviour:
        self.longest = max(self.longest, len(request.user.split("<transcript>\n")[1].split("\n</transcript>")[0]))
        return ok(json.dumps({"summary": "- work went on", "workUnits": []}), tokens={"completion_tokens": 9})


async def work(m: Memory, count: int, messages: int) -> list[list[Turn]]:
    """So many sessions of so many messages, recorded and summarised to the end."""
    chance = random.Random(3)
    sessions = []
    for number in range(count):
        log = m.log(f"session-{number:03}", start=START_MS + number * 10_000_000)
        sessions.append(list(talk(log, messages // 2, chance)))
    await m.settle()
    for number in range(count):
        await summarise_file(m.context, f"session-{number:03}", 4, LEAST_REST)
    await m.queue.drained()
    return sessions


async def measure(folder: Path, count: int, messages: int, max_input: int) -> tuple[Cost, Cost]:
    """(by arithmetic, as it was); prints both."""
    model = Model()
    with ModelServer(model) as server:
        async with memory(
            folder,
            routes=[Route("lmstudio", "m", "", server.url)],
            thresholds=Thresholds(TURNS, TOKENS),
            max_input_tokens=max_input,
            archive=False,
        ) as m:
            sessions = await work(m, count, messages)
            assert await m.statuses() == {}
            totals = await m.calls.totals(0)
    assert model.longest <= 4 * max_input + 80  # the note about what is left
    reckoned = reckon(sessions, max_input)
    made = Cost(totals.calls, totals.input_tokens, reckoned.transcript_tokens)
    print(f"{count} sessions, {count * messages} messages: reckoned {reckoned}, made {made}")
    print(f"input of summaries / transcript: {made.input_tokens / made.transcript_tokens:.1%}")
    return reckoned, made


@pytest.mark.parametrize(
    ("max_input", "several"),
    [pytest.param(16_000, False, id="spans fit"), pytest.param(1_000, True, id="spans do not")],
)
async def test_calls_and_tokens_are_those_of_the_arithmetic(tmp_path: Path, max_input: int, several: bool) -> None:
    reckoned, made = await measure(tmp_path, 3, 60, max_input)
    assert made == reckoned
    assert (made.calls > 20) is several  # some nine spans, each read at once or in pieces
    assert made.input_tokens <= 0.15 * made.transcript_tokens
