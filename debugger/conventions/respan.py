"""Respan (Keywords AI): OpenLLMetry's names, with the whole request and answer of a model call beside the flat form.

The flat form drops the ids of tool results and writes tool calls as one JSON text. Source: respan-tracing.
"""

from __future__ import annotations

from typing import Final

from ._draft import Draft
from ._facts import Facts
from ._view import View
from .shapes import tool_definitions_of

name: Final = "respan"
version: Final = 1

_LOG_TYPE: Final = "respan.entity.log_type"
_METHOD: Final = "respan.entity.log_method"

marks: Final = frozenset((_LOG_TYPE, _METHOD))
scopes: Final = frozenset[str]()
keys: Final = marks


def recognises(view: View) -> bool:
    """How and as what a span was logged."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """Nothing: OpenLLMetry's names say it all."""


def fill(draft: Draft) -> None:
    """The whole messages, and the tools that a model was offered."""
    if draft.kind != "llm":
        return
    if draft.inputs is None:
        draft.inputs = draft.content.messages(draft.attributes, "traceloop.entity.input", "user")
    if draft.outputs is None:
        draft.outputs = draft.content.messages(draft.attributes, "traceloop.entity.output", "assistant")
    if draft.tools is None:
        draft.tools = tool_definitions_of(draft.value("llm.request.functions"))
