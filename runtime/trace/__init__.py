"""Spans and trace events: how a run is written down and read back."""

from ._emitter import Emitter, Subscriber, subscribe
from ._events import (
    EVENTS,
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
from ._file import TraceFileWriter, read_events, read_spans
from ._merge import merge_versions
from ._otlp import decode_value, encode_attributes, encode_request, encode_span
from ._own import call_of_span, is_own_span
from ._points import content_hash_of, events_of, outcome_of
from ._span import Span, SpanEvent, SpanLink

__all__ = [
    "EVENTS",
    "AgentEnd",
    "AgentStart",
    "Emitter",
    "GenerationEnd",
    "GenerationStart",
    "Log",
    "MemoryWrite",
    "ModelTurnEnd",
    "ModelTurnStart",
    "RunEnd",
    "RunStart",
    "Span",
    "SpanEnd",
    "SpanEvent",
    "SpanLink",
    "SpanStart",
    "Subscriber",
    "ToolAttempt",
    "ToolEnd",
    "ToolStart",
    "ToolUsage",
    "TraceEvent",
    "TraceFileWriter",
    "ValueTaken",
    "call_of_span",
    "content_hash_of",
    "decode_value",
    "encode_attributes",
    "encode_request",
    "encode_span",
    "events_of",
    "is_own_span",
    "merge_versions",
    "outcome_of",
    "read_events",
    "read_spans",
    "subscribe",
]
