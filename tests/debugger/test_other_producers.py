"""Producers outside the zoo, by what they document: one conversation comes out of all; what is odd never raises."""

from __future__ import annotations

from typing import Any

import pytest

from debugger.conventions import KEYS_OF_SCOPES, PROMOTED_KEYS, View, call_of, promote
from runtime.messages import Call, ErrorInfo, TextPart, ToolCallPart, ToolCallResponsePart, ToolDefinition
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
    assert all(tool.name for tool in call.tool_definitions or ())
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


FAILED = {
    "Netra": ({"netra.span.type": "TOOL", "netra.entity.error": "no", "output": "no"}, "x", "error"),
    "Gemini CLI": ({"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "t", "gen_ai.output.messages": J(
        {"status": "error", "response": {"errorType": "gone", "responseParts": [
            {"functionResponse": {"response": {"error": "no"}}}]}})}, "gemini-cli", "gone"),
    "AgentScope": ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.result": J(
        {"content": [{"type": "text", "text": "no"}], "state": "error"})}, "agentscope", "error"),
    "Haystack": ({"haystack.tool.name": "t", "haystack.tool.error": True,
                  "haystack.agent.step.tool.output": J({"error": "no"})}, "haystack", "error"),
    "OpenLLMetry, Agno": ({"traceloop.span.kind": "tool", "traceloop.entity.name": "t", "traceloop.entity.output":
        "status='failure' result=None error='no' updated_session_state=None"},
        "opentelemetry.instrumentation.agno", "error"),
}  # fmt: skip
"""Failures that the span's status does not tell: attributes, scope, the error's type."""


@pytest.mark.parametrize("producer", FAILED)
def test_a_failure_that_only_the_outcome_tells(producer: str) -> None:
    attributes, scope, kind = FAILED[producer]
    whole = span(attributes, "haystack.agent.step.tool" if producer == "Haystack" else "t", scope_name=scope)
    call = call_of(whole)
    assert (call.error, call.has_result) == (ErrorInfo(kind, "no"), False)
    assert promote(View.of(whole)).error_type == kind, "the columns say it as well"
    read_by_a_load = KEYS_OF_SCOPES.get(scope, PROMOTED_KEYS)
    scalars = {key: value for key, value in attributes.items() if key in read_by_a_load}
    assert promote(View(scalars, scope, 0, whole.name)).error_type == kind


def test_the_new_messages_of_claude_code() -> None:
    asked = "[USER]\nHow is it?\n\n---\n\n[TOOL RESULT: c1]\nRain.\n\n---\n\nwith a line of its own"
    call = call_of(span({"span.type": "llm_request", "new_context": asked}, "claude_code.llm_request"))
    assert [(m.role, m.parts) for m in call.input_messages or ()] == [
        ("user", (TextPart("How is it?"),)),
        ("tool", (ToolCallResponsePart("c1", "Rain.\n\n---\n\nwith a line of its own"),)),
    ]
    assert call.lost == "the answer was not recorded"


def test_openlit_prints_the_arguments_of_anthropics_tool_calls() -> None:
    named = {"gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c1", "gen_ai.tool.args": "{'a': 1}"}
    call = call_of(span({"gen_ai.operation.name": "chat", "gen_ai.request.is_stream": False} | named))
    assert parts(call, ToolCallPart, "output_messages") == [ToolCallPart("c1", "f", {"a": 1})]


def test_langtrace_writes_an_answers_tool_calls_as_content_and_later_only_their_number() -> None:
    asks = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    told = {"role": "tool", "tool_call_id": "c0", "content": "1"}
    asked = [{"role": "user", "content": "hi"}, [{"id": "", "type": ""}], told]
    events = tuple(
        SpanEvent(name=f"gen_ai.content.{side}", time_unix_nano=0, attributes={f"gen_ai.{side}": J(said)})
        for side, said in (("prompt", asked), ("completion", [{"role": "assistant", "content": asks}]))
    )
    attributes = {"gen_ai.operation.name": "chat", "langtrace.service.type": "llm", "gen_ai.usage.cached_tokens": 3}
    call = call_of(span(attributes, events=events))
    assert parts(call, ToolCallPart, "output_messages") == [ToolCallPart("c1", "f", {"a": 1})]
    assert [message.role for message in call.input_messages or ()] == ["user", "tool"]
    assert (call.lost, call.usage.cached_tokens) == ("the tool calls in the request were not recorded", 3)


def test_messages_that_haystack_printed() -> None:
    told = "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result=\"it's 14\", origin=ToolCall(" \
           "tool_name='f', arguments={'a': 1}, id='c1'), error=False)], _name=None, _meta={})"  # fmt: skip
    asks = "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='Well'), ToolCall(" \
           "tool_name='f', arguments={'a': 1}, id='c1')], _meta={'finish_reason': 'tool_calls'})"  # fmt: skip
    tool = "Tool(name='f', description='d', parameters={'type': 'object'}, function=<function f at 0x1>, x=None)"
    attributes = {"openinference.span.kind": "LLM", "input.value": J({"messages": [told], "tools": [tool]}),
                  "output.value": J({"replies": [asks]})}  # fmt: skip
    call = call_of(span(attributes, scope_name="openinference.instrumentation.haystack"))
    assert [part.response for part in parts(call, ToolCallResponsePart)] == ["it's 14"]
    assert call.output_messages is not None
    assert call.output_messages[0].parts == (TextPart("Well"), ToolCallPart("c1", "f", {"a": 1}))
    assert call.finish_reasons == ("tool_calls",)
    assert call.tool_definitions == (ToolDefinition("f", "d", {"type": "object"}),)
    attributes["input.value"] = J({"messages": ["ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[<x>])"]})
    unread = call_of(span(attributes, scope_name="openinference.instrumentation.haystack"))
    assert len(parts(unread, TextPart)) == 1, "what cannot be read stays as it was printed"


def test_the_python_version_of_langwatch_writes_the_provider_before_the_model() -> None:
    offered = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    attributes = {"langwatch.span.type": "llm", "gen_ai.request.model": "openai/m",
                  "langwatch.params": J({"temperature": 0, "tools": offered})}  # fmt: skip
    call = call_of(span(attributes, scope_name="langwatch"))
    assert (call.provider, call.model, call.parameters) == ("openai", "m", {"temperature": 0})
    assert [tool.name for tool in call.tool_definitions or ()] == ["f"]
    other = call_of(span(attributes | {"gen_ai.request.model": "acme/m"}, scope_name="langwatch"))
    assert (other.provider, other.model) == (None, "acme/m")


def test_the_typescript_version_of_strands_writes_the_service_as_the_provider() -> None:
    asked = [{"type": "toolUse", "name": "f", "toolUseId": "c1", "input": {"a": 1}}]
    choice = SpanEvent(name="gen_ai.choice", time_unix_nano=0, attributes={"message": J(asked)})
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.system": "Desk", "gen_ai.event.start_time": "t"}
    call = call_of(span(attributes, scope_name="Desk", events=(choice,)))
    assert (call.convention, call.provider) == ("strands", None)
    assert parts(call, ToolCallPart, "output_messages") == [ToolCallPart("c1", "f", {"a": 1})]
    assert call_of(span(attributes | {"gen_ai.system": "openai"}, scope_name="Desk")).provider == "openai"
    cycle = span({"agent_loop.cycle_id": "cycle-1"}, "execute_agent_loop_cycle", scope_name="Desk")
    assert call_of(cycle).kind == "chain"


def test_a_stream_of_prompt_flow_ends_with_its_counts() -> None:
    chunks = [{"choices": [{"delta": {"content": "Rain."}, "finish_reason": "stop"}]},
              {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}]  # fmt: skip
    attributes = {"framework": "promptflow", "span_type": "LLM", "output": J(chunks),
                  "llm.generated_message": J({"role": "assistant", "content": "Rain."})}  # fmt: skip
    whole = span(attributes, scope_name="promptflow")
    call = call_of(whole)
    assert (call.usage.input_tokens, call.usage.output_tokens, call.finish_reasons) == (5, 2, ("stop",))
    assert [part.content for part in parts(call, TextPart, "output_messages")] == ["Rain."]
    agree(whole, call)


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
