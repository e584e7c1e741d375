"""Genkit: ``genkit:*`` attributes, an action's input and output as JSON. Source: Genkit, telemetry specification."""

from __future__ import annotations

from typing import Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, provider_of
from ._record import details, fill_record, first_count, inner
from ._view import View, text

name: Final = "genkit"
version: Final = 1

_TYPE: Final = "genkit:type"
_SUBTYPE: Final = "genkit:metadata:subtype"
_NAME: Final = "genkit:name"
_OUTPUT: Final = "genkit:output"
_STATE: Final = "genkit:state"
_KINDS: Final[dict[str, CallKind]] = {
    "model": "llm",
    "background-model": "llm",
    "tool": "tool",
    "tool.v2": "tool",
    "flow": "chain",
    "prompt": "chain",
    "executable-prompt": "chain",
    "util": "chain",
    "agent": "agent",
    "embedder": "embedding",
    "retriever": "retriever",
}

marks: Final = frozenset((_TYPE, _SUBTYPE))
scopes: Final = frozenset[str]()
keys: Final = frozenset((_TYPE, _SUBTYPE, _NAME, _OUTPUT, _STATE, "error.type"))


def recognises(view: View) -> bool:
    """It marks every span with its type."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts; a model's name begins with that of its plugin."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(text(get(_SUBTYPE)) or text(get(_TYPE)) or "")
    named = text(get(_NAME)) or view.name or None
    if facts.kind in ("llm", "embedding") and named is not None:
        plugin, _, model = named.rpartition("/")
        facts.model = facts.model or model or None
        facts.provider = facts.provider or provider_of(plugin.partition("/")[0])
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or named
    elif facts.kind == "agent":
        facts.agent_name = facts.agent_name or named
    if facts.kind == "llm" and '"usage"' in (text(get(_OUTPUT)) or ""):
        usage = inner(details(get(_OUTPUT)), "usage")
        if facts.input_tokens is None:
            facts.input_tokens = first_count(usage, ("inputTokens",))
        if facts.output_tokens is None:
            facts.output_tokens = first_count(usage, ("outputTokens",))
    if facts.error_type is None and get(_STATE) == "error":
        facts.error_type = "error"


def fill(draft: Draft) -> None:
    """Messages, tool call and usage."""
    got = draft.value(_OUTPUT)
    fill_record(draft, draft.value("genkit:input"), got)
    usage = inner(got, "usage") if isinstance(got, dict) else {}
    if draft.cached_tokens is None:
        draft.cached_tokens = first_count(usage, ("cachedContentTokens",))
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_count(usage, ("thoughtsTokens",))
    draft.conversation_id = draft.conversation_id or draft.first_text("genkit:sessionId", "genkit:metadata:sessionId")
