"""Tool calls of a frame: alone, or in the batch that one model turn asks for."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, Final

from ..errors import ToolError
from ..journal import Abort, Hit
from ..messages import (
    Json,
    Message,
    Outcome,
    ToolCallPart,
    ToolCallResponsePart,
    ToolRequest,
    Usage,
    json_safe,
)
from ..tools import Rejected, Tool, ToolInvocation, ToolRejectedError, onion
from ..trace import ToolAttempt, ToolEnd, ToolStart
from ._adopt import adopt
from ._body import REQUEST, Body, bodies, note_call
from ._context import Context, current_context, current_span
from ._memory import remember_edits
from ._revive import outcome_of, type_name_of
from ._serve import Served, serve
from ._values import APPROVAL, keep_value, take

NO_ONE_TO_ASK: Final = "the call needs approval, and this run has no approval hook"


class ToolCaller:
    """The tool host of a run: hands calls made by hand to the frame around them."""

    def call_tool(self, tool: Tool, arguments: Mapping[str, Any]) -> Awaitable[Any]:
        """The tool's result, or what it raised; its call id is taken before the first await."""
        context = current_context(f"tool {tool.name!r}")
        # Validated once, so the function gets these values themselves, whatever their JSON form is.
        validated = tool.validate(dict(arguments))
        call = _ToolCall(context, tool, tool.name, tool.to_json(validated), None, validated)
        return _unwrap(call.run())


async def _unwrap(call: Awaitable[Served]) -> Any:
    return (await call).result()


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
        Message("tool", (ToolCallResponsePart(call.id, _response(each)),))
        for call, each in zip(calls, served, strict=True)
    )


def _response(served: Served) -> Json:
    if served.error is None:
        return json_safe(served.value)[0]
    error = type_name_of(served.error)
    return {"error": f"{error.type}: {error.message}"}


def execute_tool(
    context: Context, tool: Tool | None, name: str, arguments: Json, tool_call_id: str | None
) -> Coroutine[Any, Any, Served]:
    """Run one tool call, or take it from the recording. The call id is taken now, not when first awaited.

    What the tool raised is in the answer; only the end of a replay and a cancellation are raised.
    """
    return _ToolCall(context, tool, name, arguments, tool_call_id).run()


class _ToolCall:
    """One tool call from its start event to its end event."""

    def __init__(
        self,
        context: Context,
        tool: Tool | None,
        name: str,
        arguments: Json,
        tool_call_id: str | None,
        validated: dict[str, Any] | None = None,
    ) -> None:
        """Take the call id; ``arguments`` are checked against the tool unless ``validated`` holds their values."""
        self.context = context
        self.tool = tool
        self.call_id = context.next_call_id("tool", name)
        self.tool_call_id = tool_call_id
        self.refused: ToolError | None = None
        self.validated = validated or {}
        # The key is made of the validated arguments, defaults filled in; what does not validate is keyed as it came.
        try:
            if tool is None:
                raise ToolError(f"there is no tool {name!r}")
            if validated is None:
                self.validated = tool.validate(arguments)
                arguments = tool.to_json(self.validated)
        except ToolError as fault:
            self.refused = fault
        self.request = ToolRequest(name=name, arguments=arguments)
        self.child: tuple[str, str] | None = None
        if tool is not None and tool.runs_agent and self.refused is None:
            # Taken now, in the order of the calls: middleware around the agent may await, and others overtake it.
            self.child = name, context.next_call_id("agent", name)
        self.span_id = ""
        self.attempts = 0
        """How often the innermost was reached."""

    async def run(self) -> Served:
        run, tool = self.context.run, self.tool
        layered = tool is not None and self.refused is None and bool(run.tool_middleware or tool.layers)
        content_hash = None if layered else self.request.content_hash
        self.span_id = run.start(
            ToolStart,
            current_span.get(),
            request=self.request,
            call_id=self.call_id,
            content_hash=content_hash,
            tool_call_id=self.tool_call_id,
        )
        note_call(self.span_id)
        if layered:
            served = await self._through_layers()
        else:
            served = await self._innermost(self.request, self.validated)
        remember_edits(self.context)
        run.end(
            ToolEnd,
            self.span_id,
            content_hash=content_hash,
            request=self.request,
            outcome=served.outcome,
            attempts=self.attempts if layered else None,
            served_by=served.by if run.session and not (tool and tool.runs_agent) else None,
            origin_span_id=served.origin_span_id,
        )
        if served.error is not None and not isinstance(served.error, Exception):
            raise served.error
        return served

    async def _innermost(self, request: ToolRequest, validated: Mapping[str, Any]) -> Served:
        """The journal and the function."""
        context, run, tool = self.context, self.context.run, self.tool
        runs_agent = tool is not None and tool.runs_agent
        attempt = self.attempts
        self.attempts += 1

        async def live() -> tuple[Any, Json, Usage, tuple[str, ...]]:
            if self.refused is not None:
                raise self.refused
            assert tool is not None
            body = Body(self.call_id, attempt=attempt, child=self.child if attempt == 0 else None)
            token, body_token = current_span.set(self.span_id), bodies.set((*bodies.get(), body))
            try:
                result = await tool.invoke(validated)
            finally:
                current_span.reset(token)
                bodies.reset(body_token)
                done = body.to_json()
                if done is not None:
                    keep_value(context, REQUEST, done, self.span_id)
            output, lost = json_safe(result)
            return result, output, Usage(), lost

        def ask() -> Hit | Abort | None:
            if run.session is None or runs_agent:
                return None
            # What is refused runs no function.
            effect = "pure" if tool is None or self.refused else tool.effect
            return run.session.answer_or_abort(context.call_id, "tool", request.name, self.call_id, request, effect)

        served = await serve(
            context, self.call_id, self.span_id, ask, live, tool.revive if tool else lambda value: value
        )
        if served.origin_span_id is not None:
            adopt(context, served.origin_span_id, self.span_id, attempt)
        if run.enable_snapshot:
            context.journal.record("tool", request.content_hash, served.outcome, request)
        return served

    async def _through_layers(self) -> Served:
        """Middleware, then approval, around the innermost; what it gave."""
        run, tool = self.context.run, self.tool
        assert tool is not None
        last: Served | None = None

        async def core(invocation: ToolInvocation) -> Any:
            nonlocal last
            if tool.needs_approval:
                await self._approve(invocation)
            request = ToolRequest(name=invocation.name, arguments=tool.to_json(invocation.arguments))
            served = await self._innermost(request, invocation.arguments)
            last = served
            run.point(
                self.span_id,
                ToolAttempt,
                content_hash=request.content_hash,
                request=request,
                outcome=served.outcome,
            )
            return served.result()

        invocation = ToolInvocation(name=tool.name, arguments=dict(self.validated), call_id=self.call_id)
        chain = onion((*run.tool_middleware, *tool.middleware), core)
        outcome: Outcome
        error: BaseException | None = None
        value: Any = None
        try:
            value = await chain(invocation)
            output, lost = json_safe(value)
            outcome = Outcome(status="ok", output=output, lost="; ".join(lost) or None)
        except BaseException as raised:  # noqa: BLE001 - the border of foreign code: recorded, then raised by the caller
            error = raised
            outcome = outcome_of(raised)
        by, origin = (last.by, last.origin_span_id) if last else ("none", None)
        return Served(outcome, by, origin, value, error)

    async def _approve(self, invocation: ToolInvocation) -> None:
        """Ask the hook, or the recording of what it said.

        Raises: ToolRejectedError.
        """
        assert self.tool is not None
        hook = self.context.run.approve
        detail = self.tool.to_json(invocation.arguments)

        async def ask() -> Json:
            if hook is None:
                return {"approved": False, "feedback": NO_ONE_TO_ASK}
            said = hook(invocation)
            said = await said if inspect.isawaitable(said) else said
            if isinstance(said, Rejected):
                return {"approved": False, "feedback": said.feedback}
            return {"approved": bool(said), "feedback": ""}

        answer = await take(self.context, APPROVAL + self.tool.name, ask, detail)
        if not answer["approved"]:
            raise ToolRejectedError(self.tool.name, answer["feedback"])
