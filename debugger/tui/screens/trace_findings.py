"""What a reader of a trace takes away from it: where a phrase came from."""

from __future__ import annotations

from .lineage import LineageScreen
from .trace_base import TraceBase


class TraceFindings(TraceBase):
    """The part of a trace's screen that follows phrases."""

    def action_where(self) -> None:
        """Follow what is looked for in the text, or the line under the cursor; on the timeline ask for a phrase."""
        view = self.detail.view
        phrase = view.phrase if self.focused is view else ""
        span = self.timeline.selected
        at = span.span_id if span is not None else None
        self.app.push_screen(LineageScreen(self._session, self.row, phrase, at, self.go_to_span))

    def go_to_span(self, span_id: str | None) -> None:
        """Put the cursor on a span."""
        at = None if span_id is None else self.timeline.forest.find(span_id)
        if at is not None:
            self.timeline.go_to(at)
        self.focus_pane(self.timeline)
