"""What the runtime needs of a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from ..messages import Message, Request, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer to one request."""

    message: Message
    """Role ``assistant``; its ``finish_reason`` is the provider's word."""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A further piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A further piece of what the model thinks, where the provider shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A further piece of a tool call's arguments; the first of each call has an empty piece."""

    index: int
    """Which call of this answer, from 0."""
    id: str | None
    name: str
    arguments_text: str
    """The pieces of one call together are the JSON text of its arguments."""


@dataclass(frozen=True, slots=True)
class Done:
    """The last of a stream: the whole answer, the same that ``generate`` would have given."""

    reply: Reply


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta | Done
"""What a stream gives. The text deltas together are the text of the reply; ``Done`` comes once, at the end."""


class Model(Protocol):
    """A model that answers requests. ``id`` and ``provider`` are part of the content hash."""

    @property
    def id(self) -> str:
        """The model's name as the provider knows it."""

    @property
    def provider(self) -> str | None:
        """``openai``, ``anthropic``, …; None where there is none."""

    async def generate(self, request: Request) -> Reply:
        """Answer the request.

        Raises:
            ModelError: the model refused or could not answer; other exceptions are recorded as they are.
        """


@runtime_checkable
class StreamingModel(Model, Protocol):
    """A model that can also give its answer in pieces. Those that cannot are streamed by ``stream_of`` as a whole."""

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer the request in pieces, ``Done`` last. Closing the generator early closes the connection.

        Raises:
            ModelError: as ``generate``, also after some pieces; then no ``Done`` came.
        """
