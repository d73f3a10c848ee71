"""A shelf of 100,000 messages: writing, searching by one and by four, opening, size and memory."""

import datetime
import itertools
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.processes import memory
from tests.shelf_server.child import Child

MESSAGES, BATCH, SESSION = 100_000, 500, 60
SINGLE, QUESTIONS, CALLERS = 1000, 200, 4
WORDS_OF_A_MESSAGE, WORDS_OF_A_QUESTION, STOPPED = 80, 6, 60
_FIRST = datetime.datetime(2024, 1, 1)
_CHINESE = "部署窗口时间备份数据库连接失败重试配置文件错误日志服务器版本升级测试接口缓存用户权限"


class Words:
    """Text whose words are as unevenly common as those of a language; every fifth message is Chinese in part."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        self._words = [f"w{number:x}" for number in range(60_000)]
        self._weights = list(itertools.accumulate(1 / (number + 2.7) for number in range(len(self._words))))

    def message(self) -> str:
        words = self._chance.choices(self._words, cum_weights=self._weights, k=WORDS_OF_A_MESSAGE)
        if self._chance.random() < 0.2:
            words[::4] = ["".join(self._chance.choices(_CHINESE, k=8)) for _ in words[::4]]
        return "[user] " + " ".join(words)

    def question(self) -> str:
        """Words of a message but the very common ones, which are stop words in a language."""
        asked: set[str] = set()
        while len(asked) < WORDS_OF_A_QUESTION:
            (word,) = self._chance.choices(self._words, cum_weights=self._weights)
            if int(word[1:], 16) >= STOPPED:
                asked.add(word)
        return " ".join(sorted(asked))


def large(scratch: Path) -> list[Figure]:
    """Write, close, open, ask."""
    home, words = scratch / "home", Words()
    child = Child(home)
    idle = memory(child.process.pid) if child.result("ping") == {} else 0
    rows = (row(number, words.message()) for number in range(MESSAGES))
    batched = timed(lambda: [take(child, batch) for batch in batches(rows)])
    single = []
    for number in range(SINGLE):
        arguments = {"name": f"msg-single-{number}", "data": words.message(), "tags": ["message"], "scopes": ["s"]}
        single.append(timed(lambda given=arguments: child.call("knowledge_create", embed=False, **given)))
    child.end()
    size = sum(file.stat().st_size for file in (home / "default").iterdir() if file.is_file())
    child = Child(home)
    opened = timed(lambda: child.call("knowledge_get", name="msg-single-1"))
    questions = [words.question() for _ in range(QUESTIONS)]
    alone = ask(child, questions)
    scoped = ask(child, questions, scopes=["project 7"], tags=["message"])
    used = memory(child.process.pid)
    child.end()
    return [
        Figure("entries on the large shelf", MESSAGES + SINGLE, ""),
        Figure("written in batches of 500", MESSAGES / batched, "/s"),
        Figure("written one by one", SINGLE / sum(single), "/s"),
        Figure("one written, P95", percentile(single, 95) * 1000, "ms"),
        Figure("files of the large shelf", size / 1e6, "MB"),
        Figure("start and first entry read from the large shelf", opened * 1000, "ms"),
        Figure("search, P50", percentile(alone, 50) * 1000, "ms"),
        Figure("search, P95", percentile(alone, 95) * 1000, "ms"),
        Figure("search in one project, P50", percentile(scoped, 50) * 1000, "ms"),
        Figure("search in one project, P95", percentile(scoped, 95) * 1000, "ms"),
        *four(home, questions),
        Figure("shelf server that has opened nothing, memory", idle / 1e6, "MB", "< 30"),
        Figure("shelf server after 400 searches, memory", used / 1e6, "MB"),
    ]


def four(home: Path, questions: list[str]) -> list[Figure]:
    children = [Child(home) for _ in range(CALLERS)]
    took: list[float] = []
    threads = [threading.Thread(target=lambda child=child: took.extend(ask(child, questions))) for child in children]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for child in children:
        child.end()
    return [
        Figure("search by four callers at once, P50", percentile(took, 50) * 1000, "ms"),
        Figure("search by four callers at once, P95", percentile(took, 95) * 1000, "ms"),
    ]


def ask(child: Child, questions: list[str], **narrowed: Any) -> list[float]:
    child.call("search", query="first", limit=1)
    return [timed(lambda q=question: child.call("search", query=q, limit=10, **narrowed)) for question in questions]


def row(number: int, text: str) -> dict[str, Any]:
    session, ordinal = divmod(number, SESSION)
    content = {"data": text, "tags": ["message"], "scopes": [f"project {session % 40}"], "embed": False}
    created = (_FIRST + datetime.timedelta(minutes=number)).isoformat(" ", "milliseconds")
    return {"name": f"msg-{session:08x}-{ordinal}", "content": content, "created_at": created}


def batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(itertools.islice(rows, BATCH)):
        yield batch


def take(child: Child, batch: list[dict[str, Any]]) -> None:
    answer = child.result("companion/import", {"shelf": "default", "knowledge": batch})
    assert answer["created"] == len(batch)


def timed(act: Any) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
