"""The conversation of a whole trace as one thread, in place of its timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from ...analysis.conversation import is_given
from ...analysis.problem import problem_document, problem_of
from ...analysis.thread_view import Thread, thread_of
from ...analysis.traces import trace_name
from ...store import collector_off
from ...store.rows import TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import Session
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from .exports import ExportingScreen
from .lineage import LineageScreen, Trail
from .reading import Reading, shown_in


class ThreadScreen(ExportingScreen):
    """The thread of a trace.

    Args:
        session: everything behind the screen.
        row: the trace.
        span_id: the span whose call the cursor begins at.
        done: called with the span that the cursor is at when the screen closes, and the trail that led there, if one.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("thread")

    def __init__(
        self, session: Session, row: TraceRow, span_id: str | None, done: Callable[[str | None, Trail | None], None]
    ) -> None:
        super().__init__()
        self._session = session
        self._trace = row
        self._begin = span_id
        self._done = done
        self._thread: Thread | None = None
        self._reading = Reading(self, row.spans)
        self._read: Latest[str | None, Thread] = Latest(
            self, "thread", self._find_thread, self._show_thread, self._no_thread
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield LineView(id="thread")
        yield KeyLine(id="keys")

    @property
    def view(self) -> LineView:
        """The text."""
        return self.query_one(LineView)

    def help_nodes(self) -> Sequence[object]:
        """The screen's keys, and those of the text."""
        return [self, self.view, self.app]

    def header(self) -> Iterable[Drawable]:
        """Whose conversation it is."""
        yield Run(f" {trace_name(self._trace.name)}", "strong")
        yield Run("  the whole conversation; every message where it first appeared", "dim")

    def on_mount(self) -> None:
        """Read the trace."""
        self.view.focus()
        self._show_around(self._begin)

    def on_unmount(self) -> None:
        """Let the reading end."""
        self._reading.leave()

    def _show_around(self, span_id: str | None) -> None:
        """Show the part of the thread that a span is in."""
        self._thread = None
        self._reading.begin(shown_in(self.view, self.key("thread.back")))
        self._read.ask(span_id)

    def _find_thread(self, span_id: str | None) -> Thread:
        calls = self._session.calls(self._trace.trace_id, self._reading.tell_spans)
        with collector_off():
            return thread_of(calls, span_id)

    def _show_thread(self, span_id: str | None, thread: Thread) -> None:
        self._thread = thread
        self._reading.end()
        self.view.show(thread.document)
        if span_id is not None and (key := thread.first_block.get(span_id)) is not None:
            self.view.go_to_block(key, after_gap=True)

    def _no_thread(self, _: str | None, error: Exception) -> None:
        self._reading.end()
        self.view.show(problem_document(problem_of(error, "the conversation could not be read")))

    @property
    def span_id(self) -> str | None:
        """The span whose call the cursor is at."""
        key = self.view.block_key
        return None if self._thread is None or key is None else self._thread.calls.get(key)

    def action_turn(self, step: int) -> None:
        """Go to the next or previous call."""
        if self._thread is None:
            return
        order = list(self._thread.first_block)
        here = self.span_id
        at = order.index(here) + step if here is not None and here in self._thread.first_block else 0
        beyond = self._thread.after if step > 0 else self._thread.before
        if 0 <= at < len(order):
            self.view.go_to_block(self._thread.first_block[order[at]], after_gap=True)
        elif beyond is not None:
            self._show_around(beyond)
        else:
            self.say("This is the last call." if step > 0 else "This is the first call.")

    def action_where(self) -> None:
        """Follow what is looked for, or the line under the cursor."""
        phrase = self.view.phrase or None
        given = is_given(self.view.block_key)
        self.app.push_screen(
            LineageScreen(self._session, self._trace, phrase, self.span_id, self._leave_to, is_given=given)
        )

    def action_export(self) -> None:
        """Ask what to write, the conversation first, and write it."""
        self.export(self._session, self._trace, "conversation")

    def _leave_to(self, span_id: str | None, trail: Trail | None = None) -> None:
        """Back to the timeline, at a span."""
        self.dismiss()
        self._done(span_id, trail)

    def action_open_call(self) -> None:
        """Back, at the call under the cursor."""
        self.action_back()

    def action_back(self) -> None:
        """Back to the timeline."""
        self._leave_to(self.span_id)
