"""A viewer for documents of any length: wraps to its width, folds long texts, draws only what is on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType

from ...analysis.document import Document, Line, unfolded
from ...analysis.text import wrap_at
from ..keymap import bindings
from .drawn import Drawable, Drawn, Run

Row = tuple[Line, str, int, int]
"""A line, its block's key, and the part of its text that this row shows."""


class LineView(Drawn):
    """Shows one document.

    Cost of showing: one pass over the lines that are not folded away. Cost of a key: two rows.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("detail")[:2]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.document = Document()
        self.opened: frozenset[str] = frozenset()
        """Keys of the blocks that are unfolded."""
        self._rows: list[Row] = []
        self._wrapped_at = 0

    def show(self, document: Document, *, keep: bool = False) -> None:
        """Show a document from its top; with ``keep`` stay where the cursor was, as it is the same one again."""
        if not keep:
            self.opened = frozenset()
        self.document = document
        self._lay_out(self.cursor if keep else 0)

    def _lay_out(self, cursor: int) -> None:
        width = self._text_width()
        before, self._wrapped_at = self._wrapped_at, width
        rows: list[Row] = []
        for line, key in unfolded(self.document, self.opened):
            room = max(width - line.indent, 8)
            hang = min(line.hang, room // 2)
            rows.extend([(line, key, start, end) for start, end in wrap_at(line.text, room, hang)])
        changed = self._changed(rows) if width == before else None
        self._rows = rows
        self.redraw(len(rows), cursor, changed)

    def _changed(self, rows: list[Row]) -> list[int]:
        """The rows on the screen that these would change. Going from span to span, much stays as it is."""
        old = self._rows
        top = self.scroll_offset.y
        out = []
        for y in range(top, top + self.size.height):
            was = old[y] if y < len(old) else None
            now = rows[y] if y < len(rows) else None
            if was is not now and (was is None or now is None or (was[0], *was[2:]) != (now[0], *now[2:])):
                out.append(y)
        return out

    def _text_width(self) -> int:
        # The scroll bar's cell is always left free: whether there is one depends on the wrapping.
        free = 0 if self.show_vertical_scrollbar else 1
        return max(self.scrollable_content_region.width - 1 - free, 8)

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """The part of a line that the row shows."""
        line, _, start, end = self._rows[row]
        indent = line.indent + (min(line.hang, max(self._wrapped_at - line.indent, 8) // 2) if start else 0)
        out: list[Drawable] = [Run(" " * indent)] if indent else []
        at = 0
        for piece in line.pieces:
            begin, stop = max(start - at, 0), min(end - at, len(piece.text))
            if begin < stop:
                out.append(Run(piece.text[begin:stop], piece.style))
            at += len(piece.text)
            if at >= end:
                break
        return out

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again, keeping the line under the cursor."""
        super().on_resize(event)
        if self._text_width() == self._wrapped_at:
            return
        line = self._rows[self.cursor][0] if self.cursor < len(self._rows) else None
        self._lay_out(self.cursor)
        at = next((i for i, row in enumerate(self._rows) if row[0] is line), None)
        if at is not None:
            self.cursor = at

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click does what enter does."""
        event.stop()
        self.toggle_fold()

    def action_toggle_fold(self) -> None:
        """Unfold the block under the cursor, or fold it; where nothing folds, the key is left to the screen."""
        if not self.toggle_fold():
            raise SkipAction

    def toggle_fold(self) -> bool:
        """Unfold the block under the cursor, or fold it; False where nothing folds."""
        if not self._rows:
            return False
        key = self._rows[self.cursor][1]
        block = next((block for block in self.document.blocks if block.key == key and block.folds), None)
        if block is None:
            return False
        self.opened = self.opened ^ {key}
        first = next(i for i, row in enumerate(self._rows) if row[1] == key)
        self._lay_out(self.cursor if key in self.opened else first)
        return True

    def action_toggle_all_folds(self) -> None:
        """Unfold every block, or fold all again."""
        folding = frozenset(block.key for block in self.document.blocks if block.folds)
        self.opened = frozenset() if self.opened else folding
        self._lay_out(min(self.cursor, len(self._rows) - 1) if self.opened else 0)
