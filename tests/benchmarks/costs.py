"""What summaries cost: calls and tokens of a hundred sessions, by arithmetic and as they were."""

import asyncio
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.pipeline.test_costs import measure

SESSIONS, MESSAGES, MAX_INPUT = 100, 200, 16_000


def costs(scratch: Path) -> list[Figure]:
    """100 sessions of 200 messages each, recorded and summarised by a scripted model."""
    reckoned, made = asyncio.run(measure(scratch, SESSIONS, MESSAGES, MAX_INPUT))
    of = f"{SESSIONS} sessions, {SESSIONS * MESSAGES} messages"
    return [
        Figure(f"model calls for {of}", made.calls, "calls", f"{reckoned.calls}, by arithmetic"),
        Figure("their input tokens", made.input_tokens, "tokens", f"{reckoned.input_tokens}, by arithmetic"),
        Figure("tokens of these conversations", made.transcript_tokens, "tokens"),
        Figure("input of summaries", 100 * made.input_tokens / made.transcript_tokens, "%", "15 at most"),
    ]
