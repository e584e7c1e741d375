"""Real models for a rebuilt agent, by the provider that the trace names. Keys come from the environment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runtime.errors import ModelSetupError
from runtime.messages import Request
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
        sent = replace(request, parameters={k: v for k, v in request.parameters.items() if k not in _NOT_SENT})
        return await self._real(request.model or self.id).generate(sent)

    def _real(self, name: str) -> Model:
        provider = (self.recorded_provider or "openai").lower()
        if "anthropic" in provider:
            return AnthropicModel(name)
        if "openai" in provider:
            return OpenAIModel(name)
        raise ModelSetupError(
            f"the trace names the provider {provider!r}, which cannot be asked from here",
            provider=provider,
            type="unknown",
        )


_NOT_SENT = frozenset(("stream",))
"""Parameters that say how an answer travelled."""


def model_for(name: str | None, provider: str | None) -> Model:
    """The model of that name."""
    return LiveModel(name, provider)
