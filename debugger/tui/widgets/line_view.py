"""A viewer for documents of any length: wraps, folds, searches, copies; draws only what is on the screen."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import ClassVar, Final, NamedTuple, TypeAlias

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message

from ...analysis.document import Block, Document, Line, Piece, fold_end, unfolded
from ...analysis.text import wrap_at
from ..keymap import bindings
from .drawn import Drawable, Drawn, Run, key_for

_NOT_WORDS = frozenset(("dim", "fold", "tool", "warning"))
"""Styles of what stands beside a text: names, ids, times, remarks."""


def _without(pieces: Sequence[Piece], lead: str) -> Sequence[Piece]:
    """The pieces behind those that a block's lead is made of."""
    while pieces and lead and lead.startswith(pieces[0].original):
        lead = lead.removeprefix(pieces[0].original)
        pieces = pieces[1:]
    return pieces


class Row(NamedTuple):
    """A row of the screen: a line, or a part of one."""

    line: Line
    key: str
    """Of the line's block."""
    place: int
    """Of the line in its block; -1 for the line that says what is folded away."""
    start: int
    end: int
    """The part of the line's text that the row shows."""


_Folded: TypeAlias = tuple[bool, frozenset[int], str]
"""Whether a block is unfolded, the places in it that are closed, and the key that unfolds it."""
_NOTHING: Final = frozenset[int]()


class _LaidOut(NamedTuple):
    """A block that was laid out. It is held here, so that no other one can take its identity."""

    block: Block
    folded: _Folded
    rows: list[Row]


class LineView(Drawn):
    """Shows one document.

    Cost of showing: one pass over the lines that are not folded away, of blocks that the document before did not have.
    Cost of a key: two rows.
    """

    keys_say_all = True

    BINDINGS: ClassVar[list[BindingType]] = bindings("text")

    unfold_id: ClassVar[str] = "text.unfold"
    """The binding that unfolds."""

    class FindWanted(Message, namespace="line_view"):
        """The user wants to type what to find. Handler: ``on_line_view_find_wanted``."""

        def __init__(self, view: LineView) -> None:
            super().__init__()
            self.view = view

    class Found(FindWanted, namespace="line_view"):
        """Other matches, or the cursor is on another one. Handler: ``on_line_view_found``."""

    class Taken(Message, namespace="line_view"):
        """Text to be copied, or written to a file. Handler: ``on_line_view_taken``."""

        def __init__(self, text: str, what: str, *, to_file: bool) -> None:
            super().__init__()
            self.text = text
            self.what = what
            self.to_file = to_file

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.document = Document()
        self.opened: frozenset[str] = frozenset()
        """Keys of the blocks that are unfolded."""
        self.closed: frozenset[tuple[str, int]] = frozenset()
        """Block and place of lines that hold something folded into them."""
        self.needle = ""
        """What is looked for; empty while nothing is."""
        self._pattern: re.Pattern[str] | None = None
        self._matches: list[tuple[str, int]] = []
        """Block and place of the lines that hold it, also of those that are folded away."""
        self._at_match = -1
        self._was_unfolded_at = -1
        """The row on which a click has just folded or unfolded something."""
        self._rows: list[Row] = []
        self._wrapped_at = 0
        self._laid_out: dict[int, _LaidOut] = {}
        """The document's blocks, by identity."""

    def show(self, document: Document, *, keep: bool = False) -> None:
        """Show a document from its top; with ``keep`` stay where the cursor was, as it is the same one again."""
        if not keep:
            self.opened, self.closed = frozenset(), frozenset()
        self.document = document
        self._lay_out(self.cursor if keep else 0)
        if self._pattern is not None:
            self._look()
            self.post_message(self.Found(self))

    def _lay_out(self, cursor: int) -> None:
        width = self._text_width()
        before, self._wrapped_at = self._wrapped_at, width
        unfolds = key_for(self, self.unfold_id)
        known, self._laid_out = self._laid_out if width == before else {}, {}
        rows: list[Row] = []
        for block in self.document.blocks:
            closed = frozenset([place for key, place in self.closed if key == block.key]) if self.closed else _NOTHING
            folded = (block.key in self.opened, closed, unfolds)
            laid_out = known.get(id(block))
            if laid_out is None or laid_out.folded != folded:
                laid_out = _LaidOut(block, folded, self._rows_of(block, folded))
            self._laid_out[id(block)] = laid_out
            rows.extend(laid_out.rows)
        if width != before:
            self._strips.clear()
        changed = self._changed(rows) if width == before else None
        self._rows = rows
        self.redraw(len(rows), cursor, changed)

    def _rows_of(self, block: Block, folded: _Folded) -> list[Row]:
        """A block, wrapped."""
        is_open, closed, unfolds = folded
        rows: list[Row] = []
        for line, place in unfolded(block, is_open=is_open, closed=closed, key=unfolds):
            room = max(self._wrapped_at - line.indent, 8)
            hang = min(line.hang, room // 2)
            rows.extend([Row(line, block.key, place, start, end) for start, end in wrap_at(line.text, room, hang)])
        return rows

    def _changed(self, rows: list[Row]) -> list[int]:
        """The rows on the screen that these would change. Going from span to span, much stays as it is."""
        old = self._rows
        top = self.scroll_offset.y
        out = []
        for y in range(top, top + self.size.height):
            was = old[y] if y < len(old) else None
            now = rows[y] if y < len(rows) else None
            if was is not now and (was is None or now is None or (was[0], *was[3:]) != (now[0], *now[3:])):
                out.append(y)
        return out

    def _text_width(self) -> int:
        # The scroll bar's cell is always left free: whether there is one depends on the wrapping.
        free = 0 if self.show_vertical_scrollbar else 1
        return max(self.scrollable_content_region.width - 1 - free, 8)

    def row_key(self, row: int) -> Hashable:
        """The part of a line that the row shows; what is looked for and where it wraps are the same for all rows."""
        line, _, _, start, end = self._rows[row]
        return line, start, end

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """The part of a line that the row shows."""
        line, _, _, start, end = self._rows[row]
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
        if out and out[-1].text.endswith(" "):
            # The space at which the line breaks may stand one cell beyond the row.
            out[-1] = Run(out[-1].text[:-1], out[-1].style)
        return out if self._pattern is None else self._highlighted(out, line, indent, start, end)

    def _highlighted(self, runs: list[Drawable], line: Line, indent: int, start: int, end: int) -> list[Drawable]:
        """The runs of a row, divided where a match begins or ends."""
        assert self._pattern is not None
        found = [match.span() for match in self._pattern.finditer(line.text)]
        spots = [spot for spot in found if spot[1] > start and spot[0] < end]
        if not spots:
            return runs
        out: list[Drawable] = []
        at = start - indent
        for run in runs:
            text = run.text
            edges = sorted({0, len(text), *(min(max(edge - at, 0), len(text)) for spot in spots for edge in spot)})
            for low, high in pairwise(edges):
                is_match = any(a <= at + low and at + high <= b for a, b in spots)
                out.append(Run(text[low:high], "match" if is_match else run.style))
            at += len(text)
        return out

    # Places.

    @property
    def block_key(self) -> str | None:
        """The key of the block under the cursor."""
        return self._rows[self.cursor].key if self._rows else None

    def go_to_block(self, key: str, *, after_gap: bool = False) -> None:
        """Put the cursor on the first line of a block, or on its first line that is not empty, near the top."""
        at = next((i for i, row in enumerate(self._rows) if row.key == key), None)
        if at is None:
            return
        if after_gap and at + 1 < len(self._rows) and not self._rows[at].line.pieces:
            at += 1
        self.cursor = at
        # After the scrolling that shows the cursor, which would leave it on the last line of the page.
        self.call_after_refresh(self.scroll_to, y=max(at - 1, 0), animate=False)

    @property
    def phrase(self) -> str:
        """What the user points at: what is looked for where it stands under the cursor, else the line's own words.

        Empty on titles and remarks, which were made for the screen: nobody said them. What stands before a recorded
        text on its first line, such as the class of an error, does not count either.
        """
        if not self._rows:
            return ""
        row = self._rows[self.cursor]
        line = row.line
        if self._pattern is not None and (match := self._pattern.search(line.text)) is not None:
            return match.group()
        if line.is_title or row.place < 0:
            return ""
        pieces: Sequence[Piece] = line.pieces
        if not row.place and (source := self._block_here.source) is not None and source.lead:
            pieces = _without(pieces, source.lead)
        words = [p.text if p.source is None else p.source for p in pieces if p.style not in _NOT_WORDS]
        return "".join(words).strip().rstrip(",")

    # Finding.

    def find(self, text: str) -> None:
        """Look for a text, whatever its case, and go to the first match from the cursor on; an empty one ends it."""
        self.needle = text
        self._pattern = re.compile(re.escape(text), re.IGNORECASE) if text else None
        self._look()
        self._strips.clear()
        self.refresh()
        if self._matches:
            self._go_to_match(self._next_match(1, stay=True))
        self.post_message(self.Found(self))

    def _look(self) -> None:
        find = None if self._pattern is None else self._pattern.search
        self._at_match = -1
        self._matches = [] if find is None else [
            (block.key, place)
            for block in self.document.blocks
            for place, line in enumerate(block.lines)
            if find(line.text) is not None
        ]  # fmt: skip

    @property
    def match_text(self) -> str:
        """``3 of 41``."""
        total = len(self._matches)
        if not total:
            return "no match" if self.needle else ""
        return f"{self._at_match + 1:,} of {total:,}" if self._at_match >= 0 else f"{total:,}"

    def _next_match(self, step: int, *, stay: bool = False) -> int:
        """Which match comes next from the cursor, round the end."""
        order = {block.key: i for i, block in enumerate(self.document.blocks)}
        row = self._rows[self.cursor]
        here = (order[row.key], row.place if row.place >= 0 else 1 << 40)
        places = [(order[key], place) for key, place in self._matches]
        if step > 0:
            at = bisect_left(places, here) if stay else bisect_right(places, here)
        else:
            at = bisect_left(places, here) - 1
        return at % len(places)

    def _go_to_match(self, number: int) -> None:
        key, place = self._matches[number]
        block = next(block for block in self.document.blocks if block.key == key)
        hidden = block.folds and block.shown is not None and place >= block.shown and key not in self.opened
        shut = {fold for fold in self.closed if fold[0] == key and fold[1] < place <= fold_end(block.lines, fold[1])}
        if hidden or shut:
            self.opened |= {key} if hidden else set()
            self.closed -= shut
            self._lay_out(self.cursor)
        self._at_match = number
        at = next(i for i, row in enumerate(self._rows) if row.key == key and row.place == place)
        assert self._pattern is not None
        match = self._pattern.search(self._rows[at].line.text)
        while match is not None and self._rows[at].end <= match.start():
            at += 1
        self.cursor = at

    def action_find(self) -> None:
        """Type what to find."""
        self.post_message(self.FindWanted(self))

    def action_match(self, step: int) -> None:
        """To the next or previous match; while nothing is looked for, the key is left to the screen."""
        if self._pattern is None:
            raise SkipAction
        if self._matches:
            self._go_to_match(self._next_match(step))
            self.post_message(self.Found(self))

    def action_end_find(self) -> None:
        """Look for nothing any more; where nothing is looked for, the key is left to the screen."""
        if self._pattern is None:
            raise SkipAction
        self.find("")

    # Taking text away.

    @property
    def text_here(self) -> str:
        """The text under the cursor, all of it, also what is folded away; on a heading the text that it names."""
        if not self._rows:
            return ""
        here, row = self._block_here, self._rows[self.cursor]
        is_heading = row.place >= 0 and all(line.is_title or not line.pieces for line in here.lines[row.place :])
        if is_heading:
            blocks = self.document.blocks
            below = next((after for block, after in pairwise(blocks) if block is here), here)
            return below.original
        return here.original

    @property
    def _block_here(self) -> Block:
        key = self._rows[self.cursor].key
        return next(block for block in self.document.blocks if block.key == key)

    def action_copy(self) -> None:
        """Copy the text under the cursor."""
        if not self._rows:
            raise SkipAction
        self.post_message(self.Taken(self.text_here, "the text under the cursor", to_file=False))

    def action_copy_all(self) -> None:
        """Copy everything."""
        self.post_message(self.Taken(self.document.original, "everything on this page", to_file=False))

    def action_write(self) -> None:
        """Write everything to a file."""
        self.post_message(self.Taken(self.document.original, self.document.title, to_file=True))

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again, keeping the line under the cursor."""
        super().on_resize(event)
        event.prevent_default()  # Or the handler of the base would be called once more.
        if self._text_width() == self._wrapped_at:
            return
        line = self._rows[self.cursor].line if self.cursor < len(self._rows) else None
        self._lay_out(self.cursor)
        at = next((i for i, row in enumerate(self._rows) if row.line is line), None)
        if at is not None:
            self.cursor = at

    def on_click(self, event: events.Click) -> None:
        """A click on the line that says what is folded away shows it."""
        row = self.scroll_offset.y + event.y
        if event.chain == 1 and row < len(self._rows) and self._rows[row].place < 0:
            event.prevent_default()
            self.cursor = row
            self.toggle_fold()
            self._was_unfolded_at = row
        elif event.chain > 1 and row == self._was_unfolded_at:
            event.prevent_default()  # Who clicks twice on that line means it once.
        else:
            self._was_unfolded_at = -1

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
        row = self._rows[self.cursor]
        key = row.key
        if row.line.fold == 1 and row.place >= 0:
            self.closed ^= {(key, row.place)}
            first = next(i for i, other in enumerate(self._rows) if other.key == key and other.place == row.place)
            self._lay_out(first)
            return True
        block = next((block for block in self.document.blocks if block.key == key and block.folds), None)
        if block is None:
            return False
        self.opened = self.opened ^ {key}
        first = next(i for i, row in enumerate(self._rows) if row.key == key)
        self._lay_out(self.cursor if key in self.opened else first)
        return True

    def action_toggle_all_folds(self) -> None:
        """Unfold everything, or fold long texts again."""
        folding = frozenset(block.key for block in self.document.blocks if block.folds)
        self.opened = frozenset() if self.opened and not self.closed else folding
        self.closed = frozenset()
        self._lay_out(min(self.cursor, len(self._rows) - 1) if self.opened else 0)
