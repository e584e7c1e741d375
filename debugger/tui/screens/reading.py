"""How far the reading of a whole trace is: told by a worker, shown while it waits, ended when nobody waits any more."""

from __future__ import annotations

from typing import Final

from ...analysis.document import Builder, Document, Piece
from ...analysis.text import plural
from ...errors import QueryCancelledError
from ..widgets.line_view import LineView
from .base import PaneScreen

_TICK_S: Final = 0.2


class Reading:
    """Words for a text that cannot be shown before a whole trace is read.

    Args:
        screen: the screen that waits; leaving it ends the reading.
        spans: how many spans the trace has.
    """

    def __init__(self, screen: PaneScreen, spans: int) -> None:
        self._screen = screen
        self._spans = spans
        self.is_left = False
        """Nobody waits any more."""
        self._told: tuple[str, int] = ("span", 0)
        self._shown = ""
        self._view: LineView | None = None
        """Where the words stand, while they are needed."""

    def leave(self) -> None:
        """The screen goes: what is still read for it ends."""
        self.is_left = True
        self._view = None

    def tell(self, what: str, done: int) -> None:
        """Take from the worker how many spans or calls are done. Raises QueryCancelledError: nobody waits for more."""
        self._told = what, done
        if self.is_left:
            raise QueryCancelledError("reading a trace")

    def tell_spans(self, done: int) -> None:
        """As ``tell``, where only spans are read."""
        self.tell("span", done)

    def begin(self, view: LineView) -> None:
        """Show the words in a view until ``end``."""
        if not self._shown:
            self._screen.set_interval(_TICK_S, self._tick)
        self._view = view
        self._told = "span", 0
        self._shown = ""
        self._tick()

    def end(self) -> None:
        """The view shows something else now."""
        self._view = None

    def _tick(self) -> None:
        if self._view is not None and (words := self._words()) != self._shown:
            self._shown = words
            self._view.show(_line(words))

    def _words(self) -> str:
        what, done = self._told
        if what == "span":
            far = f": {done:,} of {plural(self._spans, 'span')}" if done else ""
            return f"reading the whole trace…{far}"
        return f"gathering all that was said in it… {done:,} of {plural(self._spans, 'call')}"


def _line(words: str) -> Document:
    out = Builder()
    out.line(Piece(words, "dim"), Piece("   esc", "key"), Piece(" stops that", "dim"))
    return out.document()
