"""What producers outside the zoo document that they write, by hand: one question, one tool call, one answer each."""

from __future__ import annotations

from typing import Any

from runtime.trace import Span, SpanEvent

from .producers import ANSWER, ASK, CALLS, COMPLETION, HISTORY, J, flat, span


def events(messages: list[tuple[str, Any]]) -> tuple[SpanEvent, ...]:
    return tuple(SpanEvent(name=name, time_unix_nano=0, attributes=attributes) for name, attributes in messages)


CITY = {"city": "Lyon"}
SKY = {"sky": "rain"}
QUESTION = "How is the weather in Lyon?"
MODEL = {"gen_ai.request.model": "m"}
GENKIT = {
    "messages": [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": [{"text": QUESTION}]},
        {
            "role": "model",
            "content": [{"toolRequest": {"name": "get_weather", "ref": "c1", "input": CITY}}],
        },
        {
            "role": "tool",
            "content": [{"toolResponse": {"name": "get_weather", "ref": "c1", "output": SKY}}],
        },
    ],
    "config": {"temperature": 0.5},
    "tools": [{"name": "get_weather", "description": "d", "inputSchema": {"type": "object"}}],
}
HAYSTACK_CALL = {"tool_name": "get_weather", "arguments": {"city": "Lyon"}, "id": "c1"}
HAYSTACK = [
    {"role": "system", "meta": {}, "name": None, "content": [{"text": "Be brief."}]},
    {"role": "user", "meta": {}, "name": None, "content": [{"text": QUESTION}]},
    {"role": "assistant", "meta": {}, "name": None, "content": [{"tool_call": HAYSTACK_CALL}]},
    {"role": "tool", "meta": {}, "name": None, "content": [
        {"tool_call_result": {"result": '{"sky": "rain"}', "origin": HAYSTACK_CALL, "error": False}}]},
]  # fmt: skip
META = {"model": "m", "finish_reason": "stop", "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
REPLY = {"role": "assistant", "name": None, "content": [{"text": "Rain."}], "meta": META}
LC_ANSWER = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
             "kwargs": {"content": "Rain.", "response_metadata": {"finish_reason": "stop"}}}  # fmt: skip
AZURE = [
    ("gen_ai.system.message", {"role": "system", "content": "Be brief."}),
    ("gen_ai.user.message", ASK),
    ("gen_ai.assistant.message", {"role": "assistant", "tool_calls": CALLS}),
    ("gen_ai.tool.message", {"role": "tool", "content": '{"sky": "rain"}', "id": "c1"}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "Rain."}}),
]
OLD_HISTORY = [
    {**m, "tool_calls": [{"id": c["id"], **c["function"]} for c in m.get("tool_calls") or []]} for m in HISTORY
]
FLAT_HISTORY = [
    {"message": {**m, "tool_calls": [{"tool_call": c} for c in m.get("tool_calls") or []]}} for m in HISTORY
]
GEN_AI_PARTS = [
    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
    {"role": "assistant", "parts": [
        {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Lyon"}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "rain"}}]},
]  # fmt: skip
GEMINI_CONTENTS = [
    {"role": "user", "parts": [{"text": QUESTION}]},
    {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "get_weather", "args": CITY}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "get_weather", "response": SKY}}]},
]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"}]
USED = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
TOOL_PARTS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather",
                                       "args": {"city": "Lyon"}}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "get_weather",
                                  "result": {"sky": "rain"}}]},
]  # fmt: skip

MODEL_CALLS: dict[str, tuple[str, Span, str | None]] = {
    "Azure AI Inference": ("genai", span(
        MODEL | USED | {"gen_ai.operation.name": "chat", "gen_ai.system": "az.ai.inference"},
        events=events([(name, {"gen_ai.system": "az.ai.inference", "gen_ai.event.content": J(body)})
                       for name, body in AZURE])), "az.ai.inference"),
    "Azure AI Projects, responses": ("genai", span(
        MODEL | USED | {"gen_ai.operation.name": "responses", "gen_ai.provider.name": "microsoft.foundry",
                        "gen_ai.input.messages": J(GEN_AI_PARTS), "gen_ai.output.messages": J(SAID)}),
        "microsoft.foundry"),
    "Microsoft.Extensions.AI": ("genai", span(
        MODEL | USED | {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
                        "gen_ai.system_instructions": J([{"type": "text", "content": "Be brief."}]),
                        "gen_ai.input.messages": J(GEN_AI_PARTS[1:]), "gen_ai.output.messages": J(SAID)}), "openai"),
    "Langtrace": ("langtrace", span(
        MODEL | USED | {"gen_ai.operation.name": "chat", "gen_ai.system": "OpenAI", "langtrace.service.type": "llm",
                        "gen_ai.request.tools": [J([{"type": "function", "function": {"name": "t"}}])]},
        events=events([("gen_ai.content.prompt", {"gen_ai.prompt": J(HISTORY)}),
                       ("gen_ai.content.completion", {"gen_ai.completion": J([ANSWER | {"finish_reason": "stop"}])})])),
        "openai"),
    "LoongSuite": ("genai", span(
        MODEL | USED | {"gen_ai.span.kind": "LLM", "gen_ai.system": "dashscope",
                        "gen_ai.input.messages": J(GEN_AI_PARTS), "gen_ai.output.messages": J(SAID)}), "dashscope"),
    "Mastra": ("mastra", span(
        MODEL | USED | {"mastra.span.type": "model_generation", "gen_ai.operation.name": "chat",
                        "gen_ai.provider.name": "openai",
                        "gen_ai.input.messages": J(GEN_AI_PARTS), "gen_ai.output.messages": J(SAID)}), "openai"),
    "Mastra, its own words": ("mastra", span(
        MODEL | USED | {"mastra.span.type": "model_generation", "gen_ai.system": "openai",
                        "gen_ai.response.finish_reasons": '["stop"]',
                        "mastra.model_generation.input": J({"messages": TOOL_PARTS}),
                        "mastra.model_generation.output": J({"text": "Rain.", "toolCalls": []})}), "openai"),
    "Genkit": ("genkit", span(
        {"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "googleai/m",
         "genkit:input": J(GENKIT), "genkit:output": J({
             "message": {"role": "model", "content": [{"text": "Rain."}]}, "finishReason": "stop",
             "usage": {"inputTokens": 5, "outputTokens": 2}})}, "googleai/m"), "googleai"),
    "Haystack": ("haystack", span(
        {"haystack.component.name": "llm", "haystack.component.type": "OpenAIChatGenerator",
         "haystack.component.input": J({"messages": HAYSTACK, "tools": None, "streaming_callback": None}),
         "haystack.component.output": J({"replies": [REPLY]})}, "haystack.component.run"), None),
    "LangSmith": ("langsmith", span(
        MODEL | USED | {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.system": "openai",
                        "gen_ai.prompt": J({"messages": HISTORY}), "gen_ai.completion": J(COMPLETION)}), "openai"),
    "LangSmith, LangChain": ("langsmith", span(
        USED | {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat",
                "langsmith.metadata.ls_model_name": "m", "langsmith.metadata.ls_provider": "openai",
                "gen_ai.prompt": J({"messages": [[
                    {"lc": 1, "id": ["x", "SystemMessage"], "kwargs": {"content": "Be brief.", "type": "system"}},
                    {"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": QUESTION, "type": "human"}},
                    {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "", "tool_calls": [
                        {"name": "get_weather", "args": {"city": "Lyon"}, "id": "c1", "type": "tool_call"}]}},
                    {"lc": 1, "id": ["x", "ToolMessage"],
                     "kwargs": {"content": '{"sky": "rain"}', "tool_call_id": "c1"}}]]}),
                "gen_ai.completion": J({"generations": [[{
                    "text": "Rain.", "generation_info": {"finish_reason": "stop"}, "message": LC_ANSWER}]]})}),
        "openai"),
    "LangWatch": ("langwatch", span(
        MODEL | {"langwatch.span.type": "llm", "gen_ai.provider.name": "openai",
                 "langwatch.input": J({"type": "chat_messages", "value": HISTORY}),
                 "langwatch.output": J({"type": "chat_messages", "value": [ANSWER | {"finish_reason": "stop"}]}),
                 "langwatch.metrics": J({"type": "json", "value": {"promptTokens": 5, "completionTokens": 2}})}),
        "openai"),
    "Laminar": ("laminar", span(
        MODEL | USED | {"lmnr.span.type": "LLM", "gen_ai.system": "openai", "lmnr.span.input": J(HISTORY),
                        "lmnr.span.output": J([ANSWER | {"finish_reason": "stop"}])}), "openai"),
    "Braintrust": ("braintrust", span(
        {"braintrust.span_attributes": J({"type": "llm", "name": "Chat Completion"}),
         "braintrust.input_json": J(HISTORY), "braintrust.output_json": J(COMPLETION["choices"]),
         "braintrust.metadata": J({"model": "m", "provider": "openai", "temperature": 0}),
         "braintrust.metrics": J({"prompt_tokens": 5, "completion_tokens": 2})}), "openai"),
    "LiteLLM": ("openllmetry", span(
        MODEL | USED | {"llm.request.type": "chat", "gen_ai.system": "openai", "llm.is_streaming": "False",
                        "gen_ai.completion.0.finish_reason": "stop"}
        | flat("gen_ai.prompt", OLD_HISTORY) | flat("gen_ai.completion", [ANSWER])), "openai"),
    "OpenLLMetry, oldest": ("openllmetry", span(
        {"llm.request.type": "chat", "llm.vendor": "OpenAI", "llm.request.model": "m", "llm.usage.prompt_tokens": 5,
         "llm.usage.completion_tokens": 2, "llm.completions.0.finish_reason": "stop"}
        | flat("llm.prompts", OLD_HISTORY) | flat("llm.completions", [ANSWER])), "openai"),
    "Spring AI": ("genai", span(
        MODEL | USED | {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.prompt": J(HISTORY),
                        "gen_ai.completion": J(["Rain."]), "gen_ai.response.finish_reasons": ["stop"]}), "openai"),
    "Claude Code": ("claude_code", span(
        MODEL | {"span.type": "llm_request", "model": "m", "gen_ai.system": "anthropic", "input_tokens": 5,
                 "output_tokens": 2, "cache_read_tokens": 9, "stop_reason": "stop", "new_context": J(HISTORY),
                 "response.model_output": "Rain."}, "claude_code.llm_request"), "anthropic"),
    "Gemini CLI": ("gemini_cli", span(
        MODEL | USED | {"gen_ai.operation.name": "llm_call", "gen_ai.system_instructions": '"Be brief."',
                        "gen_ai.input.messages": J(GEMINI_CONTENTS), "gen_ai.response.finish_reasons": '["stop"]',
                        "gen_ai.output.messages": J([{"role": "model", "parts": [{"text": "Rain."}]}])},
        "llm_call", scope_name="gemini-cli"), None),
    "Haystack 3": ("haystack", span(
        {"haystack.agent.step.llm.input": J({"messages": HAYSTACK, "tools": [
            {"type": "haystack.tools.tool.Tool", "data": {"name": "t", "parameters": {"type": "object"}}}]}),
         "haystack.agent.step.llm.output": J({"replies": [REPLY]})}, "haystack.agent.step.llm"), None),
    "Prompt flow": ("promptflow", span(
        {"framework": "promptflow", "span_type": "LLM", "function": "openai.resources.chat.Completions.create",
         "inputs": J({"model": "m", "messages": HISTORY}), "output": J(COMPLETION), "llm.usage.prompt_tokens": 5,
         "llm.usage.completion_tokens": 2, "llm.generated_message": J(ANSWER), "llm.response.model": "m"},
        "openai_chat", scope_name="promptflow"), "openai"),
    "Netra": ("netra", span(
        MODEL | {"netra.instrumentation.name": "openai", "llm.request.type": "chat", "gen_ai.usage.prompt_tokens": 5,
                 "gen_ai.usage.completion_tokens": 2}
        | flat("gen_ai.prompt", [m for m in HISTORY if "tool_calls" not in m][:2]
               + [{"role": "assistant", "tool_call_id": "c1", "content": J({"name": "get_weather",
                                                                            "arguments": J(CITY)})}]
               + [m for m in HISTORY if m["role"] == "tool"])
        | flat("gen_ai.completion", [ANSWER, {"finish_reason": "stop"}])), "openai"),
    "Respan": ("respan", span(
        MODEL | USED | {"respan.entity.log_type": "chat", "llm.request.type": "chat", "gen_ai.system": "openai",
                        "traceloop.entity.input": J(HISTORY), "llm.request.functions": J([{"name": "t"}]),
                        "traceloop.entity.output": J(ANSWER | {"finish_reason": "stop"})}), "openai"),
    "Future AGI": ("future_agi", span(
        USED | {"gen_ai.span.kind": "LLM", "gen_ai.provider.name": "openai", "input.mime_type": "application/json",
                "gen_ai.request.parameters": J({"model": "m", "temperature": 0})}
        | flat("gen_ai.input.messages", FLAT_HISTORY)
        | flat("gen_ai.output.messages", [{"message": ANSWER | {"finish_reason": "stop"}}])), "openai"),
    "Future AGI, older": ("future_agi", span(
        {"fi.span.kind": "LLM", "llm.provider": "openai", "llm.model_name": "m", "llm.token_count.prompt": 5,
         "llm.token_count.completion": 2}
        | flat("llm.input_messages", FLAT_HISTORY)
        | flat("llm.output_messages", [{"message": ANSWER | {"finish_reason": "stop"}}])), "openai"),
}  # fmt: skip
"""Producer: the convention that is named, the span, the provider."""

TOOL_CALLS: dict[str, tuple[str, Span, str | None]] = {
    "Microsoft.Extensions.AI": ("genai", span(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c1",
         "gen_ai.tool.call.arguments": '{"a":1}', "gen_ai.tool.call.result": '{"ok":true}'}), "c1"),
    "google-genai": ("genai", span(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "code.function.parameters.a.type": "int",
         "code.function.parameters.a.value": 1, "code.function.return.type": "dict",
         "code.function.return.value": '{"ok": true}'}), None),
    "LoongSuite": ("genai", span(
        {"gen_ai.span.kind": "TOOL", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": '{"a":1}',
         "gen_ai.tool.call.result": '{"ok":true}'}), None),
    "Mastra": ("mastra", span(
        {"mastra.span.type": "tool_call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
         "mastra.tool_call.input": '{"a": 1}', "mastra.tool_call.output": '{"ok": true}'}), None),
    "Genkit": ("genkit", span(
        {"genkit:type": "action", "genkit:metadata:subtype": "tool", "genkit:name": "t", "genkit:input": '{"a": 1}',
         "genkit:output": '{"ok": true}', "genkit:state": "success"}), None),
    "Spring AI": ("spring_ai", span(
        {"spring.ai.kind": "tool_call", "gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai",
         "spring.ai.tool.definition.name": "t", "spring.ai.tool.call.arguments": '{"a": 1}',
         "spring.ai.tool.call.id": "c1", "spring.ai.tool.call.result": '{"ok": true}'}, "tool_call t"), "c1"),
    "LangSmith": ("langsmith", span(
        {"langsmith.span.kind": "tool", "gen_ai.prompt": J({"input": "{'a': 1}"}),
         "gen_ai.completion": J({"output": {"lc": 1, "id": ["x", "ToolMessage"], "kwargs": {
             "content": '{"ok": true}', "tool_call_id": "c1"}}})}, "t"), "c1"),
    "LangWatch": ("langwatch", span(
        {"langwatch.span.type": "tool", "langwatch.input": J({"type": "json", "value": {"a": 1}}),
         "langwatch.output": J({"type": "json", "value": {"ok": True}})}, "t"), None),
    "Laminar": ("laminar", span(
        {"lmnr.span.type": "TOOL", "lmnr.span.input": '{"a": 1}', "lmnr.span.output": '{"ok": true}'}, "t"), None),
    "Braintrust": ("braintrust", span(
        {"braintrust.span_attributes": J({"type": "tool", "name": "t"}), "braintrust.input": '{"a": 1}',
         "braintrust.output": '{"ok": true}'}, "t"), None),
    "Claude Code": ("claude_code", span(
        {"span.type": "tool", "tool_name": "t", "tool_use_id": "c1", "tool_input": '{"a": 1}'}, "claude_code.tool",
        events=events([("tool.output", {"output": '{"ok": true}'})])), "c1"),
    "Claude Code, its own words": ("claude_code", span(
        {"span.type": "tool", "tool_name": "t", "tool_use_id": "c1", "tool_input": '[TOOL INPUT: t]\n{"a":1}'},
        "claude_code.tool", events=events([("tool.output", {"output": '{"ok": true}'})])), "c1"),
    "Gemini CLI": ("gemini_cli", span(
        {"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "t", "gen_ai.tool.call_id": "c1",
         "gen_ai.input.messages": J({"callId": "c1", "name": "t", "args": {"a": 1}}),
         "gen_ai.output.messages": J({"status": "success", "response": {"responseParts": [
             {"functionResponse": {"id": "c1", "name": "t", "response": {"ok": True}}}]}})},
        "tool_call", scope_name="gemini-cli"), "c1"),
    "Haystack 3": ("haystack", span(
        {"haystack.tool.name": "t", "haystack.agent.step.tool.input": '{"a": 1}',
         "haystack.agent.step.tool.output": '{"ok": true}'}, "haystack.agent.step.tool"), None),
    "AgentOps": ("agentops", span(
        {"agentops.span.kind": "tool", "operation.name": "t", "agentops.tool.output": '{"ok": true}',
         "agentops.tool.input": '{"args": [], "kwargs": {"a": 1}}'}, "t.tool"), None),
    "AgentScope": ("agentscope", span(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c1",
         "gen_ai.tool.call.arguments": '{"a": 1}', "gen_ai.tool.call.result": J(
             {"content": [{"type": "text", "text": '{"ok": true}'}], "state": "success", "id": "c1"})},
        "execute_tool t", scope_name="agentscope"), "c1"),
    "Prompt flow": ("promptflow", span(
        {"framework": "promptflow", "span_type": "Tool", "function": "desk.t", "inputs": '{"a": 1}',
         "output": '{"ok": true}'}, "t", scope_name="promptflow"), None),
    "Claude Agent SDK": ("openinference", span(
        {"openinference.span.kind": "TOOL", "tool.name": "t", "tool.id": "c1", "input.value": '{"a": 1}',
         "output.value": J([{"type": "text", "text": '{"ok": true}'}])}, "t"), "c1"),
    "OpenLLMetry, Agno": ("openllmetry", span(
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "t", "traceloop.entity.input": '{"a": 1}',
         "traceloop.entity.output": "status='success' result={'ok': True} error=None updated_session_state=None"},
        "t.tool", scope_name="opentelemetry.instrumentation.agno"), None),
    "Netra": ("netra", span(
        {"netra.span.type": "TOOL", "netra.task.name": "t", "input": '{"a": 1}', "output": '{"ok": true}'}, "t"), None),
    "HoneyHive": ("honeyhive", span(
        {"honeyhive_event_type": "tool", "honeyhive_event_name": "t", "honeyhive_inputs.a": 1,
         "honeyhive_outputs.result.ok": True}, "t"), None),
    "Future AGI": ("future_agi", span(
        {"gen_ai.span.kind": "TOOL", "gen_ai.tool.name": "t", "input.value": '{"a": 1}',
         "input.mime_type": "application/json", "output.value": '{"ok": true}'}, "t"), None),
}  # fmt: skip
"""Producer: the convention that is named, the span, the id of the call where the span has it."""

KINDS_OF_SPANS: list[tuple[str, dict[str, Any], str, str]] = [
    ("Azure AI Agents", {"gen_ai.operation.name": "process_thread_run", "gen_ai.agent.name": "desk"}, "x", "agent"),
    ("Azure AI Agents", {"gen_ai.operation.name": "create_thread"}, "x", "other"),
    ("AG2", {"gen_ai.operation.name": "conversation"}, "x", "chain"),
    ("LoongSuite", {"gen_ai.span.kind": "AGENT", "gen_ai.agent.name": "desk"}, "x", "agent"),
    ("LoongSuite", {"gen_ai.span.kind": "NEW"}, "x", "other"),
    ("OpenLIT", {"gen_ai.operation.name": "embedding"}, "x", "embedding"),
    ("Mastra", {"mastra.span.type": "agent_run", "gen_ai.agent.name": "desk"}, "x", "agent"),
    ("Mastra", {"mastra.span.type": "model_chunk"}, "x", "other"),
    ("Genkit", {"genkit:type": "action", "genkit:metadata:subtype": "flow", "genkit:name": "f"}, "f", "chain"),
    ("Genkit", {"genkit:type": "action", "genkit:metadata:subtype": "retriever"}, "f", "retriever"),
    ("Haystack", {"haystack.component.type": "Agent", "haystack.component.name": "desk"}, "x", "agent"),
    ("Haystack", {"haystack.component.type": "InMemoryBM25Retriever"}, "x", "retriever"),
    ("Haystack", {"haystack.component.type": "PromptBuilder"}, "x", "chain"),
    ("Haystack", {"haystack.pipeline.input_data": "{}"}, "haystack.pipeline.run", "chain"),
    ("Haystack", {"haystack.agent.step": 0}, "haystack.agent.step", "chain"),
    ("AgentOps", {"agentops.span.kind": "agent", "operation.name": "desk"}, "desk.agent", "agent"),
    ("AgentOps", {"agentops.span.kind": "session"}, "x", "chain"),
    ("Prompt flow", {"framework": "promptflow", "span_type": "Function"}, "f", "chain"),
    ("LangSmith", {"langsmith.span.kind": "retriever", "gen_ai.operation.name": "embeddings"}, "x", "retriever"),
    ("LangSmith", {"langsmith.span.kind": "parser"}, "x", "chain"),
    ("LangWatch", {"langwatch.span.type": "agent"}, "desk", "agent"),
    ("Laminar", {"lmnr.span.type": "DEFAULT"}, "x", "chain"),
    ("Braintrust", {"braintrust.span_attributes": J({"type": "task"})}, "x", "chain"),
    ("Spring AI", {"spring.ai.kind": "vector_store", "gen_ai.operation.name": "framework"}, "x", "retriever"),
    ("Claude Code", {"span.type": "interaction", "user_prompt": "hi"}, "claude_code.interaction", "agent"),
    ("Claude Code", {"span.type": "tool.blocked_on_user"}, "claude_code.tool.blocked_on_user", "other"),
    ("Netra", {"netra.span.type": "AGENT", "netra.agent.name": "desk"}, "x", "agent"),
    ("Netra", {"netra.entity.type": "workflow"}, "x", "chain"),
    ("HoneyHive", {"honeyhive_event_type": "chain", "honeyhive_event_name": "desk"}, "x", "chain"),
    ("HoneyHive", {"honeyhive_event_type": "tool", "honeyhive_error": "no"}, "t_error", "other"),
    ("Future AGI", {"gen_ai.span.kind": "AGENT", "input.mime_type": "text/plain"}, "desk", "agent"),
    ("Future AGI", {"fi.span.kind": "RETRIEVER"}, "x", "retriever"),
    ("Langtrace", {"langtrace.service.type": "vectordb"}, "x", "retriever"),
    ("anybody", {"span.type": "tool", "model": "m"}, "mine", "other"),
]
