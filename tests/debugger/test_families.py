"""Families of foreign conventions: what each producer writes, as calls; and that no attributes ever raise."""

from __future__ import annotations

from typing import Any

import pytest

from debugger.conventions import call_of
from runtime.messages import (
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)

from .producers import (
    ANTHROPIC,
    ASK,
    HISTORY,
    LLM,
    OP,
    RESPONSE_OUTPUT,
    RESPONSES,
    TOOL,
    J,
    flat,
    oi,
    parts,
    span,
)


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
