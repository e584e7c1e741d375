"""Text made harmless, measured and shortened."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from debugger.analysis.text import (
    clock,
    clock_exact,
    cost,
    count,
    cut,
    cut_left,
    duration,
    fit,
    lines_of,
    one_line,
    size,
    visible,
    wrap_at,
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31m", "␛[31m"),
        ("\x00\x07\x7f", "␀␇␡"),
        ("\x9b31m", "<U+009B>31m"),
        ("\u202egnp", "<U+202E>gnp"),
        ("a\u200bb", "a<U+200B>b"),
        ("a\r\nb\nc\rd\u2028e", "a⏎b⏎c␍d⏎e"),
        ("\ud800 half", "\ufffd half"),
        ("⚠\ufe0f", "⚠"),
        ("👩\u200d🚀 👍\U0001f3fd \U0001f3fd", "👩🚀 👍 \U0001f3fd"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e"),
        ("pass\u200dword\u200c", "pass<U+200D>word<U+200C>"),
        ("[red]x[/]", "[red]x[/]"),
        ("\U000e0041", "<U+E0041>"),
    ],
)
def test_hostile_characters_become_visible(raw, shown):
    assert visible(raw) == shown


def test_names():
    assert one_line("") == "(no name)"
    assert one_line(None) == "(no name)"
    assert one_line("   ") == "(no name)"
    assert len(one_line("x" * 10_000_000)) == 2000
    assert lines_of("a\tb\r\nc\u0085d") == ["a    b", "c", "d"]


texts = st.text(alphabet=st.sampled_from("ab cé你世e\u0301🇩🇪👩\uff57\x1b\u200d "), max_size=60)


@given(texts, st.integers(0, 40))
def test_fit_gives_exactly_that_many_cells(text, width):
    shown = visible(text)
    assert cell_len(fit(shown, width)) == width
    assert cell_len(fit(shown, width, right=True)) == width
    assert cell_len(cut(shown, width)) <= width


@given(texts, st.integers(2, 40), st.integers(0, 12))
def test_wrapping_loses_nothing_and_fits(text, width, hang):
    shown = visible(text)
    rows = wrap_at(shown, width, hang)
    assert "".join(shown[start:end] for start, end in rows) == shown
    for i, (start, end) in enumerate(rows):
        # The space at which a row breaks may hang over its end.
        assert cell_len(shown[start:end].rstrip()) <= (width if i == 0 else max(width - hang, 2))


def test_wrapping_breaks_at_spaces():
    text = "one two three four"
    assert [text[a:b] for a, b in wrap_at(text, 9)] == ["one two ", "three ", "four"]
    assert [b - a for a, b in wrap_at("x" * 20, 8)] == [8, 8, 4]
    assert [b - a for a, b in wrap_at("x" * 20, 8, 3)] == [8, 5, 5, 2]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 µs"),
        (412_000_000, "412 ms"),
        (4_210_000_000, "4.21 s"),
        (-200_000_000, "-200 ms"),
        (185_000_000_000, "3 m 05 s"),
        (7_260_000_000_000, "2 h 01 m"),
        (200_000 * 1_000_000_000, "2 d 07 h"),
    ],
)
def test_durations(ns, text):
    assert duration(ns) == text


def test_numbers():
    assert [count(n) for n in (None, 940, 2100, 31_000_000)] == ["-", "940", "2.1k", "31M"]
    assert [cost(n) for n in (None, 0, 4_200_000, 31_000_000, 12_300_000_000, 1)] == [
        "-", "$0.00", "$0.0042", "$0.031", "$12.30", "<$0.0001",
    ]  # fmt: skip
    assert [size(n) for n in (None, 812, 14_336, 3_250_586)] == ["size unknown", "812 B", "14 KB", "3.1 MB"]


def test_moments_that_no_calendar_has_are_shown_all_the_same():
    assert clock(None) == "no time"
    assert clock(1_764_424_931_000_000_000, UTC) == "29 Nov 2025 14:02", "another year is said"
    assert clock(1_764_424_931_000_000_000, UTC, with_year=True) == "29 Nov 2025 14:02"
    moment = datetime.now(UTC).replace(month=3, day=5, hour=6, minute=7, second=8)
    assert clock(int(moment.timestamp()) * 10**9, UTC) == " 5 Mar 06:07:08"
    assert clock(2**80) == "no time"
    assert clock_exact(2**80) == f"{2**80} ns (no date)"
    assert clock_exact(None) == "no time recorded"


def test_a_path_that_is_cut_keeps_its_file():
    assert cut_left("/tmp/far/away/samples/travel.jsonl", 20) == "…amples/travel.jsonl"
    assert cut_left("travel.jsonl", 12) == "travel.jsonl"
    assert cell_len(cut_left("/旅行/旅行/旅行.jsonl", 12)) <= 12
    assert cut_left("travel", 0) == ""
