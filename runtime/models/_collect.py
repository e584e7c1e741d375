"""Streams and whole answers: each made of the other."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing

from ..errors import ModelAnswerError
from ..messages import ReasoningPart, Request, TextPart, ToolCallPart
from ._protocol import Delta, Done, Model, ReasoningDelta, Reply, StreamingModel, TextDelta, ToolCallDelta

PIECE = 12
"""Characters of a made-up piece."""


async def stream_of(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
    """The model's stream; of a model without one, the whole answer cut into pieces."""
    if isinstance(model, StreamingModel):
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                yield delta
        return
    for delta in deltas_of(await model.generate(request)):
        yield delta


async def collect(deltas: AsyncIterator[Delta]) -> Reply:
    """The reply at the end of a stream.

    Raises:
        ModelAnswerError: the stream ended without one.
    """
    reply = None
    async for delta in deltas:
        if isinstance(delta, Done):
            reply = delta.reply
    if reply is None:
        raise ModelAnswerError("the stream ended without a reply", type="incomplete_stream")
    return reply


def deltas_of(reply: Reply, size: int = PIECE) -> Iterator[Delta]:
    """A whole answer as the deltas that a stream of it would have given."""
    calls = texts = 0
    for part in reply.message.parts:
        if isinstance(part, TextPart):
            # The text of a message joins its parts with line breaks, and the deltas must add up to it.
            yield from map(TextDelta, _pieces(("\n" if texts else "") + part.content, size))
            texts += 1
        elif isinstance(part, ReasoningPart):
            yield from map(ReasoningDelta, _pieces(part.content, size))
        elif isinstance(part, ToolCallPart):
            raw = part.arguments
            text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
            for piece in ("", *_pieces(text, size)):
                yield ToolCallDelta(calls, part.id, part.name, piece)
            calls += 1
    yield Done(reply)


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))
