"""Whatever the attributes say, no convention raises, and the columns say what the calls do."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from debugger.conventions import FAMILIES, PROMOTED_KEYS, Promoted, Promoter, View, call_of, calls_of, genai, promote
from debugger.conventions._table import OTHER_SCOPES
from runtime.messages import (
    canonical_json,
    json_safe,
    message_to_json,
)
from runtime.trace import events_of

from .other_producers import MODEL_CALLS, TOOL_CALLS
from .producers import (
    LLM,
    TOOL,
    J,
    child,
    log,
    span,
)

KEYS = sorted(
    PROMOTED_KEYS
    | {key for _, whole, _ in LLM.values() for key in whole.attributes}
    | {key for _, attributes, _ in TOOL.values() for key in attributes}
    | {key for table in (MODEL_CALLS, TOOL_CALLS) for _, whole, _ in table.values() for key in whole.attributes}
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
     "candidates", "event.name", "replies", "meta", "value", "toolRequest", "tool_call_result", "toolCalls", "body",
     "config", "contents", "usage", "args", "inputs", "input_str", "generations", "system"]
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
    + [{"mastra.span.type": k} for k in ("model_generation", "tool_call", "agent_run")]
    + [{"genkit:metadata:subtype": k} for k in ("model", "tool", "agent")]
    + [{"haystack.component.type": k} for k in ("OpenAIChatGenerator", "Agent", "PromptBuilder")]
    + [{"langsmith.span.kind": k} for k in ("llm", "tool", "chain")]
    + [{"langwatch.span.type": k} for k in ("llm", "tool", "agent")]
    + [{"lmnr.span.type": k} for k in ("LLM", "TOOL")]
    + [{"agentops.span.kind": k} for k in ("agent", "tool", "AgentOpsSpanKindValues.TOOL")]
    + [{"gen_ai.request.streaming": False, "llm.request.type": "chat"}]
    + [{"haystack.tool.name": "t"}, {"haystack.agent.step.llm.input": "{}"}]
    + [{"framework": "promptflow", "span_type": k} for k in ("LLM", "Tool")]
    + [{"braintrust.span_attributes": J({"type": k})} for k in ("llm", "tool")]
    + [{"spring.ai.kind": "tool_call"}, {"span.type": "tool"}, {"span.type": "llm_request"}]
    + [{"gcp.vertex.agent.event_id": "e"}, {"model_request_parameters": "{}"}, {}]
)
COMMON = st.dictionaries(
    st.sampled_from(sorted(genai.keys)), st.sampled_from(["chat", "LLM", "x", "", "7", 7, 1.5, True, None]), max_size=6
)
SPANS = st.tuples(KINDS, ATTRIBUTES, st.deferred(lambda: NAMES), st.sampled_from([0, 2]), st.integers(0, 3))
NAMES = st.sampled_from(["call_llm", "running tool", "agent run", "x", "", "desk.run", "claude_code.tool"])


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(KINDS, ATTRIBUTES, NAMES)
def test_the_scalars_of_a_load_say_the_same_as_the_whole_span(kind: dict[str, str], rest: Any, name: str) -> None:
    whole = span({k: v for k, v in rest.items() if not isinstance(v, bytes)} | kind, name)
    scalars = {
        k: v if isinstance(v, str | bool | int | float) else None
        for k, v in whole.attributes.items()
        if k in PROMOTED_KEYS
    }
    assert promote(View(scalars, "", 0, name)) == promote(View.of(whole))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(KINDS, COMMON), min_size=1, max_size=4), st.sampled_from(["", *sorted(OTHER_SCOPES)[:1]]))
@example([({}, {"gen_ai.request.model": "m"})], "")
def test_what_is_remembered_of_earlier_spans_changes_nothing(made: list[Any], scope_name: str) -> None:
    promoter = Promoter()
    tokens, cost = "gen_ai.usage.input_tokens", "gen_ai.usage.cost"
    counts = [{tokens: 4, cost: None}, {tokens: None, cost: None}, {tokens: "5", cost: 1}, {tokens: None, cost: 2}]
    for (kind, rest), count in product(made, [{}, *counts]):
        values = count | rest | kind
        assert promoter.of_values(values, scope_name, 0, "x") == promote(View(values, scope_name, 0, "x"))


def test_an_attribute_of_any_length_leaves_nothing_behind() -> None:
    promoter = Promoter()
    for text in ("a" * 2_000_000, "b" * 2_000_000):
        for values in ({"gen_ai.operation.name": text}, {text: 1, "gen_ai.operation.name": "chat"}):
            promoter.of_values(values, "", 0, "x")
    held = [*promoter._shapes, *(said for shape in promoter._shapes.values() for said in shape.known)]
    assert len(repr(held)) < 10_000


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_is_found_by_its_marks(family: Any) -> None:
    assert family.marks <= family.keys | family.marks
    assert family.marks <= PROMOTED_KEYS, "a mark that is not read while loading marks nothing"
    scope = "" if family.marks else min(family.scopes)
    view = View(dict.fromkeys(family.marks, "promptflow"), scope, 0, "claude_code.tool")
    assert family.recognises(view)
