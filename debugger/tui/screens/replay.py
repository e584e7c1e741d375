"""A replay while it runs, and how it came out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from runtime.journal import Question, Supplied

from ...analysis.problem import problem_document, problem_of
from ...analysis.replay_view import counts_text, headline, left_out, result_document
from ...analysis.text import plural, width_of
from ...analysis.traces import trace_name
from ...replay.model import ReplayCall, ReplayJob, ReplayReport
from ...store.rows import SpanRow, TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import Session
from ..widgets.drawn import Drawable, Drawn, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from ..widgets.replay_list import ReplayList
from .base import PaneScreen
from .editor import AskScreen

_STOPPED = frozenset(("missed", "error"))


class ReportView(LineView, inherit_bindings=False):
    """The report. Enter unfolds what is folded; elsewhere it is left to the screen, which opens the replay."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("rows"), *bindings("report"), *bindings("text")[2:]]
    unfold_id = "report.unfold"


class CallsArrived(Message):
    """Calls of the replay wait to be drawn."""

    def can_replace(self, message: Message) -> bool:
        """One drawing takes all that wait."""
        return isinstance(message, CallsArrived)


_COUNTS: Final = 100
"""Cells from which on the header has room for the counts beside how it ended."""


class ReplayScreen(PaneScreen):
    """Runs one job and shows it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("replay")

    def __init__(
        self, session: Session, job: ReplayJob, trace_name: str, where: str, recorded: Mapping[str, SpanRow]
    ) -> None:
        super().__init__()
        self._session = session
        self.job = job
        self._trace_name = trace_name
        self._where = where
        self._recorded = recorded
        self._arrived: deque[ReplayCall] = deque()
        self._stop = False
        self._left_out: tuple[SpanRow, ...] = ()
        """Recorded calls that the replay did not come to."""
        self.report: ReplayReport | None = None
        self.has_ended = False
        self._run: Latest[ReplayJob, ReplayReport] = Latest(self, "replay", self._replay, self._done, self._broke)
        self._keep: Latest[str, Path] = Latest(self, "keep", self._session.keep, self._kept, self.say_fault)
        self._find: Latest[str, TraceRow | None] = Latest(self, "find", self._find_row, self._show_row, self.say_fault)

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield OneLine(id="columns")
        yield ReplayList(self._recorded, id="calls")
        yield ReportView(id="result")
        yield KeyLine(id="keys")

    @property
    def calls(self) -> ReplayList:
        """The upper pane."""
        return self.query_one(ReplayList)

    @property
    def result(self) -> LineView:
        """The lower pane, once there is a result."""
        return self.query_one(LineView)

    def panes(self) -> Sequence[Widget]:
        """The result is a pane once it is there."""
        return [self.calls, self.result] if self.has_ended else [self.calls]

    def header(self) -> Iterable[Drawable]:
        """What is replayed, how, and how far it is."""
        job = self.job
        out = [Run(f" ↺ replay of {trace_name(self._trace_name)}", "strong")]
        if self.report is not None:
            done = headline(self.report)
            out.append(Run(f"  {done.text}", done.style))
        elif self.has_ended:
            out.append(Run("  ✗ could not run", "error"))
        else:
            out.append(Run("  stopping…" if self._stop else "  running…", "warning"))
        live = [what for what, mode in (("models", job.mode), ("tools", job.tools)) if mode == "live"]
        asks = [what for what, mode in (("models", job.mode), ("tools", job.tools)) if mode == "ask"]
        how = [f"{word} {' and '.join(what)}" for word, what in (("live", live), ("ask for", asks)) if what]
        edits = f", ✎ {plural(len(job.edits), 'edit')}" if job.edits else ""
        said = f"{', '.join(how) or 'strict'}{edits}"
        taken = sum(width_of(run.text) for run in (*out, *self.header_right())) + width_of(said) + 5
        where = f"{self._where}, " if taken + width_of(self._where) < self.size.width else ""
        return (*out, Run(f"  {where}", "dim"), Run(said, "warning" if how or edits else "dim"))

    def header_right(self) -> Iterable[Drawable]:
        """The calls by status; on a narrow screen the report below tells them once it is there."""
        if not self.has_ended:
            yield Run(f"{counts_text(self.calls.calls.values(), runs=True)} ")
        elif self.report is not None and self.size.width >= _COUNTS:
            yield Run(f"{counts_text(self.report.calls)} ")

    def on_mount(self) -> None:
        """Start."""
        self.calls.focus()
        self.when_laid_out(self._draw_columns)
        self._run.ask(self.job)

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.when_laid_out(self._draw_columns)

    def _draw_columns(self) -> None:
        self.query_one("#columns", OneLine).pieces = self.calls.header_pieces()

    def on_unmount(self) -> None:
        """Let a replay end."""
        self._stop = True

    # The run.

    def _replay(self, job: ReplayJob) -> ReplayReport:
        def arrived(call: ReplayCall) -> None:
            self._arrived.append(call)
            self.post_message(CallsArrived())

        report = self._session.replay(job, arrived, lambda: self._stop, self._ask_user)
        if report.ended != "cancelled":
            self._left_out = left_out(self._recorded, report)
        return report

    def _ask_user(self, question: Question) -> Supplied:
        """In the worker: show the question, and wait for what is said."""
        said: SimpleQueue[Supplied] = SimpleQueue()

        def show() -> None:
            self.app.push_screen(AskScreen(question), lambda answer: said.put(answer or Supplied(kind="stop")))

        self.app.call_from_thread(show)
        while not self._stop:
            try:
                return said.get(timeout=0.1)
            except Empty:
                continue
        return Supplied(kind="stop")

    def on_calls_arrived(self) -> None:
        """Draw what waits."""
        waiting: list[ReplayCall] = []
        while self._arrived:
            waiting.append(self._arrived.popleft())
        if waiting:
            self.calls.add(waiting)
            self.draw_header()

    def _done(self, _: ReplayJob, report: ReplayReport) -> None:
        self._arrived.clear()
        self.report = report
        self.calls.add(report.calls)
        missed = report.first_divergence
        if missed is not None and missed.nearest_span_id is not None:
            self.calls.show_nearest(missed.call_id, missed.nearest_span_id)
        self.calls.empty_text = "No call was made."
        self.calls.go_to_first(_STOPPED)
        self.result.show(result_document(report, *self._keys()))
        self._end()

    def _broke(self, _: ReplayJob, error: Exception) -> None:
        self.calls.empty_text = "The replay could not run; below is why."
        self.calls.refresh()
        self.result.show(problem_document(problem_of(error, "the replay could not run")))
        self._end()

    def _end(self) -> None:
        self.has_ended = True
        self.calls.end(self._left_out)
        self.add_class("-ended")
        self.draw_header()
        self.offer_keys()

    # Keys.

    def action_leave(self) -> None:
        """Cancel what runs; go back from what has ended."""
        if self.has_ended:
            self.dismiss()
        else:
            self._stop = True
            self.draw_header()

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click on a call opens the replay."""
        if event.drawn is self.calls:
            event.stop()
            self.action_open()

    def _keys(self) -> tuple[str, str]:
        """What opens and what saves the replay's trace."""
        return self.key("replay.open"), self.key("replay.save")

    def action_open(self) -> None:
        """Open the replay's own trace."""
        if not self.has_ended:
            self.say(f"The replay is still running; {self.key('replay.cancel')} cancels it.")
        elif self.report is None or self.report.trace_id is None or self.report.trace_path is None:
            self.say("This replay left no trace.")
        else:
            self._find.ask(self.report.trace_id)

    def action_save(self) -> None:
        """Keep the replay's trace in a file."""
        if not self.has_ended:
            self.say("The replay is still running; it can be saved when it has ended.")
        elif self.report is None or self.report.trace_id is None or self.report.trace_path is None:
            self.say("This replay left no trace.")
        else:
            self._keep.ask(self.report.trace_id)

    def _kept(self, _: str, path: Path) -> None:
        if self.report is not None:
            self.report = replace(self.report, job=replace(self.report.job, output=path), trace_path=path)
            self.result.show(result_document(self.report, *self._keys()), keep=True)
        self.say(f"The replay is kept in {path}")

    def _find_row(self, trace_id: str) -> TraceRow | None:
        return next((row for row in self._session.traces() if row.trace_id == trace_id), None)

    def _show_row(self, trace_id: str, row: TraceRow | None) -> None:
        if row is None:
            self.say(f"The replay's trace {trace_id} is not loaded.", warning=True)
            return
        if self.app.screen is not self:
            return  # The user has gone on to another page, which this one would take the place of.
        from .trace import TraceScreen  # the two screens open each other

        self.app.switch_screen(TraceScreen(self._session, row))
