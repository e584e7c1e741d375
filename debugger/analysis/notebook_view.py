"""The notebook as lines: a block for each note."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .document import Builder, Document, Line, Piece
from .markdown import NoteLike
from .text import clock, lines_of, one_line

_SIGNS = {"span": "◆", "text": "»", "lineage": "↑", "page": "▣", "note": "✎"}


class KeptNote(NoteLike, Protocol):
    """A note with its number."""

    @property
    def note_id(self) -> int: ...  # noqa: D102


def notebook_document(notes: Iterable[KeptNote]) -> Document:
    """All notes; each block's key is ``note`` and the note's number."""
    out = Builder()
    for note in notes:
        head = (
            Piece(f"{_SIGNS.get(note.kind, '·')} ", "key"),
            Piece(one_line(note.title), "strong"),
            Piece(f"  {clock(note.made_unix_nano)}", "dim"),
            Piece(f"  span {one_line(note.span_id)}" if note.span_id else "", "dim"),
        )
        lines = [Line(head), *(Line((Piece(text),), 2) for text in lines_of(note.body) if note.body)]
        out.body(f"note{note.note_id}", lines)
    if not out.blocks:
        out.line(Piece("Nothing is pinned yet.", "strong"))
        out.gap()
        out.line(Piece("P", "key"), " pins what is under the cursor: a span, a text, the trail of a phrase, a page")
        out.line(Piece("a", "key"), " writes a note of your own here")
    return out.document("notebook")
