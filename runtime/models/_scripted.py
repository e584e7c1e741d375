"""A model that answers from a script: for tests, samples and demonstrations. It never touches the network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import ModelError
from ..messages import (
    Json,
    Message,
    Part,
    Request,
    TextPart,
    ToolCallPart,
    Usage,
    message_to_json,
)
from ._collect import deltas_of
from ._protocol import Delta, Reply

Turn: TypeAlias = "Message | ToolCallPart | Sequence[ToolCallPart] | str | BaseException"
"""One scripted answer: a text, tool calls, a whole message, or an error to raise."""

Script: TypeAlias = "Sequence[Turn] | Callable[[Request], Turn]"


def say(text: str) -> Message:
    """A scripted text answer."""
    return Message("assistant", (TextPart(text),), finish_reason="stop")


def call(tool: str, **arguments: Json) -> ToolCallPart:
    """A scripted tool call; the model gives it an id."""
    return ToolCallPart(None, tool, arguments)


@dataclass(slots=True, kw_only=True)
class ScriptedModel:
    """Answers from a list, in order, or from a function of the request.

    With a function the answers do not depend on the order in which parallel agents ask. Tokens are counted roughly,
    four
    characters each.
    """

    id: str
    script: Script
    provider: str | None = "scripted"
    latency_s: float = 0.0
    """How long each answer takes."""
    input_nano_usd: int = 0
    """Price of an input token, in billionths of a dollar."""
    output_nano_usd: int = 0
    asked: list[Request] = field(default_factory=list)
    """Every request so far, for tests: a replay must leave it empty."""

    async def generate(self, request: Request) -> Reply:
        """The next scripted answer. Raises ModelError when the script has ended."""
        self.asked.append(request)
        turn = self._next(request)
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        if isinstance(turn, BaseException):
            raise turn
        message = _as_message(turn, request)
        return Reply(message=message, usage=self._usage(request, message))

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The next scripted answer in small pieces; the whole of ``latency_s`` comes before the first."""
        for delta in deltas_of(await self.generate(request)):
            yield delta

    def _next(self, request: Request) -> Turn:
        if callable(self.script):
            return self.script(request)
        if len(self.asked) > len(self.script):
            raise ModelError(f"the script of {self.id!r} has {len(self.script)} answers, asked once more")
        return self.script[len(self.asked) - 1]

    def _usage(self, request: Request, message: Message) -> Usage:
        sent = _tokens([message_to_json(m) for m in request.messages])
        got = _tokens(message_to_json(message))
        cost = sent * self.input_nano_usd + got * self.output_nano_usd
        return Usage(input_tokens=sent, output_tokens=got, cost_nano_usd=cost or None)


def _tokens(value: Any) -> int:
    return max(1, len(json.dumps(value, ensure_ascii=False)) // 4)


def _as_message(turn: Turn, request: Request) -> Message:
    if isinstance(turn, Message):
        return turn
    if isinstance(turn, str):
        return say(turn)
    if isinstance(turn, BaseException):
        raise turn
    calls = (turn,) if isinstance(turn, ToolCallPart) else tuple(turn)
    # Ids follow from the conversation, so the same run has the same ids whatever else runs beside it.
    made = sum(isinstance(part, ToolCallPart) for m in request.messages for part in m.parts)
    parts: tuple[Part, ...] = tuple(
        part if part.id else ToolCallPart(f"call_{made + i}", part.name, part.arguments)
        for i, part in enumerate(calls, 1)
    )
    return Message("assistant", parts, finish_reason="tool_calls")
