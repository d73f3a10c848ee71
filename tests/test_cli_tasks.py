"""What a person sees of failed attempts on the command line, and another model for the next one."""

from pathlib import Path

from tests.scenarios.program import Program
from tests.scenarios.test_models import REPLY, talk
from tests.test_cli import USAGE
from tests.tools.model_server import ModelServer, ok, status


def test_history_and_another_route(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with ModelServer([status(500, message="out of order")]) as one, ModelServer([ok(REPLY)]) as two:
        program.settings(
            queue_retryDelayMs=100,
            queue_maxAttempts=1,
            consolidation_minNewTokens=500,
            consolidation_checkEveryTurns=1,
            consolidation_models=program.route(one.url, two.url),
        )
        program.once(code=1)
        [task] = program.json("tasks", "list")
        [attempt] = task["history"]
        assert attempt["route"] == "lab0/model-0" and "500" in attempt["error"] and attempt["at"] > 0
        assert f"lab0/model-0 ({attempt['input_tokens']} + 0 tokens): " in program.run("tasks", "list")
        wrong = program.start("tasks", "retry", "--all", "--route", "model-7")
        _, said = wrong.communicate(timeout=60)
        assert wrong.returncode == 1 and "1: lab0/model-0, 2: lab1/model-1" in said
        assert program.json("tasks", "retry", "--all", "--kind", "cascade") == {"done": [], "missing": []}
        assert program.json("tasks", "retry", "--all", "--route", "model-1")["done"] == [task["task_id"]]
        program.once()
        assert (len(one.requests), len(two.requests)) == (1, 1)
    assert program.json("tasks", "list") == []


def test_route_is_for_retry_only(tmp_path: Path) -> None:
    with Program(tmp_path).start("tasks", "discard", "--all", "--route", "1") as child:
        child.communicate(timeout=60)
    assert child.returncode == USAGE
