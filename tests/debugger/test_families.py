"""Families of foreign conventions: what each producer writes, as calls; and that no attributes ever raise."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debugger.conventions import FAMILIES, PROMOTED_KEYS, Promoted, View, call_of, calls_of, promote
from debugger.importers import LogRecord
from runtime.messages import (
    Call,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    canonical_json,
    json_safe,
    message_to_json,
)
from runtime.snapshot import restore_snapshot
from runtime.trace import Span, SpanEvent, events_of

START = 1_760_000_000_000_000_000
ASK = {"role": "user", "content": "How is the weather in Lyon?"}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Lyon"}'}}]
HISTORY = [
    {"role": "system", "content": "Be brief."},
    ASK,
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "rain"}'},
]


def span(
    attributes: dict[str, Any], name: str = "x", *, at: int = 0, ms: int = 10, number: int = 1, **more: Any
) -> Span:
    defaults: dict[str, Any] = {
        "trace_id": "0" * 31 + "1",
        "span_id": f"{number:016x}",
        "parent_span_id": None,
        "start_unix_nano": START + at * 1_000_000,
        "end_unix_nano": START + (at + ms) * 1_000_000,
    }
    return Span(name=name, attributes=attributes, **(defaults | more))


def flat(prefix: str, value: Any) -> dict[str, Any]:
    """Flattened attributes as OpenInference and older OpenLLMetry write them."""
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(f"{prefix}.{key}", item).items()}
    if isinstance(value, list):
        return {k: v for i, item in enumerate(value) for k, v in flat(f"{prefix}.{i}", item).items()}
    return {} if value is None else {prefix: value}


def oi(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = []
    for message in messages:
        calls = [{"tool_call": {k: v for k, v in c.items() if k != "type"}} for c in message.get("tool_calls") or []]
        out.append({"message": {**message, "tool_calls": calls}})
    return out


def old(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**m, "tool_calls": [{"id": c["id"], **c["function"]} for c in m.get("tool_calls") or []]} for m in messages
    ]


ANSWER = {"role": "assistant", "content": "Rain."}
GENAI_ANSWER = [{"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"}]
GEMINI = {
    "model": "m",
    "config": {"system_instruction": "Be brief.", "tools": [{"function_declarations": [{"name": "get_weather"}]}]},
    "contents": [
        {"role": "user", "parts": [{"text": ASK["content"]}]},
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "get_weather", "args": {"city": "Lyon"}}}]},
        {"role": "user", "parts": [{"function_response": {"id": "c1", "response": {"sky": "rain"}}}]},
    ],
}
VERCEL = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": ASK["content"]}]},
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "input": {"city": "Lyon"}}],
    },
    {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "json", "value": {"sky": "rain"}}}],
    },
]
ANTHROPIC = {
    "system": "Be brief.",
    "messages": [
        ASK,
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Lyon"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"sky": "rain"}'}]},
    ],
}
RESPONSES = {
    "instructions": "Be brief.",
    "input": [
        ASK,
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Lyon"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"sky": "rain"}'},
    ],
}
LANGCHAIN = [
    [
        {"lc": 1, "id": ["x", "SystemMessage"], "kwargs": {"content": "Be brief."}},
        {"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": ASK["content"]}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"name": "get_weather", "args": {"city": "Lyon"}, "id": "c1"}]},
        },
        {"type": "tool", "content": '{"sky": "rain"}', "tool_call_id": "c1"},
    ]
]
RESPONSE_OUTPUT = {
    "model": "m-1",
    "instructions": "Be brief.",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
    ],
}
COMPLETION = {
    "model": "m-1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": ANSWER}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2},
}
STRANDS = {
    "gen_ai.system.message": [{"text": "Be brief."}],
    "gen_ai.user.message": [{"text": ASK["content"]}],
    "gen_ai.assistant.message": [{"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Lyon"}}}],
    "gen_ai.tool.message": [{"toolResult": {"toolUseId": "c1", "content": [{"json": {"sky": "rain"}}]}}],
}
EVENTS = [{"event.name": f"gen_ai.{m['role']}.message", **m, "id": m.get("tool_call_id")} for m in HISTORY]
CHOICE = {"event.name": "gen_ai.choice", "index": 0, "finish_reason": "stop", "message": ANSWER}
J = json.dumps
OP = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def log(name: str, body: Any, attributes: dict[str, Any] | None = None) -> LogRecord:
    return LogRecord(event_name=name, time_unix_nano=None, body=body, attributes=attributes or {})


LLM: dict[str, tuple[str, Span, tuple[LogRecord, ...]]] = {
    "OpenInference": (
        "openinference",
        span(
            {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "stop"}
            | flat("llm.input_messages", oi(HISTORY))
            | flat("llm.output_messages", oi([ANSWER]))
        ),
        (),
    ),
    "OpenInference that lost a parallel result": (
        "openinference",
        span(
            {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": J({"messages": HISTORY})}
            | flat("llm.input_messages", oi(HISTORY[:3]))
            | flat("llm.output_messages", oi([ANSWER]))
            | {"llm.finish_reason": "stop"}
        ),
        (),
    ),
    "OpenLLMetry, flattened": (
        "openllmetry",
        span(
            {"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.completion.0.finish_reason": "stop"}
            | flat("gen_ai.prompt", old(HISTORY))
            | flat("gen_ai.completion", old([ANSWER]))
        ),
        (),
    ),
    "Vercel": (
        "vercel_ai",
        span(
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.model.id": "m",
                "ai.model.provider": "openai.chat",
                "ai.prompt.messages": J(VERCEL),
                "ai.response.text": "Rain.",
                "ai.response.finishReason": "stop",
            }
        ),
        (),
    ),
    "pydantic-ai 1": (
        "pydantic_ai",
        span(OP | {"model_request_parameters": "{}", "events": J([*EVENTS, CHOICE])}),
        (),
    ),
    "Google ADK": (
        "google_adk",
        span(
            {
                "gen_ai.request.model": "m",
                "gcp.vertex.agent.event_id": "e",
                "gcp.vertex.agent.llm_request": J(GEMINI),
                "gcp.vertex.agent.llm_response": J(
                    {"content": {"parts": [{"text": "Rain."}]}, "finish_reason": "STOP"}
                ),
            },
            "call_llm",
        ),
        (),
    ),
    "Strands": (
        "strands",
        span(
            OP | {"gen_ai.event.start_time": "t", "gen_ai.system": "strands-agents"},
            events=(
                *(SpanEvent(name=k, time_unix_nano=0, attributes={"content": J(v)}) for k, v in STRANDS.items()),
                SpanEvent(
                    name="gen_ai.choice",
                    time_unix_nano=0,
                    attributes={"message": J([{"text": "Rain."}]), "finish_reason": "stop"},
                ),
            ),
        ),
        (),
    ),
    "MLflow": (
        "mlflow",
        span(
            {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.spanInputs": J({"model": "m", "messages": HISTORY}),
                "mlflow.spanOutputs": J(COMPLETION),
            }
        ),
        (),
    ),
    "MLflow, LangChain": (
        "mlflow",
        span(
            {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.llm.model": '"m"',
                "mlflow.spanInputs": J(LANGCHAIN),
                "mlflow.spanOutputs": J(
                    {"generations": [[{"message": {"type": "ai", "content": "Rain.", "finish_reason": "stop"}}]]}
                ),
            }
        ),
        (),
    ),
    "MLflow, Anthropic": (
        "mlflow",
        span(
            {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.spanInputs": J({"model": "m", **ANTHROPIC}),
                "mlflow.spanOutputs": J({"type": "message", "role": "assistant", "finish_reason": "stop",
                                         "content": [{"type": "text", "text": "Rain."}]}),
            }
        ),
        (),
    ),
    "Langfuse": (
        "langfuse",
        span(
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.model.name": "m",
                "langfuse.observation.input": J({"messages": HISTORY, "tools": []}),
                "langfuse.observation.output": J({**ANSWER, "finish_reason": "stop"}),
            }
        ),
        (),
    ),
    "Logfire": (
        "logfire",
        span(
            OP
            | {
                "logfire.msg_template": "Chat Completion with {request_data[model]!r}",
                "request_data": J({"model": "m", "messages": HISTORY}),
                "response_data": J({"message": {**ANSWER, "finish_reason": "stop"}}),
            }
        ),
        (),
    ),
    "Logfire, Responses": (
        "logfire",
        span(
            OP
            | {
                "logfire.msg_template": "Responses API with {gen_ai.request.model!r}",
                "events": J([*EVENTS, CHOICE]),
            }
        ),
        (),
    ),
    "GenAI log records": (
        "genai",
        span(OP),
        (*(log(e["event.name"], {k: v for k, v in e.items() if k != "event.name"}) for e in EVENTS),
         log("gen_ai.choice", {"finish_reason": "stop", "message": ANSWER})),
    ),
    "Semantic Kernel's log records": (
        "genai",
        span(OP),
        (*(log(e["event.name"], J(e)) for e in EVENTS), log("gen_ai.choice", J(CHOICE))),
    ),
    "GenAI details record": (
        "genai",
        span(OP),
        (
            log(
                "gen_ai.client.inference.operation.details",
                None,
                {
                    "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
                    "gen_ai.input.messages": [
                        {"role": "user", "parts": [{"type": "text", "content": ASK["content"]}]},
                        {
                            "role": "assistant",
                            "parts": [
                                {"type": "tool_call", "id": "c1", "name": "get_weather",
                                 "arguments": '{"city": "Lyon"}'}
                            ],
                        },
                        {"role": "user",
                         "parts": [{"type": "tool_call_response", "id": "c1", "result": {"sky": "rain"}}]},
                    ],
                    "gen_ai.output.messages": GENAI_ANSWER,
                },
            ),
        ),
    ),
}  # fmt: skip


def parts(call: Call, kind: type, side: str = "input_messages") -> list[Any]:
    return [part for message in getattr(call, side) or () for part in message.parts if isinstance(part, kind)]


@pytest.mark.parametrize("producer", LLM)
def test_a_model_call_of_every_producer_is_the_same_conversation(producer: str) -> None:
    family, whole, logs = LLM[producer]
    call = call_of(whole, logs)
    assert (call.kind, call.convention, call.model) == ("llm", family, "m")
    assert call.input_messages is not None
    assert call.input_messages[0].role == "system"
    assert [part.content for part in parts(call, TextPart)] == ["Be brief.", ASK["content"]]
    (asked,) = parts(call, ToolCallPart)
    assert (asked.id, asked.name, asked.arguments) == ("c1", "get_weather", {"city": "Lyon"})
    (told,) = parts(call, ToolCallResponsePart)
    assert told.id == "c1"
    assert told.response in ({"sky": "rain"}, '{"sky": "rain"}')
    assert [part.content for part in parts(call, TextPart, "output_messages")] == ["Rain."]
    assert call.finish_reasons == ("stop",)
    assert call.lost is None
    assert call.error is None


@pytest.mark.parametrize("body", [ANTHROPIC, RESPONSES], ids=["Anthropic", "Responses"])
def test_requests_of_other_apis_read_alike(body: dict[str, Any]) -> None:
    call = call_of(span({"mlflow.spanType": '"LLM"', "mlflow.spanInputs": J(body)}))
    assert [part.content for part in parts(call, TextPart)] == ["Be brief.", ASK["content"]]
    assert len(parts(call, ToolCallPart)) == len(parts(call, ToolCallResponsePart)) == 1


def test_the_items_of_one_answer_are_one_message() -> None:
    call = call_of(span({"mlflow.spanType": '"LLM"', "mlflow.spanOutputs": J(RESPONSE_OUTPUT)}))
    assert call.output_messages is not None
    assert [len(message.parts) for message in call.output_messages] == [2]
    assert [part.content for part in parts(call, ReasoningPart, "output_messages")] == ["Hm."]


TOOL: dict[str, tuple[str, dict[str, Any], str]] = {
    "OpenInference": ("openinference", {"openinference.span.kind": "TOOL", "tool.name": "t", "input.value": '{"a": 1}',
                      "output.value": '{"ok": true}', "tool.parameters": '{"type": "object", "properties": {}}'}, "x"),
    "agno": ("openinference", {"openinference.span.kind": "TOOL", "tool.name": "t", "tool.parameters": '{"a": 1}',
             "output.value": '{"ok": true}'}, "x"),
    "smolagents": ("openinference", {"openinference.span.kind": "TOOL", "tool.name": "t",
                   "output.value": '{"ok": true}',
                   "input.value": '{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"a": 1}}'}, "x"),
    "OpenLLMetry": ("openllmetry", {"traceloop.span.kind": "tool", "traceloop.entity.name": "t",
                    "traceloop.entity.input": '{"args": [], "kwargs": {"a": 1}}',
                    "traceloop.entity.output": '{"ok": true}'}, "t.tool"),
    "Vercel": ("vercel_ai", {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "t", "ai.toolCall.args": '{"a": 1}',
               "ai.toolCall.result": '{"ok": true}'}, "ai.toolCall"),
    "pydantic-ai": ("pydantic_ai", {"gen_ai.tool.name": "t", "tool_arguments": '{"a": 1}',
                    "tool_response": '{"ok": true}'}, "running tool"),
    "Google ADK": ("google_adk", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
                   "gcp.vertex.agent.event_id": "e", "gcp.vertex.agent.tool_call_args": '{"a": 1}',
                   "gcp.vertex.agent.tool_response": '{"ok": true}'}, "execute_tool t"),
    "MLflow": ("mlflow", {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"a": 1}',
               "mlflow.spanOutputs": '{"ok": true}'}, "t"),
    "Langfuse": ("langfuse", {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"a": 1}',
                 "langfuse.observation.output": '{"ok": true}'}, "t"),
    "Logfire": ("logfire", {"logfire.msg_template": "Function: {name}", "name": "t", "input": '{"a": 1}',
                "output": '{"ok": true}'}, "Function: {name}"),
}  # fmt: skip


@pytest.mark.parametrize("producer", TOOL)
def test_a_tool_call_of_every_producer(producer: str) -> None:
    family, attributes, name = TOOL[producer]
    call = call_of(span(attributes, name))
    assert (call.kind, call.convention, call.tool_name) == ("tool", family, "t")
    assert (call.arguments, call.result, call.has_result, call.lost) == ({"a": 1}, {"ok": True}, True, None)


AGENT: dict[str, tuple[dict[str, Any], str]] = {
    "OpenInference": ({"openinference.span.kind": "AGENT"}, "desk.run"),
    "LangChain": ({"openinference.span.kind": "CHAIN", "metadata": '{"lc_agent_name": "desk"}'}, "desk"),
    "OpenLLMetry": ({"traceloop.span.kind": "agent", "traceloop.entity.name": "desk"}, "desk.agent"),
    "Vercel": ({"ai.operationId": "ai.streamText", "ai.telemetry.functionId": "desk"}, "ai.streamText"),
    "pydantic-ai": ({"agent_name": "desk", "model_name": "m"}, "agent run"),
    "MLflow": ({"mlflow.spanType": '"AGENT"'}, "desk"),
    "Langfuse": ({"langfuse.observation.type": "agent"}, "desk"),
    "Logfire": ({"logfire.msg_template": "Agent run: {name!r}", "name": "desk"}, "Agent run: {name!r}"),
}


@pytest.mark.parametrize("producer", AGENT)
def test_an_agent_of_every_producer(producer: str) -> None:
    attributes, name = AGENT[producer]
    call = call_of(span(attributes, name))
    assert (call.kind, call.agent_name) == ("agent", "desk")


OTHERS: list[tuple[dict[str, Any], str, str]] = [
    ({"openinference.span.kind": "CHAIN", "metadata": '{"lc_agent_name": "desk"}'}, "model", "chain"),
    ({"openinference.span.kind": "GUARDRAIL"}, "x", "other"),
    ({"openinference.span.kind": "LLM", "gen_ai.operation.name": "invoke_agent"}, "x", "agent"),
    ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)",
      "gcp.vertex.agent.event_id": "e"}, "execute_tool (merged)", "other"),
    ({"ai.operationId": "ai.embed"}, "ai.embed", "chain"),
    ({"ai.operationId": "ai.embed.doEmbed"}, "ai.embed.doEmbed", "embedding"),
    ({"traceloop.span.kind": "workflow"}, "x.workflow", "chain"),
    ({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "desk"}, "create_agent desk", "other"),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "name", "kind"), OTHERS)
def test_kinds_that_are_easily_mistaken(attributes: dict[str, Any], name: str, kind: str) -> None:
    assert call_of(span(attributes, name)).kind == kind


@pytest.mark.parametrize(
    ("attributes", "provider"),
    [
        ({"gen_ai.operation.name": "chat", "gen_ai.system": "OpenAI"}, "openai"),
        ({"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents"}, None),
        (OP | {"gen_ai.provider.name": "langgraph", "gen_ai.system": "anthropic"}, "anthropic"),
        ({"ai.operationId": "ai.streamText.doStream", "ai.model.provider": "google.generative-ai"}, "google"),
    ],
)  # fmt: skip
def test_a_framework_is_no_provider(attributes: dict[str, Any], provider: str | None) -> None:
    assert call_of(span(attributes)).provider == provider


def test_cost_and_counts() -> None:
    call = call_of(span(OP | {"operation.cost": 2.565e-05, "agent_name": "desk", "gen_ai.usage.input_tokens": "79"}))
    assert (call.usage.cost_nano_usd, call.usage.input_tokens) == (25_650, 79)
    usage = {"langfuse.observation.usage_details": '{"input": 5, "output": 2, "input_cached_tokens": 1}'}
    usage |= {"langfuse.observation.cost_details": '{"total": 0.5}', "langfuse.observation.type": "generation"}
    told = call_of(span(usage)).usage
    assert (told.input_tokens, told.output_tokens, told.cached_tokens, told.cost_nano_usd) == (5, 2, 1, 500_000_000)
    for value in (float("nan"), float("inf"), -1.0, True, "x"):
        assert call_of(span(OP | {"operation.cost": value, "agent_name": "a"})).usage.cost_nano_usd is None


def test_dropped_attributes_are_told() -> None:
    attributes = {"openinference.span.kind": "LLM"} | flat("llm.input_messages", oi(HISTORY))
    later = {k: v for k, v in attributes.items() if not k.startswith("llm.input_messages.0.")}
    call = call_of(span(later))
    assert "dropped" in (call.lost or "")
    assert len(call.input_messages or ()) == 3


# Twins ---------------------------------------------------------------------------------------------------


def child(parent: int) -> dict[str, str]:
    return {"parent_span_id": f"{parent:016x}"}


def kinds(*spans: Span) -> list[str]:
    return [call.kind for call in calls_of(spans, {})]


def chat(number: int, *, scope: str = "", tokens: int | None = 5, **more: Any) -> Span:
    attributes = dict(OP) | ({} if tokens is None else {"gen_ai.usage.output_tokens": tokens})
    return span(attributes, "chat m", number=number, scope_name=scope, **more)


def agent(number: int, name: str = "desk", scope: str = "", **more: Any) -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return span(attributes, f"invoke_agent {name}", number=number, scope_name=scope, **more)


def test_of_nested_model_calls_the_innermost_counts_and_takes_what_it_lacks() -> None:
    said = {"gen_ai.output.messages": J(GENAI_ANSWER), "gen_ai.provider.name": "openai"}
    spans = [span(OP | said, number=1), chat(2, **child(1)), chat(3, tokens=None, at=1, ms=2, **child(2))]
    calls = calls_of(spans, {})
    assert [call.kind for call in calls] == ["chain", "chain", "llm"]
    assert (calls[2].provider, calls[2].usage.output_tokens) == ("openai", 5)
    assert [part.content for part in parts(calls[2], TextPart, "output_messages")] == ["Rain."]
    assert calls[2].lost is None
    assert calls[0].output_messages is not None, "the twin stays whole"


def test_a_model_call_below_a_tool_is_its_own() -> None:
    tool = span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, number=2, **child(1))
    assert kinds(chat(1), tool, chat(3, **child(2))) == ["llm", "tool", "llm"]


def test_model_calls_beside_each_other() -> None:
    outer, inner = chat(1, scope="a", ms=10), chat(2, scope="b", at=1, ms=5)
    assert kinds(outer, inner) == ["llm", "chain"]
    assert kinds(outer, chat(2, scope="a", at=1, ms=5)) == ["llm", "llm"], "parallel calls of one instrumentation"
    assert kinds(outer, chat(2, scope="b", at=20, ms=5)) == ["llm", "llm"], "one after the other"
    assert kinds(outer, chat(2, scope="b", at=1, ms=5, tokens=6)) == ["llm", "llm"], "other counts"


def test_agents_twice() -> None:
    assert kinds(agent(1), agent(2, "desk.workflow", **child(1))) == ["agent", "chain"]
    between = span({"traceloop.span.kind": "task"}, number=2, **child(1))
    assert kinds(agent(1), between, agent(3, **child(2))) == ["agent", "chain", "chain"]
    assert kinds(agent(1), agent(2, "writer", **child(1))) == ["agent", "agent"]
    tool = span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, number=2, **child(1))
    assert kinds(agent(1), tool, agent(3, **child(2))) == ["agent", "tool", "agent"], "an agent that calls itself"


def test_a_tool_twice_has_the_error_of_its_twin() -> None:
    oi_tool = {"openinference.span.kind": "TOOL", "tool.name": "t", "output.value": "failed"}
    core = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "error.type": "Boom"}
    calls = calls_of([span(oi_tool, number=1), span(core, number=2, status_code=2, **child(1))], {})
    assert [call.kind for call in calls] == ["tool", "chain"]
    assert calls[0].error is not None


def test_a_stream_of_logfire_is_one_call() -> None:
    request = {
        "logfire.msg_template": "Chat Completion with {request_data[model]!r}",
        "request_data": J({"model": "m"}),
    }
    later = {
        "logfire.msg_template": "streaming response from {request_data[model]!r} took {duration:.2f}s",
        "response_data": J({"combined_chunk_content": "Rain."}),
    }
    calls = calls_of(
        [span(OP | request, number=1), span(OP | later, "streaming response from m", number=2, at=30, ms=0)], {}
    )
    assert [call.kind for call in calls] == ["llm", "chain"]
    assert [part.content for part in parts(calls[0], TextPart, "output_messages")] == ["Rain."]


def test_cycles_of_parents_end() -> None:
    spans = [chat(1, **child(3)), chat(2, **child(1)), chat(3, **child(2)), chat(4, **child(4))]
    assert len(kinds(*spans)) == 4


# Joins ---------------------------------------------------------------------------------------------------


def asking(*calls: tuple[str, str, dict[str, Any]], number: int = 1) -> Span:
    asked = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
    return span(OP | {"gen_ai.output.messages": J([{"role": "assistant", "parts": asked}])}, number=number)


def tool_span(value: str | None, number: int = 2, **more: Any) -> Span:
    given = {} if value is None else {"input.value": value}
    return span({"openinference.span.kind": "TOOL", "tool.name": "t", **given}, "t", number=number, at=20, **more)


def test_a_bare_argument_gets_its_name_from_the_model() -> None:
    _, call = calls_of([asking(("c1", "t", {"city": "Lyon"})), tool_span("Lyon")], {})
    assert (call.arguments, call.tool_call_id) == ({"city": "Lyon"}, "c1")
    assert len(call.inferred) == 2


def test_what_fits_several_calls_is_not_guessed() -> None:
    two = asking(("c1", "t", {"city": "Lyon"}), ("c2", "t", {"city": "Nice"}))
    _, call = calls_of([two, tool_span(None)], {})
    assert (call.arguments, call.tool_call_id, call.inferred) == (None, None, ())
    _, first, second = calls_of([two, tool_span("Nice"), tool_span("Lyon", number=3)], {})
    assert (first.tool_call_id, second.tool_call_id) == ("c2", "c1")


def test_a_result_is_found_in_the_next_request() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c1"}
    told = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": '{"ok": 1}'}]}]
    later = span(OP | {"gen_ai.input.messages": J(told)}, number=3, at=40)
    _, call, _ = calls_of([asking(("c1", "t", {})), span(tool, number=2, at=20), later], {})
    assert (call.result, call.has_result, call.lost) == ({"ok": 1}, True, None)
    assert "the next request" in call.inferred[-1]


# Anything at all -----------------------------------------------------------------------------------------

KEYS = sorted(
    PROMOTED_KEYS
    | {key for _, whole, _ in LLM.values() for key in whole.attributes}
    | {key for _, attributes, _ in TOOL.values() for key in attributes}
    | {"llm.tools.0.tool.json_schema", "llm.input_messages.x", "llm.input_messages.0", "gen_ai.prompt.-1.role",
       "pydantic_ai.all_messages", "all_messages_events", "final_result", "ai.prompt", "ai.response.toolCalls",
       "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions",
       "retrieval.documents.0.document.content", "error", "output", "raw_input"}
)  # fmt: skip
TEXTS = sorted({str(v) for _, whole, _ in LLM.values() for v in whole.attributes.values() if isinstance(v, str)})
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(TEXTS)
SHAPE_KEYS = st.sampled_from(
    ["role", "content", "parts", "type", "text", "tool_calls", "function", "message", "messages", "data", "kwargs",
     "lc", "id", "name", "arguments", "input", "output", "toolUse", "toolResult", "function_call", "choices",
     "candidates", "event.name", "config", "contents", "usage", "args", "inputs", "input_str", "generations", "system"]
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHAPE_KEYS, inner, max_size=4), max_leaves=12
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(KEYS), VALUES | VALUES.map(lambda v: J(json_safe(v)[0])) | st.binary(max_size=4), max_size=10
)
KINDS = st.sampled_from(
    [{"openinference.span.kind": k} for k in ("LLM", "TOOL", "AGENT", "CHAIN", "")]
    + [{"traceloop.span.kind": k} for k in ("agent", "tool", "workflow")]
    + [{"gen_ai.operation.name": k} for k in ("chat", "execute_tool", "invoke_agent", "?")]
    + [{"ai.operationId": k} for k in ("ai.toolCall", "ai.generateText", "ai.generateText.doGenerate")]
    + [{"mlflow.spanType": J(k)} for k in ("LLM", "TOOL", "AGENT")]
    + [{"langfuse.observation.type": k} for k in ("generation", "tool", "agent")]
    + [{"logfire.msg_template": k} for k in ("Function: {name}", "Chat Completion with x", "Agent run: x")]
    + [{"gcp.vertex.agent.event_id": "e"}, {"model_request_parameters": "{}"}, {}]
)
SPANS = st.tuples(KINDS, ATTRIBUTES, st.deferred(lambda: NAMES), st.sampled_from([0, 2]), st.integers(0, 3))
NAMES = st.sampled_from(["call_llm", "running tool", "agent run", "x", "", "desk.run"])


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(KINDS, ATTRIBUTES, NAMES, st.sampled_from([0, 2]), st.integers(0, 3)), min_size=1, max_size=4)
)
def test_no_attributes_ever_raise_and_columns_agree_with_calls(made: list[Any]) -> None:
    spans = [
        span(attributes | kind, name, number=i, at=i, status_code=status, **child(parent))
        for i, (kind, attributes, name, status, parent) in enumerate(made)
    ]
    logs = {spans[0].span_id: [log("gen_ai.choice", made[0][1], made[0][1]), log("gen_ai.tool.message", "x")]}
    for whole in spans:
        call, row = call_of(whole, logs.get(whole.span_id, ())), promote(View.of(whole))
        assert row == Promoted(
            call.kind, call.convention, row.error_type, call.agent_name, call.provider, call.model, call.tool_name,
            call.usage.input_tokens, call.usage.output_tokens, call.usage.cost_nano_usd,
        )  # fmt: skip
        assert row.error_type is None or call.error is not None
    for call in calls_of(spans, logs):
        canonical_json(json_safe([message_to_json(m) for m in (call.input_messages or ())])[0])
        assert all(field.name for field in fields(call))
    events_of(calls_of(spans, logs))


@settings(max_examples=200, deadline=None)
@given(KINDS, ATTRIBUTES, NAMES)
def test_the_scalars_of_a_load_say_the_same_as_the_whole_span(kind: dict[str, str], rest: Any, name: str) -> None:
    whole = span({k: v for k, v in rest.items() if not isinstance(v, bytes)} | kind, name)
    scalars = {
        k: v if isinstance(v, str | bool | int | float) else None
        for k, v in whole.attributes.items()
        if k in PROMOTED_KEYS
    }
    assert promote(View(scalars, "", 0, name)) == promote(View.of(whole))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_is_found_by_its_marks(family: Any) -> None:
    assert family.marks <= family.keys | family.marks
    assert family.marks <= PROMOTED_KEYS, "a mark that is not read while loading marks nothing"
    view = View({key: "chat" for key in family.marks}, "", 0)
    assert family.recognises(view)


def test_a_restored_frame_says_what_was_taken_from_elsewhere() -> None:
    model = asking(("c1", "t", {"city": "Lyon"}), number=2)
    desk = span({"openinference.span.kind": "AGENT", "agent.name": "desk"}, ms=90)
    made = [desk, replace(model, **child(1)), tool_span("Lyon", number=3, **child(1))]
    frames = restore_snapshot(events_of(calls_of(made, {}))).frames.values()
    notes = [note.what for frame in frames for note in frame.fidelity if note.level == "inferred"]
    assert any("the model's tool call" in what for what in notes)
