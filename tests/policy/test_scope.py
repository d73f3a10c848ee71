"""The project label as a scope."""

import pytest

from engine.policy.scope import scope_name

CASES = [
    pytest.param("", "/", id="POL-38-empty"),
    pytest.param("a,b", "a_b", id="POL-38-comma"),
    pytest.param(" padded ", "padded", id="POL-38-padded"),
    pytest.param(" , ", "_", id="POL-38-only-comma"),
    pytest.param(None, "/", id="POL-38-none"),
    pytest.param("\ufeffx", "\ufeffx", id="POL-39-bom-kept"),
    pytest.param("x\u0085", "x", id="POL-39-next-line-removed"),
    pytest.param("\u00a0", "/", id="POL-39-only-no-break-space"),
    pytest.param("项目\u3000", "项目", id="ideographic-space"),
    pytest.param("clone-ghp_abcdefgh12345678", "clone-[REDACTED:secret:github]", id="secret"),
    pytest.param("password, token and secret", "password_ token and secret", id="only-words"),
]


@pytest.mark.parametrize(("name", "expected"), CASES)
def test_scope_name(name: str | None, expected: str) -> None:
    assert scope_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), CASES)
def test_pol_40_twice_is_once(name: str | None, expected: str) -> None:
    assert scope_name(scope_name(name)) == expected
