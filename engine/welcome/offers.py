"""Models within reach, found without sending anything anywhere but to servers on this machine, and without any key."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.models.prices import known_prices
from engine.models.providers import PROVIDERS, key_variables, provider
from engine.views import ModelOffer

_LARGEST = 1_000_000
_DSH_NAMES = {"deepseek-official": "deepseek"}
_APIS = {"anthropic-messages": "anthropic", "openai-completions": "openai"}


def from_environment(env: Mapping[str, str]) -> list[ModelOffer]:
    """The cheapest model we know the price of, at each provider whose key the environment holds."""
    offers = []
    for one in PROVIDERS:
        name = next((name for name in one.key_env if env.get(name, "").strip()), "")
        if name and one.needs_key and (model := _cheapest(one.id)):
            offers.append(ModelOffer(one.id, one.label, model, "key", key_name=name))
    return offers


def _cheapest(provider_id: str) -> str:
    rows = [(row[1] + row[3], name) for row in known_prices(provider_id) if (name := _plain(row[0]))]
    return min(rows)[1] if rows else ""


def _plain(pattern: str) -> str:
    """The model name a pattern of the price table stands for, or nothing where it is none."""
    name = re.sub(r"\([^()]*\)\?", "", pattern.split("|")[-1]).replace("\\.", ".")
    return name if re.fullmatch(r"[\w.-]+", name) else ""


def from_dsh(home: Path, env: Mapping[str, str]) -> list[ModelOffer]:
    """The default model and the gateways of DSH's settings; its keys are neither read nor looked for, only named."""
    file = home / "settings.yaml"
    try:
        text = file.read_text("utf-8") if file.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError):
        return []
    values = dict(_scalars(text))
    offers = []
    default = {key: values.get(("agent-default-model", key), "") for key in ("provider", "model", "reasoningEffort")}
    gateways = {path[2] for path in values if path[:2] == ("llm-pi-ai", "providers") and len(path) > 3}
    if default["model"] and default["provider"] not in gateways:
        id_ = _DSH_NAMES.get(default["provider"], default["provider"])
        address = values.get(("llm-deepseek", "baseURL"), "") if id_ == "deepseek" else ""
        if provider(id_).base_url:
            offers.append(_offer(env, id_, default["model"], effort=default["reasoningEffort"], base_url=address))
    for name in sorted(gateways):
        place = ("llm-pi-ai", "providers", name)
        api = _APIS.get(values.get((*place, "api"), "openai-completions"), "")
        address = values.get((*place, "baseURL"), "")
        model = default["model"] if default["provider"] == name else values.get((*place, "models", "id"), "")
        if api and address and model:
            label = values.get((*place, "displayName"), name)
            offers.append(_offer(env, name, model, base_url=address, api=api, label=label))
    return offers


def _offer(
    env: Mapping[str, str],
    id_: str,
    model: str,
    *,
    base_url: str = "",
    api: str = "",
    effort: str = "",
    label: str = "",
) -> ModelOffer:
    names = key_variables(id_)
    has_key = any(env.get(name, "").strip() for name in names)
    return ModelOffer(id_, label or provider(id_).label, model, "dsh", base_url, api, effort, names[0], has_key)


def _scalars(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Path and value of the plain scalars in a simple YAML file; of a list the first item counts, the rest is left out.

    No YAML reader: what is written in another way is simply not offered.
    """
    path: list[tuple[int, str]] = []
    seen: set[tuple[str, ...]] = set()
    for line in text.splitlines():
        match = re.fullmatch(r"(\s*(?:- )?\s*)([\w.-]+):\s*(.*?)\s*", line)
        if match is None:
            continue
        indent, key, value = len(match[1]), match[2], match[3]
        while path and path[-1][0] >= indent:
            path.pop()
        path.append((indent, key))
        where = tuple(name for _, name in path)
        value = re.sub(r"\s+#.*$", "", value)
        if value.startswith("{") and value.endswith("}"):
            pairs = [part.partition(":") for part in value[1:-1].split(",")]
            found = [((*where, name.strip()), _bare(scalar)) for name, colon, scalar in pairs if colon]
        else:
            found = [(where, _bare(value))] if value and value[0] not in "{[&*|>!" else []
        for one, scalar in found:
            if one not in seen:
                seen.add(one)
                yield one, scalar


def _bare(value: str) -> str:
    return value.strip().strip("'\"")
