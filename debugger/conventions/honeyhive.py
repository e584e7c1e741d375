"""HoneyHive: ``honeyhive_event_type`` on decorated functions, with their values flattened key by key.

Model calls come from other instrumentations, which say more; here only what those leave open is read.
Source: honeyhive, tracer instrumentation.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, Names
from ._flat import flat_object
from ._record import fill_record
from ._view import View, text

name: Final = "honeyhive"
version: Final = 1

_TYPE: Final = "honeyhive_event_type"
_NAME: Final = "honeyhive_event_name"
_ERROR: Final = "honeyhive_error"
_KINDS: Final[dict[str, CallKind]] = {"tool": "tool", "model": "llm", "chain": "chain", "session": "chain"}
_TOOL: Final = Names(tool_name=(_NAME,))

marks: Final = frozenset((_TYPE,))
scopes: Final = frozenset[str]()
keys: Final = marks | {_NAME, _ERROR, "error.type"}


def recognises(view: View) -> bool:
    """Every event names its type."""
    return type(view.attributes.get(_TYPE)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts. A failure is written once more as a span without a name of its own, which ran nothing."""
    get = view.attributes.get
    if _ERROR in view.attributes and text(get(_NAME)) is None:
        return
    facts.kind = facts.kind or _KINDS.get(str(get(_TYPE)))
    if facts.kind == "tool":
        facts.fill(view.attributes, _TOOL)
        facts.tool_name = facts.tool_name or view.name or None


def fill(draft: Draft) -> None:
    """What a decorated function was given and gave back."""
    if draft.kind in ("tool", "agent"):
        fill_record(draft, _value(draft, "honeyhive_inputs"), _result(draft))
    draft.conversation_id = draft.conversation_id or draft.first_text("honeyhive.session_id")


def _value(draft: Draft, prefix: str) -> Any:
    return draft.peek(prefix) if prefix in draft.attributes else flat_object(draft.attributes, prefix)


def _result(draft: Draft) -> Any:
    return _value(draft, "honeyhive_outputs.result")
