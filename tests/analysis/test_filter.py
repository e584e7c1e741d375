"""The filter language: what passes, where mistakes are, how a text goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debugger.analysis.filter_fields import (
    SPAN_FIELDS,
    TRACE_FIELDS,
    complete,
    span_filter,
    span_values,
    trace_filter,
    trace_values,
)
from debugger.analysis.filter_language import FilterError
from debugger.analysis.matches import SpanFinder, SpanPlaces
from debugger.analysis.tree import build_forest
from tests.tui.fake_session import TRAVEL, travel_traces

VALUES = span_values(TRAVEL)


def passing(text, found=None):
    """The last digits of the ids of the spans that pass."""
    wanted = span_filter(text)
    return [int(row.span_id, 16) for row in TRAVEL if wanted.test(row, found or {})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", list(range(1, 13))),
        ("kind:llm", [2, 5, 8, 10, 12]),
        ("kind:llm,tool tokens>300", [5, 10, 12]),
        ("tokens>=0.44k", [10, 12]),
        ("input<250 output>70", [8]),
        ("error:true", [6]),
        ("error:false kind:tool", [3, 4]),
        ("model:gpt*", [2, 5, 8, 10, 12]),
        ("model:*nano", [8, 10]),
        ("model:4.1", [8, 10]),
        ("model=gpt-4o", []),
        ("model!=gpt-4o-mini kind:llm", [8, 10]),
        ("agent:guide_writer", [7]),
        ("tool:get_weather,book_museum", [3, 6]),
        ("duration>1s kind:llm", [12]),
        ("duration<100ms kind:tool", [6]),
        ("duration>0.5s not kind:agent", [2, 5, 10, 12]),
        ("weather", [3]),
        ("BOOKING", [6]),
        ('"booking service"', [6]),
        ('"service booking"', []),
        ("kind:tool and (weather or currency)", [3, 4]),
        ("kind:tool or kind:retriever and notes", [3, 4, 6, 9]),
        ("not not kind:agent", [1, 7]),
        ('name:"search city notes"', [9]),
        ("unfinished:true", []),
        ("id:*0c", [12]),
        ("cost>0", []),
    ],
)
def test_what_passes(text, expected):
    assert passing(text) == expected


def test_texts_are_looked_for_in_bodies_where_the_answer_is_given():
    wanted = span_filter('Lyon "Sunny Day" text:rain not kind:agent')
    assert wanted.texts == ("lyon", "sunny day", "rain")
    found = {"lyon": {1, 2, 5}, "sunny day": {1, 5}, "rain": {5, 1}}
    assert passing(wanted.text, found) == [5]


@pytest.mark.parametrize(
    ("text", "part", "said"),
    [
        ("kind:lmm", "lmm", "kind takes one of agent, llm, tool"),
        ("tokens>abc", "abc", "tokens takes a number such as 200 or 5k, not 'abc'"),
        ("kind:llm duration>2", "2", "duration takes a time such as 300ms"),
        ("cost>1€", "1€", "cost takes dollars"),
        ("error:maybe", "maybe", "true or false"),
        ("wrong:1", "wrong", "there is no key 'wrong'"),
        ("model>x", ">", "cannot be compared with >"),
        ("text>x", ">", "cannot be compared"),
        ("kind:llm (tokens>1", "(", "not closed"),
        ("kind:llm )", ")", "closes nothing"),
        ('a "b c', '"b c', "not closed"),
        ('name:"b c', '"b c', "not closed"),
        ("a or", "r", "missing at the end"),
        ("or a", "or", "missing before 'or'"),
        ("()", ")", "missing before this bracket"),
        ("tokens>", "tokens>", "takes a number"),
        ("(" * 60 + "a", "(", "too many brackets"),
    ],
)
def test_mistakes_say_where_and_what(text, part, said):
    with pytest.raises(FilterError) as caught:
        span_filter(text)
    assert text[caught.value.start : caught.value.end] == part
    assert said in caught.value.message


@given(st.text(alphabet='ab:"()<>=!*, \x1b[]?\\ortkindnot', max_size=30))
def test_any_text_is_a_filter_or_a_mistake_with_a_place(text):
    mistakes = []
    try:
        wanted = span_filter(text)
    except FilterError as fault:
        mistakes.append(fault)
    else:
        assert all(wanted.test(row, {}) in (True, False) for row in TRAVEL)
    assert all(0 <= fault.start <= fault.end <= len(text) for fault in mistakes)
    complete(text, SPAN_FIELDS, VALUES)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", "kind:"),
        ("ki", "kind:"),
        ("kind:", "kind:agent "),
        ("kind:l", "kind:llm "),
        ("kind:llm to", "kind:llm tool:"),
        ("kind:llm tok", "kind:llm tokens>"),
        ("(model:mini", "(model:gpt-4o-mini "),
        ("name:search", 'name:"search city notes" '),
        ('name:"search ci', 'name:"search city notes" '),
        ("error:", "error:true "),
        ("kind:llm o", "kind:llm output>"),
        ("kind:llm or", "kind:llm or"),
    ],
)
def test_completion(text, first):
    assert complete(text, SPAN_FIELDS, VALUES).apply(text) == first


@pytest.mark.parametrize("text", ["zzz", '"open', "tokens>1", "wrong:"])
def test_no_completion(text):
    assert complete(text, SPAN_FIELDS, VALUES).apply(text) == text


def test_a_completed_value_is_understood_again():
    for key, values in VALUES.items():
        for value in values:
            text = complete(f"{key}:{value}"[: len(key) + 4], SPAN_FIELDS, VALUES).apply(key)
            span_filter(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("travel", ["a", "d"]),
        ("replay:true", ["d"]),
        ("errors>0 service:demo*", ["b"]),
        ("kind:llm tokens>2000", ["c"]),
        ("unfinished:true", ["c"]),
        ("duration<2s not replay:true", ["b"]),
        ("cost>0.01", ["c"]),
        ("source:poller.jsonl", ["b"]),
        ("llm>=5 tools>2", ["a", "d"]),
        ("text:lyon", ["b"]),
    ],
)
def test_traces(text, expected):
    wanted = trace_filter(text)
    found = {"lyon": {"b" * 32}}
    assert [row.trace_id[0] for row in travel_traces() if wanted.test(row, found)] == expected


def test_trace_values_are_offered():
    values = trace_values(travel_traces())
    assert complete("service:l", TRACE_FIELDS, values).apply("service:l") == "service:lab "


def test_what_is_found_so_far_is_known_before_the_end():
    forest = build_forest(list(TRAVEL))
    finder = SpanFinder(forest, span_filter("rain or kind:tool"), {})
    places = SpanPlaces(forest)
    rows = sorted(forest.rows, key=lambda row: row.seq)
    parts = [[(row.trace_id, row.seq, int(row is rows[1])) for row in rows[at : at + 4]] for at in (0, 4)]
    unknown = [[("f" * 32, 10**6, 1)]]

    def found(answer):
        return sorted(forest.rows[index].seq for index in answer.matches)

    looking = finder.look_in(parts + unknown, places)
    next(looking)
    first = finder.so_far()
    tools = [row.seq for row in rows if row.kind == "tool"]
    assert found(first) == sorted({rows[1].seq, *(seq for seq in tools if seq <= rows[3].seq)})
    assert (first.looked_at, first.is_whole) == (4, False)
    assert [next(looking, "end") for _ in range(3)] == [None, None, "end"]
    whole = finder.whole()
    assert found(whole) == sorted({rows[1].seq, *tools}), "spans that no part names are looked at by their rows"
    assert (whole.looked_at, whole.is_whole) == (len(rows), True)
    assert found(first) != found(whole), "what was handed on stays as it is"
