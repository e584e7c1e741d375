"""Two traces, or two branches of one, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from ...analysis.compare import Comparison, compare_traces
from ...analysis.compare_view import call_document, counts_text, totals_line
from ...analysis.document import Document
from ...analysis.problem import problem_document, problem_of
from ...analysis.text import clock, width_of
from ...analysis.traces import trace_name
from ...store.notebook import Note
from ...store.rows import TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import Session
from ..widgets.compare_list import CompareList
from ..widgets.drawn import Drawable, Drawn, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from .pinning import MOST_PINNED, PinningScreen
from .reading import Reading, shown_in

_ROOMY: Final = 100
"""Cells from which on the header holds how one side ended and how many calls differ."""


def _side(row: TraceRow) -> tuple[str, str]:
    """What a trace is called above its column, and when it began."""
    sign = "↺ " if row.origin_trace_id is not None else ""
    return f"{sign}{trace_name(row.name)}", clock(row.start_unix_nano)


class CompareScreen(PinningScreen):
    """Compares two traces.

    Args:
        session: everything behind the screen.
        left: one trace.
        right: the other one.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")

    def __init__(self, session: Session, left: TraceRow, right: TraceRow) -> None:
        super().__init__()
        self._session = session
        self.left, self.right = left, right
        self.comparison: Comparison | None = None
        self._has_failed = False
        self._reading = Reading(self, left.spans + right.spans)
        self._read: Latest[tuple[str, str], Comparison] = Latest(
            self, "compare", self._compare, self._compared, self._not_compared
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield OneLine(id="totals")
        yield OneLine(id="columns")
        yield CompareList(id="calls")
        yield LineView(id="differences")
        yield KeyLine(id="keys")

    @property
    def calls(self) -> CompareList:
        """The upper pane."""
        return self.query_one(CompareList)

    @property
    def detail(self) -> LineView:
        """The lower pane: what differs in the call under the cursor."""
        return self.query_one(LineView)

    def panes(self) -> Sequence[Widget]:
        """Both panes."""
        return [self.calls, self.detail]

    def header(self) -> Iterable[Drawable]:
        """What this is, and how they came out; the columns say which traces."""
        yield Run(" two traces", "strong")
        if self.comparison is not None and self.comparison.stopped:
            yield Run(f"   ✗ {self.comparison.stopped}", "error")
        if self._has_failed:
            yield Run("   ✗ not compared", "error")
        elif self.comparison is None:
            yield Run("   comparing…", "warning")

    def header_right(self) -> Iterable[Drawable]:
        """How many calls of each sort there are, where there is room."""
        found = self.comparison
        if found is not None and not found.is_same and (not found.stopped or self.size.width >= _ROOMY):
            yield Run(f"{counts_text(found)} ", "warning")

    def _outcome(self) -> Drawable:
        """How they came out, and which difference the cursor is at."""
        found = self.comparison
        if found is None:
            return Run("")
        return Run("✓ the same ", "good") if found.is_same else Run(f"{self.calls.position} ", "warning")

    def on_mount(self) -> None:
        """Read both."""
        self.calls.focus()
        self.when_laid_out(self._draw_columns)
        self._ask()

    def _ask(self) -> None:
        self.comparison, self._has_failed = None, False
        self.calls.clear()
        self.detail.show(Document())
        self.draw_header()
        self._draw_totals()
        self._reading.begin(shown_in(self.detail, self.key("compare.back")), at_once=False)
        self._read.ask((self.left.trace_id, self.right.trace_id))

    def on_resize(self) -> None:
        """Columns and totals follow the width."""
        self.when_laid_out(self._draw_columns)
        self.when_laid_out(self._draw_totals)

    def _draw_columns(self) -> None:
        self.calls.sides = _side(self.left), _side(self.right)
        self.query_one("#columns", OneLine).pieces = self.calls.header_pieces()

    def _draw_totals(self) -> None:
        line, found, outcome = self.query_one("#totals", OneLine), self.comparison, self._outcome()
        line.pieces = ()
        if found is not None:
            wide = totals_line(found.left, found.right)
            room = self.size.width - width_of(outcome.text) - 3
            said = wide if width_of(wide) <= room else totals_line(found.left, found.right, room)
            line.pieces = (Run(f" {said}", "dim"),)
        line.right = (outcome,)

    def _compare(self, pair: tuple[str, str]) -> Comparison:
        left, right = pair
        one = self._session.calls(left, self._reading.tell_spans)
        other = self._session.calls(right, lambda done: self._reading.tell_spans(len(one) + done))
        return compare_traces(one, other, lambda: not self._reading.is_left)

    def on_unmount(self) -> None:
        """Nobody waits for the comparison any more."""
        self._reading.leave()

    def _compared(self, _: tuple[str, str], found: Comparison) -> None:
        self.comparison = found
        self._reading.end()
        self.draw_header()
        self.calls.show(found)
        self._draw_totals()
        self._show_call()

    def _not_compared(self, _: tuple[str, str], error: Exception) -> None:
        self._has_failed = True
        self._reading.end()
        self.calls.empty_text = "The traces could not be compared; below is why."
        self.calls.refresh()
        self.detail.show(problem_document(problem_of(error, "the traces could not be compared")))
        self.draw_header()

    def on_drawn_moved(self, event: Drawn.Moved) -> None:
        """Another call, other differences."""
        if event.drawn is self.calls:
            self._show_call()

    def _show_call(self) -> None:
        row = self.calls.selected
        self.detail.show(Document() if row is None else call_document(row))
        self._draw_totals()

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click goes to the differences."""
        if event.drawn is self.calls:
            event.stop()
            self.action_open()

    def action_open(self) -> None:
        """Go to the differences of the call."""
        self.focus_pane(self.detail)

    def action_difference(self, step: int) -> None:
        """Go to another difference."""
        if not self.calls.to_difference(step) and self.comparison is not None:
            self.say("Nothing differs.")

    def action_pin(self) -> None:
        """Pin what differs in the call."""
        row = self.calls.selected
        here = None if row is None else row.left or row.right
        if row is None or here is None:
            self.say("There is nothing to pin.")
            return
        side = self.left if row.left is not None else self.right
        title = f"{row.both_labels} in {trace_name(self.left.name)} beside {trace_name(self.right.name)}"
        body = call_document(row).text[:MOST_PINNED]
        self.pin(self._session, Note(kind="text", title=title, body=body, source=self._session.opened_as(side),
                                     trace_id=side.trace_id, span_id=here.span_id))  # fmt: skip

    def action_only(self) -> None:
        """Only what differs, or everything."""
        self.calls.toggle_only()
        self._show_call()

    def action_swap(self) -> None:
        """Exchange the sides."""
        self.left, self.right = self.right, self.left
        self._draw_columns()
        self._ask()

    def action_back(self) -> None:
        """From the differences to the calls, then back to where the comparison was asked for."""
        if self.focused is self.detail:
            self.focus_pane(self.calls)
        else:
            self.dismiss()
