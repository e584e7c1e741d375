"""Laminar: ``lmnr.span.*`` beside GenAI attributes. Source: Laminar SDKs, attribute names."""

from __future__ import annotations

from typing import Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, Names
from ._record import fill_record
from ._view import View, text

name: Final = "laminar"
version: Final = 1

_TYPE: Final = "lmnr.span.type"
_KINDS: Final[dict[str, CallKind]] = {"LLM": "llm", "TOOL": "tool", "DEFAULT": "chain", "AGENT": "agent"}
_SESSION: Final = ("lmnr.association.properties.session_id", "lmnr.association.properties.sessionId")
NAMES: Final = Names(cost_usd=("gen_ai.usage.cost",))

marks: Final = frozenset((_TYPE, "lmnr.span.input", "lmnr.span.output"))
scopes: Final = frozenset[str]()
keys: Final = marks | NAMES.keys | {"error.type"}


def recognises(view: View) -> bool:
    """A kind, or a value that went in or came out."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    facts.kind = facts.kind or _KINDS.get((text(view.attributes.get(_TYPE)) or "").upper())
    facts.fill(view.attributes, NAMES)
    if facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None


def fill(draft: Draft) -> None:
    """Messages and tool call."""
    fill_record(draft, draft.value("lmnr.span.input"), draft.value("lmnr.span.output"))
    draft.conversation_id = draft.conversation_id or draft.first_text(*_SESSION)
