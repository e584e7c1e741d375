"""Real models for a rebuilt agent, by the provider that the trace names. Keys come from the environment.

Most providers speak OpenAI's chat completions, so that is what a provider is asked in that is not known by name: at the
place that ``OPENAI_BASE_URL`` says. One that has a place of its own is asked there, with its own key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Final, Literal, NamedTuple

from runtime.errors import ModelError, ModelSetupError
from runtime.messages import Call, Json, Request
from runtime.models import AnthropicModel, Model, OpenAIModel, Reply


class Place(NamedTuple):
    """Where a provider is asked."""

    protocol: Literal["openai", "anthropic"]
    base_url: str | None
    """None where the protocol's SDK knows it."""
    api_key_env: str


_PLACES: Final = {
    "openrouter": Place("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": Place("openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Place("openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": Place("openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "together": Place("openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": Place("openai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "x_ai": Place("openai", "https://api.x.ai/v1", "XAI_API_KEY"),
    "xai": Place("openai", "https://api.x.ai/v1", "XAI_API_KEY"),
    "perplexity": Place("openai", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "gemini": Place("openai", "https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
}
"""OpenAI-compatible endpoints by a word of the provider's name."""


def place_of(provider: str | None, model: str | None, environment: Mapping[str, str]) -> Place:
    """Where a model of that provider is asked.

    A base URL in the environment is the user's word, so it goes before what the name tells; Claude models are asked in
    Anthropic's protocol, whoever had served them, unless only an OpenAI-compatible endpoint is set up.

    Raises: ModelSetupError: nothing says where that would be.
    """
    name = (provider or "").lower()
    openai_url = environment.get("OPENAI_BASE_URL") or None
    own = next((place for word, place in _PLACES.items() if word in name), None)
    if own is not None and own.api_key_env in environment:
        return own
    if "anthropic" in name or ("claude" in (model or "").lower() and "ANTHROPIC_API_KEY" in environment):
        return Place("anthropic", environment.get("ANTHROPIC_BASE_URL") or None, "ANTHROPIC_API_KEY")
    if openai_url is not None or not name or ("openai" in name and "azure" not in name):
        return Place("openai", openai_url, "OPENAI_API_KEY")
    key = f"{own.api_key_env}, or " if own is not None else ""
    raise ModelSetupError(
        f"the trace names the provider {provider!r}, and nothing says where it is asked from here; set {key}"
        "OPENAI_BASE_URL and OPENAI_API_KEY to an endpoint that speaks chat completions",
        provider=name,
        type="unknown",
    )


def lacking_extras(calls: Iterable[Call], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The extras that real answers to these model calls would need and that are not installed, sorted.

    A provider of which nothing says where it is asked is left to the moment when it is.
    """
    needed = set()
    for provider, model in {(call.provider, call.model) for call in calls if call.kind == "llm"}:
        with suppress(ModelSetupError):
            needed.add(place_of(provider, model, environment).protocol)
    return tuple(sorted(name for name in needed if find_spec(name) is None))


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model under the name and provider that the trace gives it; asked for real only when it must be."""

    name: str | None
    recorded_provider: str | None

    @property
    def id(self) -> str:
        """The model's name."""
        return self.name or "unknown"

    @property
    def provider(self) -> str | None:
        """The provider's name."""
        return self.recorded_provider

    async def generate(self, request: Request) -> Reply:
        """Ask the real model.

        Raises: ModelError; ModelSetupError where nothing says where the model is asked.
        """
        sent = {name: value for name, value in request.parameters.items() if _is_sent(name, value)}
        name, asked = request.model or self.id, replace(request, parameters=sent)
        if request.api != "responses":
            return await self._real(name).generate(asked)
        try:
            return await self._real(name, "responses").generate(asked)
        except ModelError as fault:
            if fault.status not in (404, 405, 501):
                raise
        # Many servers that speak chat completions do not know the newer protocol.
        return await self._real(name).generate(asked)

    def _real(self, name: str, api: Literal["chat", "responses"] = "chat") -> Model:
        provider = (self.recorded_provider or "openai").lower()
        place = place_of(self.recorded_provider, name, os.environ)
        name = name.removeprefix(f"{provider}/")
        if place.protocol == "anthropic":
            return AnthropicModel(name, base_url=place.base_url)
        return OpenAIModel(name, base_url=place.base_url, api_key_env=place.api_key_env, api=api)


_NOT_SENT = frozenset(("stream", "stream_options", "labels"))
"""Parameters that say how an answer travelled, or who asked."""


def _is_sent(name: str, value: Json) -> bool:
    """Providers refuse what they do not know, such as the settings of a framework; those are written in other cases."""
    return value is not None and name not in _NOT_SENT and name.islower()


def model_for(name: str | None, provider: str | None) -> Model:
    """The model of that name."""
    return LiveModel(name, provider)
