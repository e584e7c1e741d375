"""LangSmith's OpenTelemetry export: ``langsmith.*``, with a run's inputs and outputs as JSON in the old GenAI keys.

Source: LangSmith, "Trace with OpenTelemetry", table of attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, Names
from ._record import fill_record
from ._view import View, text

name: Final = "langsmith"
version: Final = 2

_KIND: Final = "langsmith.span.kind"
_MARKS: Final = (_KIND, "langsmith.trace.name", "langsmith.trace.session_name", "langsmith.trace.session_id")
_KINDS: Final[dict[str, CallKind]] = {
    "llm": "llm",
    "tool": "tool",
    "chain": "chain",
    "retriever": "retriever",
    "embedding": "embedding",
    "agent": "agent",
    "prompt": "chain",
    "parser": "chain",
}
NAMES: Final = Names(
    agent_name=("langsmith.metadata.lc_agent_name",),
    provider=("langsmith.metadata.ls_provider",),
    model=("langsmith.metadata.ls_model_name",),
)
_SESSIONS: Final = tuple(f"langsmith.metadata.{word}" for word in ("session_id", "thread_id", "conversation_id"))

marks: Final = frozenset(_MARKS)
scopes: Final = frozenset(("langsmith",))
keys: Final = NAMES.keys | {*_MARKS, "error.type"}


def recognises(view: View) -> bool:
    """Its kinds and names of traces."""
    return view.scope_name in scopes or any(key in view.attributes for key in _MARKS)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts. Its own kind is surer than the operation, which is ``embeddings`` for a retriever."""
    kind = text(view.attributes.get(_KIND))
    if kind is not None and facts.kind != "agent":
        facts.kind = _KINDS.get(kind.lower(), facts.kind)
    facts.fill(view.attributes, NAMES)
    if facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None


def fill(draft: Draft) -> None:
    """Messages, tool call and usage."""
    got = draft.value("gen_ai.completion")
    if got is None and draft.facts.error_type is None:
        # The JavaScript SDK notes what failed as an exception and sets the status to OK all the same.
        exceptions = [event.attributes for event in draft.span.events if event.name == "exception"]
        draft.facts.error_type = text(exceptions[-1].get("exception.type")) if exceptions else None
    if draft.kind != "llm" and isinstance(got, Mapping) and set(got) == {"outputs"}:
        got = got["outputs"]  # the JavaScript SDK's wrapper around what is no object
    fill_record(draft, draft.value("gen_ai.prompt"), got)
    draft.conversation_id = draft.conversation_id or draft.first_text(*_SESSIONS)
