"""What the producers of the zoo and others write, by hand: the same small conversation in every form."""

from __future__ import annotations

import json
from typing import Any

from debugger.importers import LogRecord
from runtime.messages import (
    Call,
)
from runtime.trace import Span, SpanEvent

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


def child(parent: int) -> dict[str, str]:
    return {"parent_span_id": f"{parent:016x}"}
