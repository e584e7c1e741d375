"""The order of events: sequence within an emitter, time, structure at equal times, input order."""

from __future__ import annotations

import random

import pytest

from runtime.snapshot import ClockIssue, order_events
from runtime.trace import Log, TraceEvent

from .script import Script


def names(events: list[TraceEvent]) -> list[str]:
    return [f"{event.span_id}{'+' if event.opens else '-' if event.closes else '.'}" for event in events]


def ordered(*events: TraceEvent) -> list[str]:
    return names(order_events(events)[0])


def test_time_decides_whatever_the_input_order() -> None:
    events = Script().agent("a").agent("b", "a").turn("m", "b", "h").end("b").end("a").events
    shuffled = events[:]
    random.Random(7).shuffle(shuffled)
    assert order_events(shuffled)[0] == events


def test_at_equal_times_parents_enclose_children_and_points_lie_within() -> None:
    script = Script()
    script.turn("m", "b", "h", at=5).add(Log, "b", at=5, parent="a").end("b", at=5).end("a", at=5)
    script.agent("b", "a", at=5).agent("a", at=5)
    assert ordered(*script.events) == ["a+", "b+", "m-", "b.", "b-", "a-"]


def test_at_equal_times_structure_is_found_through_spans_without_an_end() -> None:
    script = Script().agent("a", at=1).span("open", "a", at=2).span("s", "open", at=3)
    script.end("a", at=9).span_end("s", at=9)
    assert ordered(*script.events) == ["a+", "open+", "s+", "s-", "a-"]


def test_spans_of_no_duration_one_after_another_keep_their_input_order() -> None:
    script = Script().span("x", "p", at=5).span_end("x", at=5).span("y", "p", at=5).span_end("y", at=5)
    script.span("p", at=5).span_end("p", at=5)
    assert ordered(*script.events) == ["p+", "x+", "x-", "y+", "y-", "p-"]


def test_spans_that_contain_each_other_keep_their_input_order() -> None:
    script = Script().span("x", "y", at=5).span("y", "x", at=5).span_end("x", at=5).span_end("y", at=5)
    assert ordered(*script.events) == ["x+", "y+", "x-", "y-"]


def test_unrelated_events_of_equal_time_keep_their_input_order() -> None:
    script = Script().span("x", at=5).span("y", at=5).span_end("x", at=5)
    assert ordered(*script.events) == ["x+", "y+", "x-"]
    assert ordered(*script.events[::-1]) == ["y+", "x+", "x-"], "only x's own start and end are bound"


def test_at_equal_times_the_sequence_wins_over_structure() -> None:
    script = Script(run_id="r").agent("a", at=5).agent("b", "a", at=5).end("a", at=5).end("b", at=5)
    assert ordered(*script.events[::-1]) == ["a+", "b+", "a-", "b-"]


def test_a_sequence_without_an_emitter_only_breaks_ties() -> None:
    script = Script().span("x", at=5, seq=3).span("y", at=5, seq=2).span("z", at=4, seq=9)
    assert ordered(*script.events) == ["z+", "y+", "x+"]


def test_within_an_emitter_the_sequence_wins_over_the_clock_and_the_clock_is_reported() -> None:
    script = Script(run_id="r").agent("a", at=100).agent("b", "a", at=40).end("b", at=60).end("a", at=110)
    found, issues = order_events(script.events[::-1])
    assert names(found) == ["a+", "b+", "b-", "a-"]
    assert issues == (ClockIssue("r", "b", 2, 60),)


def test_other_emitters_keep_their_place_around_a_clock_that_ran_backwards() -> None:
    one = Script(run_id="r").span("a", at=100).span("late", at=40).span("c", at=120)
    two = Script(run_id="q").span("before", at=99).span("between", at=110)
    found, issues = order_events([*one, *two])
    assert names(found) == ["before+", "a+", "late+", "between+", "c+"]
    assert [issue.run_id for issue in issues] == ["r"]


def test_two_emitters_in_one_tick_keep_sequence_and_structure() -> None:
    outer = Script(run_id="r").agent("a", at=5).span("t", "a", at=5).span_end("t", at=5).end("a", at=5)
    inner = Script(run_id="q").run("run", parent="t", at=5).run_end("run")
    end = inner.events.pop()
    events = [*inner, *outer]
    assert end.parent_span_id == "t"
    assert ordered(*events) == ["a+", "t+", "run+", "t-", "a-"]


@pytest.mark.parametrize("seed", range(20))
def test_one_tick_for_everything_still_nests(seed: int) -> None:
    """With one time for all events, any input order gives an order in which spans nest."""
    script = Script()
    rng = random.Random(seed)
    spans = [f"s{i}" for i in range(30)]
    for i, span in enumerate(spans):
        script.span(span, spans[rng.randrange(i)] if i else None, at=5)
        script.add(Log, span, at=5)
        script.span_end(span, at=5)
    rng.shuffle(script.events)
    found = order_events(script.events)[0]
    assert len(found) == 90
    place = {(event.span_id, event.type): i for i, event in enumerate(found)}
    for span, parent in script.parents.items():
        assert place[span, "span.start"] < place[span, "log"] < place[span, "span.end"]
        if parent is not None:
            assert place[parent, "span.start"] < place[span, "span.start"]
            assert place[span, "span.end"] < place[parent, "span.end"]
