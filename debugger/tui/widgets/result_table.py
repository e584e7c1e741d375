"""The rows of a result, drawn by line; columns that have no room are reached to the right."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from ...analysis.sql_view import ResultView, cell_text
from ...analysis.text import fit, one_line
from ..keymap import bindings
from .drawn import Drawable, Drawn, Run

_GAP = 2


class ResultTable(Drawn):
    """Shows one result. Cost of a key: two rows; of another column: the page."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("result")

    class Opened(Message):
        """A row is to be opened, or to be shown ``whole``. Handler: ``on_result_table_opened``."""

        def __init__(self, row: int, *, whole: bool) -> None:
            super().__init__()
            self.row = row
            self.whole = whole

    class Scrolled(Message):
        """Other columns are shown, or have other widths. Handler: ``on_result_table_scrolled``."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = ResultView(columns=(), rows=())
        self._first = 0
        """The first column that is shown."""

    def show(self, view: ResultView) -> None:
        """Show a result from its first row and column."""
        self.view = view
        self._first = 0
        self.redraw(len(view.rows), 0)

    def _shown(self, width: int) -> list[tuple[int, int]]:
        """The columns that fit, each with its cells; the last one may have less than it wants."""
        out: list[tuple[int, int]] = []
        room = width
        for at in range(self._first, len(self.view.columns)):
            if out and room < min(self.view.columns[at].width, 8):
                break
            cells = min(self.view.columns[at].width, room)
            out.append((at, cells))
            room -= cells + _GAP
        return out

    def header_pieces(self) -> tuple[Drawable, ...]:
        """The names of the columns, and whether there are more to the left or right."""
        width = max(self.scrollable_content_region.width - 1, 0)
        if not self.view.columns or not width:
            return ()
        shown = self._shown(width - 2)
        out: list[Drawable] = [Run("◂" if self._first else " ", "warning")]
        for at, cells in shown:
            column = self.view.columns[at]
            name = fit(one_line(column.name, ""), cells, right=column.is_number)
            out.append(Run(name + " " * _GAP, "dim"))
        if shown[-1][0] < len(self.view.columns) - 1:
            out[-1] = Run(out[-1].text.removesuffix(" "), "dim")
            out.append(Run("▸", "warning"))
        return tuple(out)

    def row_key(self, row: int) -> Hashable:
        """Which columns are shown."""
        return self._first

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """The cells of a row."""
        values = self.view.rows[row]
        out: list[Drawable] = []
        for at, cells in self._shown(width - 1):
            column, value = self.view.columns[at], values[at]
            text = "null" if value is None else cell_text(value)
            style = "dim" if value is None else "number" if column.is_number else ""
            out.append(Run(fit(text, cells, right=column.is_number) + " " * _GAP, style))
        return out

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """A query that finds nothing."""
        return (Run("  No row answers this query.", "dim"),) if y == 1 and self.view.columns else ()

    def on_resize(self, event: events.Resize) -> None:
        """Other columns may fit."""
        super().on_resize(event)
        event.prevent_default()  # Or the handler of the base would be called once more.
        self.post_message(self.Scrolled())

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click opens."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Open what the row is about."""
        if self.row_total:
            self.post_message(self.Opened(self.cursor, whole=False))

    def action_row(self) -> None:
        """Show the whole row."""
        if self.row_total:
            self.post_message(self.Opened(self.cursor, whole=True))

    def action_column(self, step: int) -> None:
        """Show other columns."""
        last = len(self.view.columns) - 1
        wanted = min(max(self._first + step, 0), max(last, 0))
        shown = self._shown(max(self.scrollable_content_region.width - 2, 0))
        if step > 0 and shown and shown[-1][0] == last:
            return  # Everything to the right is in view.
        if wanted != self._first:
            self._first = wanted
            self.refresh()
            self.post_message(self.Scrolled())
