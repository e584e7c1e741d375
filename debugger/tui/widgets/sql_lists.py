"""What stands beside a query: queries to choose from, and the views with their columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from ...analysis.sql_choices import QueryRow, SchemaRow, query_rows, schema_rows
from ...analysis.sql_completion import SqlNames
from ...analysis.text import fit, one_line, plural
from ..keymap import bindings
from .drawn import Drawable, Drawn, Run

_TITLE = 44
"""Cells of a query's title, before its text."""


class QueryList(Drawn):
    """Examples, saved queries, and those that were asked before."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("queries")

    class Chosen(Message):
        """A query was chosen: to be asked at once, or to be changed first. Handler: ``on_query_list_chosen``."""

        def __init__(self, text: str, *, run: bool) -> None:
            super().__init__()
            self.text = text
            self.run = run

    class Doomed(Message):
        """A saved query is to be deleted, once the user is sure. Handler: ``on_query_list_doomed``."""

        def __init__(self, name: str, *, is_sure: bool) -> None:
            super().__init__()
            self.name = name
            self.is_sure = is_sure

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: tuple[QueryRow, ...] = ()
        self._doomed = ""

    def show(self, examples: Sequence[tuple[str, str]], saved: Sequence[tuple[str, str]], asked: Sequence[str]) -> None:
        """Show these queries, with the cursor on the first one at the beginning."""
        is_first = not self.rows
        self.rows = query_rows(examples, saved, asked)
        self.redraw(len(self.rows), 1 if is_first else None)

    @property
    def selected(self) -> QueryRow | None:
        """The query under the cursor; None on a heading."""
        row = self.rows[self.cursor] if self.cursor < len(self.rows) else None
        return None if row is None or row.is_heading else row

    def row_key(self, row: int) -> Hashable:
        """The query."""
        return self.rows[row]

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """Its title and its text."""
        entry = self.rows[row]
        if entry.is_heading:
            return (Run(entry.title, "heading"),)
        text = one_line(" ".join(entry.text.split()), "")
        if not entry.title:
            return (Run("  "), Run(text))
        return (Run("  "), Run(fit(entry.title, min(_TITLE, width // 2)), "strong"), Run(f"  {text}", "dim"))

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click asks."""
        event.stop()
        self.action_run_it()

    def action_run_it(self) -> None:
        """Ask the query."""
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected.text, run=True))

    def action_edit(self) -> None:
        """Change the query first."""
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected.text, run=False))

    def action_delete(self) -> None:
        """Delete the saved query, once the key was pressed twice."""
        row = self.selected
        if row is not None and row.origin == "saved":
            self.post_message(self.Doomed(row.name, is_sure=self._doomed == row.name))
            self._doomed = "" if self._doomed == row.name else row.name


class SchemaList(Drawn):
    """The views that can be asked, with their columns and types."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("schema")

    class Chosen(Message):
        """A name is wanted in the query. Handler: ``on_schema_list_chosen``."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.names = SqlNames()
        self.rows: tuple[SchemaRow, ...] = ()
        self._opened: frozenset[str] = frozenset(("calls",))

    def show(self, names: SqlNames) -> None:
        """Show these views."""
        self.names = names
        self.rows = schema_rows(names, self._opened)
        self.redraw(len(self.rows))

    def row_key(self, row: int) -> Hashable:
        """The view or column."""
        return self.rows[row]

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """Its name, and its type or how many columns it has."""
        entry = self.rows[row]
        if not entry.column:
            sign = "▾ " if entry.is_open else "▸ "
            columns = plural(entry.columns, "column")
            return (Run(sign, "dim"), Run(one_line(entry.table), "strong"), Run(f"  {columns}", "dim"))
        return (Run("    "), Run(fit(one_line(entry.column), 18), "key"), Run(f" {one_line(entry.type, '')}", "dim"))

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """Before the views are known."""
        return (Run("  Loading…", "dim"),) if y == 1 else ()

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click inserts."""
        event.stop()
        self.action_insert()

    def action_insert(self) -> None:
        """Put the name into the query."""
        if self.rows:
            entry = self.rows[self.cursor]
            self.post_message(self.Chosen(entry.column or entry.table))

    def action_fold(self) -> None:
        """Show or hide the columns of the view that the cursor is on or in."""
        if not self.rows:
            return
        table = self.rows[self.cursor].table
        self._opened = self._opened ^ {table}
        self.rows = schema_rows(self.names, self._opened)
        self.redraw(len(self.rows), next(i for i, row in enumerate(self.rows) if row.table == table))
