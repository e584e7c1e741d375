"""The timeline: tree and bars of a trace in one widget, over the flat arrays of a forest."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from ...analysis.conversation import GLYPHS, KIND_STYLES
from ...analysis.text import cut, fit, width_of
from ...analysis.timeline import Axis, axis_of, bar_of, ruler, took
from ...analysis.tree import Forest, build_forest, name_of
from ...store.rows import SpanRow
from ..keymap import bindings
from .drawn import Drawable, Drawn, Run

_TOOK = 9
_SHORTEST_MARK = 10
_DEEPEST = 12
"""Levels of indent that are drawn; deeper spans say their depth as a number."""


class Timeline(Drawn):
    """The spans of one trace. Rows are positions in ``row_indices``, which holds indices of the forest.

    Cost of a key: two rows drawn. Cost of a fold: moving the rows behind it. Cost of folding all: one pass.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("timeline")

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

    class Said(Message):
        """Why a key could do nothing, for the user. Handler: ``on_timeline_said``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.forest: Forest = build_forest(())
        self.axis: Axis | None = None
        self.row_indices: array[int] = array("i")
        self._collapsed = bytearray()
        self.loading_text = "loading the spans…"

    # Data.

    def show(self, forest: Forest, axis: Axis | None) -> None:
        """Show a trace, expanded but for what was folded already, with the cursor on the same span if it is there."""
        kept = self.selected
        folded = [self.forest.rows[index].span_id for index, is_folded in enumerate(self._collapsed) if is_folded]
        self.forest, self.axis = forest, axis
        self._collapsed = bytearray(len(forest))
        self.row_indices = array("i", range(len(forest)))
        self.loading_text = "This trace has no spans."
        for span_id in folded:
            if (index := forest.find(span_id)) is not None and forest.size[index] > 1:
                self._collapsed[index] = 1
        if any(self._collapsed):
            self.row_indices = self._visible(0, len(forest))
        place = forest.find(kept.span_id) if kept is not None else None
        self.redraw(len(self.row_indices), 0 if place is None else bisect_left(self.row_indices, place))
        if len(forest):
            self.post_message(self.Selected(self, self.index))

    @property
    def index(self) -> int:
        """The forest index under the cursor; 0 where there are no spans."""
        return self.row_indices[self.cursor] if self.cursor < len(self.row_indices) else 0

    @property
    def selected(self) -> SpanRow | None:
        """The span under the cursor."""
        return self.forest.rows[self.index] if len(self.forest) else None

    def go_to(self, index: int) -> None:
        """Put the cursor on a span, opening what hides it."""
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

    def header_pieces(self) -> tuple[Drawable, ...]:
        """The line above the rows: column names and the ruler."""
        width = max(self.scrollable_content_region.width - 1, 0)
        name, took_cells, bars = self.columns(width)
        return (
            Run(" " + fit("call", name), "dim"),
            Run(fit("took", took_cells, right=True), "dim"),
            Run("  "),
            Run(ruler(self.axis, bars), "dim"),
        )

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
        bar = bar_of(span.start_unix_nano, span.end_unix_nano, self.axis, bars)
        if bar.kind == "none":
            pieces.append(Run(cut("no time recorded", bars), "dim"))
        else:
            style = "error" if span.has_error else KIND_STYLES[span.kind]
            pieces.append(Run(" " * bar.column))
            pieces.append(Run(bar.text, "warning" if odd else style))
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
        pieces.append(Run(text, "strong" if span.kind == "agent" else ""))
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

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """Said while loading, and for a trace without spans."""
        return (Run(f" {self.loading_text}", "dim"),) if y == 0 else ()

    # Cursor.

    def watch_cursor(self, old: int, new: int) -> None:
        """Tell which span is under the cursor now."""
        super().watch_cursor(old, new)
        if len(self.row_indices):
            self.post_message(self.Selected(self, self.index))

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
        self.row_indices[row + 1 : row + 1] = self._visible(index + 1, index + self.forest.size[index])
        self.redraw(len(self.row_indices))

    def _visible(self, start: int, end: int) -> array[int]:
        """What is to be seen of a part of the forest whose first span is."""
        shown = array("i")
        at = start
        while at < end:
            shown.append(at)
            at += self.forest.size[at] if self._collapsed[at] else 1
        return shown

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
        size = self.forest.size
        if any(self._collapsed):
            self._collapsed = bytearray(len(self.forest))
            self.row_indices = array("i", range(len(self.forest)))
        else:
            self._collapsed = bytearray([below > 1 for below in size])
            self.row_indices = self._visible(0, len(self.forest))
        row = bisect_left(self.row_indices, kept)
        if row == len(self.row_indices) or self.row_indices[row] != kept:
            row -= 1  # The kept span is hidden: its top-level span stands just before where it would be.
        self.redraw(len(self.row_indices), row)
        if len(self.row_indices) and self.index != kept:
            self.post_message(self.Selected(self, self.index))

    def action_parent(self) -> None:
        """Go to the parent, or say why there is none."""
        span = self.selected
        if span is None:
            return
        above = self.forest.parent[self.index]
        if above >= 0:
            self.go_to(above)
        elif span.parent_span_id and self.forest.find(span.parent_span_id) is None:
            self.post_message(self.Said(f"Its parent {span.parent_span_id} is not in this trace."))
        else:
            self.post_message(self.Said("This span is at the top level."))

    def next_error(self, step: int) -> bool:
        """Go to the next or previous span in error, round the end; False when there is none."""
        errors = self.forest.errors
        if not errors:
            return False
        at = bisect_left(errors, self.index)
        if step > 0 and at < len(errors) and errors[at] == self.index:
            at += 1
        elif step < 0:
            at -= 1
        self.go_to(errors[at % len(errors)])
        return True


def timeline_axis(forest: Forest) -> Axis | None:
    """The axis of a forest. Cost: linear; called in a worker."""
    return axis_of(forest.rows, forest.origin)
