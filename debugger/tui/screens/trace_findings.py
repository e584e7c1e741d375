"""What a reader takes away from a trace: where a phrase came from, and what is pinned to the notebook."""

from __future__ import annotations

from pathlib import Path

from ...analysis.problem import problem_document, problem_of
from ...analysis.traces import trace_name
from ...analysis.tree import name_of
from ...store.notebook import Note
from ..exporting import SUFFIXES, ExportJob
from ..latest import Latest
from .base import new_file
from .export import ExportScreen
from .lineage import LineageScreen
from .notes import NotesScreen
from .pinning import MOST_PINNED
from .trace_base import TraceBase


class TraceFindings(TraceBase):
    """The part of a trace's screen that follows phrases, pins and exports."""

    _exports: Latest[ExportJob, Path] | None = None

    def action_where(self) -> None:
        """Follow what is looked for in the text, or the line under the cursor; on the timeline ask for a phrase."""
        view = self.detail.view
        phrase = view.phrase or None if self.focused is view else ""
        span = self.timeline.selected
        at = span.span_id if span is not None else None
        self.app.push_screen(LineageScreen(self._session, self.row, phrase, at, self.go_to_span))

    def action_pin(self) -> None:
        """Pin the text under the cursor, or the span."""
        span = self.timeline.selected
        if span is None:
            return
        view = self.detail.view
        in_text = self.focused is view and bool(text := view.text_here)
        title = f"{name_of(span)} in {trace_name(self.row.name)}"
        # A span says itself what it was about: the note holds what the pane shows of it.
        body = text if in_text else self.detail.document("conversation").text
        self.pin(self._session, Note(kind="text" if in_text else "span", title=title, body=body[:MOST_PINNED],
                                     source=self._session.opened_as(self.row), trace_id=self.row.trace_id,
                                     span_id=span.span_id))  # fmt: skip

    def action_export(self) -> None:
        """Ask what to write, and write it."""
        title = trace_name(self.row.name)

        def name(suffix: str) -> Path:
            return new_file(Path(), title, suffix)

        job = ExportJob(what="trace", path=name(SUFFIXES["trace"]), trace_id=self.row.trace_id, title=title,
                        position=getattr(self, "position", None))  # fmt: skip
        self.app.push_screen(ExportScreen(job, name), self._export)

    def _export(self, job: ExportJob | None) -> None:
        if job is not None:
            self._exports = Latest(self, "export", self._session.export, self._exported, self._not_exported)
            self._exports.ask(job)

    def _exported(self, _: ExportJob, path: Path) -> None:
        self.say(f"Written to {path.absolute()}")

    def _not_exported(self, _: ExportJob, error: Exception) -> None:
        self.app.push_screen(NotesScreen("error", problem_document(problem_of(error, "nothing was written"))))

    def go_to_span(self, span_id: str | None) -> None:
        """Put the cursor on a span."""
        at = None if span_id is None else self.timeline.forest.find(span_id)
        if at is not None:
            self.timeline.go_to(at)
        self.focus_pane(self.timeline)
