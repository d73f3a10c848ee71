"""Which route is asked (engine.md 8.1)."""

import math

import pytest

from engine.models.routes import Route, pick, sanitise

ROUTES = [Route("p", name) for name in "abcd"]


def test_mod_01_a_retry_goes_one_further_and_stays_on_the_last() -> None:
    assert [pick(ROUTES[:2], attempts) for attempts in (0, 0, 1, 5)] == [ROUTES[0], ROUTES[0], ROUTES[1], ROUTES[1]]


@pytest.mark.parametrize(("attempts", "index"), [(None, 0), (math.nan, 0), (math.inf, 0), (-3, 0), (1.9, 1)], ids=repr)
def test_mod_02_odd_attempts(attempts: float | None, index: int) -> None:
    assert pick(ROUTES, attempts) is ROUTES[index]


def test_mod_03_no_routes_no_route() -> None:
    assert pick([], 0) is None


def test_mod_04_the_fourth_of_four_routes_is_never_used_in_three_attempts() -> None:
    assert {pick(ROUTES, attempt) for attempt in range(3)} == set(ROUTES[:3])


def test_mod_05_blank_and_repeated_routes_are_left_out_with_a_warning_each() -> None:
    rows = [
        {"provider": "  ", "model": "m"},
        {"provider": "deepseek", "model": "m", "reasoningEffort": "low"},
        {"provider": " deepseek ", "model": "m ", "reasoningEffort": "high"},
        {"provider": "deepseek", "model": "m"},
        {"provider": "mine", "model": "x", "baseUrl": " http://localhost:8080/v1/ "},
        "nonsense",
    ]
    routes, warnings = sanitise(rows)
    assert routes == [
        Route("deepseek", "m", "low"),
        Route("mine", "x", "", "http://localhost:8080/v1"),
    ]
    assert warnings == [
        "Model 1 of the list has no provider or no model and is left out.",
        "deepseek/m is in the list twice; the first one counts.",
        "deepseek/m is in the list twice; the first one counts.",
        "Model 6 of the list has no provider or no model and is left out.",
    ]
    assert sanitise(None) == ([], []) and sanitise(7) == ([], [])
