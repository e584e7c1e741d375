"""Numbers over calls as a view model: lines in order, their cells as short texts, and plots made of bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..store.rows import NumbersBy, NumbersRow, TraceRow
from .document import Builder, Document, Line, Piece, Style
from .filter_language import quoted
from .text import cost, count, duration, fit, one_line, plural, width_of

Sort: TypeAlias = Literal["calls", "p50", "p90", "p95", "p99", "longest", "total", "errors", "tokens", "cost"]

SORTS: tuple[Sort, ...] = ("calls", "p95", "total", "errors", "tokens", "cost")
"""The orders that a key goes through, the most first."""
BYS: dict[NumbersBy, str] = {"model": "Models", "tool": "Tools", "agent": "Agents"}
STYLES: dict[NumbersBy, Style] = {"model": "llm", "tool": "tool", "agent": "agent"}
_NONE: dict[NumbersBy, str] = {"model": "(no model named)", "tool": "(no tool named)", "agent": "(no agent named)"}
_PERCENTILES = ("p50", "p90", "p95", "p99")
_BAR = 40
_LEAST_CLASSES = 6
"""Classes of a histogram that are shown, however alike the times are."""
_EIGHTHS = "▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Totals:
    """What stands above the numbers."""

    traces: int
    spans: int
    errors: int
    percentiles: tuple[int, ...] | None
    """Of how long the traces took."""


def totals_of(rows: Sequence[TraceRow]) -> Totals:
    """Sums over some traces, and how long they took. Cost: sorts them once."""
    times = sorted([row.duration_ns for row in rows if row.duration_ns is not None])
    # The nearest rank: each percentile is a time that some trace really took.
    ranks = [max(-(-len(times) * p // 100) - 1, 0) for p in (50, 90, 95, 99)]
    return Totals(
        traces=len(rows),
        spans=sum(row.spans for row in rows),
        errors=sum(row.errors for row in rows),
        percentiles=tuple(times[rank] for rank in ranks) if times else None,
    )


def totals_pieces(totals: Totals, width: int) -> tuple[Piece, ...]:
    """The line above the numbers, with as many percentiles as there is room for."""
    out = [Piece(f" {plural(totals.traces, 'trace')} · {plural(totals.spans, 'span')}")]
    if totals.errors:
        out.append(Piece(f"  ✗{totals.errors:,}", "error"))
    if totals.percentiles is not None and totals.traces > 1:
        out.append(Piece("   traces took", "dim"))
        room = width - sum(width_of(piece.text) for piece in out)
        for i, (name, time) in enumerate(zip(_PERCENTILES, totals.percentiles, strict=True)):
            said = f"{' ' * min(i + 1, 2)}{name} {duration(time)}"
            room -= width_of(said)
            if room >= 0:
                out.append(Piece(said, "dim"))
    elif totals.percentiles is not None:
        out.append(Piece(f"   took {duration(totals.percentiles[0])}", "dim"))
    return tuple(out)


def arranged(rows: Sequence[NumbersRow], sort: Sort, *, is_reversed: bool = False) -> tuple[NumbersRow, ...]:
    """The rows with the most first, ties by name; what is not known counts as nothing."""
    step = 1 if is_reversed else -1
    return tuple(sorted(rows, key=lambda row: (_amount(row, sort) * step, row.name or "")))


def _amount(row: NumbersRow, sort: Sort) -> int:
    match sort:
        case "calls":
            return row.calls
        case "errors":
            return row.errors
        case "tokens":
            return (row.input_tokens or 0) + (row.output_tokens or 0)
        case "cost":
            return row.cost_nano_usd or 0
        case "longest":
            return row.longest_ns or 0
        case "total":
            return row.total_ns or 0
        case _:
            return 0 if row.percentiles is None else row.percentiles[_PERCENTILES.index(sort)]


def name_of(row: NumbersRow, by: NumbersBy) -> str:
    """What the row is called."""
    return _NONE[by] if row.name is None else one_line(row.name)


def cell(row: NumbersRow, column: str) -> str:
    """The text of a column."""
    if column in _PERCENTILES:
        return duration(None if row.percentiles is None else row.percentiles[_PERCENTILES.index(column)])
    match column:
        case "calls":
            return f"{row.calls:,}"
        case "errors":
            return f"✗{row.errors:,} {_percent(row.errors, row.calls)}" if row.errors else ""
        case "longest":
            return duration(row.longest_ns)
        case "total":
            return duration(row.total_ns)
        case "tokens":
            known = row.input_tokens is not None or row.output_tokens is not None
            return f"{count(row.input_tokens)} / {count(row.output_tokens)}" if known else "-"
        case _:
            return cost(row.cost_nano_usd)


def share(row: NumbersRow, rows: Sequence[NumbersRow], sort: Sort, width: int) -> str:
    """A bar: how much of the largest one this row has, of what the rows are sorted by."""
    most = max((_amount(each, sort) for each in rows), default=0)
    return bar(_amount(row, sort), most, width)


def bar(value: int, most: int, width: int) -> str:
    """A bar of at most ``width`` cells, to the eighth of a cell; anything above nothing shows."""
    eighths = value * width * 8 // most if most > 0 else 0
    if value > 0:
        eighths = max(eighths, 1)
    whole, part = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[part - 1] if part else "")


def _percent(part: int, whole: int) -> str:
    if not whole:
        return ""
    share_ = part * 100 / whole
    return "<1 %" if 0 < share_ < 1 else f"{share_:.0f} %"


def plot_document(row: NumbersRow, by: NumbersBy) -> Document:
    """The times of one name as a histogram, and all its numbers."""
    out = Builder()
    out.line(Piece(name_of(row, by), STYLES[by]), Piece(f"   {plural(row.calls, _noun(by))}"),
             Piece(f"   {cell(row, 'errors')}", "error"))  # fmt: skip
    if row.percentiles is not None:
        out.line(Piece("  ".join(f"{name} {cell(row, name)}" for name in (*_PERCENTILES, "longest", "total"))))
    if row.input_tokens is not None or row.output_tokens is not None:
        spent = "" if row.cost_nano_usd is None else f", {cost(row.cost_nano_usd)}"
        out.line(Piece(f"{cell(row, 'tokens')} tokens in / out{spent}"))
        if by == "agent":
            out.line(Piece("of the model calls right below this agent", "dim"))
    if row.percentiles is not None:
        out.gap()
        out.body("histogram", _histogram(row))
    return out.document(name_of(row, by))


def _noun(by: NumbersBy) -> str:
    return "run" if by == "agent" else "call"


def _histogram(row: NumbersRow) -> list[Line]:
    spread = row.spread
    held = [at for at, (_, number) in enumerate(spread) if number]
    first, last = (held[0], held[-1]) if held else (0, 0)
    # A few empty classes on both sides, so that one bar alone still has a scale.
    while last - first + 1 < min(_LEAST_CLASSES, len(spread)):
        if first > 0:
            first -= 1
        if last - first + 1 < _LEAST_CLASSES and last < len(spread) - 1:
            last += 1
    most = max(number for _, number in spread)
    lines = []
    for at in range(first, last + 1):
        edge, number = spread[at]
        label = f"≤ {duration(edge)}" if edge is not None else f"> {duration(spread[at - 1][0])}"
        drawn = Piece(fit(bar(number, most, _BAR), _BAR), "llm") if number else Piece("·", "dim")
        lines.append(
            Line((Piece(f"{fit(label, 9, right=True)}  ", "dim"), drawn, Piece(f" {number:,}" if number else "")))
        )
    return lines


def filter_of(row: NumbersRow, by: NumbersBy) -> str:
    """The filter of a trace's spans that finds the calls of this row."""
    kinds = {"model": "llm,embedding", "tool": "tool,retriever", "agent": "agent"}[by]
    return f"kind:{kinds} {by}={quoted(row.name)}" if row.name is not None else f"kind:{kinds} not {by}:*"


def condition_of(row: NumbersRow, by: NumbersBy) -> str:
    """The filter of the list of traces that finds those with calls of this row."""
    column = "model" if by == "model" else f"coalesce({by}_name, name)"
    if row.name is None:
        return f'sql:"kind in {_kinds(by)} and {column} is null"'
    # A quote of either kind would end the text it stands in.
    literal = " || chr(34) || ".join("'" + part.replace("'", "''") + "'" for part in row.name.split('"'))
    return f'sql:"kind in {_kinds(by)} and {column} = {literal}"'


def _kinds(by: NumbersBy) -> str:
    return {"model": "('llm', 'embedding')", "tool": "('tool', 'retriever')", "agent": "('agent')"}[by]
