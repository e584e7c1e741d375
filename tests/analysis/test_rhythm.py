"""Jumps, gaps, the minimap and the critical path."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from debugger.analysis.critical import critical_path
from debugger.analysis.rhythm import (
    BINS,
    Trail,
    failure_is_round,
    minimap,
    next_failure,
    next_in,
    next_sibling,
    rhythm_of,
)
from debugger.analysis.timeline import Axis, axis_of
from debugger.analysis.tree import build_forest
from tests.tui.fake_session import MS, T0, TRAVEL, span_row

FOREST = build_forest(TRAVEL)
AXIS = axis_of(TRAVEL, T0)
RHYTHM = rhythm_of(FOREST, AXIS)


def test_calls_of_a_kind_and_name_are_found_both_ways_and_round():
    llm = RHYTHM.kinds["llm"]
    assert list(llm) == [1, 4, 7, 9, 11]
    assert [next_in(llm, i, 1) for i in (0, 1, 10, 11)] == [1, 4, 11, 1]
    assert [next_in(llm, i, -1) for i in (0, 1, 10, 11)] == [11, 11, 9, 9]
    assert next_in(RHYTHM.names["format_plan"], 10, 1) == 10
    assert next_in((), 3, 1) is None


def test_where_it_failed_comes_before_what_passed_it_on():
    parents, failed = (None, 0, 1, 0, 0), (2, 2, 2, 0, 2)
    forest = build_forest([span_row(i, parents[i], "tool", "t", i, 9, status_code=failed[i]) for i in range(5)])
    assert [next_failure(forest, i, 1) for i in range(5)] == [2, 4, 1, 4, 0]
    assert [next_failure(forest, i, -1) for i in range(5)] == [4, 2, 0, 1, 1]
    rounds = [
        [failure_is_round(forest, i, next_failure(forest, i, step) or 0, step) for i in range(5)] for step in (1, -1)
    ]
    assert rounds == [[False] * 5, [False, False, True, False, False]], (
        "from the top one the first below it is no round"
    )
    forest = build_forest([span_row(i, None, "tool", "t", i, 9, status_code=failed[i]) for i in range(5)])
    assert [failure_is_round(forest, i, next_failure(forest, i, 1) or 0, 1) for i in range(5)] == [False] * 4 + [True]
    assert [failure_is_round(forest, i, next_failure(forest, i, -1) or 0, -1) for i in range(5)] == [True] + [False] * 4
    assert next_failure(build_forest([span_row(0, None, "tool", "t", 0, 9)]), 0, 1) is None


def test_siblings():
    assert [next_sibling(FOREST, i, 1) for i in range(12)] == [None, 2, 3, 4, 5, 6, 10, 8, 9, None, 11, None]
    assert [next_sibling(FOREST, i, -1) for i in range(12)] == [None, None, 1, 2, 3, 4, 5, None, 7, 8, 6, 10]
    two = build_forest([span_row(1, None, "agent", "a", 0, 1), span_row(2, None, "agent", "b", 2, 3)])
    assert next_sibling(two, 0, 1) == 1
    assert next_sibling(two, 1, -1) == 0


def test_gaps_are_measured_from_when_everything_before_had_ended():
    gaps = [gap // MS for gap in RHYTHM.gaps]
    assert gaps == [0, 5, 15, 0, 10, 10, 100, 10, 10, 10, 10, 10], "the next call waited for the longer of two tools"
    odd = [span_row(1, None, "agent", "a", 0, None), span_row(2, 1, "llm", "b", None, None),
           span_row(3, 1, "llm", "c", 5, None), span_row(4, 1, "llm", "d", 50, 60)]  # fmt: skip
    assert [gap // MS for gap in rhythm_of(build_forest(odd), None).gaps] == [0, 5, 0, 0]


def test_the_minimap_shows_busy_times_errors_and_the_window():
    cells = minimap(RHYTHM, AXIS, AXIS, 42)
    assert len(cells) == 42
    assert all(cell.in_view for cell in cells)
    assert [i for i, cell in enumerate(cells) if cell.is_error] == [13], "1.4 of 4.21 seconds"
    assert cells[14].sign == " ", "nothing ran from 1.40 to 1.50"
    assert cells[6].sign == "█", "two tools at once"
    assert AXIS is not None
    part = minimap(RHYTHM, AXIS, Axis(T0 + 1000 * MS, T0 + 2000 * MS, T0), 42)
    assert [i for i, cell in enumerate(part) if cell.in_view] == list(range(9, 20))
    assert minimap(rhythm_of(build_forest(()), None), None, None, 42) == []
    assert len(minimap(RHYTHM, AXIS, AXIS, 3 * BINS)) == 3 * BINS


def test_the_trail_goes_back_and_forth():
    trail = Trail()
    assert trail.back("a") is None
    trail.leave("a")
    trail.leave("b")
    assert trail.back("c") == "b"
    assert trail.back("b") == "a"
    assert trail.forth("a") == "b"
    assert trail.forth("b") == "c"
    assert trail.forth("c") is None
    trail.back("c")
    trail.leave("b")
    assert trail.forth("d") is None, "a new jump forgets what was ahead"


def test_the_critical_path_waits_for_the_longer_of_two_tools():
    path = critical_path(FOREST)
    names = [FOREST.rows[i].name for i in path.by_span]
    assert "execute_tool get_weather" in names
    assert "execute_tool convert_currency" not in names
    assert path.length_ns == 4210 * MS
    assert sum(end - start for own in path.by_span.values() for start, end in own) == path.length_ns


@pytest.mark.parametrize("seed", range(20))
def test_the_stretches_of_the_critical_path_cover_the_trace_once(seed):
    chance = random.Random(seed)
    rows = [span_row(1, None, "agent", "root", 0, 1000)]
    for n in range(2, 60):
        start = chance.randint(0, 1100)
        end = chance.choice([start + chance.randint(-20, 400), None])
        rows.append(span_row(n, chance.randint(1, n - 1), "tool", f"t{n}", start, end))
    forest = build_forest(rows)
    path = critical_path(forest)
    stretches = sorted(own for spans in path.by_span.values() for own in spans)
    assert sum(end - start for start, end in stretches) == path.length_ns
    assert all(a[1] == b[0] for a, b in pairwise(stretches))


def test_the_critical_path_of_a_deep_chain():
    rows = [span_row(n, n - 1 or None, "agent", f"a{n}", n, 10_000 - n) for n in range(1, 3000)]
    path = critical_path(build_forest(rows))
    assert path.spans == 2999
    assert critical_path(build_forest(())).spans == 0
