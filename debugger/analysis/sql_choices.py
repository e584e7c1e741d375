"""What can be chosen beside a query, as rows: queries under headings, views with their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .sql_completion import SqlNames
from .text import one_line

Origin: TypeAlias = Literal["example", "saved", "asked"]

_HEADINGS: dict[Origin, str] = {"example": "examples", "saved": "saved", "asked": "asked before"}


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A query, or the heading over some where it has no text."""

    origin: Origin
    title: str
    """Its name, in one harmless line; empty for those that were asked before."""
    text: str = ""
    name: str = ""
    """As it was saved."""

    @property
    def is_heading(self) -> bool:
        """Nothing can be chosen here."""
        return not self.text


def query_rows(
    examples: Sequence[tuple[str, str]], saved: Iterable[tuple[str, str]], asked: Iterable[str]
) -> tuple[QueryRow, ...]:
    """The saved queries by name, then the examples, then what was asked, the last one first."""
    parts: list[tuple[Origin, list[QueryRow]]] = [
        ("saved", [QueryRow("saved", one_line(name), text, name) for name, text in sorted(saved)]),
        ("example", [QueryRow("example", title, text) for title, text in examples]),
        ("asked", [QueryRow("asked", "", text) for text in asked]),
    ]
    return tuple(row for origin, rows in parts if rows for row in (QueryRow(origin, _HEADINGS[origin]), *rows))


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """A view, or a column below it."""

    table: str
    column: str = ""
    """Empty for the view itself."""
    type: str = ""
    is_open: bool = False
    columns: int = 0
    """Of the view."""


def schema_rows(names: SqlNames, opened: Collection[str]) -> tuple[SchemaRow, ...]:
    """The views, each followed by its columns where it is open."""
    out = []
    for table, columns in names.tables.items():
        is_open = table in opened
        out.append(SchemaRow(table, is_open=is_open, columns=len(columns)))
        if is_open:
            out.extend(SchemaRow(table, name, kind.lower()) for name, kind in columns)
    return tuple(out)
