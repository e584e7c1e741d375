"""Haystack's own tracing: ``haystack.component.*`` and an agent's steps, with content where that was switched on.

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
version: Final = 2

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

_STEP: Final = "haystack.agent.step"
_STEPS: Final[dict[str, CallKind]] = {_STEP: "chain", f"{_STEP}.llm": "llm", f"{_STEP}.tool": "tool"}
"""Names of the spans of an agent's steps, since version 3; before, components did its work."""
_STEP_OUTPUT: Final = f"{_STEP}.llm.output"
_TOOL: Final = "haystack.tool.name"
_FAILED: Final = "haystack.tool.error"

marks: Final = frozenset(
    (_TYPE, _NAME, "haystack.pipeline.input_data", "haystack.agent.max_steps", _STEP, f"{_STEP}.llm.input", _TOOL)
)
scopes: Final = frozenset(("haystack",))
keys: Final = marks | {_OUTPUT, _STEP_OUTPUT, _FAILED, "error.type"}


def recognises(view: View) -> bool:
    """A component, a pipeline, an agent or one of its steps."""
    return not marks.isdisjoint(view.attributes) or (view.scope_name in scopes and view.name in _STEPS)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts; the model and its counts are in the reply."""
    get = view.attributes.get
    if facts.kind is None:
        component = text(get(_TYPE)) or ""
        facts.kind = next((kind for end, kind in _ENDS if component.endswith(end)), "chain")
        if "haystack.agent.max_steps" in view.attributes:
            facts.kind = "agent"
        facts.kind = _STEPS.get(view.name, facts.kind)
    if facts.kind == "agent":
        facts.agent_name = facts.agent_name or text(get(_NAME))
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or text(get(_TOOL))
        facts.error_type = facts.error_type or ("error" if get(_FAILED) is True else None)
    elif facts.kind == "llm":
        meta = _meta(details(get(_OUTPUT)) or details(get(_STEP_OUTPUT)))
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
    if draft.span.name in _STEPS:
        given, got = draft.value(f"{draft.span.name}.input"), draft.value(f"{draft.span.name}.output")
    if draft.kind == "tool" and draft.facts.error_type is not None:
        draft.error_message = text(details(got).get("error"))
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
