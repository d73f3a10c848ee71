"""The providers we know, as data: where they answer, which key they want, which efforts their models declare.

They speak OpenAI's chat completions or Anthropic's messages. An unknown id with a base URL is a server about which we
know nothing more. Level names are the provider's own, except that switching thinking off is called `off` everywhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

type Api = Literal["openai", "anthropic"]
type Fields = Mapping[str, Any]
type Levels = Mapping[str, Fields]
type Efforts = tuple[tuple[str, Levels], ...]


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. `efforts`: (pattern of model names, level -> request fields) rows, the first match counts.

    They are None where nobody can be asked. `messages_efforts` are those of the other API, where a provider has both.
    """

    id: str
    label: str
    base_url: str
    key_env: tuple[str, ...] = ()
    needs_key: bool = True
    efforts: Efforts | None = ()
    cap_field: str = "max_tokens"
    usage_option: bool = True
    api: Api = "openai"
    messages_efforts: Efforts | None = None

    @property
    def models_url(self) -> str:
        """Where the provider lists its models."""
        return f"{self.base_url}/models"


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


def _claude(*levels: str, off: Fields | None = None, asked: bool = False) -> Levels:
    """Effort levels of the messages API; `asked`: the model thinks only when it is told to."""
    thinking: Fields = {"thinking": {"type": "adaptive"}} if asked else {}
    named = {} if off is None else {"off": off}
    return named | {level: {**thinking, "output_config": {"effort": level}} for level in levels}


def _graded_messages(*levels: str) -> Levels:
    """As `_graded`, in the form of the messages API."""
    return {"off": _THINKING_OFF} | {level: {**_THINKING_ON, "output_config": {"effort": level}} for level in levels}


# A Qwen3 name with one of these words has one mode only.
_QWEN3_HYBRID = r"qwen3(?!.*(coder|instruct|thinking|embedding|rerank|-next|-vl)).*"

_GLM: Efforts = (
    (r"glm-5\.[3-9].*", _effort("low", "high", "max")),  # thinking cannot be switched off any more
    (r"glm-5\.2.*", _graded("high", "max")),
    (r"glm-(4\.[5-9]|5).*", _TYPE_SWITCH),
)
_KIMI: Efforts = ((r"kimi-k3.*", _effort("low", "high", "max")), (r"kimi-k2\.[5-9].*", _TYPE_SWITCH))

PROVIDERS: tuple[Provider, ...] = (
    Provider(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        key_env=("DEEPSEEK_API_KEY",),
        efforts=((r"deepseek-(v[4-9].*|flash|pro)", _graded("low", "high", "max")),),
        messages_efforts=((r"deepseek-(v[4-9].*|flash|pro)", _graded_messages("low", "high", "max")),),
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
        api="anthropic",
        efforts=(
            # The newest refuse to be told not to think, each in its own way.
            (r"claude-(opus-5-5|(fable|mythos)-5).*", _claude("low", "medium", "high", "xhigh", "max")),
            (
                r"claude-sonnet-5-5.*",
                _claude("low", "medium", "high", "xhigh", "max", off={"thinking": {"type": "between_tools"}}),
            ),
            (
                r"claude-(haiku-5-5|(opus|sonnet)-5).*",
                _claude("low", "medium", "high", "xhigh", "max", off=_THINKING_OFF),
            ),
            # The older think only when asked to.
            (r"claude-opus-4-[78].*", _claude("low", "medium", "high", "xhigh", "max", off={}, asked=True)),
            (r"claude-(sonnet|opus)-4-6.*", _claude("low", "medium", "high", "max", off={}, asked=True)),
            (r"claude-(3-7-sonnet.*|(sonnet|opus)-4(-[015])?(-20\d+)?)", _budget(low=1024, high=3000)),
            (r"claude-haiku-4.*", {"off": {}}),
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
        efforts=_GLM,
        usage_option=False,  # not a field of theirs; the last chunk has the usage anyway
    ),
    Provider(
        "zai",
        "Z.ai GLM",
        "https://api.z.ai/api/paas/v4",
        key_env=("ZAI_API_KEY",),
        efforts=_GLM,
        usage_option=False,
    ),
    Provider(
        "moonshot",
        "Moonshot Kimi",
        "https://api.moonshot.cn/v1",
        key_env=("MOONSHOT_API_KEY",),
        efforts=_KIMI,
    ),
    Provider(
        "moonshot-intl",
        "Moonshot Kimi (international)",
        "https://api.moonshot.ai/v1",
        key_env=("MOONSHOT_API_KEY",),
        efforts=_KIMI,
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
    Provider("custom", "Another server", "", key_env=("CUSTOM_API_KEY",), needs_key=False, efforts=None),
)

_BY_ID = {row.id: row for row in PROVIDERS}


def provider(provider_id: str) -> Provider:
    """The row of an id; for an unknown id a generic server without an address of its own."""
    known = _BY_ID.get(provider_id)
    if known is not None:
        return known
    return Provider(provider_id, provider_id, "", (_generic_variable(provider_id),), needs_key=False, efforts=None)


def key_variables(provider_id: str) -> tuple[str, ...]:
    """Environment variables that may hold the key, the first that is set counts."""
    return provider(provider_id).key_env


def declared(provider_id: str, model: str, api: Api | None = None) -> Levels | None:
    """Levels a model declares with the fields that send each; empty = none, None = nobody can be asked."""
    row = provider(provider_id)
    rows = row.efforts if api in (None, row.api) else row.messages_efforts
    if rows is None:
        return None
    for pattern, levels in rows:
        if re.fullmatch(pattern, model.strip(), re.IGNORECASE | re.ASCII):
            return levels
    return {}


def _generic_variable(provider_id: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", provider_id.upper()).strip("_") + "_API_KEY"
