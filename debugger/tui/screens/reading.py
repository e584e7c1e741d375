"""How far the reading of a whole trace is: told by a worker, shown while it waits, ended when nobody waits any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from textual.timer import Timer

from ...analysis.document import Builder, Document, Piece
from ...analysis.text import plural
from ...errors import QueryCancelledError
from ..widgets.line_view import LineView
from .base import PaneScreen

_TICK_S: Final = 0.2

ShowWords: TypeAlias = Callable[[str], None]
"""Puts the words where they are seen."""


class Reading:
    """Words for what cannot be shown before a whole trace is read.

    Args:
        screen: the screen that waits; leaving it ends the reading.
        spans: how many spans are to be read.
    """

    def __init__(self, screen: PaneScreen, spans: int) -> None:
        self._screen = screen
        self._spans = spans
        self.is_left = False
        """Nobody waits any more."""
        self._told: tuple[str, int] = ("span", 0)
        self._shown = ""
        self._show: ShowWords | None = None
        """Where the words go, while they are needed."""
        self._timer: Timer | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the user sees that something is read."""
        return self._show is not None and bool(self._shown)

    def leave(self) -> None:
        """Nobody waits any more: what is still read ends."""
        self.is_left = True
        self._show = None

    def tell(self, what: str, done: int) -> None:
        """Take from the worker how many of what are done. Raises QueryCancelledError: nobody waits for more."""
        self._told = what, done
        if self.is_left:
            raise QueryCancelledError("reading a trace")

    def tell_spans(self, done: int) -> None:
        """As ``tell``, where only spans are read."""
        self.tell("span", done)

    def begin(self, show: ShowWords, *, at_once: bool = True) -> None:
        """Show the words until ``end``, or until something else begins.

        Args:
            show: puts them where they are seen.
            at_once: False waits a moment first, so that what is done by then shows no words at all.
        """
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_interval(_TICK_S, self._tick)
        self.is_left = False
        self._show = show
        self._told = "span", 0
        self._shown = ""
        if at_once:
            self._tick()

    def end(self) -> None:
        """Something else is shown now."""
        self._show = None
        self._shown = ""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _tick(self) -> None:
        if self._show is not None and (words := self._words()) != self._shown:
            self._shown = words
            self._show(words)

    def _words(self) -> str:
        what, done = self._told
        if what == "state":
            return "rebuilding the state…"
        if what == "event":
            return f"rebuilding its states… {plural(done, 'event')}"
        if what == "span":
            far = f": {done:,} of {plural(self._spans, 'span')}" if done else ""
            return f"reading the whole trace…{far}"
        return f"gathering all that was said in it… {done:,} of {plural(self._spans, 'call')}"


def shown_in(view: LineView, back: str) -> ShowWords:
    """The words as the only line of a text, with the key that leaves the page."""
    return lambda words: view.show(_line(words, back))


def _line(words: str, back: str) -> Document:
    out = Builder()
    out.line(Piece(words, "dim"), Piece(f"   {back}", "key"), Piece(" stops that", "dim"))
    return out.document()
