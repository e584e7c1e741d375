"""Langtrace: ``langtrace.*`` beside GenAI attributes, with the messages on two span events.

An answer's tool calls stand in its content. Source: langtrace-python-sdk, trace attributes.
"""

from __future__ import annotations

from typing import Final

from runtime.messages import CallKind, Message, OtherPart, Part

from ._draft import Draft
from ._facts import Facts, first_whole
from ._view import View
from .shapes import decoded, tool_definitions_of

name: Final = "langtrace"
version: Final = 1

_TYPE: Final = "langtrace.service.type"
_TOOLS: Final = "gen_ai.request.tools"
_KINDS: Final[dict[str, CallKind]] = {"vectordb": "retriever", "framework": "chain"}

marks: Final = frozenset((_TYPE,))
scopes: Final = frozenset[str]()
keys: Final = marks


def recognises(view: View) -> bool:
    """Every span names the kind of service that it is about."""
    return _TYPE in view.attributes


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    facts.kind = facts.kind or _KINDS.get(str(view.attributes.get(_TYPE)))


def fill(draft: Draft) -> None:
    """The tools that a model was offered, and the cached tokens."""
    draft.inputs = _without_empty_calls(draft)
    draft.parameters.pop("tools", None)
    if draft.tools is None and _TOOLS in draft.attributes:
        written = draft.attributes[_TOOLS]
        only = written[0] if isinstance(written, list) and len(written) == 1 else written
        draft.tools = tool_definitions_of(decoded(only))
    if draft.cached_tokens is None:
        draft.cached_tokens = first_whole(draft.attributes, ("gen_ai.usage.cached_tokens",))


def _without_empty_calls(draft: Draft) -> tuple[Message, ...] | None:
    """The messages without what the SDK writes of an answer's tool calls in a later request: their number only."""
    said = draft.inputs
    if said is None:
        return None
    kept = tuple(m for m in said if not (len(m.parts) == 1 and _is_number_of_calls(m.parts[0])))
    if len(kept) < len(said):
        draft.content.lose("the tool calls in the request were not recorded")
    return kept


def _is_number_of_calls(part: Part) -> bool:
    items = part.data.get("value") if isinstance(part, OtherPart) else None
    return isinstance(items, list) and all(isinstance(item, dict) and item.get("id") == "" for item in items)
