"""The result of a query as a view model: columns with their widths, cells as harmless text, what a row leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .document import Builder, Document, Piece
from .text import lines_of, one_line, visible, width_of

WIDEST: Final = 60
"""Cells of a column; what is longer is cut."""
_MEASURED: Final = 1_000
"""Rows that decide how wide columns are."""
_NUMBERS: Final = frozenset(
    ("BIGINT", "INTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "UBIGINT", "SMALLINT", "TINYINT", "UHUGEINT")
)
_PLAN: Final = "explain_key"
"""The first column of what EXPLAIN gives."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result."""

    name: str
    type: str
    width: int
    is_number: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """What a query gave."""

    columns: tuple[ResultColumn, ...]
    rows: Sequence[tuple[Any, ...]] = field(repr=False)
    is_cut: bool = False
    """There are more rows than these."""

    @property
    def is_plan(self) -> bool:
        """The query was an EXPLAIN."""
        return bool(self.columns) and self.columns[0].name == _PLAN


def result_view(
    columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]], *, is_cut: bool = False
) -> ResultView:
    """A result with its columns measured.

    Args:
        columns: name and DuckDB's type of each.
        rows: as they came.
        is_cut: there are more.
    Cost: O(columns), for at most ``_MEASURED`` rows.
    """
    made = []
    for at, (name, kind) in enumerate(columns):
        wide = max([width_of(one_line(name, "")), *(width_of(cell_text(row[at])) for row in rows[:_MEASURED]), 4])
        made.append(ResultColumn(name, kind, min(wide, WIDEST), kind.partition("(")[0] in _NUMBERS))
    return ResultView(columns=tuple(made), rows=rows, is_cut=is_cut)


def cell_text(value: Any) -> str:
    """A value in one harmless line; nothing for null."""
    return "" if value is None else one_line(value if isinstance(value, str) else str(value), "")


def plan_lines(view: ResultView) -> list[str]:
    """The plan that EXPLAIN gave, which comes as one text of several lines."""
    return [line for row in view.rows for line in lines_of(str(row[-1]))]


def plan_document(view: ResultView) -> Document:
    """The plan as a page."""
    out = Builder()
    for line in plan_lines(view):
        out.line(Piece(line or " "))
    return out.document("plan")


def target_of(view: ResultView, row: int) -> tuple[str, str] | None:
    """The trace and span that a row is about, the span empty where it names none; None where it names no trace."""
    found = {column.name: value for column, value in zip(view.columns, view.rows[row], strict=True)}
    trace_id, span_id = found.get("trace_id"), found.get("span_id")
    return (trace_id, span_id if isinstance(span_id, str) else "") if isinstance(trace_id, str) else None


def row_document(view: ResultView, row: int) -> Document:
    """All columns of a row, whole."""
    out = Builder()
    for number, (column, value) in enumerate(zip(view.columns, view.rows[row], strict=True)):
        out.heading(one_line(column.name, "(no name)"), Piece(f"  {one_line(column.type, '')}", "dim"))
        if value is None:
            out.line(Piece("null", "dim"), indent=2)
        else:
            out.text(f"column{number}", value if isinstance(value, str) else str(value), indent=2)
    return out.document(f"row {row + 1}")


def sql_problem_document(sentence: str, hint: str, text: str, line: int | None, column: int | None) -> Document:
    """Why a query was not answered, with the line of the query that is at fault and the place in it."""
    out = Builder()
    out.line(Piece("✗ this query was not answered", "error"))
    out.gap()
    lines = text.splitlines()
    if line is not None and column is not None and 0 < line <= len(lines):
        wrong, before = _kept(lines[line - 1]), width_of(_kept(lines[line - 1][: column - 1]))
        out.line(Piece(f"{line:4} ", "dim"), Piece(wrong))
        out.line(Piece("     " + " " * before), Piece("^ here", "error"))
        out.gap()
    out.text("sentence", sentence)
    if hint:
        out.gap()
        out.text("hint", hint, style="dim")
    return out.document("query")


def _kept(line: str) -> str:
    """A line of a query with its spaces, harmless."""
    return visible(line.replace("\t", "    "))
