"""Strands Agents: GenAI operations, with the content on span events and the framework's name as the provider.

The TypeScript version writes the service's name there instead, which is also its scope's.

Source: strands-agents, telemetry.tracer.
"""

from __future__ import annotations

from typing import Final

from runtime.messages import parse_json_text

from ._draft import Draft
from ._facts import Facts
from ._message_events import CHOICE
from ._view import View
from .shapes import decoded, plain_content

name: Final = "strands"
version: Final = 2

_SCOPE: Final = "strands.telemetry.tracer"

_CYCLES: Final = ("execute_event_loop_cycle", "execute_agent_loop_cycle")
"""The second is the span's name in TypeScript, where it has no operation."""

marks: Final = frozenset(("event_loop.cycle_id", "agent_loop.cycle_id", "gen_ai.event.start_time"))
scopes: Final = frozenset((_SCOPE,))
keys: Final = marks | {"gen_ai.operation.name", "error.type"}


def recognises(view: View) -> bool:
    """Its scope; where that is missing, the times that it writes on every span."""
    return view.scope_name == _SCOPE or not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """A cycle of the loop groups a model call and its tools."""
    if facts.kind is None and view.attributes.get("gen_ai.operation.name", view.name) in _CYCLES:
        facts.kind = "chain"
    if facts.provider is not None and facts.provider == view.scope_name.lower():
        facts.provider = None


def fill(draft: Draft) -> None:
    """A tool's arguments and result are on its events."""
    if draft.kind != "tool":
        return
    for event in draft.span.events:
        if event.name == "gen_ai.tool.message" and draft.arguments is None:
            draft.arguments = parse_json_text(event.attributes.get("content"))
        elif event.name == CHOICE and "message" in event.attributes:
            result = parse_json_text(plain_content(decoded(event.attributes["message"])))
            if draft.span.status_code == 2:
                draft.error_message = result if isinstance(result, str) else None
            else:
                draft.take_result(result)
