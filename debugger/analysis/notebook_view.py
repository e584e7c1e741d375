"""The notebook as lines: a block for each note."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .document import Builder, Document, Line, Piece, told, told_lines
from .markdown import NoteLike
from .text import clock

_WORDS = {"lineage": "trail"}
"""What a kind is called where that is another word."""


class KeptNote(NoteLike, Protocol):
    """A note with its number."""

    @property
    def note_id(self) -> int: ...  # noqa: D102


def notebook_document(notes: Iterable[KeptNote], pins: str = "P", writes: str = "a") -> Document:
    """All notes; each block's key is ``note`` and the note's number. Where there is none, the keys that make some."""
    out = Builder()
    for note in notes:
        head = (
            Piece(f"{_WORDS.get(note.kind, note.kind)}  ", "key"),
            told(note.title, "strong"),
            Piece(f"  {clock(note.made_unix_nano)}", "dim"),
            told(note.span_id, "dim", before="  span ") if note.span_id else Piece(""),
        )
        lines = [Line(head), *(Line((piece,), 2) for piece in told_lines(note.body) if note.body)]
        out.body(f"note{note.note_id}", lines)
    if not out.blocks:
        out.line(Piece("Nothing is pinned yet.", "strong"))
        out.gap()
        out.line(Piece(pins, "key"), " pins what is under the cursor: a span, a text, the trail of a phrase, a page")
        out.line(Piece(writes, "key"), " writes a note of your own here")
    return out.document("notebook")
