"""Haystack's own tracing: ``haystack.component.*``, with content where that was switched on.

Source: Haystack, tracing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts
from ._record import details, fill_record, first_count, inner
from ._view import View, text

name: Final = "haystack"
version: Final = 1

_TYPE: Final = "haystack.component.type"
_NAME: Final = "haystack.component.name"
_OUTPUT: Final = "haystack.component.output"
_ENDS: Final[tuple[tuple[str, CallKind], ...]] = (
    ("Generator", "llm"),
    ("Retriever", "retriever"),
    ("WebSearch", "retriever"),
    ("Embedder", "embedding"),
    ("Agent", "agent"),
)
"""What a component does, by the end of its class's name."""

marks: Final = frozenset((_TYPE, _NAME, "haystack.pipeline.input_data", "haystack.agent.max_steps"))
scopes: Final = frozenset[str]()
keys: Final = marks | {_OUTPUT, "error.type"}


def recognises(view: View) -> bool:
    """A component, a pipeline or an agent."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts; the model and its counts are in the reply."""
    get = view.attributes.get
    if facts.kind is None:
        component = text(get(_TYPE)) or ""
        facts.kind = next((kind for end, kind in _ENDS if component.endswith(end)), "chain")
        if "haystack.agent.max_steps" in view.attributes:
            facts.kind = "agent"
    if facts.kind == "agent":
        facts.agent_name = facts.agent_name or text(get(_NAME))
    if facts.kind == "llm":
        meta = _meta(details(get(_OUTPUT)))
        usage = inner(meta, "usage")
        facts.model = facts.model or text(meta.get("model"))
        if facts.input_tokens is None:
            facts.input_tokens = first_count(usage, ("prompt_tokens", "input_tokens"))
        if facts.output_tokens is None:
            facts.output_tokens = first_count(usage, ("completion_tokens", "output_tokens"))


def _meta(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the first reply says of itself: on the message, or beside plain text."""
    return inner(output, "replies", "meta") or inner(output, "replies", "_meta") or inner(output, "meta")


def fill(draft: Draft) -> None:
    """Messages, and an agent's input and output."""
    given, got = draft.value("haystack.component.input"), draft.value(_OUTPUT)
    if draft.kind == "agent":
        given = given if given is not None else draft.value("haystack.agent.input")
        got = got if got is not None else draft.value("haystack.agent.output")
    if draft.kind == "llm" and isinstance(got, Mapping):
        meta = _meta(got)
        reason = text(meta.get("finish_reason"))
        draft.finish_reasons = draft.finish_reasons or ((reason,) if reason else None)
        got = got.get("replies", got)
    given = {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else given
    fill_record(draft, given, got)
    settings = draft.parameters.pop("generation_kwargs", None)
    if isinstance(settings, Mapping):
        draft.parameters |= {key: value for key, value in settings.items() if key not in draft.parameters}
