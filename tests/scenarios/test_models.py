"""Real models on a loopback server: the next one per attempt, what the call log says, what a person can do then."""

import json
import signal
from pathlib import Path
from typing import Any

from tests.scenarios.program import Program, left_behind, until
from tests.tools.dsh_logs import LogWriter
from tests.tools.model_server import ModelServer, hang, ok, status, stop_halfway

REPLY = json.dumps(
    {
        "summary": "The team chose port 8443 for the heron service.",
        "workUnits": [
            {
                "title": "Heron listens on 8443",
                "content": "The heron service listens on port 8443 because 443 is taken.",
                "classification": "decision",
                "tags": ["ports"],
                "quotes": ["the heron uses port 8443"],
            }
        ],
    }
)
_FAST = {"queue_retryDelayMs": 100, "consolidation_minNewTokens": 500, "consolidation_checkEveryTurns": 1}


def talk(program: Program, session_id: str = "session-1", turns: int = 1) -> LogWriter:
    """A conversation long enough for a summary."""
    log = LogWriter(program.sessions, session_id)
    log.title("Ports of the heron")
    for turn in range(turns):
        log.user(f"Turn {turn}: which port does the heron use? " * 30)
        log.assistant(f"Turn {turn}: the heron uses port 8443, because 443 is taken. " * 30)
        log.end_turn()
    return log


def calls(program: Program) -> list[tuple[Any, ...]]:
    """Rows of the call log, oldest first."""
    return program.ledger("SELECT provider, model, outcome, output_tokens, detail FROM model_call ORDER BY seq")


def test_a_model_that_streams_makes_the_summary(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with ModelServer([ok(REPLY, pieces=40)]) as server:
        program.settings(**_FAST, consolidation_models=program.route(server.url))
        report = program.once()
        assert [request.body["model"] for request in server.requests] == ["model-0"]
        assert "which port does the heron use?" in server.requests[0].user
    assert report["model"] == {"calls": 1, "input_tokens": 11, "output_tokens": 7}
    assert (report["entries"]["sum"], report["entries"]["wu"]) == (1, 1)
    entries = program.shelf().entries.values()
    assert "The team chose port 8443 for the heron service." in [e["data"] for e in entries]
    assert calls(program) == [("lab0", "model-0", "ok", 7, "")]


def test_each_attempt_takes_the_next_route(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with (
        ModelServer([status(401, message="no such key")]) as refuses,
        ModelServer([hang("{")]) as hangs,
        ModelServer([stop_halfway(REPLY[:40])]) as stops,
        ModelServer([ok(REPLY)]) as works,
    ):
        urls = [server.url for server in (refuses, hangs, stops, works)]
        program.settings(
            **_FAST, consolidation_timeoutMs=1000, queue_maxAttempts=5, consolidation_models=program.route(*urls)
        )
        report = program.once()
        asked = [server.requests for server in (refuses, hangs, stops, works)]
        assert [len(requests) for requests in asked] == [1, 1, 1, 1]
        # Every model was given the same conversation.
        assert len({requests[0].user[-500:] for requests in asked}) == 1
    assert report["tasks"] == {"done": report["tasks"]["done"], "failed": 0, "pending": 0, "deferred": 0}
    assert [row[:3] for row in calls(program)] == [
        ("lab0", "model-0", "error"),
        ("lab1", "model-1", "incomplete"),
        ("lab2", "model-2", "incomplete"),
        ("lab3", "model-3", "ok"),
    ]
    details = [row[4] for row in calls(program)]
    assert "401" in details[0] and "no such key" in details[0]
    assert details[1] == "no answer within 1 s"
    assert details[2] == "the answer broke off"


def test_all_routes_fail_and_a_person_decides(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with ModelServer([status(500, message="out of order")]) as one, ModelServer([status(401)]) as two:
        program.settings(**_FAST, queue_maxAttempts=2, consolidation_models=program.route(one.url, two.url))
        report = program.once(code=1)
        assert report["tasks"]["failed"] == 1
        # Messages do not wait for a model.
        assert report["messages"]["logged"] == 2
        [task] = program.json("tasks", "list")
        assert (task["kind"], task["status"], task["attempts"]) == ("consolidate", "failed", 2)
        assert task["route"] == "lab1/model-1" and task["conversation"] == "Ports of the heron"
        assert "401" in task["error"] and task["action"]
        text = program.run("tasks", "list")
        assert all(part in text for part in (task["task_id"], "lab1/model-1", task["error"], task["action"]))
        state = program.json("status")
        assert (state["state"], state["failed"]) == ("attention", 1)
        # Not tried again by itself.
        program.once(code=1)
        assert (len(one.requests), len(two.requests)) == (1, 1)

    with ModelServer([ok(REPLY)]) as repaired:
        program.settings(**_FAST, consolidation_models=program.route(repaired.url))
        assert program.json("tasks", "retry", task["task_id"]) == {"done": [task["task_id"]], "missing": []}
        assert program.json("tasks", "retry", "nonsense", code=1) == {"done": [], "missing": ["nonsense"]}
        report = program.once()
        assert report["entries"]["sum"] == 1
        assert len(repaired.requests) == 1
    assert program.json("tasks", "list") == []


def test_a_failed_task_can_be_given_up(tmp_path: Path) -> None:
    program = Program(tmp_path)
    log = talk(program)
    with ModelServer([status(400, message="not like this")]) as server:
        program.settings(**_FAST, consolidation_models=program.route(server.url))
        program.once(code=1)
        assert len(server.requests) == 1  # asking the only model the same again is no use
        [task] = program.json("tasks", "list")
        assert program.json("tasks", "discard", "--all") == {"done": [task["task_id"]], "missing": []}
        assert program.json("tasks", "list") == []
        assert program.once()["tasks"]["failed"] == 0
        assert len(server.requests) == 1
    # What is said later is summarised as ever.
    with ModelServer([ok(REPLY)]) as server:
        program.settings(**_FAST, consolidation_models=program.route(server.url))
        log.user("And now? " * 200)
        log.assistant("Still 8443. " * 200)
        log.end_turn()
        assert program.once()["entries"]["sum"] == 1


def test_without_a_route_the_built_in_one_says_so(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    program.settings(**_FAST)
    report = program.once()
    assert report["model"]["calls"] == 0 and report["entries"]["sum"] == 1
    made = [e["data"] for e in program.shelf().entries.values() if "summary" in e["tags"] or "work-unit" in e["tags"]]
    assert made and all("without a model" in text.lower() or "no model" in text.lower() for text in made), made


def test_killed_during_a_call(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with ModelServer([hang(REPLY[:30]), ok(REPLY)]) as server:
        program.settings(**_FAST, consolidation_models=program.route(server.url))
        child = program.start("run", "--once", "--from", "all", "--json")
        assert server.arrived.acquire(timeout=30)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert left_behind(program.home) == []
        assert [row[2] for row in calls(program)] == ["pending"]
        program.once()
        # What was in flight stays as it is known: nobody can say whether it was paid.
        assert [row[2] for row in calls(program)] == ["pending", "ok"]
        assert len(server.requests) == 2
        assert program.ledger("SELECT * FROM reply") == []


def test_a_kept_reply_is_not_paid_twice(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    program.settings(**_FAST, consolidation_enabled=False)
    program.once()
    shelf = program.home / "shelves" / "default" / "hypatia.sqlite"
    away = shelf.with_name("elsewhere")

    def lose_the_shelf(_: object) -> Any:
        shelf.rename(away)
        return ok(REPLY)

    with ModelServer(lose_the_shelf) as server:
        program.settings(**_FAST, consolidation_models=program.route(server.url))
        with program.running() as child:
            until(lambda: program.ledger("SELECT * FROM reply"))
            child.kill()
            child.wait()
        away.rename(shelf)
        report = program.once()
        assert len(server.requests) == 1
        assert report["entries"]["sum"] == 1
    assert [row[2] for row in calls(program)] == ["ok"]
