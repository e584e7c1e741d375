"""The same script behind every shipped model, so that one suite can ask all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from runtime.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart
from runtime.models import AnthropicModel, FaultyModel, Model, OpenAIModel, ScriptedModel

from .servers import KEY, Says, Server, serving

KEY_ENV = "RETROSPAN_TEST_KEY"

BACKENDS = ("scripted", "faulty", "openai-chat", "openai-responses", "anthropic")
WIRE = BACKENDS[2:]


@dataclass
class Backend:
    model: Any
    server: Server | None = None

    @property
    def asked(self) -> int:
        if self.server is not None:
            return len(self.server.seen)
        inner: Any = self.model.inner if isinstance(self.model, FaultyModel) else self.model
        return len(inner.asked)

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()

    def bodies(self) -> list[dict[str, Any]]:
        assert self.server is not None
        return [seen.body for seen in self.server.seen]


def wire_model(name: str, url: str, **options: Any) -> OpenAIModel | AnthropicModel:
    given: dict[str, Any] = {"base_url": url, "api_key_env": KEY_ENV, "timeout_s": 20.0, "max_retries": 0, **options}
    if name == "anthropic":
        return AnthropicModel("m-1", **given)
    return OpenAIModel("m-1", api="responses" if name == "openai-responses" else "chat", **given)


@contextmanager
def backend(name: str, *script: Any, **options: Any) -> Iterator[Backend]:
    """The named model behind the script. The key has to be in the environment."""
    if name in WIRE:
        with serving(*script) as server:
            yield Backend(wire_model(name, server.url, **options), server)
        return
    inner: Model = ScriptedModel(id="m-1", script=[as_message(says) for says in script])
    yield Backend(FaultyModel(inner) if name == "faulty" else inner)


def as_message(says: Says) -> Message:
    parts: list[Part] = []
    if says.reasoning:
        parts.append(ReasoningPart(says.reasoning))
    if says.text:
        parts.append(TextPart(says.text))
    parts += [ToolCallPart(id_, name, json.loads(arguments)) for id_, name, arguments in says.calls]
    return Message("assistant", tuple(parts), finish_reason="stop")


__all__ = ["BACKENDS", "KEY", "KEY_ENV", "WIRE", "Backend", "backend", "wire_model"]
