"""Real models for a rebuilt agent, by the provider that the trace names. Keys come from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from runtime.errors import ModelSetupError
from runtime.messages import Json, Request
from runtime.models import AnthropicModel, Model, OpenAIModel, Reply


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

        Raises: ModelError; ModelSetupError where the trace names no provider that is known.
        """
        sent = {name: value for name, value in request.parameters.items() if _is_sent(name, value)}
        return await self._real(request.model or self.id).generate(replace(request, parameters=sent))

    def _real(self, name: str) -> Model:
        provider = (self.recorded_provider or "openai").lower()
        name = name.removeprefix(f"{provider}/")
        if "anthropic" in provider:
            return AnthropicModel(name)
        if "openai" in provider:
            return OpenAIModel(name, base_url=os.environ.get("OPENAI_BASE_URL") or None)
        raise ModelSetupError(
            f"the trace names the provider {provider!r}, which cannot be asked from here",
            provider=provider,
            type="unknown",
        )


_NOT_SENT = frozenset(("stream", "stream_options", "labels"))
"""Parameters that say how an answer travelled, or who asked."""


def _is_sent(name: str, value: Json) -> bool:
    """Providers refuse what they do not know, such as the settings of a framework; those are written in other cases."""
    return value is not None and name not in _NOT_SENT and name.islower()


def model_for(name: str | None, provider: str | None) -> Model:
    """The model of that name."""
    return LiveModel(name, provider)
