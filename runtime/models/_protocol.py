"""What the runtime needs of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ..messages import Message, Request, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer to one request."""

    message: Message
    """Role ``assistant``; its ``finish_reason`` is the provider's word."""
    usage: Usage = field(default_factory=Usage)


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
