"""Asking what of a trace is to be written to a file, from any screen that shows the trace."""

from __future__ import annotations

from pathlib import Path

from ...analysis.problem import problem_document, problem_of
from ...analysis.traces import trace_name
from ...store.rows import TraceRow
from ..exporting import SUFFIXES, ExportJob, What
from ..latest import Latest
from ..session import Session
from .base import PaneScreen, new_file
from .export import ExportScreen
from .notes import NotesScreen


class ExportingScreen(PaneScreen):
    """A screen from which its trace can be exported."""

    _exports: Latest[ExportJob, Path] | None = None

    def export(self, session: Session, row: TraceRow, what: What, position: int | None = None) -> None:
        """Ask what to write, and write it."""
        title = trace_name(row.name)

        def name(suffix: str) -> Path:
            return new_file(Path(), title, suffix)

        job = ExportJob(what=what, path=name(SUFFIXES[what]), trace_id=row.trace_id, title=title,
                        position=position)  # fmt: skip

        def write(answer: ExportJob | None) -> None:
            if answer is not None:
                self._exports = Latest(self, "export", session.export, self._exported, self._not_exported)
                self._exports.ask(answer)

        self.app.push_screen(ExportScreen(job, name), write)

    def _exported(self, _: ExportJob, path: Path) -> None:
        self.say(f"Written to {path.absolute()}")

    def _not_exported(self, _: ExportJob, error: Exception) -> None:
        self.app.push_screen(NotesScreen("error", problem_document(problem_of(error, "nothing was written"))))
