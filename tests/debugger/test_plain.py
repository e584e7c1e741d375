"""Values of attributes that are no JSON: calls hold text for them, so that they are written, hashed and replayed."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import pytest

from debugger.conventions import call_of
from debugger.importers import LogRecord
from runtime.messages import canonical_json, message_to_json
from runtime.trace import Span, SpanEvent

NO_JSON = {"x": [nan, inf, -inf, b"\x00\xff"], "y": 1.5}
AS_JSON = {"x": ["NaN", "Infinity", "-Infinity", "00ff"], "y": 1.5}


def span(operation: str, attributes: dict[str, Any], events: tuple[SpanEvent, ...] = ()) -> Span:
    return Span(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id=None,
        name="s",
        start_unix_nano=1,
        end_unix_nano=2,
        attributes={"gen_ai.operation.name": operation, **attributes},
        events=events,
    )


def test_arguments_and_results() -> None:
    made = span("execute_tool", {"gen_ai.tool.call.arguments": NO_JSON, "gen_ai.tool.call.result": NO_JSON})
    call = call_of(made)
    assert (call.arguments, call.result) == (AS_JSON, AS_JSON)
    assert made.attributes["gen_ai.tool.call.result"] is NO_JSON, "the span keeps what came"


ASKED = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "t", "arguments": NO_JSON}]}]
DETAILS = "gen_ai.client.inference.operation.details"


@pytest.mark.parametrize("where", ["attribute", "event", "log"])
def test_messages_wherever_they_are_recorded(where: str) -> None:
    content = {"gen_ai.input.messages": ASKED}
    events = (SpanEvent(name=DETAILS, time_unix_nano=1, attributes=content),) if where == "event" else ()
    logs = [LogRecord(event_name=DETAILS, time_unix_nano=1, attributes=content)] if where == "log" else []
    call = call_of(span("chat", content if where == "attribute" else {}, events), logs)
    assert call.input_messages is not None
    (message,) = call.input_messages
    written = message_to_json(message)
    assert json.loads(canonical_json(written))["parts"][0]["arguments"] == AS_JSON


def test_a_parameter_that_is_no_number() -> None:
    call = call_of(span("chat", {"gen_ai.request.temperature": nan, "gen_ai.request.top_p": 0.5}))
    assert call.parameters == {"temperature": "NaN", "top_p": 0.5}
