"""Braintrust: ``braintrust.*``, each value as JSON. Source: Braintrust, OpenTelemetry attributes and events."""

from __future__ import annotations

from typing import Any, Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, nano_usd, provider_of
from ._record import details, fill_record, first_count
from ._view import View, text

name: Final = "braintrust"
version: Final = 1

_SPAN: Final = "braintrust.span_attributes"
_TYPE: Final = "braintrust.span_attributes.type"
_METADATA: Final = "braintrust.metadata"
_METRICS: Final = "braintrust.metrics"
_INPUTS: Final = ("braintrust.input_json", "braintrust.input")
_OUTPUTS: Final = ("braintrust.output_json", "braintrust.output")
_KINDS: Final[dict[str, CallKind]] = {"llm": "llm", "tool": "tool", "task": "chain", "function": "chain"}

marks: Final = frozenset((_SPAN, _TYPE, _METRICS, *_INPUTS, *_OUTPUTS))
scopes: Final = frozenset[str]()
keys: Final = marks | {_METADATA, "error.type"}


def recognises(view: View) -> bool:
    """One of its own attributes."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    kind = text(get(_TYPE)) or text(details(get(_SPAN)).get("type"))
    facts.kind = facts.kind or _KINDS.get(kind or "")
    metadata, metrics = details(get(_METADATA)), details(get(_METRICS))
    facts.model = facts.model or text(metadata.get("model"))
    facts.provider = facts.provider or provider_of(metadata.get("provider"))
    if facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None
    if facts.input_tokens is None:
        facts.input_tokens = first_count(metrics, ("prompt_tokens", "input_tokens"))
    if facts.output_tokens is None:
        facts.output_tokens = first_count(metrics, ("completion_tokens", "output_tokens"))
    if facts.cost_nano_usd is None:
        facts.cost_nano_usd = nano_usd(metrics.get("estimated_cost"))


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    fill_record(draft, _first(draft, _INPUTS), _first(draft, _OUTPUTS))
    metadata, metrics = details(draft.attributes.get(_METADATA)), details(draft.attributes.get(_METRICS))
    if draft.kind == "llm":
        for key, value in metadata.items():
            if key not in ("model", "provider", "tools"):
                draft.parameters.setdefault(key, value)
    if draft.cached_tokens is None:
        draft.cached_tokens = first_count(metrics, ("prompt_cached_tokens",))
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_count(metrics, ("completion_reasoning_tokens",))
    draft.conversation_id = draft.conversation_id or text(metadata.get("session_id"))


def _first(draft: Draft, names: tuple[str, ...]) -> Any:
    return next((value for key in names if (value := draft.value(key)) is not None), None)
