"""Models, tools or agents with their numbers, drawn by line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...analysis.numbers import STYLES, Sort, arranged, cell, name_of, share
from ...analysis.text import fit
from ...store.rows import NumbersBy, NumbersRow
from .drawn import Drawable, Drawn, Run

_BAR = 16
_COLUMNS: tuple[tuple[str, int, int], ...] = (
    ("calls", 7, 0), ("errors", 10, 44), ("p50", 8, 34), ("p90", 8, 110), ("p95", 8, 52), ("p99", 8, 100),
    ("longest", 9, 132), ("total", 11, 122), ("tokens", 15, 78), ("cost", 9, 88),
)  # fmt: skip
"""Name, cells, and the width from which on there is room for it."""
_SORTED_WIDTH = 140
"""From here on a bar shows what the rows are sorted by."""


class NumbersList(Drawn):
    """Rows of numbers, sorted. Cost of a key: two rows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.by: NumbersBy = "model"
        self.sort: Sort = "calls"
        self.is_reversed = False
        self.rows: tuple[NumbersRow, ...] = ()
        self.empty_text = "Counting…"

    def show(self, rows: Sequence[NumbersRow], by: NumbersBy) -> None:
        """Show these rows from the top, or the same ones again with the cursor on its name."""
        kept = self.selected if by == self.by else None
        self.by = by
        self.rows = arranged(rows, self.sort, is_reversed=self.is_reversed)
        place = next((i for i, row in enumerate(self.rows) if kept is not None and row.name == kept.name), 0)
        self.redraw(len(self.rows), place)

    @property
    def selected(self) -> NumbersRow | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def _columns(self, width: int) -> list[tuple[str, int]]:
        return [(name, cells) for name, cells, needed in _COLUMNS if width >= needed]

    def _layout(self) -> tuple[int, list[tuple[str, int]], int]:
        """Cells of the name, the columns, cells of the bar."""
        width = max(self.scrollable_content_region.width - 1, 0)
        columns = self._columns(width)
        length = _BAR if width >= _SORTED_WIDTH else 0
        rest = width - sum(cells + 2 for _, cells in columns) - (length + 2 if length else 0)
        return max(rest, 8), columns, length

    def header_pieces(self) -> tuple[Drawable, ...]:
        """Column names; the one that is sorted by is marked."""
        name, columns, _ = self._layout()
        out: list[Drawable] = [Run(" "), Run(fit(self.by, name), "dim")]
        for column, cells in columns:
            is_sorted = column == self.sort
            label = f"{column}{' ▴' if self.is_reversed else ' ▾'}" if is_sorted else column
            label = f"{label} in/out" if column == "tokens" and not is_sorted else label
            out.append(Run("  " + fit(label, cells, right=column != "errors"), "strong" if is_sorted else "dim"))
        return tuple(out)

    def row_key(self, row: int) -> Hashable:
        """The numbers, and what the bar shows."""
        return self.rows[row], self.sort

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """The cells of a row, and its bar."""
        entry = self.rows[row]
        name, columns, length = self._layout()
        out: list[Drawable] = [Run(fit(name_of(entry, self.by), name), STYLES[self.by])]
        for column, cells in columns:
            style = "error" if column == "errors" else ""
            out.append(Run("  " + fit(cell(entry, column), cells, right=column != "errors"), style))
        if length:
            out.append(Run("  " + share(entry, self.rows, self.sort, length), "dim"))
        return out

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """While it is counted, and where there is nothing to count."""
        return (Run(f"  {self.empty_text}", "dim"),) if y == 1 else ()
