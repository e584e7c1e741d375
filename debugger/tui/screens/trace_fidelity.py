"""How faithful the trace on the screen is: counted beside everything else, after its spans and the first keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...analysis.problem import problem_of
from ...errors import NoRoomError, QueryCancelledError
from ..latest import Latest
from ..session import Session
from .base import PaneScreen
from .judging import MOST_JUDGED

COUNTING: Final = "fidelity: counting…"
LATER_JUDGED_S: Final = 1.0
"""Seconds until the fidelity of a large trace is counted: first come its spans and the first keys."""
MOST_COUNTED: Final = 200_000
"""Spans of a trace whose fidelity is counted at all; of larger ones it stands with each state."""


class TraceFidelity:
    """Finds the word for one trace.

    Args:
        screen: the screen of the trace; leaving it ends the counting.
        session: everything behind the screen.
        changed: called when there is another word.
    """

    def __init__(self, screen: PaneScreen, session: Session, changed: Callable[[], None]) -> None:
        self.word = ""
        """How faithful the trace is, once that was found out."""
        self._screen = screen
        self._session = session
        self._changed = changed
        self._is_left = False
        self._count: Latest[str, str] = Latest(screen, "fidelity", self._counted, self._show, self._failed)

    def leave(self) -> None:
        """The screen goes: nobody waits for the word."""
        self._is_left = True

    def judge(self, trace_id: str, spans: int) -> None:
        """Find the word for so many spans, unless there are too many or it is known of such a large trace."""
        if 0 < spans <= MOST_JUDGED:
            self._count.ask(trace_id)
        elif MOST_JUDGED < spans <= MOST_COUNTED and not self.word:
            self.word = COUNTING
            self._changed()
            self._screen.set_timer(LATER_JUDGED_S, lambda: self._count.ask(trace_id))

    def _counted(self, trace_id: str) -> str:
        return self._session.fidelity(trace_id, self._tell)

    def _tell(self, _: int) -> None:
        if self._is_left:
            raise QueryCancelledError("counting how faithful a trace is")

    def _show(self, _: str, word: str) -> None:
        self.word = word
        self._changed()

    def _failed(self, trace_id: str, error: Exception) -> None:
        self._show(trace_id, "")
        # Nobody asked for it: that there is no room is said where somebody does.
        if not isinstance(error, NoRoomError | QueryCancelledError):
            self._screen.say(problem_of(error, "").sentence, warning=True)
