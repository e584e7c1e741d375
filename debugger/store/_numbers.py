"""Numbers over calls by model, tool or agent, counted by DuckDB in one query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from .rows import NumbersBy, NumbersRow

EDGES_NS: Final = tuple(step * 10**power for power in range(5, 13) for step in (1, 2, 5))
"""Upper ends of the classes that durations are counted in: 0.1 ms, 0.2 ms, 0.5 ms … 5000 s."""


def read_numbers(
    query: Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]],
    by: NumbersBy,
    trace_ids: Collection[str] | None,
    without: Collection[str],
) -> list[NumbersRow]:
    """The numbers, the name with most calls first.

    Args:
        query: answers a query file.
        by: what the calls are put together by.
        trace_ids: the traces that count; None for all.
        without: traces that do not count.
    Cost: one pass over the spans.
    """
    found = query(
        "numbers_of_agents" if by == "agent" else "numbers_of_calls",
        {
            "trace_ids": None if trace_ids is None else list(trace_ids),
            "without": list(without),
            "by": by,
            "edges": list(EDGES_NS),
        },
    )
    return [_row(row) for row in found]


def _row(row: tuple[Any, ...]) -> NumbersRow:
    name, calls, errors, percentiles, longest, total, given, made, cost, spread = row
    counted: Mapping[int, int] = spread or {}
    known = [counted.get(edge, 0) for edge in EDGES_NS]
    beyond = sum(counted.values()) - sum(known)
    return NumbersRow(
        name=name,
        calls=calls,
        errors=errors,
        percentiles=None if percentiles is None else tuple(round(value) for value in percentiles),
        longest_ns=longest,
        total_ns=total,
        input_tokens=given,
        output_tokens=made,
        cost_nano_usd=cost,
        spread=(*zip(EDGES_NS, known, strict=True), (None, beyond)),
    )
