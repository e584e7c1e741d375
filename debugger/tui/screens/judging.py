"""What the list says of the traces in view beyond their rows, found out beside everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...analysis.problem import problem_of
from ...analysis.traces import TraceFacts
from ...store.rows import TraceRow
from ..latest import Latest
from ..session import Session
from ..widgets.trace_list import TraceList
from .base import PaneScreen

MOST_JUDGED: Final = 5_000
"""Spans of a trace whose fidelity is found out at once; it takes a restore of the whole."""
_AT_ONCE: Final = 4
"""Traces that one worker judges, so that a list which is scrolled turns to what is in view now."""


@dataclass(frozen=True, slots=True)
class _Known:
    row: TraceRow
    """The trace as it was when it was read."""
    read: frozenset[str]
    """Names of the facts that were read."""
    facts: TraceFacts


class Judging:
    """Fills in what the list says of a trace beyond its row, for the rows in view."""

    def __init__(self, screen: PaneScreen, session: Session) -> None:
        self._screen = screen
        self._session = session
        self._known: dict[str, _Known] = {}
        self._work: Latest[Sequence[_Known], None] = Latest(screen, "judge", self._judge, self._judged, self._failed)

    def look(self) -> None:
        """Read what is in view and has not been read as it is now."""
        if self._work.is_running or not self._screen.is_current:
            return
        if todo := list(self._todo(self._screen.query_one(TraceList))):
            self._work.ask(todo[:_AT_ONCE])

    def _todo(self, table: TraceList) -> Iterator[_Known]:
        """The traces of which something is missing, each with what was read of it before and the facts to read now."""
        shown = {name for name in ("fidelity", "opening") if table.shows(name)}
        for row in table.in_view():
            if row.spans > MOST_JUDGED:
                continue
            wanted = frozenset(shown | ({"branch"} if row.origin_trace_id is not None else set()))
            known = self._known.get(row.trace_id)
            if known is None or known.row != row:
                known = _Known(row, frozenset(), TraceFacts())
            if missing := wanted - known.read:
                yield replace(known, read=missing)

    def _judge(self, wanted: Sequence[_Known]) -> None:
        for todo in wanted:
            trace_id = todo.row.trace_id
            before = self._known.get(trace_id)
            done = before.read if before is not None and before.row == todo.row else frozenset()
            # Noted first: a trace that cannot be read is not tried over and over.
            known = self._known[trace_id] = replace(todo, read=done | todo.read)
            facts = known.facts
            if "branch" in todo.read:
                facts = replace(facts, branch=self._session.branch(trace_id))
            if "opening" in todo.read:
                facts = replace(facts, opening=self._session.opening(trace_id))
            if "fidelity" in todo.read:
                facts = replace(facts, fidelity=self._session.fidelity(trace_id))
            self._known[trace_id] = replace(known, facts=facts)

    def _judged(self, _: Sequence[_Known], __: None) -> None:
        self._screen.query_one(TraceList).show_facts({key: known.facts for key, known in self._known.items()})
        self._screen.draw_header()
        self.look()

    def _failed(self, wanted: Sequence[_Known], error: Exception) -> None:
        self._screen.say(problem_of(error, "").sentence, warning=True)
        self._judged(wanted, None)
