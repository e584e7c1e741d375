"""Gemini CLI: GenAI attributes with operations of its own; a tool's call and outcome are the CLI's own objects.

Source: Gemini CLI, telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts
from ._record import details, inner
from ._view import View, text

name: Final = "gemini_cli"
version: Final = 1

_SCOPE: Final = "gemini-cli"
_OPERATION: Final = "gen_ai.operation.name"
_GIVEN: Final = "gen_ai.input.messages"
_GOT: Final = "gen_ai.output.messages"
_KINDS: Final[dict[str, CallKind]] = {
    "llm_call": "llm",
    "tool_call": "tool",
    "agent_call": "agent",
    "schedule_tool_calls": "chain",
}

marks: Final = frozenset[str]()
scopes: Final = frozenset((_SCOPE,))
keys: Final = frozenset((_OPERATION, "error.type"))
SCOPE_KEYS: Final = {_SCOPE: frozenset((_GOT,))}
"""What only spans of its scope are asked for while they are loaded."""


def recognises(view: View) -> bool:
    """Its scope: the attributes are the common ones."""
    return view.scope_name == _SCOPE


def narrow(view: View, facts: Facts) -> None:
    """The kind, and whether a tool failed, which only the recorded outcome tells."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(get(_OPERATION)))
    if facts.kind == "tool" and facts.error_type is None:
        outcome = details(get(_GOT))
        if outcome.get("status") in ("error", "cancelled"):
            facts.error_type = text(inner(outcome, "response").get("errorType")) or str(outcome["status"])


def fill(draft: Draft) -> None:
    """A tool's arguments, and what it answered to the model."""
    if draft.kind != "tool":
        return
    given, outcome = details(draft.attributes.get(_GIVEN)), details(draft.attributes.get(_GOT))
    draft.tool_call_id = draft.tool_call_id or draft.first_text("gen_ai.tool.call_id") or text(given.get("callId"))
    if "args" in given:
        draft.arguments = given["args"]
    answer = _answer(outcome)
    if draft.facts.error_type is None:
        draft.result, draft.has_result = answer, answer is not None
    else:
        draft.result, draft.has_result = None, False
        draft.error_message = text(answer) or draft.error_message


def _answer(outcome: Mapping[str, Any]) -> Any:
    """What the model is told: the only text of the response, or all of it."""
    response = inner(outcome, "response", "responseParts", "functionResponse").get("response")
    if isinstance(response, Mapping) and len(response) == 1 and set(response) <= {"output", "error"}:
        return next(iter(response.values()))
    return response
