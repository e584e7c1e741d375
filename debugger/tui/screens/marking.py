"""Marking traces in the list, comparing the marked ones, and counting over them or over what is listed."""

from __future__ import annotations

from ...analysis.numbers import condition_of
from ...analysis.text import plural
from ...analysis.traces import TraceLine, trace_name
from ...store.rows import NumbersBy, NumbersRow
from ..session import Session
from ..widgets.filter_line import FilterLine
from ..widgets.trace_list import TraceList
from .base import PaneScreen
from .compare import CompareScreen
from .numbers import NumbersScreen, Scope


class MarkingScreen(PaneScreen):
    """The part of the list's screen that marks traces."""

    _session: Session

    def action_mark(self) -> None:
        """Mark the trace under the cursor, or no longer, and go on to the next one."""
        table = self.query_one(TraceList)
        row = table.selected
        if row is None:
            if table.group_here is not None:
                self.say(f"This is a group: {self.key('traces.open')} folds it, and single traces are marked.")
            return
        table.mark(row.trace_id)
        table.cursor += 1
        self.draw_header()

    def action_numbers(self) -> None:
        """Count over the marked traces, else over those that are shown, else over all.

        Replays count only where there is nothing else: what answered them was the recording, which is no time and no
        cost of a model.
        """
        table = self.query_one(TraceList)
        marked = [row for row in table.traces if row.trace_id in table.marked]
        shown = marked or [line.row for line in table.lines if isinstance(line, TraceLine)]
        if not shown:
            self.say("There is no trace to count.")
            return
        which = "marked" if marked else "all" if len(shown) == len(table.traces) else "those that the filter leaves"
        counted = [row for row in shown if row.origin_trace_id is None] or shown
        what = "trace" if counted[0].origin_trace_id is None else "replay"
        title = f"{plural(len(counted), what)}, {which}" if len(table.traces) > 1 else trace_name(counted[0].name)
        if left_out := len(shown) - len(counted):
            title += f"; {plural(left_out, 'replay')} left out"
        scope = Scope(title, counted, is_all=len(counted) == len(table.traces))
        self.app.push_screen(NumbersScreen(self._session, scope, self._show_calls))

    def _show_calls(self, row: NumbersRow, by: NumbersBy) -> None:
        line, condition = self.query_one(FilterLine), condition_of(row, by)
        kept = "" if line.text.startswith("sql:") or not line.text else f"({line.text}) "
        line.text = kept + condition
        line.add_class("-open")

    def action_compare(self) -> None:
        """Compare the two marked traces, or the one that is marked, or the origin, with the one under the cursor."""
        table = self.query_one(TraceList)
        rows = {row.trace_id: row for row in table.traces}
        wanted = [rows[trace_id] for trace_id in table.marked if trace_id in rows]
        here = table.selected
        mark = self.key("traces.mark")
        if len(wanted) < 2 and here is not None and here not in wanted:
            wanted.append(here)
        if len(wanted) == 1 and here is not None and here.origin_trace_id in rows and wanted[0] is here:
            wanted.insert(0, rows[here.origin_trace_id])
        if len(wanted) == 2:
            self.app.push_screen(CompareScreen(self._session, *wanted))
        elif len(wanted) > 2:
            self.say(
                f"{len(wanted)} traces are marked; two can be compared. {mark} takes a mark away.",
                warning=True,
            )
        elif wanted:
            self.say(f"{mark} marks a trace; {self.key('traces.compare')} at another one compares the two.")
