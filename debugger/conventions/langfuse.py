"""Langfuse: ``langfuse.observation.*``. Source: langfuse, OpenTelemetry attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, Message, TextPart

from ._content import with_system
from ._draft import Draft
from ._facts import Facts, Names, nano_usd, provider_of
from ._record import details, first_count, tool_result
from ._view import View
from .shapes import decoded, tool_definitions_of

name: Final = "langfuse"
version: Final = 3

_PREFIX: Final = "langfuse.observation."
_TYPE: Final = f"{_PREFIX}type"
_LEVEL: Final = f"{_PREFIX}level"
_MODEL: Final = f"{_PREFIX}model.name"
_USAGE: Final = f"{_PREFIX}usage_details"
_COST: Final = f"{_PREFIX}cost_details"
_METADATA: Final = f"{_PREFIX}metadata."
_PROVIDER: Final = f"{_METADATA}ls_provider"
"""LangChain's word for it."""
_MARKS: Final = (_TYPE, _MODEL, f"{_PREFIX}input", _LEVEL)
_KINDS: Final[dict[str, CallKind]] = {
    "agent": "agent",
    "generation": "llm",
    "tool": "tool",
    "chain": "chain",
    "retriever": "retriever",
    "embedding": "embedding",
}
_INPUT: Final = ("input", "input_tokens", "prompt_tokens", "promptTokens")
_OUTPUT: Final = ("output", "output_tokens", "completion_tokens", "completionTokens")
_WRITTEN: Final = ("cache_creation_input_tokens", "input_cache_creation")
_CACHED: Final = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read")
_REASONING: Final = ("output_reasoning_tokens", "reasoning_tokens", "output_reasoning")

marks: Final = frozenset((_TYPE, _MODEL))
scopes: Final = frozenset[str]()
keys: Final = frozenset((_TYPE, _LEVEL, _MODEL, _USAGE, _COST, _PROVIDER, "error.type"))


def recognises(view: View) -> bool:
    """It marks every observation with its type."""
    attributes = view.attributes
    return _TYPE in attributes or _MODEL in attributes


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(get(_TYPE)).lower())
    facts.fill(view.attributes, Names(model=(_MODEL,)))
    if facts.kind == "llm" and facts.provider is None:
        facts.provider = provider_of(decoded(get(_PROVIDER)))
    if facts.kind == "agent":
        facts.agent_name = facts.agent_name or view.name or None
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None
    usage, cost = details(get(_USAGE)), details(get(_COST))
    if facts.input_tokens is None:
        facts.input_tokens = _asked_tokens(usage)
    if facts.output_tokens is None:
        facts.output_tokens = first_count(usage, _OUTPUT)
    if facts.cost_nano_usd is None:
        facts.cost_nano_usd = nano_usd(cost.get("total"))
    if facts.error_type is None and get(_LEVEL) == "ERROR":
        facts.error_type = "error"


def _asked_tokens(usage: Mapping[str, Any]) -> int | None:
    """All tokens of the request. Where the total proves it, cached and audio tokens were taken out of the input."""
    given, answered, total = first_count(usage, _INPUT), first_count(usage, _OUTPUT), first_count(usage, ("total",))
    if given is None or answered is None or total is None or total <= given + answered:
        return given
    apart = {side: sum(_counts(usage, f"{side}_")) for side in ("input", "output")}
    return given + apart["input"] if given + answered + apart["input"] + apart["output"] == total else given


def _counts(usage: Mapping[str, Any], prefix: str) -> list[int]:
    """The parts that are counted beside a side's own number; ``input_tokens`` is the number itself."""
    return [
        value
        for key, value in usage.items()
        if key.startswith(prefix) and key not in (*_INPUT, *_OUTPUT) and type(value) is int and value >= 0
    ]


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    given, got = draft.attributes.get(f"{_PREFIX}input"), draft.attributes.get(f"{_PREFIX}output")
    failed = draft.span.status_code == 2 or draft.facts.error_type is not None
    if draft.kind == "llm":
        _fill_llm(draft)
    elif draft.kind == "tool":
        if draft.arguments is None:
            draft.arguments = _arguments(decoded(given))
        told = tool_result(got)
        draft.tool_call_id = draft.tool_call_id or told.call_id
        draft.take_result(None if failed else told.value)
    elif draft.kind == "agent":
        if draft.input is None:
            draft.input = decoded(given)
        draft.take_result(None if failed else decoded(got))
    usage = details(draft.attributes.get(_USAGE))
    if draft.cached_tokens is None:
        draft.cached_tokens = first_count(usage, _CACHED)
    if draft.cache_write_tokens is None:
        draft.cache_write_tokens = first_count(usage, _WRITTEN)
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_count(usage, _REASONING)
    for key, value in details(draft.attributes.get(f"{_PREFIX}model.parameters")).items():
        draft.parameters.setdefault(key, value)
    draft.conversation_id = draft.conversation_id or draft.first_text("session.id", "langfuse.session.id")
    draft.error_message = draft.error_message or draft.first_text(f"{_PREFIX}status_message")


def _fill_llm(draft: Draft) -> None:
    given = draft.value(f"{_PREFIX}input")
    if draft.inputs is None and given is not None:
        # Of a Responses request the system text and the tools stand among the metadata.
        said = decoded(draft.attributes.get(f"{_METADATA}instructions"))
        system = Message("system", (TextPart(said),)) if isinstance(said, str) and said else None
        given, offered = _without_tools(given)
        draft.inputs = with_system(system, draft.content.messages_in(given, "user"))
        if draft.tools is None and offered:
            draft.tools = tool_definitions_of(offered)
    if draft.tools is None and isinstance(given, Mapping) and "tools" in given:
        draft.tools = tool_definitions_of(given["tools"])
    if draft.tools is None and f"{_METADATA}tools" in draft.attributes:
        draft.tools = tool_definitions_of(draft.value(f"{_METADATA}tools"))
    got = draft.value(f"{_PREFIX}output")
    if draft.outputs is None and got is not None:
        draft.outputs = draft.content.messages_in(got, "assistant")


def _without_tools(given: Any) -> tuple[Any, list[Any]]:
    """The messages, and the tools that were offered: of LangChain's calls they stand among the messages."""
    items = given if isinstance(given, list) else []
    offered = [item["content"] for item in items if _is_tool(item)]
    return [item for item in items if not _is_tool(item)] if offered else given, offered


def _is_tool(item: Any) -> bool:
    if not isinstance(item, Mapping) or item.get("role") != "tool" or "tool_call_id" in item:
        return False
    content = item.get("content")
    return isinstance(content, Mapping) and isinstance(content.get("function"), Mapping)


def _arguments(value: Any) -> Any:
    """What a decorated function was given, by name."""
    if isinstance(value, Mapping) and set(value) == {"args", "kwargs"} and not value["args"]:
        return value["kwargs"]
    return value
