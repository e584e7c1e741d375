"""A call as it was asked and answered, as JSON; and what happened inside a span, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.messages import Call, Json, message_to_json
from runtime.trace import Span

from ..importers import LogRecord
from .document import Builder, Document, Line, Piece, json_lines, json_text, told
from .text import clock_exact, duration, one_line, plural

_SEVERITIES = ((21, "fatal"), (17, "error"), (13, "warn"), (9, "info"), (5, "debug"), (1, "trace"))


def request_document(call: Call) -> Document:
    """What was asked and what came back, without anything of ours in between: for copying, and for a second look."""
    out = Builder()
    asked, answered = _asked(call), _answered(call)
    out.line(Piece("request", "heading"))
    if asked:
        out.json("request", asked)
    else:
        out.line(Piece("The request was not recorded in this trace.", "dim"), indent=2)
    out.heading("answer")
    if answered:
        out.json("answer", answered)
    else:
        out.line(Piece("The answer was not recorded in this trace.", "dim"), indent=2)
    return out.document(f"{one_line(call.name)} request")


def _asked(call: Call) -> dict[str, Json]:
    asked: dict[str, Json] = {}
    if call.kind == "tool" or call.arguments is not None:
        asked["tool"] = call.tool_name or call.name
        asked["id"] = call.tool_call_id
        asked["arguments"] = call.arguments
    if call.kind == "llm":
        asked["model"] = call.model
        asked["provider"] = call.provider
        asked.update(call.parameters)
    if call.input is not None:
        asked["input"] = call.input
    if call.input_messages is not None:
        asked["messages"] = [message_to_json(message) for message in call.input_messages]
    if call.tool_definitions:
        asked["tools"] = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in call.tool_definitions
        ]
    if call.output_schema is not None:
        asked["output_schema"] = call.output_schema
    return {name: value for name, value in asked.items() if value is not None}


def _answered(call: Call) -> dict[str, Json]:
    answered: dict[str, Json] = {}
    if call.output_messages is not None:
        answered["messages"] = [message_to_json(message) for message in call.output_messages]
    if call.response_model is not None and call.response_model != call.model:
        answered["model"] = call.response_model
    if call.finish_reasons:
        answered["finish_reasons"] = list(call.finish_reasons)
    if call.has_result:
        answered["result"] = call.result
    if call.error is not None:
        answered["error"] = {"type": call.error.type, "message": call.error.message}
    usage = {
        "input_tokens": call.usage.input_tokens,
        "output_tokens": call.usage.output_tokens,
        "cached_tokens": call.usage.cached_tokens,
        "cache_write_tokens": call.usage.cache_write_tokens,
        "reasoning_tokens": call.usage.reasoning_tokens,
    }
    if known := {name: value for name, value in usage.items() if value is not None}:
        answered["usage"] = known
    return answered


def events_document(spans: Sequence[Span], logs: Sequence[LogRecord]) -> Document:
    """Span events and log records of a span together, in the order of time; those without a time come last."""
    out = Builder()
    start = next((span.start_unix_nano for span in spans if span.start_unix_nano is not None), None)
    found: list[tuple[int | None, str, str, Mapping[str, Json], Json]] = []
    for span in spans:
        found.extend((event.time_unix_nano, "event", event.name, event.attributes, None) for event in span.events)
    for log in logs:
        found.append((log.time_unix_nano, _severity(log), log.event_name or "log record", log.attributes, log.body))
    found.sort(key=lambda item: (item[0] is None, item[0] or 0))
    total = len(found)
    out.line(Piece(f"{plural(total, 'event')} and log records, in the order of time" if total else
                   "No events and no log records were recorded for this span.", "dim"))  # fmt: skip
    for i, (at, kind, name, attributes, body) in enumerate(found):
        since = "no time" if at is None else clock_exact(at) if start is None else f"+{duration(at - start)}"
        out.gap()
        style = {"error": "error", "fatal": "error", "warn": "warning"}.get(kind, "dim")
        out.line(Piece(since.ljust(10), "number"), Piece(f" {kind:<6}", style), told(name, "strong"))  # type: ignore[arg-type]
        if isinstance(body, str):
            out.text(f"b{i}", body, indent=4)
        elif body is not None:
            out.json(f"b{i}", body, indent=4)
        out.body(f"a{i}", _attribute_lines(attributes))
    return out.document("events")


def _severity(log: LogRecord) -> str:
    return next((word for least, word in _SEVERITIES if log.severity >= least), "log")


def _attribute_lines(attributes: Mapping[str, Json]) -> list[Line]:
    lines: list[Line] = []
    for name, value in attributes.items():
        inner = json_lines(value, 6)
        if len(inner) == 1:
            lines.append(Line((told(name, "key"), Piece("  "), *inner[0].pieces), 4, 4))
        else:
            lines.append(Line((told(name, "key"), Piece(f"  {json_text(value)[:40]}", "dim")), 4))
            lines.extend(inner)
    return lines
