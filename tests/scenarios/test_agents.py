"""Three agents in the real program: recorded transcripts, logs that grow, kills at any moment, switches and answers."""

import contextlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.sources.agents import BY_KEY
from tests.scenarios.program import DATA, Program, left_behind, until
from tests.sources.test_lines import EXPECTED, agent_messages
from tests.tools.dsh_logs import LogWriter
from tests.tools.transcripts import Claude, Codex

KILLS = 40


def wanted(key: str) -> list[str]:
    """What the fixtures of an agent say is to be recorded."""
    found: list[str] = []
    for case in EXPECTED[key].values():
        left_out = case.get("rolled_back_agent", [])
        found += [
            one if isinstance(one, str) else one["text"] + "\n[image]" * one.get("images", 0) for one in case["human"]
        ]
        found += [text for text in agent_messages(BY_KEY[key], case) if text not in left_out]
    return found


def test_every_fixture_of_three_agents_in_one_memory_and_once(tmp_path: Path) -> None:
    program = Program(tmp_path)
    shutil.copytree(DATA / "claude", program.claude)
    shutil.copytree(DATA / "codex", program.codex)
    program.add(DATA / "dsh" / "multi-turn")
    report = program.once()
    shelf = program.shelf()
    texts = Counter(message.text for message in shelf.messages() if not message.name.startswith("msg-session-"))
    assert texts == Counter(wanted("claude") + wanted("codex"))
    assert report["tasks"]["failed"] == 0 and report["messages"]["already"] == 0
    assert {message.name.split("-")[1] for message in shelf.messages()} == {"session", "claude", "codex"}
    assert program.once()["messages"] == {"logged": 0, "already": 0}
    assert program.shelf().picture() == shelf.picture()
    status = program.json("status")
    rows = {row["agent"]: row for row in status["sources"]}
    assert {key: (row["on"], row["unknown"]) for key, row in rows.items()} == {
        "dsh": (True, 0), "claude": (True, 0), "codex": (True, 0),
    }  # fmt: skip
    assert rows["claude"]["folders"] == [str(program.claude)] and rows["codex"]["messages"] == len(wanted("codex")) + 2
    assert set(program.ledger("SELECT agent FROM log_file")) == {("dsh",), ("claude",), ("codex",)}


class Growing:
    """A conversation whose bytes reach the disk in pieces."""

    def __init__(self, writer: Claude | Codex, chance: random.Random) -> None:
        self.writer, self._chance = writer, chance
        self.said: list[str] = []
        for turn in range(12):
            self._turn(turn)
        self._data = writer.take()

    def _turn(self, turn: int) -> None:
        question, answer = f"Question {turn} — 第{turn}问", f"Answer {turn}. " * 20
        writer = self.writer
        self.said += [question, answer.strip()]
        if isinstance(writer, Codex):
            writer.begin()
        writer.user(question)
        writer.tool("Read", "contents")
        writer.assistant(answer)
        if isinstance(writer, Codex):
            writer.end()

    def grow(self) -> bool:
        """Whether there was something left to write."""
        size = self._chance.choice((1, 7, 300, self._chance.randint(1, 4000)))
        piece, self._data = self._data[:size], self._data[size:]
        self.writer.append(piece)
        return bool(self._data)


def growing(program: Program, chance: random.Random) -> list[Growing]:
    first, second = "11111111-0000-4000-8000-00000000000{}", "01a22992-0000-7000-8000-00000000000{}"
    return [
        *(Growing(Claude(program.claude, first.format(n)), chance) for n in range(2)),
        *(Growing(Codex(program.codex, second.format(n)), chance) for n in range(2)),
    ]


def grow(logs: list[Growing], chance: random.Random) -> bool:
    """One more piece somewhere; whether anything is left."""
    one = chance.choice(logs)
    if not one.grow():
        logs.remove(one)
    return bool(logs)


def everything_once(program: Program, logs: list[Growing]) -> None:
    """Each message is there, under its number, and nothing else."""
    messages = program.shelf().messages()
    for one in logs:
        prefix = f"msg-{one.writer.session_id}-"
        found = {m.name: m.text.strip() for m in messages if m.name.startswith(prefix)}
        assert found == {f"{prefix}{number}": text for number, text in enumerate(one.said)}
    assert len(messages) == sum(len(one.said) for one in logs)


def test_logs_of_two_agents_grow_under_a_running_program(tmp_path: Path) -> None:
    program, chance = Program(tmp_path), random.Random(5)
    program.settings(queue_flushWindowMs=200)
    logs = growing(program, chance)
    left = list(logs)
    for folder in (program.claude / "projects", program.codex / "sessions"):
        folder.mkdir(parents=True)  # so that they are watched from the start: one that is made later is found by a look
    with program.running():
        while grow(left, chance):
            if chance.random() < 0.02:
                time.sleep(chance.uniform(0.0, 0.3))
        until(lambda: len(program.texts()) == sum(len(one.said) for one in logs))
        assert program.ask("status")["failed"] == 0
    everything_once(program, logs)


@pytest.mark.timeout(600)
def test_kills_while_two_agents_write_lose_and_double_nothing(tmp_path: Path) -> None:
    chance = random.Random(11)
    program = Program(tmp_path)
    program.settings(queue_flushWindowMs=100)
    logs = growing(program, chance)
    left, kills = list(logs), 0
    while left or kills < KILLS:
        child = program.start("run", "--from", "all", "--json")
        end = time.monotonic() + chance.uniform(0.2, 2.0)
        while time.monotonic() < end:
            if left:
                grow(left, chance)
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        kills += 1
        if kills >= KILLS:
            while left:
                grow(left, chance)
    assert left_behind(program.home) == []
    program.once()
    everything_once(program, logs)
    assert program.once()["messages"] == {"logged": 0, "already": 0}


def test_a_transcript_that_moves_between_reading_and_recording_is_recorded_whole(tmp_path: Path) -> None:
    """Its folder is renamed with the project's; a turn that was read while it went on is recorded where it lies now."""
    program = Program(tmp_path)
    talk = Claude(program.claude)
    for number in range(3):
        talk.user(f"question {number}")
        talk.assistant(f"answer {number}")
    talk.user("a turn that goes on")
    talk.write()
    with program.running() as child:
        until(lambda: len(program.texts()) == 6 and program.ledger("SELECT count(*) FROM message") == [(7,)])
        child.kill()
        child.wait()
    assert len(program.texts()) == 6
    for folder in ("-home-alex-code-renamed", "-elsewhere", talk.path.parent.name):
        moved = program.claude / "projects" / folder / talk.path.name
        moved.parent.mkdir(exist_ok=True)
        talk.path = talk.path.rename(moved)
        talk.assistant(f"goes on in {folder}", stop=None)
        talk.write()
        if folder == "-elsewhere":
            # Another file of the same conversation where it lay at first, as a resumption there leaves it.
            other = Claude(program.claude, start=talk.time)
            other.path = program.claude / "projects" / "-home-alex-code-demo2" / talk.path.name
            other.random.seed(99)
            other.user("said there")
            other.assistant("answered there")
            other.write()
        program.once()
        assert {"a turn that goes on", f"goes on in {folder}"} <= set(program.texts())
    said = [f"{role} {number}" for number in range(3) for role in ("question", "answer")]
    said += ["a turn that goes on", "goes on in -home-alex-code-renamed", "goes on in -elsewhere", "said there"]
    said += ["answered there", "goes on in -home-alex-code-demo"]
    assert sorted(program.texts()) == sorted(said)
    assert program.once()["messages"] == {"logged": 0, "already": 0}
    assert program.ledger("SELECT count(*) FROM log_file") == [(2,)]


def test_of_an_agent_found_after_the_answer_only_what_comes_counts(tmp_path: Path) -> None:
    """An update brings agents the person was not asked about: of them nothing older is recorded, until asked for."""
    program = Program(tmp_path)
    now = int(time.time() * 1000)
    old = LogWriter(program.sessions)
    old.user("of DSH")
    old.end_turn()
    program.once()
    # As a ledger of before is: it knows DSH alone.
    _sql(program, "DELETE FROM agent WHERE agent != 'dsh'")
    talk = Claude(program.claude, start=now - 100_000)
    talk.user("from before")
    talk.write()
    program.json("run", "--once")
    talk.time = int(time.time() * 1000) + 5000
    talk.user("from after")
    talk.write()
    program.json("run", "--once")
    assert sorted(program.texts()) == ["from after", "of DSH"]
    program.once()
    assert sorted(program.texts()) == ["from after", "from before", "of DSH"]


def _sql(program: Program, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(program.home / "ledger.sqlite")) as db:
        db.execute(statement)
        db.commit()


def test_an_agent_or_a_project_is_switched_off(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk, thread = Claude(program.claude), Codex(program.codex, cwd="/home/alex/private/x")
    thread.begin()
    for one in (talk, thread):
        one.user("hello")
        one.write()
    program.settings(sources_claude=False, sources_notRecorded=["/home/alex/private"])
    program.once()
    assert program.texts() == []
    program.settings()
    program.json("run", "--once")
    talk.time = int(time.time() * 1000) + 60_000
    talk.user("again")
    talk.write()
    program.json("run", "--once")
    assert program.texts() == ["again"]
    assert [row["on"] for row in program.json("status")["sources"]] == [True, True, True]


def test_a_switch_takes_effect_while_running(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.settings(sources_codex=False)
    with program.running():
        thread = Codex(program.codex)
        thread.begin()
        thread.user("while off")
        thread.write()
        program.ask("set", key="sources.codex", value=True)

        def since() -> Any:
            (row,) = [row for row in program.ask("status")["sources"] if row["agent"] == "codex"]
            return row["since"]

        until(since)
        thread.time = int(time.time() * 1000) + 1000
        thread.user("while on")
        thread.end()
        thread.write()
        until(lambda: program.texts() == ["while on"])


def test_a_format_that_moved_is_a_problem_of_the_status(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk = Claude(program.claude)
    talk.user("hello")
    talk.pending += b'{"type":"brand-new"}\n' * 50
    talk.write()
    program.once(code=None)
    (problem,) = program.json("status")["problems"]
    assert problem["title"] == "Claude Code writes its conversations otherwise" and "brand-new" in problem["message"]
    (row,) = [row for row in program.json("status")["sources"] if row["agent"] == "claude"]
    assert (row["unknown"], row["kinds"]) == (50, {"brand-new": 50})


def test_a_sparse_transcript_of_four_gigabytes_is_read_in_little_memory(tmp_path: Path) -> None:
    talk = Claude(tmp_path / "claude")
    talk.user("before the hole")
    talk.write()
    with talk.path.open("r+b") as file:
        file.truncate(4 << 30)
    talk.append(b"\n")
    talk.user("after the hole")
    talk.write()
    script = (
        "import sys; from pathlib import Path; from engine.sources.claude import CLAUDE\n"
        "(found,) = CLAUDE.discover(Path(sys.argv[1])).logs\n"
        "log = CLAUDE.open(found, None)\n"
        "texts = [e.data['content'][0]['text'] for e in log.read() if e.type == 'user/message']\n"
        "hidden = CLAUDE.hidden([found], 0, 1 << 40)\n"
        # Its own peak: the kernel's other figure remembers the large process it was started from.
        "peak = next(line for line in Path('/proc/self/status').read_text().splitlines() if line.startswith('VmHWM'))\n"
        "print(texts, log.status, hidden, peak.split()[1])"
    )
    program = Program(tmp_path / "p")
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "claude")],
        env=program.env, capture_output=True, text=True, timeout=170, check=True,
    )  # fmt: skip
    told, _, memory = done.stdout.strip().rpartition(" ")
    assert told == "['before the hole', 'after the hole'] partly set()"
    assert int(memory) < 200_000
