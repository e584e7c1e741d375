"""The trace list as a view model: filter, sort, replays under what they replay, one line of text per trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias

from ..store.rows import TraceRow
from .text import clock, cost, count, duration, one_line, plural

Sort: TypeAlias = Literal["started", "took", "tokens", "cost", "errors"]

SORTS: dict[Sort, str] = {
    "started": "started",
    "took": "took",
    "tokens": "tokens in/out",
    "cost": "cost",
    "errors": "errors",
}
"""The orders of the list, each with the column that shows it; the biggest or newest is first."""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One trace with its texts made."""

    row: TraceRow
    name: str
    service: str
    started: str
    took: str
    source: str
    is_replay: bool
    is_nested: bool
    """Stands under the trace that it replays."""


def trace_lines(traces: Sequence[TraceRow], filter_text: str = "", sort: Sort = "started") -> tuple[TraceLine, ...]:
    """The traces that match, in order, replays right below their origin where both are shown.

    A replay whose origin is filtered away or not loaded stands on its own.
    """
    wanted = [word for word in filter_text.casefold().split() if word]
    shown = [row for row in traces if all(word in _searched(row) for word in wanted)]
    shown.sort(key=lambda row: _sort_key(row, sort), reverse=True)
    here = {row.trace_id for row in shown}
    below: dict[str, list[TraceRow]] = {}
    tops = []
    for row in shown:
        origin = row.origin_trace_id
        if origin is not None and origin in here and origin != row.trace_id:
            below.setdefault(origin, []).append(row)
        else:
            tops.append(row)
    out: list[TraceLine] = []
    stack = [(row, False) for row in reversed(tops)]
    placed: set[str] = set()
    while stack:
        row, nested = stack.pop()
        placed.add(row.trace_id)
        out.append(_line(row, nested))
        stack.extend((branch, True) for branch in reversed(below.pop(row.trace_id, [])))
    # Replays that name each other as origin have no top; they are listed all the same.
    out.extend(_line(row, False) for row in shown if row.trace_id not in placed)
    return tuple(out)


def _searched(row: TraceRow) -> str:
    return f"{row.name}\n{row.service or ''}\n{row.trace_id}\n{row.source}".casefold()


def _sort_key(row: TraceRow, sort: Sort) -> tuple[int, int, str]:
    start = row.start_unix_nano or 0
    match sort:
        case "started":
            return (start, 0, row.trace_id)
        case "took":
            return (row.duration_ns or 0, start, row.trace_id)
        case "tokens":
            return ((row.input_tokens or 0) + (row.output_tokens or 0), start, row.trace_id)
        case "cost":
            return (row.cost_nano_usd or 0, start, row.trace_id)
        case "errors":
            return (row.errors, start, row.trace_id)


def _line(row: TraceRow, nested: bool) -> TraceLine:
    return TraceLine(
        row=row,
        name=trace_name(row.name),
        service=one_line(row.service, "-"),
        started=clock(row.start_unix_nano),
        took=_took(row),
        source=one_line(PurePath(row.source).name or row.source, "-"),
        is_replay=row.origin_trace_id is not None,
        is_nested=nested,
    )


def _took(row: TraceRow) -> str:
    text = duration(row.duration_ns)
    return f"{text}+" if row.unfinished and row.duration_ns is not None else text


def counts_of(row: TraceRow) -> tuple[tuple[str, str, int], ...]:
    """Glyph, style and number of agents, model calls and tool calls."""
    counted = (("●", "agent", row.agents), ("◆", "llm", row.llm_calls), ("▲", "tool", row.tool_calls))
    return tuple(item for item in counted if item[2])


def tokens_of(row: TraceRow) -> str:
    """``2.1k / 310``; a dash where nothing is known."""
    if row.input_tokens is None and row.output_tokens is None:
        return "-"
    return f"{count(row.input_tokens)} / {count(row.output_tokens)}"


def list_title(traces: Iterable[TraceRow]) -> str:
    """``3 files · 12 traces``."""
    rows = list(traces)
    files = {row.source for row in rows}
    return f"{plural(len(files), 'file')} · {plural(len(rows), 'trace')}" if rows else "no traces"


_OPERATIONS = ("invoke_workflow ", "invoke_agent ")


def trace_name(name: str) -> str:
    """What a trace is called on the screen: what runs, without the operation that the span's name begins with."""
    return one_line(next((name[len(o) :] for o in _OPERATIONS if name.startswith(o) and len(name) > len(o)), name))


def trace_facts(row: TraceRow) -> list[str]:
    """What the header of a trace says after its name, the most useful first."""
    facts = [clock(row.start_unix_nano), _took(row), plural(row.spans, "span")]
    if row.input_tokens is not None or row.output_tokens is not None:
        facts.append(f"{tokens_of(row)} tok")
    if row.cost_nano_usd is not None:
        facts.append(cost(row.cost_nano_usd))
    return facts
