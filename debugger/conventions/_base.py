"""What a convention is."""

from __future__ import annotations

from typing import Protocol

from runtime.messages import Call
from runtime.trace import Span

from ._view import Promoted, View


class Convention(Protocol):
    """A family of attribute names, and how it says what a span means."""

    name: str
    version: int
    """Goes up when the same span would give another call; calls are cached by it."""
    keys: frozenset[str]
    """The attributes that ``recognises`` and ``promote`` ask for."""

    def recognises(self, view: View) -> bool:
        """Whether the span speaks this convention."""

    def promote(self, view: View) -> Promoted:
        """The narrow facts, cheaply; they agree with ``call``."""

    def call(self, span: Span) -> Call:
        """The whole call. Never raises, never guesses: what is not recorded is None."""
