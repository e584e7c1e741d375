"""Spans that the importer cut out of rejelly's events: the events lie on them word for word.

A turn is a model call, each result of a tool batch a tool call, and everything of the timeline becomes a mark (see
``_rejelly_marks``). The hash that an event brings stays the key of the journal. Source: the behaviour of rejelly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import SERVED_FREE, Call, CallKind, ErrorInfo, JsonObject, Known, Usage
from runtime.trace import Span

from ..importers import load_text
from ._rejelly_marks import NANO_USD, Recorded, error_of, events_of_span, is_aborted, marks_of, nano_usd, tool_marks
from ._view import Promoted, View, text, whole
from .shapes import messages_of, tool_definitions_of

name: Final = "rejelly"
version: Final = 2

_EVENTS, _PLACES, _MODEL_CALLS = "rejelly.events", "rejelly.places", "rejelly.model_calls"
_RESULT, _SEQ, _END_SEQ, _WITHOUT_SPAN = "rejelly.tool_result", "rejelly.seq", "rejelly.seq.end", "rejelly.without_span"

marks: Final = frozenset((_EVENTS, _RESULT))
keys: Final = frozenset((_EVENTS, _PLACES, _MODEL_CALLS, _RESULT, _SEQ, _END_SEQ, _WITHOUT_SPAN))

_KINDS: Final[dict[str, CallKind]] = {
    "agent": "agent",
    "turn": "llm",
    "runWith": "chain",
    "generation": "chain",
    "promptAgent": "chain",
    "tools:execute": "chain",
}


def recognises(view: View) -> bool:
    """Only the importer writes these two."""
    return type(view.attributes.get(_EVENTS)) is str or type(view.attributes.get(_RESULT)) is str


def promote(view: View) -> Promoted:
    """The narrow facts, out of the same fields as in ``call``."""
    fields = _fields(view.attributes, Known())
    usage: Usage = fields.get("usage", Usage())
    error = fields["error"]
    is_free = usage.cost_nano_usd is not None and fields.get("served_by") in SERVED_FREE
    return Promoted(
        kind=fields["kind"],
        convention=name,
        error_type=_storable(None if error is None else error.type),
        agent_name=_storable(fields.get("agent_name")),
        provider=_storable(fields.get("provider")),
        model=_storable(fields.get("model")),
        tool_name=_storable(fields.get("tool_name")),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_nano_usd=0 if is_free else usage.cost_nano_usd,
        start_seq=whole(view.attributes.get(_SEQ)),
    )


def call(span: Span, known: Known) -> Call:
    """The call, with every event of the span as a mark."""
    a = span.attributes
    fields = _fields(a, known)
    return Call(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        name=span.name,
        start_unix_nano=span.start_unix_nano,
        end_unix_nano=span.end_unix_nano,
        convention=name,
        start_seq=whole(a.get(_SEQ)),
        end_seq=whole(a.get(_END_SEQ)),
        marks=_marks(span, fields),
        **fields,
    )


def _fields(attributes: Mapping[str, Any], known: Known) -> dict[str, Any]:
    """What the call is, by its kind. Always with ``kind`` and ``error``."""
    if type(attributes.get(_EVENTS)) is not str:
        return _tool(_object(load_text(attributes.get(_RESULT))))
    recorded = events_of_span(attributes.get(_EVENTS), attributes.get(_PLACES))
    base = _main_type(recorded)
    if _WITHOUT_SPAN in attributes and base != "turn":
        return {"kind": "other", "error": None}  # rejelly reads no more of it
    start = _first(recorded, f"{base}:start") or _first(recorded, f"{base}:end") or {}
    end = _first(recorded, f"{base}:end")
    outcome = end or {}
    out: dict[str, Any] = {
        "kind": _KINDS.get(base, "other"),
        "error": error_of(outcome) if outcome.get("success") is False or "error" in outcome else None,
        "aborted": is_aborted(outcome),
    }
    if base in ("agent", "runWith"):
        out |= {"input": start.get("props"), "result": outcome.get("result"), "has_result": end is not None}
    if base == "agent":
        out["agent_name"] = text(start.get("agentId")) or "unknown"
    elif base == "turn":
        out |= _turn(start, outcome, load_text(attributes.get(_MODEL_CALLS)), known)
    return out


def _main_type(recorded: list[Recorded]) -> str:
    """What the span is: what started first in it, else what ended first, else its first event."""
    types = [text(each.event.get("type")) or "" for each in recorded]
    for suffix in (":start", ":end", ""):
        for kind in types:
            if kind.endswith(suffix):
                return kind.removesuffix(":start").removesuffix(":end")
    return ""


def _first(recorded: list[Recorded], kind: str) -> dict[str, Any] | None:
    return next((each.event for each in recorded if each.event.get("type") == kind), None)


def _turn(start: Mapping[str, Any], end: Mapping[str, Any], model_calls: Any, known: Known) -> dict[str, Any]:
    """A model turn; model and cost are those of the call inside it, which a cached turn does not have."""
    inner: dict[str, Any] = {}
    for each in model_calls if isinstance(model_calls, list) else ():
        inner |= _object(each)
    asked = start if "messages" in start else end
    messages, message = asked.get("messages"), end.get("message")
    offered = _object(asked.get("toolConfig"))
    tools = offered.get("tools")
    usage, costs = _object(inner.get("usage")), _object(inner.get("costs"))
    reason = text(inner.get("finishReason"))
    choice = offered.get("toolChoice")
    schema = asked.get("schema")
    return {
        "model": text(inner.get("adapterId")),
        "provider": text(inner.get("provider")),
        "input_messages": messages_of(messages, "user", known) if isinstance(messages, list) else None,
        "output_messages": None if message is None else messages_of([message], "assistant", known),
        "tool_definitions": tool_definitions_of(tools) or (),
        "output_schema": schema if isinstance(schema, dict) else None,
        "parameters": {} if choice is None else {"tool_choice": choice},
        "usage": Usage(
            input_tokens=whole(usage.get("promptTokens")),
            output_tokens=whole(usage.get("completionTokens")),
            cost_nano_usd=nano_usd(costs).get(NANO_USD),
        ),
        "finish_reasons": None if reason is None else (reason,),
        "content_hash": text(end.get("contentHash")),
        "served_by": "journal" if end.get("cache") is True else None,
    }


def _tool(result: Mapping[str, Any]) -> dict[str, Any]:
    """One result of a batch."""
    is_ok = bool(result.get("success"))
    return {
        "kind": "tool",
        "tool_name": text(result.get("toolName")) or "unknown",
        "tool_call_id": text(result.get("callId")),
        "arguments": result.get("input"),
        "result": result.get("output") if is_ok else None,
        "has_result": is_ok,
        "error": None if is_ok else error_of(result) or ErrorInfo("Error", ""),
        "aborted": is_aborted(result),
        "content_hash": text(result.get("contentHash")),
        "served_by": "journal" if result.get("cache") is True else None,
    }


def _marks(span: Span, fields: Mapping[str, Any]) -> Any:
    a = span.attributes
    if type(a.get(_EVENTS)) is not str:
        return tool_marks(span, _object(load_text(a.get(_RESULT))), whole(a.get(_SEQ)), whole(a.get(_END_SEQ)))
    recorded = events_of_span(a.get(_EVENTS), a.get(_PLACES))
    return marks_of(recorded, span, fields.get("usage", Usage()), has_span=_WITHOUT_SPAN not in a)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _storable(value: str | None) -> str | None:
    return None if value is None else value.encode("utf-8", "backslashreplace").decode()
