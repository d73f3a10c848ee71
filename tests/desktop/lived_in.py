"""A memory that was used for five weeks: real logs, a real shelf and real calls, moved back in time for pictures."""

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

from engine.app import Engine
from engine.ledger.calls import CallLog
from engine.ledger.history import History
from tests.desktop.living import write_settings
from tests.tools.dsh_logs import LogWriter

DAYS = 35
_HOUR = 3600
# Title, project folder, what the person and the agent said in turns.
TALKS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Why does the importer drop the last row?",
        "importer",
        (
            (
                "The importer drops the last row of every file. We decided that files without a newline at the end are"
                " valid, because the bank sends them so.",
                "The loop in read_rows() stops at the last newline. I changed it to yield the rest of the buffer and"
                " added a test with a file that ends without one.",
            ),
            (
                "Never trim the account number: leading zeros matter, because the bank compares it as text.",
                "Understood. The account number stays text in every step; I removed the int() call in accounts.py.",
            ),
        ),
    ),
    (
        "部署脚本改成蓝绿发布",
        "deploy",
        (
            (
                "我们决定用蓝绿发布，因为滚动发布时旧连接会断开。部署窗口是每周二上午九点。",
                "好的。deploy.sh 现在先启动绿色环境，健康检查通过后再切换流量，旧环境保留一小时。",
            ),
            (
                "不要在周五部署，因为周末没有人值班。",
                "明白。脚本在周五会直接退出，并说明原因；紧急情况可以用 --force。",
            ),
        ),
    ),
    (
        "Speed up the report query",
        "reports",
        (
            (
                "The monthly report takes forty seconds. We decided that it may be an hour old, because nobody looks at"
                " it more often.",
                "I made a materialised view that is refreshed every hour; the report now takes 300 ms.",
            ),
            (
                "Always run the refresh with CONCURRENTLY, because a plain refresh locks the readers out.",
                "Done: the view has a unique index, and the refresh runs concurrently.",
            ),
        ),
    ),
    (
        "Rename R&D labels everywhere",
        "importer",
        (
            (
                "The labels of R&D changed. We use the new ones everywhere but in archived exports, because auditors"
                " compare those byte by byte.",
                "I renamed them in the code and the templates; exports before May keep the old labels.",
            ),
        ),
    ),
    (
        "Flaky test of the scheduler",
        "deploy",
        (
            (
                "test_scheduler fails about once a week. Use the injected clock, because sleeping is what makes tests"
                " flaky.",
                "The test slept 50 ms and hoped. It now advances the injected clock, and 2,000 runs did not fail.",
            ),
        ),
    ),
)


def write_talks(sessions: Path, now: float) -> None:
    """The conversations, the first one said just now, the others before it."""
    for number, (title, project, turns) in enumerate(TALKS):
        log = LogWriter(sessions, f"session-{number}", f"/home/alex/code/{project}", seed=title)
        log.time = int((now - 600 - number * 5.5 * _HOUR) * 1000)
        log.title(title)
        for person, agent in turns:
            log.user(person)
            log.assistant(agent)
            log.end_turn()


async def lived_in(folder: Path, now: float) -> Engine:
    """An engine that has recorded and summarised the conversations; start it, and stop it in the end."""
    home = write_settings(folder)
    write_talks(folder / "dsh" / "sessions", now)
    engine = await Engine.open(home)
    await engine.answer("all")
    await engine.start(follow=False)
    await engine.catch_up(everything=True)
    await engine.drained()
    for row in await engine.sessions(50):
        await engine.summarise(row.session_id)
    await engine.drained()
    await _past(engine, now)
    await engine.refresh()
    return engine


async def _past(engine: Engine, now: float) -> None:
    """Five weeks of figures: messages, calls and older entries of the shelf."""
    chance = random.Random(5)
    history = History(engine._ledger)
    shelf = (await engine.recording.shelves())[0]
    entries: list[tuple[str, str]] = []
    for days_ago in range(DAYS - 1, 0, -1):
        day = date.today() - timedelta(days=days_ago)
        if day.weekday() == 6:
            continue
        busy = chance.uniform(0.3, 1.0) * (0.3 if day.weekday() == 5 else 1)
        await history.count_logged(None, "default", day.isoformat(), int(140 * busy))
        noon = now - days_ago * 24 * _HOUR
        for _ in range(int(9 * busy)):
            log = CallLog(engine._ledger, now=lambda noon=noon: noon)
            await _call(log, chance, noon)
        for number in range(int(7 * busy)):
            entries.append((f"sum-past-{days_ago}-{number}", day.isoformat()))
        for number in range(int(5 * busy * chance.random())):
            entries.append((f"wu-past-{days_ago}-{number:08}", day.isoformat()))
        if days_ago % 6 == 0:
            entries.append((f"sum2-{days_ago:012}", day.isoformat()))
    database = Path(shelf.path) / "hypatia.sqlite"
    with sqlite3.connect(database, timeout=20) as db:
        db.executemany(
            "INSERT INTO knowledge (name, content, created_at) VALUES (?, ?, ? || ' 11:00:00.000')",
            [(name, '{"data":"","tags":[]}', day) for name, day in entries],
        )
    db.close()


async def _call(log: CallLog, chance: random.Random, at: float) -> None:
    model = chance.choice(("deepseek-chat", "deepseek-chat", "qwen3:8b"))
    free = model == "qwen3:8b"
    sent, received = chance.randrange(2000, 14_000), chance.randrange(200, 1500)
    money = None if free else sent * 0.28e-6 + received * 0.42e-6
    provider, currency = ("ollama", "free") if free else ("deepseek", "USD")
    purpose = chance.choice(("memory-consolidation", "memory-consolidation", "memory-adjudication", "memory-cascade"))
    effort = "" if free else "high"
    seq = await log.begin(purpose, provider, model, effort, money=money, currency=currency)
    bad = chance.random() < 0.06
    await log.settle(
        seq,
        "error" if bad else "ok",
        chance.randrange(1500, 30_000),
        sent,
        0 if bad else received,
        0 if free else received // 2,
        "No answer within 120 s." if bad else "stop",
        money=money,
    )
