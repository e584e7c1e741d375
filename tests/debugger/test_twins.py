"""Doubled spans, and what only other spans of a trace tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from debugger.conventions import Narrow, call_of, calls_of, lone_twins
from debugger.conventions._twins import narrow_of
from debugger.store import Store
from runtime.messages import (
    TextPart,
)
from runtime.snapshot import restore_snapshot
from runtime.trace import Span, events_of

from . import otlp
from .producers import (
    GENAI_ANSWER,
    OP,
    J,
    child,
    parts,
    span,
)


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


def test_the_span_of_the_anthropic_sdk_is_the_call_around_it_whatever_a_stream_counted() -> None:
    def one(number: int, scope: str, asked: int, said: int, **more: Any) -> Span:
        used = {"gen_ai.usage.input_tokens": asked, "gen_ai.usage.output_tokens": said}
        return span(OP | used, "chat m", number=number, scope_name=scope, **more)

    sdk = "com.anthropic.sdk.python"
    assert kinds(one(1, "a", 9, 23, ms=10), one(2, sdk, 9, 22, at=1, ms=5)) == ["llm", "chain"]
    assert kinds(one(1, "a", 9, 23, ms=10), one(2, sdk, 8, 22, at=1, ms=5)) == ["llm", "llm"], "another question"


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


def test_the_request_to_an_mcp_server_is_the_tool_of_the_agent() -> None:
    def tool(number: int, name: str, scope: str, at: int = 0, ms: int = 10) -> Span:
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        return span(attributes, f"tools/call {name}", number=number, scope_name=scope, at=at, ms=ms)

    sdk = "mcp-python-sdk"
    assert kinds(tool(1, "mcp__desk__book", "a"), tool(2, "book", sdk, 1, 5)) == ["tool", "chain"]
    assert kinds(tool(1, "notebook", "a"), tool(2, "book", sdk, 1, 5)) == ["tool", "tool"], "another tool"
    assert kinds(tool(1, "mcp__desk__book", "a"), tool(2, "book", "b", 1, 5)) == ["tool", "tool"], "not of the SDK"
    assert kinds(tool(1, "book", sdk)) == ["tool"], "the only span of the call"


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


def test_a_stream_of_logfire_that_its_providers_sdk_wrote_too_is_one_call() -> None:
    request = OP | {"logfire.msg_template": "Message with {request_data[model]!r}", "gen_ai.request.model": "m"}
    used = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
    sdk = span(OP | used, number=2, scope_name="com.anthropic.sdk.python", at=1, **child(1))
    later = span(request | used, "streaming response from m", number=3, at=30, ms=0)
    assert kinds(span(request, number=1), sdk, later) == ["chain", "llm", "chain"]


def lone(number: int, scope: str, at: int = 0, ms: int = 10, name: str = "chat m", **more: Any) -> tuple[str, Narrow]:
    made = span(OP | {"gen_ai.request.model": "m"} | more, name, number=number, scope_name=scope, at=at, ms=ms)
    return f"trace of {number}", narrow_of(call_of(made), scope)


def test_a_call_that_nothing_encloses_is_one_call_of_two_traces() -> None:
    sdk = "com.anthropic.sdk.python"
    assert lone_twins([lone(1, "a"), lone(2, sdk, at=1, ms=5)]) == [1]
    assert lone_twins([lone(1, "a"), lone(2, "b", at=1, ms=5)]) == [], "no SDK"
    assert lone_twins([lone(1, "a"), lone(2, sdk, at=20)]) == [], "one after the other"
    assert lone_twins([lone(1, "a"), lone(2, sdk, at=1, ms=5), lone(3, sdk, at=7, ms=1)]) == [1], "each one once"
    parallel = [lone(1, "a"), lone(2, "a"), lone(3, sdk, at=1, ms=5), lone(4, sdk, at=2, ms=5)]
    assert lone_twins(parallel) == [2, 3]


def test_a_stream_of_logfire_that_nothing_encloses_is_one_call_of_two_traces() -> None:
    logfire = {"logfire.msg_template": "x"}
    used = {"gen_ai.usage.output_tokens": 2}
    later = lone(9, "logfire.openai", 30, 0, "streaming response from m", **logfire, **used)
    assert lone_twins([lone(1, "logfire.openai", **logfire), later]) == [0]
    assert lone_twins([lone(1, "logfire.openai", **logfire, **used), later]) == [], "that one has its answer"
    assert lone_twins([lone(1, "com.anthropic.sdk.python", **used), later]) == [0]


def test_the_columns_and_the_calls_of_two_traces_agree(tmp_path: Path) -> None:
    lines = []
    for number, (scope, ms) in enumerate((("a", 9), ("com.anthropic.sdk.python", 3)), 1):
        start = 10**18 + number * 1_000_000
        times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + ms * 1_000_000)}
        one = otlp.span(traceId=str(number) * 32, attributes=OP | {"gen_ai.request.model": "m"}, **times)
        request = otlp.request(one)
        request["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"] = scope
        lines.append(J(request))
    written = tmp_path / "t.jsonl"
    written.write_text("\n".join(lines), "utf-8")
    with Store.memory() as store:
        store.load([written])
        rows = sorted(store.traces(), key=lambda row: row.trace_id)
        assert [row.llm_calls for row in rows] == [1, 0]
        assert [call.kind for row in rows for call in store.calls(row.trace_id)] == ["llm", "chain"]


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


def test_a_failure_without_a_message_says_what_the_next_request_told() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c1",
            "error.type": "TOOL_ERROR"}  # fmt: skip
    told = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"error": "closed"}}]}]
    later = span(OP | {"gen_ai.input.messages": J(told)}, number=3, at=40)
    for message, want in (("TOOL_ERROR", "closed"), ("", "closed"), ("said", "said")):
        failed = span(tool, number=2, at=20, status_code=2, status_message=message)
        _, call, _ = calls_of([asking(("c1", "t", {})), failed, later], {})
        assert call.error is not None
        assert (call.error.type, call.error.message, call.has_result) == ("TOOL_ERROR", want, False)


def test_the_failure_of_an_execution_below_is_that_of_the_tool() -> None:
    tool = {"span.type": "tool", "tool_name": "t", "tool_use_id": "c1"}
    ran = {"span.type": "tool.execution", "tool_use_id": "c1", "success": False, "error": "no such file"}
    whole = [span(tool, "claude_code.tool", number=1), span(ran, "claude_code.tool.execution", number=2, **child(1))]
    call, _ = calls_of(whole, {})
    assert (call.error and call.error.message, call.lost) == ("no such file", None)
    of_another = span(ran | {"tool_use_id": "c2"}, "claude_code.tool.execution", number=2, **child(1))
    assert calls_of([whole[0], of_another], {})[0].error is None


def test_a_restored_frame_says_what_was_taken_from_elsewhere() -> None:
    model = asking(("c1", "t", {"city": "Lyon"}), number=2)
    desk = span({"openinference.span.kind": "AGENT", "agent.name": "desk"}, ms=90)
    made = [desk, replace(model, **child(1)), tool_span("Lyon", number=3, **child(1))]
    frames = restore_snapshot(events_of(calls_of(made, {}))).frames.values()
    notes = [note.what for frame in frames for note in frame.fidelity if note.level == "inferred"]
    assert any("the model's tool call" in what for what in notes)
