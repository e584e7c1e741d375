"""Calls -> trace events: the only road from a recording, ours or foreign, to restore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from ..messages import Call, Json, Outcome, Request, ToolRequest, message_to_json
from ._events import (
    EVENT_TYPES,
    AgentEnd,
    AgentStart,
    GenerationEnd,
    GenerationStart,
    Log,
    MemoryWrite,
    ModelTurnEnd,
    ModelTurnStart,
    RunEnd,
    RunStart,
    SpanEnd,
    SpanStart,
    ToolAttempt,
    ToolEnd,
    ToolStart,
    ToolUsage,
    TraceEvent,
    ValueTaken,
)


class _Place(TypedDict):
    time_unix_nano: int
    seq: int | None
    run_id: str | None
    trace_id: str
    span_id: str
    parent_span_id: str | None


def events_of(calls: Iterable[Call]) -> list[TraceEvent]:
    """The trace events of the calls, in the order of the calls; restore sorts them.

    An end before its start (a clock that ran backwards) is put at the start, so that the span still opens before it
    closes. A call without any time is put at its parent's start, else at the earliest time known.

    Where the marks of a call hold starts or ends, these are the events, and none is made of the call's own times: so
    come the recordings of producers that write both ends as separate events, with one span id for several things.
    """
    calls = list(calls)
    starts = {c.span_id: c.start_unix_nano for c in calls if c.start_unix_nano is not None}
    earliest = min(starts.values(), default=0)
    out: list[TraceEvent] = []
    for call in calls:
        start = call.start_unix_nano
        if start is None:
            start = call.end_unix_nano
        if start is None:
            start = starts.get(call.parent_span_id or "", earliest)
        has_edges = any(mark.type in _EDGES for mark in call.marks)
        if not has_edges:
            out.append(_start(call, start))
        for mark in call.marks:
            place = _place(call, mark.time_unix_nano, mark.seq)
            point = (_edge if mark.type in _EDGES else _point)(call, mark.type, mark.data, place)
            if point is not None:
                out.append(point)
        if call.end_unix_nano is not None and not has_edges:
            out.extend(_lost_attempts(call, max(start, call.end_unix_nano), out))
            out.append(_end(call, max(start, call.end_unix_nano)))
    return out


def _lost_attempts(call: Call, time: int, events: list[TraceEvent]) -> list[TraceEvent]:
    """The attempts of a tool with middleware that are counted on its span, but whose points are gone."""
    if not call.attempts:
        return []
    told = 0
    for event in reversed(events):
        if event.span_id != call.span_id:
            break
        told += isinstance(event, ToolAttempt)
    outcome = Outcome(status="aborted", span_id=call.span_id, lost="the attempt was not recorded")
    lost = ToolAttempt(**_place(call, time, None), content_hash="", request=call.tool_request(), outcome=outcome)
    return [lost] * (call.attempts - told)


_EDGES = frozenset(kind.type for kind in EVENT_TYPES if kind.opens or kind.closes)
"""The types of the marks that open or close a span."""


def _place(call: Call, time: int, seq: int | None) -> _Place:
    return _Place(
        time_unix_nano=time,
        seq=seq,
        run_id=call.run_id,
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=call.parent_span_id,
    )


def content_hash_of(call: Call) -> str | None:
    """The journal key of a call: the one it brought with it, else ours.

    None when its request was not recorded, or has no canonical form (nested without end).
    """
    if call.content_hash is not None or call.attempts is not None:
        return call.content_hash
    try:
        if call.kind == "llm" and call.input_messages is not None and call.lost is None:
            return call.request().content_hash
        if call.kind == "tool" and call.arguments is not None:
            return call.tool_request().content_hash
    except (TypeError, ValueError):
        return None
    return None


def _start(call: Call, time: int) -> TraceEvent:
    place = _place(call, time, call.start_seq)
    if call.call_id == "root" and call.convention == "retrospan":
        origin: dict[str, Json] | None = None
        if call.origin_trace_id:
            origin = {
                "trace_id": call.origin_trace_id,
                "span_id": call.origin_span_id,
                "anchor": call.origin_anchor,
            }
            if call.edits:
                origin["edits"] = list(call.edits)
        return RunStart(
            **place,
            name=call.name.removeprefix("invoke_workflow "),
            input=call.input,
            memory=call.memory_start,
            entry_point=call.entry_point,
            entry_digest=call.entry_digest,
            origin=origin,
        )
    match call.kind:
        case "agent":
            return AgentStart(
                **place,
                agent_id=call.agent_name or call.name or "unknown",
                call_id=call.call_id,
                input=call.input,
                memory=call.memory_start,
            )
        case "llm":
            key = content_hash_of(call)
            return ModelTurnStart(**place, call_id=call.call_id, content_hash=key, request=_request(call))
        case "tool":
            return ToolStart(
                **place,
                request=call.tool_request(),
                call_id=call.call_id,
                content_hash=content_hash_of(call),
                tool_call_id=call.tool_call_id,
            )
    return SpanStart(**place, name=call.name)


def _end(call: Call, time: int) -> TraceEvent:
    place = _place(call, time, call.end_seq)
    if call.call_id == "root" and call.convention == "retrospan":
        return RunEnd(**place, outcome=outcome_of(call), replay_ended=call.replay_ended)
    match call.kind:
        case "agent":
            return AgentEnd(**place, outcome=outcome_of(call))
        case "llm":
            return ModelTurnEnd(
                **place,
                content_hash=content_hash_of(call),
                outcome=outcome_of(call),
                request=_request(call),
                served_by=call.served_by,
                origin_span_id=call.origin_span_id,
            )
        case "tool":
            return ToolEnd(
                **place,
                content_hash=content_hash_of(call),
                request=call.tool_request(),
                outcome=outcome_of(call),
                attempts=call.attempts,
                served_by=call.served_by,
                origin_span_id=call.origin_span_id,
            )
    return SpanEnd(**place, error=call.error)


def outcome_of(call: Call) -> Outcome:
    """What came of the call. ``lost`` says why it cannot answer again, where the recording is not enough."""
    lost = call.lost
    output: Json = call.result
    if call.aborted:
        status: Any = "aborted"
    elif call.error is not None:
        status = "error"
    else:
        status = "ok"
        if call.kind == "llm":
            output = message_to_json(call.output_messages[0]) if call.output_messages else None
            if output is None and lost is None:
                lost = "the answer was not recorded"
        elif not call.has_result and lost is None and call.kind == "tool":
            lost = "the result was not recorded"
    return Outcome(
        status=status,
        output=output if status == "ok" else None,
        error=call.error,
        trace_id=call.trace_id,
        span_id=call.span_id,
        usage=call.usage,
        start_unix_nano=call.start_unix_nano,
        duration_ns=call.duration_ns,
        lost=lost,
        inferred=call.inferred,
    )


def _point(call: Call, kind: str, data: Mapping[str, Any], place: _Place) -> TraceEvent | None:
    """The event of a mark; None for a mark whose fields are damaged (the span itself stays listed)."""
    try:
        match kind:
            case "generation.start":
                return GenerationStart(**place, generation=int(data["generation"]), input=data.get("input"))
            case "generation.end":
                memory = data.get("memory")
                return GenerationEnd(
                    **place,
                    generation=int(data["generation"]),
                    memory=memory if isinstance(memory, dict) else None,
                    reason=str(data.get("reason", "return")),
                )
            case "memory.write":
                return MemoryWrite(
                    **place, key=str(data["key"]), value=data.get("value"), deleted=data.get("deleted") is True
                )
            case "value.taken":
                return ValueTaken(
                    **place,
                    name=str(data["name"]),
                    content_hash=str(data["content_hash"]),
                    value=data.get("value"),
                )
            case "tool.usage":
                unit = data.get("unit")
                return ToolUsage(
                    **place,
                    name=str(data["name"]),
                    quantity=int(data.get("quantity") or 0),
                    unit=unit if isinstance(unit, str) else None,
                    costs={str(key): int(amount) for key, amount in dict(data.get("costs") or {}).items()},
                )
            case "tool.attempt":
                asked = data["request"]
                return ToolAttempt(
                    **place,
                    content_hash=str(data["content_hash"]),
                    request=ToolRequest(name=str(asked["name"]), arguments=asked.get("arguments")),
                    outcome=Outcome.from_json(data["outcome"]),
                )
            case "log":
                return Log(**place, level=str(data.get("level", "info")), message=str(data.get("message", "")))
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return None


def _edge(call: Call, kind: str, data: Mapping[str, Any], place: _Place) -> TraceEvent | None:
    """The start or end that a mark is; None for a mark whose fields are damaged.

    ``parent_span_id`` in the data stands for the call's where the two differ.
    """
    place["parent_span_id"] = data.get("parent_span_id", call.parent_span_id)
    try:
        match kind:
            case "run.start":
                return RunStart(**place, name=call.name, input=data.get("input"))
            case "agent.start":
                return AgentStart(**place, agent_id=str(data["agent_id"]), input=data.get("input"))
            case "model_turn.start":
                return ModelTurnStart(**place, request=_request(call))
            case "tool.start":
                return ToolStart(**place, request=call.tool_request(), content_hash=call.content_hash)
            case "span.start":
                return SpanStart(**place, name=call.name)
            case "span.end":
                return SpanEnd(**place, error=call.error)
            case "run.end":
                return RunEnd(**place, outcome=Outcome.from_json(data["outcome"]))
            case "agent.end":
                return AgentEnd(**place, outcome=Outcome.from_json(data["outcome"]))
            case "tool.end":
                outcome = Outcome.from_json(data["outcome"])
                served_by, key = call.served_by, call.content_hash
                return ToolEnd(
                    **place, content_hash=key, request=call.tool_request(), outcome=outcome, served_by=served_by
                )
            case "model_turn.end":
                return ModelTurnEnd(
                    **place,
                    content_hash=data.get("content_hash"),
                    outcome=Outcome.from_json(data["outcome"]),
                    request=_request(call),
                    served_by=call.served_by,
                )
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return None


def _request(call: Call) -> Request | None:
    return call.request() if call.input_messages is not None else None
