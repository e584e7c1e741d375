"""How faithful the traces in view of the list are, and what the replays are, found out beside everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...analysis.branches import BranchWords
from ...analysis.problem import problem_of
from ...store.rows import TraceRow
from ..latest import Latest
from ..session import Session
from ..widgets.trace_list import TraceList
from .base import PaneScreen

MOST_JUDGED: Final = 5_000
"""Spans of a trace whose fidelity is found out at once; it takes a restore of the whole."""
_AT_ONCE: Final = 4
"""Traces that one worker judges, so that a list which is scrolled turns to what is in view now."""


class Judging:
    """Fills the list's column of fidelity, and the words of replays, for the rows in view."""

    def __init__(self, screen: PaneScreen, session: Session) -> None:
        self._screen = screen
        self._session = session
        self._known: dict[str, tuple[TraceRow, str]] = {}
        """Each trace as it was when it was judged, and the word."""
        self._branches: dict[str, tuple[TraceRow, BranchWords | None]] = {}
        """Each replay as it was when it was read, and its words."""
        self._work: Latest[tuple[bool, Sequence[TraceRow]], None] = Latest(
            screen, "judge", self._judge, self._judged, self._failed
        )

    def look(self) -> None:
        """Judge what is in view and has not been judged as it is now."""
        if self._work.is_running or not self._screen.is_current:
            return
        table = self._screen.query_one(TraceList)
        judges = table.shows_fidelity
        rows = [row for row in table.in_view() if row.spans <= MOST_JUDGED]
        todo = [row for row in rows if self._is_unread(row) or (judges and self._word(row) is None)]
        if todo:
            self._work.ask((judges, todo[:_AT_ONCE]))

    def _is_unread(self, row: TraceRow) -> bool:
        return row.origin_trace_id is not None and self._branches.get(row.trace_id, (None, None))[0] != row

    def _word(self, row: TraceRow) -> str | None:
        known, word = self._known.get(row.trace_id, (None, ""))
        return word if known == row else None

    def _judge(self, wanted: tuple[bool, Sequence[TraceRow]]) -> None:
        judges, rows = wanted
        for row in filter(self._is_unread, rows):
            self._branches[row.trace_id] = (row, None)
            self._branches[row.trace_id] = (row, self._session.branch(row.trace_id))
        for row in rows if judges else ():
            self._known[row.trace_id] = (row, "")  # A trace that cannot be judged is not tried over and over.
            self._known[row.trace_id] = (row, self._session.fidelity(row.trace_id))

    def _judged(self, _: tuple[bool, Sequence[TraceRow]], __: None) -> None:
        self._screen.query_one(TraceList).show_judged(
            {key: word for key, (_, word) in self._known.items()},
            {key: words for key, (_, words) in self._branches.items() if words is not None},
        )
        self._screen.draw_header()
        self.look()

    def _failed(self, wanted: tuple[bool, Sequence[TraceRow]], error: Exception) -> None:
        self._screen.say(problem_of(error, "").sentence, warning=True)
        self._judged(wanted, None)
