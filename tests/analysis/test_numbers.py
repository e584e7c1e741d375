"""Numbers as lines, bars and filters."""

from __future__ import annotations

import pytest

from debugger.analysis.filter_fields import span_filter, trace_filter
from debugger.analysis.numbers import arranged, bar, cell, condition_of, filter_of, plot_document, totals_of
from debugger.store.rows import NumbersRow
from tests.tui.fake_desk import FakeDesk
from tests.tui.fake_session import travel_traces

ROW, UNKNOWN = FakeDesk().numbers("model", None)


def test_bars_fill_and_the_smallest_shows():
    assert [bar(value, 8, 2) for value in (8, 4, 3, 1, 0)] == ["██", "█", "▊", "▎", ""]
    assert bar(1, 10**12, 5) == "▏"
    assert bar(0, 0, 5) == ""


def test_rows_are_sorted_and_unknown_comes_last():
    for sort in ("calls", "p95", "total", "errors", "tokens", "cost"):
        assert arranged([UNKNOWN, ROW], sort) == (ROW, UNKNOWN)
        assert arranged([UNKNOWN, ROW], sort, is_reversed=True) == (UNKNOWN, ROW)
    assert cell(ROW, "errors") == "✗1 33 %"
    assert [cell(UNKNOWN, column) for column in ("errors", "p50", "tokens", "cost")] == ["", "-", "-", "-"]


def test_the_plot_says_all_and_an_empty_one_says_nothing_of_times():
    text = plot_document(ROW, "model").text
    assert "≤ 100 ms  ████████████████████████████████████████ 3" in text
    assert "p50 80 ms" in text
    assert "ms" not in plot_document(UNKNOWN, "tool").text


def test_totals_name_times_that_were_taken():
    assert totals_of(travel_traces()).percentiles == (1_000_000_000, *[12_000_000_000] * 3)
    assert totals_of([]).percentiles is None


@pytest.mark.parametrize("name", ["gpt-4o", "it's", 'say "hi"', "a b", "*", None])
def test_filters_of_a_row_are_understood_whatever_its_name(name):
    row = NumbersRow(name, 1, 0, None, None, None, None, None, None, ())
    for by in ("model", "tool", "agent"):
        assert span_filter(filter_of(row, by)).conditions == ()
        assert len(trace_filter(f"(name:x) {condition_of(row, by)}").conditions) == 1


def test_a_condition_knows_its_place_in_the_filter():
    (condition,) = trace_filter('name:x sql:"is_eror and 1"').conditions
    assert condition == "is_eror and 1"
    assert condition.start == 12
    mistake = condition.mistake("no such column", 1, 1)
    assert (mistake.start, mistake.end) == (12, 25)
    (bare,) = span_filter("sql:is_error").conditions
    assert bare.start == 4
