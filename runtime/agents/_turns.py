"""Model turns of a frame."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

from ..errors import ModelAnswerError
from ..journal import Abort, Hit
from ..messages import (
    Json,
    Message,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    Usage,
    json_safe,
    message_from_json,
    message_to_json,
    text_of,
)
from ..models import Delta, Done, Model, Reply, TextDelta, collect, stream_of
from ..trace import ModelTurnEnd, ModelTurnStart
from ._body import note_call
from ._context import Context, current_span
from ._memory import remember_edits
from ._serve import LIVE, Served, serve

OnDelta: TypeAlias = Callable[[Delta], Awaitable[None] | None]
"""A consumer of a streamed answer, blocking or async. Deltas reach it alone, never the trace or the journal."""


async def model_turn(
    context: Context, model: Model, request: Request, call_id: str, on_delta: OnDelta | None = None
) -> Message:
    """Ask the model, or the recording; the assistant message.

    With a consumer the answer is streamed to it; a recorded answer comes as one piece of text.

    Raises: what the model raised, now or when it was recorded; ReplayStop where a replay ends.
    """
    run = context.run
    if run.session is not None:
        request = run.session.outgoing(context.call_id, context.agent_id, request)
    content_hash = request.content_hash
    span_id = run.start(ModelTurnStart, current_span.get(), call_id=call_id, content_hash=content_hash, request=request)

    note_call(span_id)

    async def live() -> tuple[Any, Json, Usage, tuple[str, ...]]:
        reply = await model.generate(request) if on_delta is None else await _stream(model, request, on_delta)
        message, output = _taken(model, reply)
        # Whole numbers only, as a recording keeps them; what an adapter did not count is not known.
        return message, output, Usage.from_json(reply.usage.to_json()), ()

    def ask() -> Hit | Abort | None:
        if run.session is None:
            return None
        return run.session.answer_or_abort(context.call_id, "prompt", model.id, call_id, request)

    served = await serve(context, call_id, span_id, ask, live, message_from_json)
    if served.by == LIVE:
        context.spent.add_model_call(served.outcome.usage, model.id, model.provider)
    remember_edits(context)
    if run.enable_snapshot:
        context.journal.record("prompt", content_hash, served.outcome, request)
    run.end(
        ModelTurnEnd,
        span_id,
        content_hash=content_hash,
        request=request,
        outcome=served.outcome,
        served_by=served.by if run.session else None,
        origin_span_id=served.origin_span_id,
    )
    if on_delta is not None and served.by != LIVE and served.error is None:
        await _deliver(served, on_delta)
    message: Message = served.result()
    return message


def _taken(model: Model, reply: Reply) -> tuple[Message, Json]:
    """The answer as a recording gives it back, so that a replay asks with the same words; and its JSON.

    Raises: ModelAnswerError: it is none.
    """
    if not isinstance(reply, Reply) or not isinstance(reply.message, Message) or not isinstance(reply.usage, Usage):
        kind = type(reply).__name__
        raise ModelAnswerError(f"model {model.id!r} gave no Reply with a Message and its Usage, but a {kind}")
    if not isinstance(reply.message.role, str):
        raise ModelAnswerError(f"model {model.id!r} gave a message without a role")
    for part in reply.message.parts:
        word = part.content if isinstance(part, TextPart | ReasoningPart) else ""
        word = part.name if isinstance(part, ToolCallPart) else word
        if not isinstance(part, Part) or not isinstance(word, str):
            raise ModelAnswerError(f"model {model.id!r} gave a part that cannot be read: {part!r:.200}")
    output = json_safe(message_to_json(reply.message))[0]
    return message_from_json(output), output


async def _stream(model: Model, request: Request, on_delta: OnDelta) -> Reply:
    async def told() -> AsyncIterator[Delta]:
        # Closed at once when the consumer raises or the call is cancelled: a connection may hang on it.
        async with aclosing(stream_of(model, request)) as deltas:
            async for delta in deltas:
                await _tell(on_delta, delta)
                yield delta

    return await collect(told())


async def _deliver(served: Served, on_delta: OnDelta) -> None:
    text = text_of([served.value])
    if text:
        await _tell(on_delta, TextDelta(text))
    await _tell(on_delta, Done(Reply(message=served.value, usage=served.outcome.usage)))


async def _tell(on_delta: OnDelta, delta: Delta) -> None:
    waiting = on_delta(delta)
    if waiting is not None:
        await waiting
