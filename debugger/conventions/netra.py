"""Netra: ``netra.*`` beside OpenLLMetry's flattened messages, in which each tool call is a message of its own.

Source: netra-sdk, decorators and instrumentations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from runtime.messages import CallKind, Message, TextPart, ToolCallPart, ToolCallResponsePart, parse_json_text

from ._draft import Draft
from ._facts import Facts, Names, provider_of
from ._flat import flat_items
from ._record import fill_record
from ._view import View, text
from .shapes import decoded

name: Final = "netra"
version: Final = 1

_TYPE: Final = "netra.span.type"
_ENTITY: Final = "netra.entity.type"
_LIBRARY: Final = "netra.instrumentation.name"
_KINDS: Final[dict[str, CallKind]] = {
    "AGENT": "agent",
    "TOOL": "tool",
    "GENERATION": "llm",
    "EMBEDDING": "embedding",
    "SPAN": "chain",
}
_ENTITIES: Final[dict[str, CallKind]] = {"agent": "agent", "workflow": "chain", "task": "chain"}
_OF_PROVIDERS: Final = frozenset(("openai", "anthropic", "groq", "mistralai", "cohere", "cerebras", "google_genai"))
"""Instrumentations of a provider's own library, of which the span names no provider otherwise."""
_ERROR: Final = "netra.entity.error"
_AGENT: Final = Names(agent_name=("netra.agent.name",))
_TOOL: Final = Names(tool_name=("netra.tool.name", "netra.task.name"))

marks: Final = frozenset((_TYPE, _ENTITY, _LIBRARY))
scopes: Final = frozenset[str]()
keys: Final = marks | _AGENT.keys | _TOOL.keys | {_ERROR, "error.type"}


def recognises(view: View) -> bool:
    """A kind of its own, or the library that it instruments."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(get(_TYPE))) or _ENTITIES.get(str(get(_ENTITY)))
    if facts.error_type is None and _ERROR in view.attributes:
        facts.error_type = "error"  # the span's status says nothing
    library = get(_LIBRARY)
    if facts.provider is None and type(library) is str and library in _OF_PROVIDERS:
        facts.provider = provider_of(library)
    if facts.kind == "agent":
        facts.fill(view.attributes, _AGENT)
    elif facts.kind == "tool":
        facts.fill(view.attributes, _TOOL)
        facts.tool_name = facts.tool_name or view.name or None


def fill(draft: Draft) -> None:
    """Messages, and what a decorated function was given and gave back."""
    draft.error_message = draft.error_message or draft.first_text(_ERROR)
    if draft.kind in ("agent", "tool"):
        fill_record(draft, draft.peek("input"), draft.peek("output") if draft.attributes.get("output") else None)
    elif _LIBRARY in draft.attributes:
        if draft.inputs is None and (asked := flat_items(draft.attributes, "gen_ai.prompt")):
            draft.inputs = _messages(asked.values())
        if draft.outputs is None and (said := flat_items(draft.attributes, "gen_ai.completion")):
            draft.outputs = _messages(said.values()) or None
            reasons = (text(item.get("finish_reason")) for item in said.values() if isinstance(item, Mapping))
            draft.finish_reasons = draft.finish_reasons or tuple(r for r in reasons if r is not None) or None


def _messages(items: Iterable[Any]) -> tuple[Message, ...]:
    out: list[Message] = []
    for item in items:
        role = text(item.get("role")) if isinstance(item, Mapping) else None
        if role is None:  # the reason why the answer ended stands alone, as if it were one more message
            continue
        content, call_id = item.get("content"), text(item.get("tool_call_id"))
        if role == "tool":
            out.append(Message(role, (ToolCallResponsePart(call_id, parse_json_text(content)),)))
            continue
        call = _call(call_id, content) if role == "assistant" else None
        if call is None:
            out.append(Message(role, (TextPart(content),) if isinstance(content, str) and content else ()))
        elif out and out[-1].role == "assistant":
            out[-1] = Message("assistant", (*out[-1].parts, call))
        else:
            out.append(Message("assistant", (call,)))
    return tuple(out)


def _call(call_id: str | None, content: Any) -> ToolCallPart | None:
    asked = decoded(content)
    if call_id is None or not isinstance(asked, Mapping) or set(asked) != {"name", "arguments"}:
        return None
    called = text(asked["name"])
    return None if called is None else ToolCallPart(call_id, called, parse_json_text(asked["arguments"]))
