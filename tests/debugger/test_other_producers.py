"""Producers outside the zoo, by what they document: one conversation comes out of all; what is odd never raises."""

from __future__ import annotations

from typing import Any

import pytest

from debugger.conventions import View, call_of, promote
from runtime.messages import Call, TextPart, ToolCallPart, ToolCallResponsePart
from runtime.trace import Span, SpanEvent

from .other_producers import KINDS_OF_SPANS, MODEL_CALLS, QUESTION, TOOL_CALLS
from .producers import J, flat, parts, span


def agree(whole: Span, call: Call) -> None:
    """The columns that a load fills say what the call says."""
    facts = promote(View.of(whole))
    assert (facts.kind, facts.convention, facts.model) == (call.kind, call.convention, call.model)
    assert (facts.provider, facts.tool_name, facts.agent_name) == (call.provider, call.tool_name, call.agent_name)
    assert (facts.input_tokens, facts.output_tokens) == (call.usage.input_tokens, call.usage.output_tokens)
    assert facts.cost_nano_usd == call.usage.cost_nano_usd


@pytest.mark.parametrize("producer", MODEL_CALLS)
def test_a_model_call(producer: str) -> None:
    family, whole, provider = MODEL_CALLS[producer]
    call = call_of(whole)
    assert (call.kind, call.convention, call.model, call.provider) == ("llm", family, "m", provider)
    assert [message.role for message in call.input_messages or ()][:3] == ["system", "user", "assistant"]
    assert [part.content for part in parts(call, TextPart)] == ["Be brief.", QUESTION]
    (asked,) = parts(call, ToolCallPart)
    assert (asked.id, asked.name, asked.arguments) == ("c1", "get_weather", {"city": "Lyon"})
    (told,) = parts(call, ToolCallResponsePart)
    assert (told.id, told.response in ({"sky": "rain"}, '{"sky": "rain"}')) == ("c1", True)
    assert [message.role for message in call.output_messages or ()] == ["assistant"]
    assert [part.content for part in parts(call, TextPart, "output_messages")] == ["Rain."]
    assert (call.usage.input_tokens, call.usage.output_tokens, call.finish_reasons) == (5, 2, ("stop",))
    assert (call.lost, call.error) == (None, None)
    agree(whole, call)


@pytest.mark.parametrize("producer", TOOL_CALLS)
def test_a_tool_call(producer: str) -> None:
    family, whole, call_id = TOOL_CALLS[producer]
    call = call_of(whole)
    assert (call.kind, call.convention, call.tool_name, call.tool_call_id) == ("tool", family, "t", call_id)
    assert (call.arguments, call.result, call.has_result, call.lost) == ({"a": 1}, {"ok": True}, True, None)
    agree(whole, call)


@pytest.mark.parametrize("producer", TOOL_CALLS)
def test_a_failed_tool_call_has_an_error_and_says_what(producer: str) -> None:
    whole = TOOL_CALLS[producer][1]
    failed = span(dict(whole.attributes), whole.name, events=whole.events, status_code=2, status_message="no")
    call = call_of(failed)
    assert call.error is not None
    assert call.error.message == "no"


@pytest.mark.parametrize(("producer", "attributes", "name", "kind"), KINDS_OF_SPANS)
def test_kinds(producer: str, attributes: dict[str, Any], name: str, kind: str) -> None:
    whole = span(attributes, name)
    call = call_of(whole)
    assert call.kind == kind, producer
    agree(whole, call)
    if kind == "agent" and producer != "Claude Code":
        assert call.agent_name == "desk"


def test_plain_completions_and_old_function_calls() -> None:
    asked = flat("llm.prompts", [{"prompt": {"text": "Say hi."}}])
    asked |= flat("llm.choices", [{"completion": {"text": "hi"}}])
    call = call_of(span({"openinference.span.kind": "LLM"} | asked))
    assert [part.content for part in parts(call, TextPart)] == ["Say hi."]
    assert [part.content for part in parts(call, TextPart, "output_messages")] == ["hi"]
    old = {"message": {"role": "assistant", "function_call_name": "f", "function_call_arguments_json": '{"a": 1}'}}
    call = call_of(span({"openinference.span.kind": "LLM"} | flat("llm.output_messages", [old])))
    assert [(p.name, p.arguments) for p in parts(call, ToolCallPart, "output_messages")] == [("f", {"a": 1})]
    lite = {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    call = call_of(span({"llm.request.type": "chat"} | flat("gen_ai.completion", [lite])))
    assert [(p.name, p.arguments) for p in parts(call, ToolCallPart, "output_messages")] == [("f", {"a": 1})]


def test_tool_calls_in_a_generation_of_langchain() -> None:
    asked = {"content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c1"}]}
    message = {"lc": 1, "id": ["x", "AIMessage"], "kwargs": asked}
    got = {"generations": [[{"text": "", "message": message}]]}
    call = call_of(span({"langsmith.span.kind": "llm", "gen_ai.completion": J(got)}))
    assert call.output_messages is not None
    assert call.output_messages[0].parts == (ToolCallPart("c1", "f", {"a": 1}),)


def test_cost_where_it_is_recorded() -> None:
    for attributes in (
        {"gen_ai.operation.name": "chat", "gen_ai.usage.cost": 0.25},
        {"braintrust.metrics": J({"estimated_cost": 0.25})},
        {"langwatch.span.type": "llm", "langwatch.metrics": J({"type": "json", "value": {"cost": 0.25}})},
        {"span.type": "llm_request", "cost_usd": 0.25},
    ):
        call = call_of(span(attributes, "claude_code.llm_request"))
        assert call.usage.cost_nano_usd == 250_000_000


ODD: list[Any] = [
    None, "", "text", "{", "[", "[{]", '"', "null", "[]", "{}", "[null]", '[[]]', '{"messages": 5}', '{"role": []}',
    5, -1, 1.5, float("nan"), True, b"\x00", [], {}, [None], ["x", 1], [{}], {"a": {"b": []}}, [[{"role": 1}]],
    J([{"role": "user", "content": None}]), J([{"role": 5, "content": 5}]), J([{"parts": "x"}]), J([{"parts": [5]}]),
    J([{"role": "assistant", "tool_calls": "x"}]), J([{"role": "assistant", "tool_calls": [{"function": None}]}]),
    J([{"role": "tool", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]),
    J({"usage": 5, "replies": [{"meta": []}], "type": "text", "value": None, "model": 5, "tools": "no"}),
    J({"args": 5, "kwargs": []}), J({"output": {"kwargs": 5, "lc": 1}}), "[" * 100_000,
]  # fmt: skip
"""Values that no producer should write."""

ALL = [(name, one[1]) for table in (MODEL_CALLS, TOOL_CALLS) for name, one in table.items()]


@pytest.mark.parametrize(("producer", "whole"), ALL, ids=[name for name, _ in ALL])
def test_odd_and_missing_values_never_raise(producer: str, whole: Span) -> None:
    fixed = {"trace_id": whole.trace_id, "parent_span_id": None, "number": 1}
    for key in whole.attributes:
        rest = {name: value for name, value in whole.attributes.items() if name != key}
        for attributes in (rest, *({**rest, key: odd} for odd in ODD)):
            made = span(attributes, whole.name, **fixed)
            agree(made, call_of(made))
    for event in whole.events:
        for key in event.attributes:
            for odd in ODD:
                changed = SpanEvent(name=event.name, time_unix_nano=0, attributes={**event.attributes, key: odd})
                call_of(span(dict(whole.attributes), whole.name, events=(changed,)))


def test_calls_without_ids_and_results_out_of_order() -> None:
    """Parallel results keep their ids whatever their order; a call without an id stays without."""
    asked = [{"type": "tool_use", "id": i, "name": "f", "input": {"n": i}} for i in ("a", "b", None)]
    told = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in ("b", "a")]
    for key in ("gen_ai.prompt", "lmnr.span.input"):
        call = call_of(span({"lmnr.span.type": "LLM", key: J([{"role": "assistant", "content": asked},
                                                              {"role": "user", "content": told}])}))  # fmt: skip
        assert [part.id for part in parts(call, ToolCallPart)] == ["a", "b", None]
        assert [(part.id, part.response) for part in parts(call, ToolCallResponsePart)] == [("b", "b"), ("a", "a")]


SAYS = {"type": "text", "text": "hi"}


@pytest.mark.parametrize("content", ["hi", [SAYS], SAYS, [{"text": "hi"}]])
def test_content_as_text_list_and_object(content: Any) -> None:
    message = {"role": "user", "content": content}
    for given in ([message], {"messages": [message]}, message):
        call = call_of(span({"lmnr.span.type": "LLM", "lmnr.span.input": J(given)}))
        assert [(m.role, m.parts) for m in call.input_messages or ()] == [("user", (TextPart("hi"),))]
