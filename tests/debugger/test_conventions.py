"""Conventions: from attributes to calls, one table per question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from debugger.conventions import CONVENTIONS, VERSION, View, call_of, promote
from debugger.conventions._cut import mend_cut_json
from runtime.messages import Call, ErrorInfo, Message, ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart
from runtime.trace import Span, SpanEvent, call_of_span, is_own_span

from .otlp import SPAN, START, TRACE


def span(attributes: dict[str, Any] | None = None, **fields: Any) -> Span:
    base: dict[str, Any] = {
        "trace_id": TRACE, "span_id": SPAN, "parent_span_id": None, "name": "work", "start_unix_nano": START,
        "end_unix_nano": START + 1,
    }  # fmt: skip
    return Span(**(base | fields), attributes=attributes or {})


def chat(attributes: dict[str, Any], **fields: Any) -> Call:
    return call_of(span({"gen_ai.operation.name": "chat"} | attributes, **fields))


def tool(attributes: dict[str, Any], **fields: Any) -> Call:
    return call_of(span({"gen_ai.operation.name": "execute_tool"} | attributes, **fields))


def event(name: str, **attributes: Any) -> SpanEvent:
    return SpanEvent(
        name=name, time_unix_nano=START, attributes={k.replace("__", "."): v for k, v in attributes.items()}
    )


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("chat", "llm"),
        ("generate_content", "llm"),
        ("text_completion", "llm"),
        ("invoke_agent", "agent"),
        ("create_agent", "other"),
        ("execute_tool", "tool"),
        ("embeddings", "embedding"),
        ("retrieval", "retriever"),
        ("invoke_workflow", "chain"),
        ("execute_event_loop_cycle", "other"),
        ("", "other"),
    ],
)
def test_the_operation_gives_the_kind(operation: str, kind: str) -> None:
    call = call_of(span({"gen_ai.operation.name": operation}))
    assert (call.kind, call.convention) == (kind, "genai")


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"gen_ai.operation.name": 5},
        {"gen_ai.system": "openai"},
        {"llm.model_name": "m"},
        {"retrospan.format": 99},
    ],
)
def test_other_spans_have_no_convention(attributes: dict[str, Any]) -> None:
    call = call_of(span(attributes, status_code=2, status_message="went wrong"))
    assert (call.kind, call.convention, call.error) == ("other", None, ErrorInfo("error", "went wrong"))


FIELDS: list[tuple[dict[str, Any], str, Any]] = [
    ({"gen_ai.provider.name": "openai", "gen_ai.system": "old"}, "provider", "openai"),
    ({"gen_ai.system": "openai"}, "provider", "openai"),
    ({"gen_ai.request.model": "a", "gen_ai.response.model": "b"}, "model", "a"),
    ({"gen_ai.request.model": "a", "gen_ai.response.model": "b"}, "response_model", "b"),
    ({"gen_ai.response.model": "b"}, "model", "b"),
    ({"gen_ai.request.model": 5}, "model", None),
    ({"gen_ai.usage.input_tokens": 7, "gen_ai.usage.prompt_tokens": 8}, "usage.input_tokens", 7),
    ({"gen_ai.usage.prompt_tokens": 8}, "usage.input_tokens", 8),
    ({"gen_ai.usage.completion_tokens": 9.0}, "usage.output_tokens", 9),
    ({"gen_ai.usage.input_tokens": float("nan")}, "usage.input_tokens", None),
    ({"gen_ai.usage.output_tokens": True}, "usage.output_tokens", None),
    ({"gen_ai.usage.output_tokens": "12"}, "usage.output_tokens", 12),
    ({"gen_ai.usage.output_tokens": "many"}, "usage.output_tokens", None),
    ({"gen_ai.usage.cache_read.input_tokens": 3}, "usage.cached_tokens", 3),
    ({"gen_ai.usage.reasoning.output_tokens": 4}, "usage.reasoning_tokens", 4),
    ({"gen_ai.usage.reasoning_tokens": 4}, "usage.reasoning_tokens", 4),
    ({"gen_ai.response.finish_reasons": ["stop", "length"]}, "finish_reasons", ("stop", "length")),
    ({"gen_ai.response.finish_reasons": '["stop"]'}, "finish_reasons", ("stop",)),
    ({"gen_ai.response.finish_reasons": "stop"}, "finish_reasons", ("stop",)),
    ({}, "finish_reasons", None),
    ({"gen_ai.conversation.id": "c"}, "conversation_id", "c"),
    ({"gen_ai.agent.name": "desk"}, "agent_name", "desk"),
    ({"gen_ai.request.model": "m", "gen_ai.request.seed": 7}, "parameters", {"seed": 7}),
    ({}, "input_messages", None),
    ({}, "tool_definitions", None),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "field", "want"), FIELDS)
def test_fields_of_a_model_call(attributes: dict[str, Any], field: str, want: Any) -> None:
    value: Any = chat(attributes)
    for name in field.split("."):
        value = getattr(value, name)
    assert value == want


USER = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
HI = Message("user", (TextPart("hi"),))

MESSAGES: list[tuple[str, Any, tuple[Message, ...]]] = [
    ("JSON text", json.dumps([USER]), (HI,)),
    ("native list", [USER], (HI,)),
    ("one message", json.dumps(USER), (HI,)),
    ("plain text", "hi", (HI,)),
    ("empty list", "[]", ()),
    ("older content", json.dumps([{"role": "user", "content": "hi"}]), (HI,)),
    (
        "arguments as JSON text",
        [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": '{"a": 1}'}]}],
        (Message("assistant", (ToolCallPart("1", "f", {"a": 1}),)),),
    ),
    (
        "result under another name",
        [{"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "result": "ok"}]}],
        (Message("user", (ToolCallResponsePart("1", "ok"),)),),
    ),
    (
        "reasoning",
        [{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}], "finish_reason": "stop"}],
        (Message("assistant", (ReasoningPart("hm"),), None, "stop"),),
    ),
]


@pytest.mark.parametrize(("value", "want"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES])
def test_messages(value: Any, want: tuple[Message, ...]) -> None:
    assert chat({"gen_ai.input.messages": value}).input_messages == want


def test_system_instructions_come_first_and_once() -> None:
    system = {"role": "system", "parts": [{"type": "text", "content": "be kind"}]}
    instructions = json.dumps(system["parts"])
    want = (Message("system", (TextPart("be kind"),)), HI)
    for messages in ([USER], [system, USER]):
        call = chat({"gen_ai.system_instructions": instructions, "gen_ai.input.messages": json.dumps(messages)})
        assert call.input_messages == want
    assert chat({"gen_ai.system_instructions": "be kind"}).input_messages == want[:1]


def test_content_on_the_details_event_of_a_span() -> None:
    details = event(
        "gen_ai.client.inference.operation.details", gen_ai__input__messages=[USER], gen_ai__agent__name="of the event"
    )
    call = chat({"gen_ai.agent.name": "of the span"}, events=(details,))
    assert (call.input_messages, call.agent_name) == ((HI,), "of the span")


def test_finish_reasons_of_the_messages_where_there_are_no_others() -> None:
    out = [{"role": "assistant", "parts": [], "finish_reason": "length"}]
    assert chat({"gen_ai.output.messages": json.dumps(out)}).finish_reasons == ("length",)


def test_tool_definitions() -> None:
    nested = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    for value in (json.dumps([nested]), [nested], [json.dumps(nested)]):
        (definition,) = chat({"gen_ai.tool.definitions": value}).tool_definitions or ()
        assert (definition.name, definition.description, definition.parameters) == ("f", "d", {"type": "object"})


def test_a_tool_call() -> None:
    call = tool(
        {
            "gen_ai.tool.name": "weather",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.tool.call.arguments": '{"city": "Lyon"}',
            "gen_ai.tool.call.result": '{"temp": 14}',
        }
    )
    assert (call.kind, call.tool_name, call.tool_call_id) == ("tool", "weather", "call_1")
    assert (call.arguments, call.result, call.has_result, call.lost) == ({"city": "Lyon"}, {"temp": 14}, True, None)


@pytest.mark.parametrize(
    ("call", "lost"),
    [
        (tool({}), "the result was not recorded"),
        (tool({"gen_ai.tool.call.result": ""}), None),
        (tool({}, status_code=2), None),
        (tool({}, end_unix_nano=None), None),
        (chat({}), "the answer was not recorded"),
        (chat({"gen_ai.output.messages": "[]"}), None),
        (call_of(span({"gen_ai.operation.name": "invoke_agent"})), None),
    ],
)
def test_what_was_not_recorded_cannot_answer_again(call: Call, lost: str | None) -> None:
    assert call.lost == lost


def test_an_agent_call_has_input_and_result() -> None:
    call = call_of(
        span(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.system_instructions": "be kind",
                "gen_ai.input.messages": json.dumps([USER]),
                "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "bye"}]}],
            }
        )
    )  # fmt: skip
    assert (call.kind, call.input, call.result, call.has_result) == ("agent", "hi", "bye", True)


EXCEPTION = event("exception", exception__type="ValueError", exception__message="bad value")
ESCAPED = event("exception", exception__type="ValueError", exception__message="bad value", exception__escaped="True")


@pytest.mark.parametrize(
    ("attributes", "fields", "want"),
    [
        ({}, {}, None),
        ({}, {"status_code": 1}, None),
        ({}, {"events": (EXCEPTION,)}, None),
        ({}, {"events": (ESCAPED,)}, ErrorInfo("ValueError", "bad value")),
        ({}, {"status_code": 2}, ErrorInfo("error", "")),
        ({}, {"status_code": 2, "status_message": "no"}, ErrorInfo("error", "no")),
        ({}, {"status_code": 2, "events": (EXCEPTION,)}, ErrorInfo("ValueError", "bad value")),
        ({"error.type": "Timeout"}, {}, ErrorInfo("Timeout", "")),
        ({"error.type": "_OTHER"}, {"events": (EXCEPTION,)}, ErrorInfo("ValueError", "bad value")),
        ({"error.type": "_OTHER"}, {"status_code": 2}, ErrorInfo("_OTHER", "")),
    ],
)
def test_errors(attributes: dict[str, Any], fields: dict[str, Any], want: ErrorInfo | None) -> None:
    assert chat(attributes, **fields).error == want


CUTS: list[tuple[str, Any]] = [
    ('[{"role": "user", "parts": [{"type": "te', [{"role": "user", "parts": [{"type": "te"}]}]),
    ('[{"role": "user", "parts": [{"type": "text", "content": "half a sen', [
        {"role": "user", "parts": [{"type": "text", "content": "half a sen"}]}]),
    ('[{"role": "user", "parts": [{"content": "a\\', [{"role": "user", "parts": [{"content": "a"}]}]),
    ('[{"role": "user", "parts": [{"content": "a\\u00', [{"role": "user", "parts": [{"content": "a"}]}]),
    ('[{"role": "user"}, {"ro', [{"role": "user"}, {}]),
    ('[{"role": "user"}, {"role', [{"role": "user"}, {}]),
    ('[{"role": "user"}, {"role"', [{"role": "user"}, {}]),
    ('[{"role": "user"}, {"role":', [{"role": "user"}, {}]),
    ('[{"n": 12', [{"n": 12}]),
    ('[{"n": tru', [{}]),
    ("[1, 2", [1, 2]),
    ("[", []),
    ("}", None),
    ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), CUTS)
def test_cut_json_is_mended_as_far_as_it_goes(text: str, want: Any) -> None:
    assert mend_cut_json(text) == want


def test_cut_json_at_every_length_gives_the_start_of_the_whole() -> None:
    whole = json.dumps([{"role": "user", "parts": [{"type": "text", "content": 'say "é" [1]'}], "n": [1.5, None]}])
    for end in range(1, len(whole)):
        mended = mend_cut_json(whole[:end])
        assert isinstance(mended, list), end
        assert json.dumps(mended)[: end // 3].rstrip('"}]')[:9] == whole[: end // 3].rstrip('"}]')[:9]


def test_cut_messages_are_shown_and_cannot_be_used() -> None:
    text = json.dumps([USER])[:-9]
    call = chat({"gen_ai.input.messages": text, "gen_ai.output.messages": json.dumps([USER])})
    assert call.input_messages is not None
    assert call.input_messages[0].role == "user"
    assert call.lost == f"gen_ai.input.messages is cut off after {len(text)} characters"
    broken = chat({"gen_ai.input.messages": "{]"})
    assert broken.input_messages == (Message("user", (TextPart("{]"),)),)
    assert broken.lost == "gen_ai.input.messages is not JSON"


def test_our_own_spans_are_read_by_the_runtime() -> None:
    own = span(
        {
            "retrospan.format": 1,
            "retrospan.kind": "agent",
            "retrospan.run_id": "r1",
            "retrospan.seq.start": 4,
            "retrospan.origin.trace_id": "1" * 32,
            "retrospan.cost_nano_usd": 5,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "desk",
        }
    )
    assert is_own_span(own)
    assert call_of(own) == call_of_span(own)
    facts = promote(View.of(own))
    assert (facts.kind, facts.convention, facts.agent_name) == ("agent", "retrospan", "desk")
    assert (facts.run_id, facts.start_seq, facts.origin_trace_id, facts.cost_nano_usd) == ("r1", 4, "1" * 32, 5)
    for served, spent in (("journal", 0), ("reused", 0), ("live", 5)):
        own.attributes["retrospan.served_by"] = served
        assert promote(View.of(own)).cost_nano_usd == spent, served


@pytest.mark.parametrize("attributes", [
    {"retrospan.format": 2, "retrospan.kind": "agent"},
    {"retrospan.format": "1", "retrospan.kind": "agent"},
    {"retrospan.format": 1, "retrospan.kind": "new"},
    {"retrospan.format": True, "retrospan.kind": "agent"},
    {"retrospan.format": 1, "retrospan.kind": "tool"},
    {"retrospan.format": 1},
])  # fmt: skip
def test_the_cheap_test_for_our_own_spans_is_that_of_the_runtime(attributes: dict[str, Any]) -> None:
    own = CONVENTIONS[0]
    whole = span(attributes)
    assert own.recognises(View.of(whole)) == is_own_span(whole)


def test_the_version_names_every_convention() -> None:
    named = [f"{convention.name}:{convention.version}" for convention in CONVENTIONS]
    assert VERSION.split(",") == [*named, "twins:6"]
