"""Marking traces in the list, and comparing the marked ones."""

from __future__ import annotations

from ..session import Session
from ..widgets.trace_list import TraceList
from .base import PaneScreen
from .compare import CompareScreen


class MarkingScreen(PaneScreen):
    """The part of the list's screen that marks traces."""

    _session: Session

    def action_mark(self) -> None:
        """Mark the trace under the cursor, or no longer, and go on to the next one."""
        table = self.query_one(TraceList)
        row = table.selected
        if row is None:
            return
        table.mark(row.trace_id)
        table.cursor += 1
        self.draw_header()

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
