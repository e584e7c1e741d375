"""The timeline: tree and bars of a trace in one widget, over the flat arrays of a forest."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from ...analysis.conversation import GLYPHS, KIND_STYLES
from ...analysis.critical import CriticalPath
from ...analysis.rhythm import Rhythm
from ...analysis.text import cut, fit, width_of
from ...analysis.timeline import Axis, axis_of, took
from ...analysis.tree import Forest, name_of
from ...store.rows import SpanRow
from ..keymap import bindings
from .bars import bar_pieces
from .drawn import Drawable, Drawn, Run
from .timeline_moves import TimelineMoves

_TOOK = 9
_SHORTEST_MARK = 10
_DEEPEST = 12
"""Levels of indent that are drawn; deeper spans say their depth as a number."""


class Timeline(TimelineMoves):
    """The spans of one trace. Rows are positions in ``row_indices``, which holds indices of the forest.

    Cost of a key: two rows drawn. Cost of a fold: moving the rows behind it. Cost of folding all: one pass.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("timeline")
    keys_say_all = True

    class Selected(Message):
        """Another span is under the cursor. Handler: ``on_timeline_selected``."""

        def __init__(self, control: Timeline, index: int) -> None:
            super().__init__()
            self.timeline = control
            self.index = index

        @property
        def control(self) -> Timeline:
            """The timeline."""
            return self.timeline

    class DetailWanted(Selected):
        """Enter on a span. Handler: ``on_timeline_detail_wanted``."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.matches: array[int] = array("i")
        """Spans that the search found, ascending."""
        self.critical: CriticalPath | None = None
        self.playhead: int | None = None
        """The moment that the ruler marks."""
        self._base: array[int] | None = None
        """The only spans that are shown, ascending; None for all."""
        self._collapsed = bytearray()
        self._matched = bytearray()
        self.loading_text = "loading the spans…"

    # Data.

    def show(self, forest: Forest, axis: Axis | None) -> None:
        """Show a trace, or more of the same one: the cursor stays on its span, folded spans stay folded."""
        kept = self.selected
        folded = self._folded()
        was_whole = self.view == self.axis
        self.forest, self.axis = forest, axis
        if was_whole:
            self.view = axis
        self.rhythm = Rhythm()
        self._collapsed = bytearray(len(forest))
        for span_id in folded:
            if (at := forest.find(span_id)) is not None and forest.size[at] > 1:
                self._collapsed[at] = 1
        self._base, self.critical = None, None
        self.matches, self._matched = array("i"), bytearray(len(forest))
        place = forest.find(kept.span_id) if kept is not None else None
        self.loading_text = "This trace has no spans."
        self._strips.clear()
        self._arrange(place or 0)
        if len(forest):
            self.post_message(self.Selected(self, self.index))

    def _folded(self) -> list[str]:
        """The span ids of all that is collapsed."""
        found = []
        at = self._collapsed.find(1)
        while at >= 0:
            found.append(self.forest.rows[at].span_id)
            at = self._collapsed.find(1, at + 1)
        return found

    def _arrange(self, kept: int) -> None:
        """Make the rows anew from what is shown and folded, the cursor on a span or on the nearest one above it."""
        self.row_indices = self._shown(0, len(self.forest))
        row = bisect_left(self.row_indices, kept)
        if row == len(self.row_indices) or self.row_indices[row] != kept:
            row -= 1  # The span is hidden: what hides it stands just before where it would be.
        self.redraw(len(self.row_indices), row)

    def _shown(self, start: int, end: int) -> array[int]:
        """The rows of a range of the forest. Cost: a copy where nothing in it is folded, else one pass."""
        base = self._base
        if base is not None:
            low, high = bisect_left(base, start), bisect_left(base, end)
        if self._collapsed.find(1, start, end) < 0:
            return array("i", range(start, end)) if base is None else base[low:high]
        shown = array("i")
        collapsed, size = self._collapsed, self.forest.size
        if base is None:
            at = start
            while at < end:
                shown.append(at)
                at += size[at] if collapsed[at] else 1
            return shown
        at = start
        for index in base[low:high]:
            if index >= at:
                shown.append(index)
                at = index + (size[index] if collapsed[index] else 1)
        return shown

    def show_only(self, base: array[int] | None) -> None:
        """Show only these spans, which hold the ancestors of each of them; None shows all again."""
        self._base = base
        kept = self.index
        if base is not None and len(base) and self._collapsed.find(1) >= 0:
            self._collapsed = bytearray(len(self.forest))
        self._arrange(kept)
        if len(self.row_indices) and self.index != kept:
            self.post_message(self.Selected(self, self.index))

    @property
    def shows_only_matches(self) -> bool:
        """True while other spans are hidden."""
        return self._base is not None

    def mark_matches(self, matches: array[int], marked: bytearray | None = None) -> None:
        """Mark the spans that a search found.

        Args:
            matches: their indices, ascending.
            marked: for every span of the forest, 1 where it is one of them; None where there are none.
        """
        self.matches = matches
        self._matched = bytearray(len(self.forest)) if marked is None else marked
        self._repaint()

    def set_rhythm(self, rhythm: Rhythm) -> None:
        """Gaps can be drawn now."""
        self.rhythm = rhythm
        self._repaint()

    def set_critical(self, path: CriticalPath | None) -> None:
        """Draw the critical path, or no longer."""
        self.critical = path
        self._repaint()

    def set_view(self, view: Axis | None) -> None:
        """Show another window of time."""
        self.view = view
        self._repaint()

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def place(self, index: int) -> None:
        """Put the cursor on a span, opening what hides it; where a filter hides it, all is shown again."""
        if self._base is not None:
            at = bisect_left(self._base, index)
            if at == len(self._base) or self._base[at] != index:
                self._base = None
                self._arrange(self.index)
        above = self.forest.parent[index]
        hidden = []
        while above >= 0:
            if self._collapsed[above]:
                hidden.append(above)
            above = self.forest.parent[above]
        for node in reversed(hidden):
            self._unfold(node)
        self.cursor = bisect_left(self.row_indices, index)

    # Drawing.

    def columns(self, width: int) -> tuple[int, int, int]:
        """Cells of name, duration and bar in a row of that width."""
        name = min(max(width * 9 // 20, 20), 64)
        return name, _TOOK, max(width - name - _TOOK - 2, 0)

    @property
    def drawn_columns(self) -> tuple[int, int, int]:
        """Cells of names, lengths and bars as they are drawn now."""
        return self.columns(max(self.scrollable_content_region.width - 1, 0))

    def row_key(self, row: int) -> Hashable:
        """The span, and whether it is collapsed."""
        index = self.row_indices[row]
        return (index, self._collapsed[index])

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """Guides, glyph, name, marks, duration, bar."""
        index = self.row_indices[row]
        span = self.forest.rows[index]
        name, took_cells, bars = self.columns(width)
        marks = self.forest.marks_of(index)
        odd = any(mark.kind == "backwards" for mark in marks)
        length = fit(took(span, self.axis), took_cells, right=True)
        pieces = self._named_pieces(
            index, span, name, ", ".join(mark.label for mark in marks if mark.kind != "untimed")
        )
        pieces.append(Run(length, "warning" if odd or span.end_unix_nano is None else "dim"))
        pieces.append(Run("  "))
        style = "warning" if odd else "error" if span.has_error else KIND_STYLES[span.kind]
        gap = self.rhythm.gaps[index] if len(self.rhythm.gaps) else 0
        stretches = None if self.critical is None else self.critical.by_span.get(index, ())
        pieces.extend(bar_pieces(span, self.view, bars, style, gap, stretches))
        return pieces

    def _named_pieces(self, index: int, span: SpanRow, width: int, mark: str) -> list[Drawable]:
        """The first column, exactly ``width`` cells."""
        pieces: list[Drawable] = [Run(self._guides(index), "line")]
        if self.forest.size[index] > 1:
            pieces.append(Run("▸ " if self._collapsed[index] else "▾ ", "dim"))
        else:
            pieces.append(Run("─ " if self.forest.depth[index] else "  ", "line"))
        style = KIND_STYLES[span.kind]
        pieces.append(Run(GLYPHS[span.kind] + " ", style))
        room = width - sum(width_of(piece.text) for piece in pieces) - 1
        tail: list[Drawable] = []
        if span.has_error:
            tail.append(Run(" ✗", "error"))
        if mark:
            tail.append(Run(" !", "warning"))
        if self._collapsed[index]:
            tail.append(Run(f" +{self.forest.size[index] - 1:,}", "dim"))
            if hidden := self._errors_below(index):
                tail.append(Run(f" ✗{hidden:,}", "error"))
        room -= sum(width_of(piece.text) for piece in tail)
        # A mark that cannot be read is no use, so the name gives way to it, down to a third of the room.
        full = name_of(span)
        left = max(room - width_of(mark) - 1, room // 3) if mark else room
        text = cut(full, left if room >= 2 * _SHORTEST_MARK else room)
        pieces.append(Run(text, "match" if self._matched[index] else "strong" if span.kind == "agent" else ""))
        pieces.extend(tail)
        room -= width_of(text)
        if mark and room >= _SHORTEST_MARK:
            said = cut(f" {mark}", room)
            pieces.append(Run(said, "warning"))
            room -= width_of(said)
        pieces.append(Run(" " * (room + 1)))
        return pieces

    def _errors_below(self, index: int) -> int:
        """Spans in error below a span; cost: two look-ups."""
        errors = self.forest.errors
        return bisect_left(errors, index + self.forest.size[index]) - bisect_left(errors, index + 1)

    def _guides(self, index: int) -> str:
        """The lines that lead to a row; cost: O(levels drawn)."""
        forest = self.forest
        depth = forest.depth[index]
        if not depth:
            return ""
        out = ["└─" if forest.last_child(index) else "├─"]
        above = forest.parent[index]
        while above >= 0 and forest.depth[above] > 0 and len(out) < _DEEPEST:
            out.append("  " if forest.last_child(above) else "│ ")
            above = forest.parent[above]
        if depth > _DEEPEST:
            out[-1] = "…"
            return f"{depth}{''.join(reversed(out))}"
        return "".join(reversed(out))

    def say_loading(self, words: str) -> None:
        """Say in place of the spans how far they are, or why there are none. Spans that are shown already stay."""
        self.loading_text = words
        if not len(self.row_indices):
            self.refresh_line(0)

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """Said while loading, and for a trace without spans."""
        return (Run(f" {self.loading_text}", "dim"),) if y == 0 else ()

    # Cursor.

    def watch_cursor(self, old: int, new: int) -> None:
        """Tell which span is under the cursor now."""
        super().watch_cursor(old, new)
        if len(self.row_indices):
            self.post_message(self.Selected(self, self.index))

    def on_click(self, event: events.Click) -> None:
        """A click on the sign before a span with others below it folds or unfolds them."""
        row = self.scroll_offset.y + event.y
        if row >= len(self.row_indices):
            return
        index = self.row_indices[row]
        sign = 1 + width_of(self._guides(index))
        if self.forest.size[index] > 1 and sign <= event.x <= sign + 1:
            event.prevent_default()
            self.cursor = row
            self.action_toggle_fold()

    def moment_at(self, x: int) -> int | None:
        """The moment that a cell of the bars shows; None beside them."""
        name, took_cells, bars = self.drawn_columns
        cell = x - name - took_cells - 3
        view = self.view
        return None if view is None or not 0 <= cell < bars else view.start + view.length * cell // bars

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click does what enter does."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Go to the details of the span."""
        if len(self.row_indices):
            self.post_message(self.DetailWanted(self, self.index))

    # Folding.

    def _unfold(self, index: int) -> None:
        """Show what is below a collapsed span, as far as it is not collapsed itself."""
        if not self._collapsed[index]:
            return
        self._collapsed[index] = 0
        row = bisect_left(self.row_indices, index)
        self.row_indices[row + 1 : row + 1] = self._shown(index + 1, index + self.forest.size[index])
        self.redraw(len(self.row_indices))

    def _fold(self, index: int) -> None:
        """Hide what is below a span."""
        if self._collapsed[index] or self.forest.size[index] == 1:
            return
        self._collapsed[index] = 1
        row = bisect_left(self.row_indices, index)
        end = bisect_left(self.row_indices, index + self.forest.size[index])
        del self.row_indices[row + 1 : end]
        self.redraw(len(self.row_indices), row)

    def action_toggle_fold(self) -> None:
        """Collapse or expand the span under the cursor."""
        if not len(self.row_indices):
            return
        if self._collapsed[self.index]:
            self._unfold(self.index)
        else:
            self._fold(self.index)

    def action_collapse(self) -> None:
        """Collapse; where there is nothing to collapse, go to the parent."""
        if not len(self.row_indices):
            return
        if self.forest.size[self.index] > 1 and not self._collapsed[self.index]:
            self._fold(self.index)
        elif self.forest.parent[self.index] >= 0:
            self.go_to(self.forest.parent[self.index])

    def action_expand(self) -> None:
        """Expand; where that is done, go to the first child."""
        if not len(self.row_indices):
            return
        if self._collapsed[self.index]:
            self._unfold(self.index)
        elif self.forest.size[self.index] > 1:
            self.cursor += 1

    def action_toggle_all(self) -> None:
        """Collapse everything that can be; if anything is collapsed, expand everything."""
        kept = self.index
        if self._collapsed.find(1) >= 0:
            self._collapsed = bytearray(len(self.forest))
        else:
            self._collapsed = bytearray(map(int.__gt__, self.forest.size, repeat(1)))
        self._arrange(kept)
        if len(self.row_indices) and self.index != kept:
            self.post_message(self.Selected(self, self.index))


def timeline_axis(forest: Forest) -> Axis | None:
    """The axis of a forest. Cost: linear; called in a worker."""
    return axis_of(forest.rows, forest.origin)
