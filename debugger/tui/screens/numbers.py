"""Numbers over some traces: time, tokens, cost and errors by model, tool and agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from ...analysis.document import Document
from ...analysis.numbers import BYS, SORTS, Totals, plot_document, totals_of, totals_pieces
from ...analysis.problem import problem_document, problem_of
from ...errors import QueryCancelledError
from ...store.rows import NumbersBy, NumbersRow, TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import Session
from ..widgets.drawn import Drawable, Drawn, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from ..widgets.numbers_list import NumbersList
from .base import PaneScreen

_TICK_S = 0.2


@dataclass(frozen=True, slots=True)
class Scope:
    """The traces that are counted."""

    title: str
    rows: Sequence[TraceRow]
    is_all: bool
    """They are all that there are, so that they need not be named one by one."""


class NumbersScreen(PaneScreen):
    """Counts the calls of some traces.

    Args:
        session: everything behind the screen.
        scope: which traces.
        jump: goes to the calls of a row; this screen is closed before.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("numbers")

    def __init__(self, session: Session, scope: Scope, jump: Callable[[NumbersRow, NumbersBy], None]) -> None:
        super().__init__()
        self._session = session
        self.scope = scope
        self._jump = jump
        self._by: NumbersBy = "model"
        self._found: dict[NumbersBy, Sequence[NumbersRow]] = {}
        self._totals: Totals | None = None
        self._stopping = False
        self._count: Latest[NumbersBy, tuple[list[NumbersRow], Totals]] = Latest(
            self, "numbers", self._count_now, self._show, self._not_counted
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield OneLine(id="totals")
        yield OneLine(id="numbers-tabs")
        yield OneLine(id="columns")
        yield NumbersList(id="numbers")
        yield LineView(id="plot")
        yield KeyLine(id="keys")

    @property
    def table(self) -> NumbersList:
        """The upper pane."""
        return self.query_one(NumbersList)

    @property
    def plot(self) -> LineView:
        """The lower pane: the times of the row under the cursor."""
        return self.query_one(LineView)

    def panes(self) -> Sequence[Widget]:
        """Both panes."""
        return [self.table, self.plot]

    def header(self) -> Iterable[Drawable]:
        """What is counted."""
        yield Run(" numbers", "strong")
        yield Run(f"   {self.scope.title}", "dim")
        if self._count.is_awaited:
            yield Run("   stopping…" if self._stopping else "   counting…", "warning")

    def offered(self, binding: Binding) -> Binding | None:
        """Esc stops what is being counted."""
        if binding.id == "numbers.back" and self._count.is_awaited:
            return replace(binding, description="stop")
        return super().offered(binding)

    def on_mount(self) -> None:
        """Count."""
        self.table.focus()
        self.set_interval(_TICK_S, self._tick)
        self._want(self._by)
        self.when_laid_out(self._draw)

    def on_unmount(self) -> None:
        """Nobody waits for the answer any more."""
        if self._count.is_running:
            self._session.sql.stop()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.when_laid_out(self._draw)

    def _tick(self) -> None:
        """What has not heard is told again to stop."""
        if self._stopping and self._count.is_awaited:
            self._session.sql.stop()

    def _draw(self) -> None:
        if self._totals is not None:
            self.query_one("#totals", OneLine).pieces = totals_pieces(self._totals, self.size.width)
        tabs: list[Drawable] = [Run(" ")]
        for by, title in BYS.items():
            tabs.append(Run(f"[{title}]" if by == self._by else f" {title} ", "strong" if by == self._by else "dim"))
            tabs.append(Run("  "))
        tabs.append(Run(f"   sorted by {self.table.sort}", "dim"))
        self.query_one("#numbers-tabs", OneLine).pieces = tuple(tabs)
        self.query_one("#columns", OneLine).pieces = self.table.header_pieces()
        self.draw_header()
        self.offer_keys()

    # Counting.

    def _want(self, by: NumbersBy) -> None:
        self._by = by
        known = self._found.get(by)
        if known is not None:
            self._count.drop()
            self._show_rows(known)
            return
        self._stopping = False
        self.table.empty_text = "Counting…"
        self.table.show((), by)
        self.plot.show(Document())
        self._count.ask(by)
        self._draw()

    def _count_now(self, by: NumbersBy) -> tuple[list[NumbersRow], Totals]:
        rows = self.scope.rows
        ids = None if self.scope.is_all else [row.trace_id for row in rows]
        return self._session.sql.numbers(by, ids), totals_of(rows)

    def _show(self, by: NumbersBy, found: tuple[list[NumbersRow], Totals]) -> None:
        rows, totals = found
        self._found[by] = rows
        self._totals = totals
        self._show_rows(rows)

    def _show_rows(self, rows: Sequence[NumbersRow]) -> None:
        self.table.empty_text = f"No {self._by} is named in these traces."
        self.table.show(rows, self._by)
        self._show_plot()
        self._draw()

    def _not_counted(self, by: NumbersBy, error: Exception) -> None:
        self._stopping = False
        if isinstance(error, QueryCancelledError):
            self.table.empty_text = "Stopped before all was counted; another tab and back counts again."
        else:
            self.table.empty_text = "The calls could not be counted; below is why."
            self.plot.show(problem_document(problem_of(error, "the calls could not be counted")))
        self.table.refresh()
        self._draw()

    def on_drawn_moved(self, event: Drawn.Moved) -> None:
        """Another row, another plot."""
        if event.drawn is self.table:
            self._show_plot()

    def _show_plot(self) -> None:
        row = self.table.selected
        self.plot.show(Document() if row is None else plot_document(row, self._by))

    # Keys.

    def action_by(self, step: int) -> None:
        """Put the calls together by something else."""
        order = list(BYS)
        self._want(order[(order.index(self._by) + step) % len(order)])

    def action_sort(self) -> None:
        """Sort by the next column."""
        table = self.table
        table.sort = SORTS[(SORTS.index(table.sort) + 1) % len(SORTS)]
        table.is_reversed = False
        table.show(table.rows, self._by)
        self._draw()

    def action_reverse(self) -> None:
        """The other way round."""
        self.table.is_reversed = not self.table.is_reversed
        self.table.show(self.table.rows, self._by)
        self._draw()

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click goes to the calls."""
        if event.drawn is self.table:
            event.stop()
            self.action_open()

    def action_open(self) -> None:
        """Go to the calls of the row."""
        row, by = self.table.selected, self._by
        if row is not None:
            self.dismiss()
            self._jump(row, by)

    def action_back(self) -> None:
        """Stop what is being counted, else back from the plot to the rows, else to where the numbers were asked for."""
        if self._count.is_awaited and not self._stopping:
            self._stopping = True
            self._session.sql.stop()
            self._draw()
        elif self.focused is self.plot:
            self.focus_pane(self.table)
        else:
            self.dismiss()
