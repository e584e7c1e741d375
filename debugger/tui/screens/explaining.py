"""What the detail pane says of a span, read beside the screen's loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from runtime.messages import Call

from ...analysis.attributes import attributes_document
from ...analysis.context import context_growth, continued, earlier_calls
from ...analysis.conversation import conversation, document_of
from ...analysis.document import Document
from ...analysis.request_view import events_document, request_document
from ...analysis.tree import Forest
from ..session import Session
from ..widgets.detail import Tab


@dataclass(frozen=True, slots=True)
class SpanQuestion:
    """Which span the detail pane should explain."""

    span_id: str
    index: int
    """Its place in the forest."""
    forest: Forest = field(repr=False)


def explained(session: Session, trace_id: str, wanted: SpanQuestion) -> dict[Tab, Document]:
    """The tabs that are about the span alone. Raises what the session raises."""
    call = session.call(trace_id, wanted.span_id)
    spans = session.span(trace_id, wanted.span_id)
    marks = wanted.forest.marks_of(wanted.index)
    return {
        "conversation": _conversation(session, trace_id, wanted, call),
        "attributes": attributes_document(spans, marks),
        "request": request_document(call),
        "events": events_document(spans, session.logs(trace_id, wanted.span_id)),
    }


def conversation_text(session: Session, trace_id: str, wanted: SpanQuestion) -> str:
    """What the first tab says. Raises what the session raises."""
    return _conversation(session, trace_id, wanted, session.call(trace_id, wanted.span_id)).text


def _conversation(session: Session, trace_id: str, wanted: SpanQuestion, call: Call) -> Document:
    forest = wanted.forest
    marks = forest.marks_of(wanted.index)
    if call.kind != "llm":
        return document_of(conversation(call), marks)
    earlier = earlier_calls(forest, wanted.index)
    nearest = (session.call(trace_id, forest.rows[at].span_id) for at in earlier[:_COMPARED])
    growth = context_growth(forest, wanted.index, earlier)
    return document_of(conversation(call, continued(call, nearest), growth), marks)


_COMPARED: Final = 4
"""Earlier calls among which the one is looked for that a call goes on from; each is read for it."""
