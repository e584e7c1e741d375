"""Future AGI (traceAI): OpenInference's flattened messages and values under names that begin with ``gen_ai``.

Source: fi-instrumentation-otel, types and attributes; its older versions named the kind ``fi.span.kind`` and kept
OpenInference's own names beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, Message, TextPart, ToolDefinition

from ._draft import Draft
from ._facts import Facts, Names, first_whole
from ._flat import flat_items
from ._flat_messages import flat_messages
from ._record import asked_model, fill_record
from ._view import View
from .shapes import tool_definition_of

name: Final = "future_agi"
version: Final = 1

_KIND: Final = "gen_ai.span.kind"
_OLD_KIND: Final = "fi.span.kind"
_KINDS: Final[dict[str, CallKind]] = {
    "AGENT": "agent",
    "LLM": "llm",
    "TOOL": "tool",
    "CHAIN": "chain",
    "RETRIEVER": "retriever",
    "VECTOR_DB": "retriever",
    "EMBEDDING": "embedding",
}
_FLAT: Final = frozenset(
    (
        *("input.mime_type", "output.mime_type", "gen_ai.input.messages.0.message.role"),
        *("gen_ai.output.messages.0.message.role", "gen_ai.request.parameters", "gen_ai.tool.parameters"),
    )
)
"""What is beside the kind here and nowhere else: other producers write the same kind beside GenAI's own messages."""
_OLD: Final = Names(
    provider=("llm.provider", "llm.system"),
    model=("llm.model_name",),
    tool_name=("tool.name",),
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
)
_COST: Final = Names(cost_usd=("gen_ai.cost.total",))
_CACHED: Final = ("gen_ai.usage.input_tokens.cache_read", "llm.token_count.prompt_details.cache_read")
_WRITTEN: Final = ("gen_ai.usage.input_tokens.cache_write", "llm.token_count.prompt_details.cache_write")
_REASONING: Final = ("gen_ai.usage.output_tokens.reasoning", "llm.token_count.completion_details.reasoning")

marks: Final = frozenset((_KIND, _OLD_KIND))
scopes: Final = frozenset[str]()
keys: Final = marks | _FLAT | _OLD.keys | _COST.keys | {"error.type"}


def recognises(view: View) -> bool:
    """The kind, with a value or a message in the flattened form beside it."""
    attributes = view.attributes
    return type(attributes.get(_OLD_KIND)) is str or (
        type(attributes.get(_KIND)) is str and not _FLAT.isdisjoint(attributes)
    )


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(get(_KIND) or get(_OLD_KIND)).upper())
    if _OLD_KIND in view.attributes:
        facts.fill(view.attributes, _OLD)
    facts.model = facts.model or asked_model(get("gen_ai.request.parameters"))
    facts.fill(view.attributes, _COST)
    if facts.kind == "agent":
        facts.agent_name = facts.agent_name or view.name or None
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    attributes = draft.attributes
    if draft.kind == "llm":
        _fill_llm(draft)
    else:
        fill_record(draft, draft.peek("input.value"), draft.peek("output.value"))
    if draft.cached_tokens is None:
        draft.cached_tokens = first_whole(attributes, _CACHED)
    if draft.cache_write_tokens is None:
        draft.cache_write_tokens = first_whole(attributes, _WRITTEN)
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_whole(attributes, _REASONING)


def _fill_llm(draft: Draft) -> None:
    for asked in ("gen_ai.input.messages", "llm.input_messages"):
        draft.inputs = draft.inputs or flat_messages(draft, asked, asked=True)
    for said in ("gen_ai.output.messages", "llm.output_messages"):
        draft.outputs = draft.outputs or flat_messages(draft, said)
    plain = draft.attributes.get("output.value")
    if draft.outputs and isinstance(plain, str) and plain and not any(m.parts for m in draft.outputs):
        # Of a stream only the whole text is kept.
        draft.outputs = (Message("assistant", (TextPart(plain),)),)
    elif draft.outputs is None and isinstance(plain, str) and plain and draft.span.status_code != 2:
        draft.outputs = draft.content.messages_in(plain, "assistant")
    if draft.tools is None:
        offered = flat_items(draft.attributes, "gen_ai.tool.definitions") or flat_items(draft.attributes, "llm.tools")
        draft.tools = _tools(offered) or None
    for key in ("gen_ai.request.parameters", "llm.invocation_parameters"):
        given = draft.peek(key)
        for parameter, value in given.items() if isinstance(given, Mapping) else ():
            if parameter not in ("model", "messages", "tools"):
                draft.parameters.setdefault(parameter, value)
    draft.parameters.pop("parameters", None)


def _tools(items: Mapping[int, Any]) -> tuple[ToolDefinition, ...]:
    inner = [item.get("tool") for item in items.values() if isinstance(item, Mapping)]
    return tuple(tool_definition_of(tool.get("json_schema")) for tool in inner if isinstance(tool, Mapping))
