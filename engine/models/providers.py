"""The providers we know, as data: where they answer, which key they want, which efforts their models declare.

All of them speak OpenAI's chat completions. An unknown id with a base URL is a server of that kind about which we know
nothing more. Level names are the provider's own, except that switching thinking off is called `off` everywhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

type Fields = Mapping[str, Any]
type Levels = Mapping[str, Fields]


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. `efforts`: (pattern of model names, level -> request fields) rows, the first match counts."""

    id: str
    label: str
    base_url: str
    key_env: tuple[str, ...] = ()
    needs_key: bool = True
    efforts: tuple[tuple[str, Levels], ...] = ()
    cap_field: str = "max_tokens"
    usage_option: bool = True


def _effort(*levels: str, off: str = "") -> Levels:
    """Levels sent as `reasoning_effort`; `off` is the provider's word for it."""
    named = {"off": off} if off else {}
    return {level: {"reasoning_effort": word} for level, word in {**named, **{name: name for name in levels}}.items()}


def _openrouter(*levels: str, off: bool = False) -> Levels:
    named = {"off": "none"} if off else {}
    return {level: {"reasoning": {"effort": word}} for level, word in {**named, **{n: n for n in levels}}.items()}


def _template(name: str) -> Levels:
    """A switch that the server hands to the model's chat template."""
    return {level: {"chat_template_kwargs": {name: level == "on"}} for level in ("off", "on")}


_THINKING_OFF: Fields = {"thinking": {"type": "disabled"}}
_THINKING_ON: Fields = {"thinking": {"type": "enabled"}}
_TYPE_SWITCH: Levels = {"off": _THINKING_OFF, "on": _THINKING_ON}
_ENABLE_SWITCH: Levels = {"off": {"enable_thinking": False}, "on": {"enable_thinking": True}}
_NONE: Levels = {}


def _graded(*levels: str) -> Levels:
    """A switch beside graded efforts: off disables thinking, a level enables it and says how much."""
    return {"off": _THINKING_OFF} | {level: {**_THINKING_ON, "reasoning_effort": level} for level in levels}


def _budget(**tokens: int) -> Levels:
    """Thinking with a token budget; stays below the 4000 tokens that the output cap adds for thinking."""
    on = {level: {"thinking": {"type": "enabled", "budget_tokens": count}} for level, count in tokens.items()}
    return {"off": {}, **on}


# A Qwen3 name with one of these words has one mode only.
_QWEN3_HYBRID = r"qwen3(?!.*(coder|instruct|thinking|embedding|rerank|-next|-vl)).*"

PROVIDERS: tuple[Provider, ...] = (
    Provider(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        key_env=("DEEPSEEK_API_KEY",),
        efforts=((r"deepseek-(v[4-9].*|flash|pro)", _graded("low", "high", "max")),),
    ),
    Provider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        key_env=("OPENAI_API_KEY",),
        cap_field="max_completion_tokens",
        efforts=(
            (r"gpt-5.*-chat.*", _NONE),
            (r"gpt-5(\.\d+)?-pro.*", _effort("high")),
            (r"gpt-5\.1.*", _effort("low", "medium", "high", off="none")),
            (r"gpt-5\.[2-9].*", _effort("low", "medium", "high", "xhigh", off="none")),
            (r"gpt-5(?!\.).*", _effort("minimal", "low", "medium", "high")),
            (r"o[134](-.*)?", _effort("low", "medium", "high")),
        ),
    ),
    Provider(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        key_env=("ANTHROPIC_API_KEY",),
        efforts=(
            # These think only when asked to. Newer ones refuse to be told not to, and a budget: nothing is sent there.
            (r"claude-(3-7-sonnet.*|(sonnet|opus)-4(-[015])?(-20\d+)?)", _budget(low=1024, high=3000)),
            (r"claude-((sonnet|opus)-4-[67]|haiku-4).*", {"off": {}}),
        ),
    ),
    Provider(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        efforts=(
            (r"(models/)?gemini-2\.5-flash.*", _effort("low", "medium", "high", off="none")),
            (r"(models/)?gemini-3(-pro).*", _effort("low", "high")),
            (r"(models/)?gemini-(2\.5-pro|3).*", _effort("low", "medium", "high")),
        ),
    ),
    Provider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        key_env=("OPENROUTER_API_KEY",),
        efforts=(
            # Where thinking is mandatory, `none` is refused: only models known to answer without it declare off.
            (
                r"anthropic/claude.*|deepseek/deepseek-(chat-)?v(3\.[12]|4).*|google/gemini-2\.5-flash.*"
                r"|moonshotai/kimi-k2\.[56].*|openai/gpt-5\.[1-9](?!.*(pro|chat)).*|z-ai/glm-(4\.[5-9]|5).*"
                rf"|qwen/{_QWEN3_HYBRID}",
                _openrouter("low", "medium", "high", off=True),
            ),
            (r".*", _openrouter("low", "medium", "high")),
        ),
    ),
    Provider(
        "dashscope",
        "Qwen (DashScope)",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_env=("DASHSCOPE_API_KEY",),
        efforts=((rf"qwen-(plus|flash|turbo).*|{_QWEN3_HYBRID}", _ENABLE_SWITCH),),
    ),
    Provider(
        "zhipu",
        "Zhipu GLM",
        "https://open.bigmodel.cn/api/paas/v4",
        key_env=("ZHIPUAI_API_KEY", "ZHIPU_API_KEY"),
        efforts=((r"glm-5\.[2-9].*", _graded("high", "max")), (r"glm-(4\.[5-9]|5).*", _TYPE_SWITCH)),
        usage_option=False,  # not a field of theirs; the last chunk has the usage anyway
    ),
    Provider(
        "zai",
        "Z.ai GLM",
        "https://api.z.ai/api/paas/v4",
        key_env=("ZAI_API_KEY",),
        efforts=((r"glm-5\.[2-9].*", _graded("high", "max")), (r"glm-(4\.[5-9]|5).*", _TYPE_SWITCH)),
        usage_option=False,
    ),
    Provider(
        "moonshot",
        "Moonshot Kimi",
        "https://api.moonshot.cn/v1",
        key_env=("MOONSHOT_API_KEY",),
        efforts=((r"kimi-k3.*", _effort("low", "high", "max")), (r"kimi-k2\.[5-9].*", _TYPE_SWITCH)),
    ),
    Provider(
        "siliconflow",
        "SiliconFlow",
        "https://api.siliconflow.cn/v1",
        key_env=("SILICONFLOW_API_KEY",),
        efforts=(
            (
                rf"(Pro/)?(Qwen/{_QWEN3_HYBRID}|zai-org/GLM-(4\.[5-9]|5).*|deepseek-ai/DeepSeek-V3\.[12].*"
                r"|tencent/Hunyuan-A13B.*)",
                _ENABLE_SWITCH,
            ),
        ),
    ),
    Provider(
        "ollama",
        "Ollama",
        "http://localhost:11434/v1",
        key_env=("OLLAMA_API_KEY",),
        needs_key=False,
        efforts=(
            (r"(.*/)?gpt-oss.*", _effort("low", "medium", "high")),
            (
                rf"(.*/)?({_QWEN3_HYBRID}|deepseek-(r1|v3\.[1-9]|v4).*|magistral.*|gemma4.*|glm-.*)",
                _effort("low", "medium", "high", off="none"),
            ),
            # Any other model accepts to be told not to think, and refuses to be told to.
            (r".*", _effort(off="none")),
        ),
    ),
    Provider(
        "lmstudio",
        "LM Studio",
        "http://localhost:1234/v1",
        needs_key=False,
        efforts=(
            (r".*gpt-oss.*", _effort("low", "medium", "high")),
            (r".*", _effort("low", "medium", "high", off="none")),
        ),
    ),
    Provider(
        "vllm",
        "vLLM",
        "http://localhost:8000/v1",
        key_env=("VLLM_API_KEY",),
        needs_key=False,
        efforts=(
            (r"(.*/)?gpt-oss.*", _effort("low", "medium", "high")),
            (rf"(.*/)?({_QWEN3_HYBRID}|glm-(4\.[5-9]|5).*)", _template("enable_thinking")),
            (r"(.*/)?deepseek-v(3\.[12]|4).*", _template("thinking")),
        ),
    ),
)

_BY_ID = {row.id: row for row in PROVIDERS}


def provider(provider_id: str) -> Provider:
    """The row of an id; for an unknown id a generic server without an address of its own."""
    known = _BY_ID.get(provider_id)
    return known or Provider(provider_id, provider_id, "", (_generic_variable(provider_id),), needs_key=False)


def key_variables(provider_id: str) -> tuple[str, ...]:
    """Environment variables that may hold the key, the first that is set counts."""
    return provider(provider_id).key_env


def declared(provider_id: str, model: str) -> Levels | None:
    """Levels a model declares with the fields that send each; empty = none, None = nobody can be asked."""
    row = _BY_ID.get(provider_id)
    if row is None:
        return None
    for pattern, levels in row.efforts:
        if re.fullmatch(pattern, model.strip(), re.IGNORECASE | re.ASCII):
            return levels
    return {}


def _generic_variable(provider_id: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", provider_id.upper()).strip("_") + "_API_KEY"
