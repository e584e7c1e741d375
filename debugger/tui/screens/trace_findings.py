"""What a reader takes away from a trace: where a phrase came from, and what is pinned to the notebook."""

from __future__ import annotations

from functools import partial

from ...analysis.conversation import is_given
from ...analysis.traces import trace_name
from ...analysis.tree import name_of
from ...store.notebook import Note
from .explaining import SpanQuestion, conversation_text
from .exports import ExportingScreen
from .lineage import LineageScreen, Trail
from .pinning import MOST_PINNED
from .trace_base import TraceBase


class TraceFindings(ExportingScreen, TraceBase):
    """The part of a trace's screen that follows phrases and pins."""

    explained: SpanQuestion | None = None
    """The span that the detail pane holds; it comes a moment after the cursor."""
    _came_by: tuple[Trail, str] | None = None
    """The trail that led to a span, and the span."""

    def action_where(self) -> None:
        """Follow what is looked for in the text, or the line under the cursor; on the timeline ask for a phrase."""
        view = self.detail.view
        phrase = view.phrase or None if self.focused is view else ""
        span = self.timeline.selected
        at = span.span_id if span is not None else None
        given = bool(phrase) and is_given(view.block_key)
        self.app.push_screen(LineageScreen(self._session, self.row, phrase, at, self.go_to_span, is_given=given))

    def back_to_trail(self) -> bool:
        """Show the trail again that led to the span under the cursor; False where none did, or it was shown again."""
        (trail, span_id), self._came_by = self._came_by or (None, None), None
        span = self.timeline.selected
        if trail is None or span is None or span.span_id != span_id:
            return False
        asked = trail.question
        self.app.push_screen(LineageScreen(self._session, self.row, asked.phrase, asked.span_id, self.go_to_span,
                                           is_given=asked.is_given, trail=trail))  # fmt: skip
        return True

    def action_pin(self) -> None:
        """Pin the text under the cursor, or the span with what is said in it."""
        view, forest = self.detail.view, self.timeline.forest
        if not len(forest):
            return
        wanted = SpanQuestion(forest.rows[self.timeline.index].span_id, self.timeline.index, forest)
        in_text = self.focused is view and bool(view.text_here)
        if in_text and self.explained is not None:
            wanted = self.explained  # the pane may still hold the span that the cursor was on before
        span = wanted.forest.rows[wanted.index]
        note = Note(
            kind="text" if in_text else "span",
            title=f"{name_of(span)} in {trace_name(self.row.name)}",
            body=view.text_here[:MOST_PINNED] if in_text else "",
            source=self._session.opened_as(self.row),
            trace_id=self.row.trace_id,
            span_id=span.span_id,
        )
        read = partial(conversation_text, self._session, self.row.trace_id, wanted)
        self.pin(self._session, note, None if in_text else read)

    def action_export(self) -> None:
        """Ask what to write, and write it."""
        self.export(self._session, self.row, "trace", self.position)

    def go_to_span(self, span_id: str | None, trail: Trail | None = None) -> None:
        """Put the cursor on a span, which a trail may have led to."""
        self._came_by = None if trail is None or span_id is None else (trail, span_id)
        if trail is not None:
            self.say(f"{self.key('trace.back')} goes back to the steps.")
        at = None if span_id is None else self.timeline.forest.find(span_id)
        if at is not None:
            self.timeline.go_to(at)
        self.focus_pane(self.timeline)
