"""Our own spans: trace events -> span attributes (writing), spans -> calls (reading back).

Table of the format: docs/formats.md. Start facts are given when a span starts, so that a run that is killed leaves
them behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..messages import (
    Call,
    CallKind,
    ErrorInfo,
    Json,
    JsonObject,
    Known,
    Mark,
    Message,
    Outcome,
    Request,
    ToolDefinition,
    Usage,
    json_safe,
    message_from_json,
    message_to_json,
    read_json,
)
from . import _keys as keys
from ._events import (
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
    ToolAttempt,
    ToolEnd,
    ToolStart,
    ToolUsage,
    TraceEvent,
    ValueTaken,
)
from ._span import Span

Attributes = dict[str, Any]

_USAGE_KEYS = {
    "input_tokens": keys.INPUT_TOKENS,
    "output_tokens": keys.OUTPUT_TOKENS,
    "cached_tokens": keys.CACHED_TOKENS,
    "reasoning_tokens": keys.REASONING_TOKENS,
    "cost_nano_usd": keys.COST,
    "cache_write_tokens": keys.CACHE_WRITE_TOKENS,
}

_CALL_KINDS: dict[str, CallKind] = {"run": "chain", "agent": "agent", "model_turn": "llm", "tool": "tool"}

VITAL = (
    keys.TOOL_NAME, keys.AGENT_NAME, keys.CONTENT_HASH, keys.START_SEQ, keys.RUN_ID, keys.CALL_ID, keys.KIND,
    keys.FORMAT,
)  # fmt: skip
"""What a span cannot be read without, or not at its place; the most important last."""

_JSON_TEXTS = (
    keys.INPUT_MESSAGES, keys.OUTPUT_MESSAGES, keys.TOOL_DEFINITIONS, keys.TOOL_ARGUMENTS, keys.TOOL_RESULT, keys.INPUT,
    keys.OUTPUT, keys.MEMORY_START, keys.OUTPUT_SCHEMA, keys.PARAMETERS,
)  # fmt: skip
"""Attributes that hold JSON as text: one that does not parse was cut off."""

_OURS = ("retrospan.", "gen_ai.", keys.ERROR_TYPE)
"""How the keys of our spans begin; others come from the user's own span processors."""

_POINT_FIELDS: dict[type[TraceEvent], tuple[str, ...]] = {
    GenerationStart: ("generation", "input"),
    GenerationEnd: ("generation", "memory", "reason"),
    MemoryWrite: ("key", "value", "deleted"),
    ValueTaken: ("name", "content_hash", "value"),
    Log: ("level", "message", "data"),
    ToolUsage: ("name", "quantity", "unit", "costs"),
    ToolAttempt: ("content_hash", "request", "outcome"),
}

POINTS: dict[str, type[TraceEvent]] = {kind.type: kind for kind in _POINT_FIELDS}
"""The types of the points inside a span, by name."""


def dump_json(value: Json) -> str:
    """JSON text as it stands in attributes: compact, readable in any language, lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_SURROGATE = re.compile("[\ud800-\udfff]")
"""No encoding writes them; as escapes in JSON text they come through."""


def load_json(text: Json) -> Json:
    """The value of a JSON text; None where it is absent or cut off."""
    if not isinstance(text, str):
        return None
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return None


# Writing --------------------------------------------------------------------------------------------------


def span_name(event: TraceEvent) -> str:
    """The span's name after the GenAI conventions: operation and what it works on."""
    match event:
        case RunStart():
            return f"invoke_workflow {event.name}"
        case AgentStart():
            return f"invoke_agent {event.agent_id}"
        case ModelTurnStart():
            return f"chat {event.request.model}" if event.request and event.request.model else "chat"
        case ToolStart():
            return f"execute_tool {event.request.name}"
    return event.type


def start_attributes(event: TraceEvent) -> Attributes:
    """What is known when the span starts."""
    out: Attributes = {keys.FORMAT: keys.FORMAT_VERSION, keys.RUN_ID: event.run_id, keys.START_SEQ: event.seq}
    match event:
        case RunStart():
            out |= {keys.OPERATION: "invoke_workflow", keys.WORKFLOW_NAME: event.name, keys.KIND: "run"}
            out |= {keys.CALL_ID: "root", keys.INPUT: dump_json(event.input)}
            out |= {keys.ENTRY_POINT: event.entry_point, keys.ENTRY_DIGEST: event.entry_digest}
            out |= {keys.MEMORY_START: dump_json(dict(event.memory)) if event.memory else None}
            origin = event.origin or {}
            out |= {keys.ORIGIN_TRACE: origin.get("trace_id"), keys.ORIGIN_SPAN: origin.get("span_id")}
            out |= {keys.ORIGIN_ANCHOR: origin.get("anchor")}
            out |= {keys.EDITS: dump_json(origin["edits"])} if origin.get("edits") else {}
        case AgentStart():
            out |= {keys.OPERATION: "invoke_agent", keys.AGENT_NAME: event.agent_id, keys.KIND: "agent"}
            out |= {keys.CALL_ID: event.call_id, keys.INPUT: dump_json(event.input)}
            out |= {keys.MEMORY_START: None if event.memory is None else dump_json(dict(event.memory))}
        case ModelTurnStart():
            out |= {keys.OPERATION: "chat", keys.KIND: "model_turn", keys.CALL_ID: event.call_id}
            out |= {keys.CONTENT_HASH: event.content_hash}
            out |= _request_attributes(event.request) if event.request else {}
        case ToolStart():
            out |= {keys.OPERATION: "execute_tool", keys.KIND: "tool", keys.TOOL_NAME: event.request.name}
            out |= {keys.CALL_ID: event.call_id, keys.CONTENT_HASH: event.content_hash}
            out |= {keys.TOOL_CALL_ID: event.tool_call_id, "gen_ai.tool.type": "function"}
            out |= {keys.TOOL_ARGUMENTS: dump_json(event.request.arguments)}
    return _present(out)


def _request_attributes(request: Request) -> Attributes:
    out: Attributes = {keys.REQUEST_MODEL: request.model, keys.PROVIDER: request.provider}
    out[keys.INPUT_MESSAGES] = dump_json([message_to_json(m) for m in request.messages])
    out[keys.API] = request.api
    if request.tools:
        out[keys.TOOL_DEFINITIONS] = dump_json([tool.to_json() for tool in request.tools])
    if request.output_schema is not None:
        out |= {keys.OUTPUT_SCHEMA: dump_json(dict(request.output_schema)), "gen_ai.output.type": "json"}
    if request.parameters:
        out[keys.PARAMETERS] = dump_json(dict(request.parameters))
        plain = {k: v for k, v in request.parameters.items() if isinstance(v, str | bool | int | float)}
        out |= {keys.PARAMETER_PREFIX + k: v for k, v in plain.items()}
    return out


def end_attributes(event: TraceEvent) -> Attributes:
    """What becomes known when the span ends."""
    out: Attributes = {keys.END_SEQ: event.seq}
    match event:
        case RunEnd() | AgentEnd():
            out |= _outcome_attributes(event.outcome)
            out |= {keys.OUTPUT: dump_json(event.outcome.output)} if event.outcome.status == "ok" else {}
            out[keys.REPLAY_ENDED] = event.replay_ended if isinstance(event, RunEnd) else None
        case ModelTurnEnd():
            out |= _outcome_attributes(event.outcome) | _served(event.served_by, event.origin_span_id)
            if event.outcome.status == "ok":
                message = event.outcome.output
                out[keys.OUTPUT_MESSAGES] = dump_json([message])
                reason = message.get("finish_reason") if isinstance(message, Mapping) else None
                out |= {keys.FINISH_REASONS: [reason]} if isinstance(reason, str) else {}
        case ToolEnd():
            out |= _outcome_attributes(event.outcome) | _served(event.served_by, event.origin_span_id)
            out |= {keys.TOOL_RESULT: dump_json(event.outcome.output)} if event.outcome.status == "ok" else {}
            out[keys.TOOL_ATTEMPTS] = event.attempts
    return _present(out)


def _served(served_by: str | None, origin_span_id: str | None) -> Attributes:
    return {keys.SERVED_BY: served_by, keys.ORIGIN_SPAN: origin_span_id}


def _outcome_attributes(outcome: Outcome) -> Attributes:
    out: Attributes = {_USAGE_KEYS[name]: value for name, value in outcome.usage.to_json().items()}
    out |= {keys.LOST: outcome.lost, keys.ABORTED: True if outcome.status == "aborted" else None}
    if outcome.error:
        out[keys.ERROR_TYPE] = outcome.error.type
    return out


def error_of(event: TraceEvent) -> ErrorInfo | None:
    """The error that an end event carries, for the span's status."""
    match event:
        case RunEnd() | AgentEnd() | ModelTurnEnd() | ToolEnd():
            return event.outcome.error
    return None


def point_attributes(event: TraceEvent) -> Attributes:
    """Attributes of the span event that carries a point."""
    data = {name: _point_value(getattr(event, name)) for name in _POINT_FIELDS[type(event)]}
    return _present({keys.MARK_SEQ: event.seq, keys.MARK_DATA: dump_json(data)})


def _point_value(value: Any) -> Json:
    return value.to_json() if isinstance(value, Outcome) else json_safe(value)[0]


def _present(attributes: Attributes) -> Attributes:
    return {key: value for key, value in attributes.items() if value is not None}


# Reading --------------------------------------------------------------------------------------------------


def is_own_span(span: Span) -> bool:
    """True for a span that this runtime wrote, in a version of the format that this build reads."""
    version = span.attributes.get(keys.FORMAT)
    return (
        type(version) is int and 1 <= version <= keys.FORMAT_VERSION and span.attributes.get(keys.KIND) in _CALL_KINDS
    )


def call_of_span(span: Span, known: Known | None = None) -> Call:
    """The call of one of our own spans. Fields that are missing or damaged come out as None; never raises.

    Args: known: messages that were read before in the same trace.
    """
    known = known or Known()
    a = span.attributes
    kind = _CALL_KINDS[a[keys.KIND]]
    error = None
    if span.status_code == 2 or keys.ERROR_TYPE in a:
        error = ErrorInfo(_str(a.get(keys.ERROR_TYPE)) or "error", span.status_message)
    marks = _marks(span)
    cut = _cut_off(span, marks)
    call_id = None if CUT_CALL_ID in cut else _str(a.get(keys.CALL_ID))
    # A whole answer under a whole hash answers, whatever else of its span is gone.
    answer = {"llm": keys.OUTPUT_MESSAGES, "tool": keys.TOOL_RESULT}.get(kind)
    answers = answer is not None and (error is not None or answer in a) and f"{answer} was cut off" not in cut
    result_key = keys.TOOL_RESULT if kind == "tool" else keys.OUTPUT
    parameters = load_json(a.get(keys.PARAMETERS))
    return Call(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        kind=kind,
        name=span.name,
        start_unix_nano=span.start_unix_nano,
        end_unix_nano=span.end_unix_nano,
        convention="retrospan",
        agent_name=_str(a.get(keys.AGENT_NAME)),
        provider=_str(a.get(keys.PROVIDER)),
        model=_str(a.get(keys.REQUEST_MODEL)),
        response_model=_str(a.get(keys.RESPONSE_MODEL)),
        conversation_id=_str(a.get(keys.CONVERSATION_ID)),
        input_messages=_messages(a.get(keys.INPUT_MESSAGES), known),
        output_messages=_messages(a.get(keys.OUTPUT_MESSAGES), known),
        tool_definitions=_definitions(a.get(keys.TOOL_DEFINITIONS)) if kind == "llm" else None,
        output_schema=_object(a.get(keys.OUTPUT_SCHEMA)),
        parameters=parameters if isinstance(parameters, dict) else {},
        api=_str(a.get(keys.API)),
        tool_name=_str(a.get(keys.TOOL_NAME)),
        tool_call_id=_str(a.get(keys.TOOL_CALL_ID)),
        arguments=load_json(a.get(keys.TOOL_ARGUMENTS)),
        result=load_json(a.get(result_key)),
        has_result=result_key in a,
        usage=Usage.from_json({name: a.get(key) for name, key in _USAGE_KEYS.items()}),
        finish_reasons=_strings(a.get(keys.FINISH_REASONS)),
        error=error,
        aborted=a.get(keys.ABORTED) is True,
        input=load_json(a.get(keys.INPUT)),
        attempts=_int(a.get(keys.TOOL_ATTEMPTS)),
        call_id=call_id,
        content_hash=None if CUT_HASH in cut else _str(a.get(keys.CONTENT_HASH)),
        start_seq=_int(a.get(keys.START_SEQ)),
        end_seq=_int(a.get(keys.END_SEQ)),
        run_id=_str(a.get(keys.RUN_ID)),
        entry_point=_str(a.get(keys.ENTRY_POINT)),
        entry_digest=_str(a.get(keys.ENTRY_DIGEST)),
        memory_start=_object(a.get(keys.MEMORY_START)),
        served_by=_str(a.get(keys.SERVED_BY)),
        origin_trace_id=_str(a.get(keys.ORIGIN_TRACE)),
        origin_span_id=_str(a.get(keys.ORIGIN_SPAN)),
        origin_anchor=_str(a.get(keys.ORIGIN_ANCHOR)),
        edits=_edits(a.get(keys.EDITS)),
        replay_ended=_str(a.get(keys.REPLAY_ENDED)),
        lost=_str(a.get(keys.LOST)) or (None if answers else "; ".join(cut) or None),
        inferred=tuple(cut) if answers else (),
        marks=marks,
    )


CUT_CALL_ID = "the call id was cut off"
CUT_HASH = "the content hash was cut off"


def _cut_off(span: Span, marks: tuple[Mark, ...]) -> list[str]:
    """What the limits of an SDK took from the span; empty where it is whole."""
    a = span.attributes
    out = [f"{key} was cut off" for key in _JSON_TEXTS if a.get(key, "null") != "null" and load_json(a[key]) is None]
    content_hash = a.get(keys.CONTENT_HASH)
    if isinstance(content_hash, str) and content_hash.startswith("sha256.1:"[: len(content_hash)]):
        out += [CUT_HASH] if len(content_hash) < _HASH_LENGTH else []
    points = sum(event.name.startswith(keys.MARK_PREFIX) for event in span.events)
    attributes = sum(key.startswith(_OURS) for key in a) - 1
    counts = a.get(keys.WRITTEN)
    if isinstance(counts, list | tuple) and len(counts) == 3 and all(type(n) is int for n in counts):
        if attributes < counts[0]:
            out.append(f"{counts[0] - attributes} of {counts[0]} attributes were cut off")
        if len(str(a.get(keys.CALL_ID, ""))) != counts[2]:
            out.append(CUT_CALL_ID)
        points = max(points, counts[1])
    if len(marks) < points:
        out.append(f"{points - len(marks)} of {points} points were cut off")
    return out


_HASH_LENGTH = len("sha256.1:") + 64


def _marks(span: Span) -> tuple[Mark, ...]:
    out = []
    for event in span.events:
        kind = event.name.removeprefix(keys.MARK_PREFIX)
        data = load_json(event.attributes.get(keys.MARK_DATA))
        if event.name.startswith(keys.MARK_PREFIX) and kind in POINTS and isinstance(data, dict):
            seq = _int(event.attributes.get(keys.MARK_SEQ))
            out.append(Mark(type=kind, time_unix_nano=event.time_unix_nano, seq=seq, data=data))
    return tuple(out)


def _messages(text: Json, known: Known) -> tuple[Message, ...] | None:
    data = load_json(text)
    return tuple(known.once(_message, m, "") for m in data) if isinstance(data, list) else None


def _message(data: Json, _: str) -> Message:
    return message_from_json(data)


def _definitions(text: Json) -> tuple[ToolDefinition, ...]:
    # Our own spans leave the attribute out when no tools were offered, so absence is knowledge here.
    data = load_json(text)
    return tuple(ToolDefinition.from_json(d) for d in data) if isinstance(data, list) else ()


def _edits(text: Json) -> tuple[JsonObject, ...]:
    data = load_json(text)
    return tuple(each for each in data if isinstance(each, dict)) if isinstance(data, list) else ()


def _str(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _int(value: Json) -> int | None:
    return value if type(value) is int else None


def _object(text: Json) -> dict[str, Any] | None:
    data = load_json(text)
    return data if isinstance(data, dict) else None


def _strings(value: Json) -> tuple[str, ...] | None:
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else None
