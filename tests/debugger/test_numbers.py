"""Numbers over calls: they agree with the list of traces, in memory and in a library, and count each call once."""

from __future__ import annotations

import pytest

from debugger.errors import SqlError
from debugger.store import Library, Store, console_over
from debugger.store._numbers import EDGES_NS
from tests.debugger.otlp import line, span
from tests.support.repo import ROOT

SAMPLES = ROOT / "sample_traces"
NAMES = ("travel_desk.otlp.jsonl", "research_team.otlp.jsonl")


@pytest.fixture(scope="module")
def store():
    with Store.memory() as store:
        store.load([SAMPLES / name for name in NAMES])
        yield store


def test_sums_agree_with_the_list_of_traces(store):
    traces = store.traces()
    models = store.numbers("model", None)
    assert sum(row.calls for row in models) == sum(row.llm_calls for row in traces)
    agents = store.numbers("agent", None)
    for found in (models, agents):
        assert sum(row.input_tokens or 0 for row in found) == sum(row.input_tokens or 0 for row in traces)
        assert sum(row.cost_nano_usd or 0 for row in found) == sum(row.cost_nano_usd or 0 for row in traces)
    assert sum(row.calls for row in store.numbers("tool", None)) == sum(row.tool_calls for row in traces)
    spans = [span for trace in traces for span in store.spans(trace.trace_id) if span.model == models[0].name]
    times = sorted(span.end_unix_nano - span.start_unix_nano for span in spans)
    assert models[0].percentiles is not None
    assert set(models[0].percentiles) <= set(times)
    assert (models[0].longest_ns, models[0].total_ns) == (times[-1], sum(times))
    assert sum(number for _, number in models[0].spread) == len(times)
    assert [edge for edge, _ in models[0].spread] == [*EDGES_NS, None]


def test_only_chosen_traces_count(store):
    one, other = (row.trace_id for row in store.traces())
    for by in ("model", "tool", "agent"):
        chosen = store.numbers(by, [one])
        assert chosen == store.numbers(by, None, [other])
        assert {row.name for row in chosen} < {row.name for row in store.numbers(by, None)}
    assert store.numbers("agent", []) == []


def test_a_library_counts_the_same(store, tmp_path):
    with Library.open(tmp_path / "library") as library:
        for name in NAMES:
            library.load([SAMPLES / name])
        with library.reader() as reader, reader.console() as console:
            for by in ("model", "tool", "agent"):
                assert console.numbers(by, None) == store.numbers(by, None)
                ids = [store.traces()[0].trace_id]
                assert console.numbers(by, ids) == store.numbers(by, ids)


def test_a_condition_finds_spans_and_traces_and_says_where_it_is_wrong(store):
    with console_over([store]) as console:
        traces = {row.trace_id for row in store.traces() if row.errors}
        assert console.matching("is_error -- any", None) == traces
        (trace_id,) = traces
        failed = {row.span_id for row in store.spans(trace_id) if row.has_error}
        assert console.matching("is_error", trace_id) == failed
        with pytest.raises(SqlError) as fault:
            console.matching("kind = nope", None)
        assert (fault.value.line, fault.value.column) == (1, 8)
        with pytest.raises(SqlError):
            console.matching("true); drop view spans; select (true", None)


def test_spans_in_a_circle_and_without_their_agent_are_counted(tmp_path):
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    lost = tmp_path / "lost.jsonl"
    one, other = "1" * 16, "2" * 16
    lost.write_bytes(line(span(spanId=one, parentSpanId=other, attributes=chat), span(spanId=other, parentSpanId=one)))
    with Store.memory() as store:
        store.load([lost])
        assert [(row.name, row.calls) for row in store.numbers("model", None)] == [("m", 1)]
        assert store.numbers("agent", None) == []
