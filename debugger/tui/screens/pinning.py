"""Screens from which findings go to the notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...store.notebook import Note
from ..latest import Latest
from ..session import Session
from .base import PaneScreen

MOST_PINNED = 4_000
"""Characters of what is pinned that a note holds; the rest is one key away."""


class PinningScreen(PaneScreen):
    """A screen that can pin."""

    _pinning: Latest[Note, int] | None = None

    def pin(self, session: Session, note: Note, read: Callable[[], str] | None = None) -> None:
        """Keep a note; says when it is kept.

        Args: read: gives the body, beside the screen's loop, where it is not in the note.
        """
        self._pinning = Latest(self, "pin", partial(_add, session, read), self._pinned, self.say_fault)
        self._pinning.ask(note)

    def _pinned(self, note: Note, _: int) -> None:
        self.say(f"Pinned: {note.title[:60]}. {self.key('app.notebook')} opens the notebook.")


def _add(session: Session, read: Callable[[], str] | None, note: Note) -> int:
    return session.notebook.add(note if read is None else replace(note, body=read()[:MOST_PINNED]))
