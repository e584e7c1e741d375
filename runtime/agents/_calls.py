"""Model turns and tool calls of a frame: recorded, or answered from a recording. The innermost place of both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ReplayStop, ToolError
from ..journal import Hit
from ..messages import (
    ErrorInfo,
    Json,
    Message,
    Outcome,
    Request,
    ToolCallPart,
    ToolCallResponsePart,
    ToolRequest,
    Usage,
    json_safe,
    message_from_json,
    message_to_json,
)
from ..models import Model
from ..tools import Tool
from ..trace import ModelTurnEnd, ModelTurnStart, ToolEnd, ToolStart
from ._context import Context, current_context, current_span
from ._revive import revive, type_name_of

SERVED_LIVE = "live"


@dataclass(frozen=True, slots=True)
class _Served:
    """The outcome of a call and who gave it."""

    outcome: Outcome
    by: str
    origin_span_id: str | None
    value: Any
    """What the caller gets: the live object, or the recorded one revived."""
    error: BaseException | None = None


async def model_turn(context: Context, model: Model, request: Request, call_id: str) -> Message:
    """Ask the model, or the recording; the assistant message.

    Raises: what the model raised, now or when it was recorded; ReplayStop where a replay ends.
    """
    run = context.run
    content_hash = request.content_hash
    span_id = run.start(ModelTurnStart, current_span.get(), call_id=call_id, content_hash=content_hash, request=request)

    async def live() -> tuple[Any, Json, Usage, tuple[str, ...]]:
        reply = await model.generate(request)
        output, lost = json_safe(message_to_json(reply.message))
        return reply.message, output, reply.usage, lost

    def ask() -> Hit | None:
        if run.session is None:
            return None
        return run.session.answer(context.call_id, "prompt", model.id, call_id, request)

    served = await _serve(context, call_id, span_id, ask, live, message_from_json)
    if served.by == SERVED_LIVE:
        context.spent.add_model_call(served.outcome.usage, model.id, model.provider)
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
    if served.error is not None:
        raise served.error
    message: Message = served.value
    return message


class ToolCaller:
    """The tool host of a run: hands calls made by hand to the frame around them."""

    def call_tool(self, tool: Tool, arguments: Mapping[str, Any]) -> Awaitable[Any]:
        """The tool's result, or what it raised; its call id is taken before the first await."""
        context = current_context(f"tool {tool.name!r}")
        validated = tool.validate(dict(arguments))
        return _unwrap(execute_tool(context, tool, tool.name, tool.to_json(validated), None))


async def _unwrap(call: Awaitable[_Served]) -> Any:
    served = await call
    if served.error is not None:
        raise served.error
    return served.value


def execute_tool(
    context: Context, tool: Tool | None, name: str, arguments: Json, tool_call_id: str | None
) -> Coroutine[Any, Any, _Served]:
    """Run one tool call, or take it from the recording. The call id is taken now, not when first awaited."""
    return _execute_tool(context, tool, name, arguments, tool_call_id, context.next_call_id("tool", name))


async def _execute_tool(
    context: Context, tool: Tool | None, name: str, arguments: Json, tool_call_id: str | None, call_id: str
) -> _Served:
    run = context.run
    # The key is made of the validated arguments, defaults filled in; what does not validate is keyed as it came.
    try:
        validated = tool.validate(arguments) if tool else {}
        arguments = tool.to_json(validated) if tool else arguments
        refused: ToolError | None = None if tool else ToolError(f"there is no tool {name!r}")
    except ToolError as fault:
        validated, refused = {}, fault
    request = ToolRequest(name=name, arguments=arguments)
    content_hash = request.content_hash
    span_id = run.start(
        ToolStart,
        current_span.get(),
        request=request,
        call_id=call_id,
        content_hash=content_hash,
        tool_call_id=tool_call_id,
    )

    async def live() -> tuple[Any, Json, Usage, tuple[str, ...]]:
        if refused is not None:
            raise refused
        assert tool is not None
        token = current_span.set(span_id)
        try:
            result = await tool.invoke(validated)
        finally:
            current_span.reset(token)
        output, lost = json_safe(result)
        return result, output, Usage(), lost

    asked = run.session is not None and not (tool and tool.runs_agent)

    def ask() -> Hit | None:
        if run.session is None or not asked:
            return None
        return run.session.answer(context.call_id, "tool", name, call_id, request)

    served = await _serve(context, call_id, span_id, ask, live, tool.revive if tool else lambda value: value)
    if run.enable_snapshot:
        context.journal.record("tool", content_hash, served.outcome, request)
    run.end(
        ToolEnd,
        span_id,
        content_hash=content_hash,
        request=request,
        outcome=served.outcome,
        served_by=served.by if asked else None,
        origin_span_id=served.origin_span_id,
    )
    if served.error is not None and not isinstance(served.error, Exception):
        raise served.error
    return served


async def _serve(
    context: Context,
    call_id: str,
    span_id: str,
    ask: Callable[[], Hit | None],
    live: Callable[[], Awaitable[tuple[Any, Json, Usage, tuple[str, ...]]]],
    revive_value: Callable[[Json], Any],
) -> _Served:
    """Answer from the recording or for real.

    What is raised comes back as a value, so that the end event is never missed.
    """
    run = context.run
    started = time.time_ns()

    def outcome(**fields: Any) -> Outcome:
        spent = time.time_ns() - started
        return Outcome(
            trace_id=run.trace_id, span_id=span_id, start_unix_nano=started, duration_ns=max(0, spent), **fields
        )

    try:
        hit = ask()
    except ReplayStop as stop:
        return _Served(outcome(status="aborted", error=ErrorInfo.of(stop)), "none", None, None, stop)
    if hit is not None:
        recorded = hit.outcome
        by = "reused" if hit.reused else "journal"
        given = replace(
            recorded,
            trace_id=run.trace_id,
            span_id=span_id,
            start_unix_nano=started,
            duration_ns=max(0, time.time_ns() - started),
        )
        if recorded.status == "error":
            error = recorded.error or ErrorInfo("error", "")
            return _Served(given, by, recorded.span_id, None, revive(error))
        return _Served(given, by, recorded.span_id, revive_value(recorded.output))
    try:
        value, output, usage, lost = await live()
    except BaseException as error:  # noqa: BLE001 - the border of foreign code: recorded, then raised by the caller
        failed = isinstance(error, Exception)
        if run.session:
            run.session.settle(call_id, failed=True)
        info = type_name_of(error)
        ended = outcome(status="error" if failed else "aborted", error=info)
        return _Served(ended, SERVED_LIVE, None, None, error)
    if run.session:
        run.session.settle(call_id, failed=False)
    ended = outcome(status="ok", output=output, usage=usage, lost="; ".join(lost) or None)
    return _Served(ended, SERVED_LIVE, None, value)


async def tool_batch(context: Context, tools: Mapping[str, Tool], calls: Sequence[ToolCallPart]) -> tuple[Message, ...]:
    """Run the tool calls of one model turn in parallel; one ``tool`` message per call, in call order.

    A failing tool is an answer to the model: ``{"error": "Type: message"}``.
    """
    # Call ids are taken here in call order, before anything is awaited.
    running = [
        asyncio.ensure_future(execute_tool(context, tools.get(c.name), c.name, c.arguments, c.id)) for c in calls
    ]
    try:
        served = await asyncio.gather(*running)
    except BaseException:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        raise
    return tuple(
        Message("tool", (ToolCallResponsePart(call.id, _response(each.outcome)),))
        for call, each in zip(calls, served, strict=True)
    )


def _response(outcome: Outcome) -> Json:
    if outcome.status == "ok":
        return outcome.output
    error = outcome.error or ErrorInfo("error", "")
    return {"error": f"{error.type}: {error.message}"}
