"""What one setting is: its words, its bounds, and why a value is refused."""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from engine.policy.redact import redact

type Kind = Literal["bool", "int", "number", "str", "enum", "routes", "list[str]"]
type Group = Literal[
    "General",
    "Recording",
    "Agents",
    "Models",
    "Shelves",
    "Privacy",
    "Recall",
    "Budget",
    "Notifications",
    "Advanced",
]


@dataclass(frozen=True, slots=True)
class Setting:
    """One row. `live`: read at the next use; otherwise recording starts anew with it (engine.md 13).

    `low` and `high` bound a number, `low` the length of a list; `pattern` is that of a text, or of each text of a list,
    of which `example` shows one.
    """

    key: str
    kind: Kind
    default: Any
    group: Group
    label_en: str
    label_zh: str
    help_en: str
    help_zh: str
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    example: str = ""
    live: bool = True
    renamed_from: str = ""

    def bounds(self, *, chinese: bool = False) -> str:
        """What the value must be, as the end of "must be …"."""
        return _bounds_zh(self) if chinese else _bounds_en(self)

    def problem(self, value: object) -> str:
        """Why a value is refused, as the end of a sentence about the field; empty when it is right."""
        if self.kind == "routes":
            return routes_problem(value)
        right = {
            "bool": isinstance(value, bool),
            "int": isinstance(value, int) and not isinstance(value, bool) and self._within(value),
            "number": _is_number(value) and self._within(value),
            "str": isinstance(value, str) and re.fullmatch(self.pattern or r"[^\x00-\x1f]*", value) is not None,
            "enum": isinstance(value, str) and value in self.choices,
            "list[str]": isinstance(value, list)
            and len(value) >= (self.low or 0)
            and all(_filled(item) and re.fullmatch(self.pattern or ".+", item.strip()) for item in value),
        }[self.kind]
        return "" if right else f"must be {self.bounds()}, not {shown(value)}"

    def parse(self, text: str) -> Any:
        """The value that a text means, or the text where it means none; not for lists."""
        word = text.strip()
        match self.kind:
            case "bool":
                return _WORDS.get(word.lower(), word)
            case "int":
                return int(digits) if re.fullmatch(r"-?[0-9]+", digits := re.sub(r"[\s_]", "", word)) else word
            case "number":
                plain = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", digits := re.sub(r"[\s_]", "", word))
                return (float(digits) if "." in digits else int(digits)) if plain else word
            case "str":
                return text
            case _:
                return word

    def _within(self, value: float) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _bounds_en(row: Setting) -> str:
    match row.kind:
        case "bool":
            return "true or false"
        case "int" if row.high is None:
            return f"a whole number of at least {row.low}"
        case "int":
            return f"a whole number from {row.low} to {row.high}"
        case "number":
            return f"a number of at least {row.low}"
        case "str":
            return "a name without spaces" if row.pattern else "text on one line"
        case "enum":
            return "one of " + ", ".join(row.choices)
        case "routes":
            return "a list of models, each with provider and model, best first"
        case "list[str]":
            least = "a list of at least one text" if row.low else "a list of texts"
            return f"{least} such as {row.example}" if row.example else f"{least}, none of them blank"


def _bounds_zh(row: Setting) -> str:
    match row.kind:
        case "bool":
            return "true 或 false"
        case "int" if row.high is None:
            return f"不小于 {row.low} 的整数"
        case "int":
            return f"{row.low} 到 {row.high} 之间的整数"
        case "number":
            return f"不小于 {row.low} 的数"
        case "str":
            return "不含空格的名称" if row.pattern else "单行文本"
        case "enum":
            return "以下之一：" + "、".join(row.choices)
        case "routes":
            return "模型列表，每项含 provider 和 model，优先者在前"
        case "list[str]":
            least = "至少含一项的文本列表" if row.low else "文本列表"
            return f"{least}，例如 {row.example}" if row.example else f"{least}，不含空白项"


ROUTE_TEXTS = ("provider", "model", "reasoningEffort", "baseUrl", "api", "proxy")
ROUTE_LIMITS = ("maxTokensPerHour", "maxTokensPerDay", "maxCallsPerHour", "maxMoneyPerHour", "maxMoneyPerDay")
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.IGNORECASE)
_PROXY = re.compile(r"none|(https?|socks5h?)://[^\s/?#@]+/?", re.IGNORECASE)


def routes_problem(value: object) -> str:
    """Why a whole list of routes is refused; empty when every one of them is right."""
    if not isinstance(value, list):
        return f"must be a list of models, not {shown(value)}"
    for number, route in enumerate(value, 1):
        if problem := route_problem(route):
            return f"has a wrong entry {number}: {problem}"
    return ""


def route_problem(route: object) -> str:
    """Why one route is refused (engine.md 8.1); empty when it is right."""
    if not isinstance(route, dict):
        return "it must have a provider and a model"
    if unknown := [str(key) for key in route if key not in (*ROUTE_TEXTS, *ROUTE_LIMITS)]:
        return f"{unknown[0]} is not known here"
    for field in ROUTE_TEXTS:
        if field in route and not _filled(route[field]):
            return f"{field} must not be blank"
        if field in ("provider", "model") and field not in route:
            return f"{field} is missing"
        if redact(route.get(field, "")) != route.get(field, ""):
            return f"{field} holds what looks like a key; a key is entered in the Settings window or set as a variable"
    if "baseUrl" in route and not _URL.fullmatch(route["baseUrl"].strip()):
        return "baseUrl must be an http or https address without a name, password or question mark in it"
    if "api" in route and route["api"].strip() not in ("openai", "anthropic"):
        return "api must be openai or anthropic"
    if "proxy" in route and not _PROXY.fullmatch(route["proxy"].strip()):
        return "proxy must be none, or an http, https or socks5 address without a name or password in it"
    for field in ROUTE_LIMITS:
        whole = "Money" not in field
        if field in route and not (_is_number(value := route[field]) and value >= 0 and (value % 1 == 0 or not whole)):
            return f"{field} must be a {'whole ' if whole else ''}number of at least 0"
    return ""


def _filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def shown(value: object) -> str:
    """A refused value as a message shows it, without secrets and cut to 60 characters."""
    text = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else redact(repr(value))
    return text if len(text) <= 60 else text[:59] + "…"
