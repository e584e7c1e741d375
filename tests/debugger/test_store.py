"""The store: order, duplicates, sums, look-ups, and that nothing of a span is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from debugger.conventions import Narrow, Promoted, View, calls_of, promote
from debugger.errors import AmbiguousIdError, ShortIdError, UnknownSpanError, UnknownTraceError
from debugger.store import IssueRow, LoadProgress, SpanRow, Store, TraceRow
from debugger.store.rows import NumbersRow
from runtime.trace import Span

from .otlp import SPAN, START, TRACE, line, pairs, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99}


def sid(number: int) -> str:
    return f"{number:016x}"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


@pytest.fixture
def load(store: Store, tmp_path: Path) -> Callable[..., Store]:
    """Load lines, each call as a file of its own."""
    count = 0

    def go(*lines: bytes) -> Store:
        nonlocal count
        count += 1
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(b"".join(lines))
        store.load([path])
        return store

    return go


Load = Callable[..., Store]


def reasons(store: Store) -> list[str]:
    return [issue.reason for issue in store.issues()]


def test_a_trace_row_counts_each_thing_once(load: Load) -> None:
    store = load(
        line(
            span(spanId=sid(2), parentSpanId=sid(1), attributes=CHAT | {"error.type": "Timeout"}),
            span(spanId=sid(3), parentSpanId=sid(1), attributes=CHAT, endTimeUnixNano="0"),
            span(spanId=sid(4), parentSpanId=sid(1), attributes={"gen_ai.operation.name": "execute_tool"}),
            span(spanId=sid(5), parentSpanId=sid(1), status={"code": 2, "message": "no"}),
            span(
                spanId=sid(6),
                parentSpanId=sid(1),
                attributes={"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 2},
            ),
            span(spanId=sid(1), name="root", attributes=AGENT, endTimeUnixNano=str(START + 5000)),
            service="shop",
        )
    )
    (row,) = store.traces()
    assert row == TraceRow(
        trace_id=TRACE, name="root", service="shop", start_unix_nano=START, duration_ns=5000, spans=6, llm_calls=2,
        tool_calls=1, agents=1, errors=2, unfinished=1, input_tokens=22, output_tokens=6, cost_nano_usd=None,
        origin_trace_id=None, source=row.source,
    )  # fmt: skip
    assert row.source.endswith("1.jsonl")


def test_unknown_tokens_are_not_zero(load: Load) -> None:
    nan = {"key": "gen_ai.usage.input_tokens", "value": {"doubleValue": "NaN"}}
    store = load(line(span(attributes=[*pairs({"gen_ai.operation.name": "chat"}), nan])))
    assert store.traces()[0].input_tokens is None


def test_traces_newest_first_untimed_last_ties_by_id(load: Load) -> None:
    ids = ["1" * 32, "2" * 32, "3" * 32, "4" * 32]
    starts = [START, START + 5, START, 0]
    store = load(*(line(span(traceId=t, startTimeUnixNano=str(s))) for t, s in zip(ids, starts, strict=True)))
    assert [row.trace_id for row in store.traces()] == [ids[1], ids[0], ids[2], ids[3]]


def test_negative_times_do_not_stretch_a_trace(load: Load) -> None:
    store = load(
        line(
            span(spanId=sid(1), endTimeUnixNano=str(START + 100)),
            span(spanId=sid(2), startTimeUnixNano=str(START + 50), endTimeUnixNano=str(START + 30)),
            span(spanId=sid(3), startTimeUnixNano="0", endTimeUnixNano="0"),
        )
    )
    assert store.traces()[0].duration_ns == 100
    assert store.calls(TRACE)[1].duration_ns == -20


ORDER: list[tuple[str, list[dict[str, Any]], list[int]]] = [
    ("by start, untimed last", [{"n": 1, "t": 0}, {"n": 2, "t": 9}, {"n": 3, "t": 5}], [3, 2, 1]),
    ("ties by input", [{"n": 2, "t": 5}, {"n": 1, "t": 5}], [2, 1]),
    ("ties by structure", [{"n": 3, "t": 5, "p": 2}, {"n": 2, "t": 5, "p": 1}, {"n": 1, "t": 5}], [1, 2, 3]),
    ("ties in a cycle", [{"n": 1, "t": 5, "p": 2}, {"n": 2, "t": 5, "p": 1}, {"n": 3, "t": 5, "p": 3}], [1, 2, 3]),
    ("ties by emitted sequence", [{"n": 1, "t": 5, "seq": 7}, {"n": 2, "t": 5, "seq": 3}], [2, 1]),
]


@pytest.mark.parametrize(("spans", "want"), [case[1:] for case in ORDER], ids=[case[0] for case in ORDER])
def test_timeline_order(load: Load, spans: list[dict[str, Any]], want: list[int]) -> None:
    rows = []
    for s in spans:
        own = {
            "retrospan.format": 1,
            "retrospan.kind": "tool",
            "retrospan.run_id": "r",
            "retrospan.seq.start": s.get("seq"),
        }
        rows.append(
            span(
                spanId=sid(s["n"]),
                parentSpanId=sid(s["p"]) if "p" in s else "",
                startTimeUnixNano=str(START + s["t"]) if s["t"] else "0",
                attributes=own if "seq" in s else {},
            )
        )
    store = load(line(*rows))
    assert [row.span_id for row in store.spans(TRACE)] == [sid(n) for n in want]
    assert [call.span_id for call in store.calls(TRACE)] == [sid(n) for n in want]


# Versions of a span ----------------------------------------------------------------------------------------


def test_the_ended_version_wins_whichever_comes_first(load: Load) -> None:
    unfinished = line(span(endTimeUnixNano="0", attributes={"old": 1}))
    ended = line(span(attributes={"new": 1}))
    for lines in ((unfinished, ended), (ended, unfinished)):
        store = load(*lines)
        assert [s.attributes for s in store.span(TRACE, SPAN)] == [{"new": 1}]
    assert reasons(store) == []


def test_unfinished_versions_add_up(load: Load) -> None:
    def version(attributes: dict[str, Any], *events: str) -> bytes:
        items = [{"name": name, "timeUnixNano": "5", "attributes": []} for name in events]
        return line(span(endTimeUnixNano="0", attributes=attributes, events=items))

    store = load(
        version({"gen_ai.operation.name": "chat", "n": 1}),
        version({"n": 2}, "first"),
        version({"n": 2, "gen_ai.usage.input_tokens": 8}, "first", "second"),
    )
    (whole,) = store.span(TRACE, SPAN)
    assert whole.attributes == {"gen_ai.operation.name": "chat", "n": 2, "gen_ai.usage.input_tokens": 8}
    assert [event.name for event in whole.events] == ["first", "second"]
    (row,) = store.spans(TRACE)
    assert (row.kind, row.input_tokens, row.end_unix_nano) == ("llm", 8, None)


@pytest.mark.parametrize("again", ["the same file", "written in another way"])
def test_equal_spans_count_once(load: Load, again: str) -> None:
    first = line(span(attributes={"a": 1, "b": 2}))
    second = first if again == "the same file" else line(span(attributes={"b": 2, "a": 1}))
    store = load(first, second)
    load(second)
    assert len(store.spans(TRACE)) == store.traces()[0].spans == 1
    assert reasons(store) == []


def test_different_spans_with_one_id_are_both_kept_and_marked(load: Load) -> None:
    store = load(line(span(name="one")), line(span(name="two")), line(span(name="one")))
    assert sorted(row.name for row in store.spans(TRACE)) == ["one", "two"]
    assert [s.name for s in store.span(TRACE, SPAN)] == ["one", "two"]
    assert reasons(store) == [f"span {SPAN} of trace {TRACE} is there 2 times, with different content"]


def test_the_same_span_id_in_two_traces_is_two_spans(load: Load) -> None:
    store = load(line(span()), line(span(traceId="1" * 32)))
    assert [row.spans for row in store.traces()] == [1, 1]
    assert reasons(store) == []


# Whole spans -----------------------------------------------------------------------------------------------


def test_nothing_of_a_span_is_lost(load: Load) -> None:
    link = {"traceId": "1" * 32, "spanId": sid(9), "attributes": pairs({"why": "origin"})}
    event = {"name": "exception", "timeUnixNano": str(START + 1), "attributes": pairs({"exception.type": "E"})}
    attributes = {
        "t": "é\x00\x1b",
        "i": -(2**63),
        "f": 0.1,
        "b": False,
        "a": ["x", None, [1]],
        "m": {"k": {"n": 1}},
        "none": None,
    }
    store = load(
        line(
            span(
                parentSpanId=sid(7),
                kind=3,
                status={"code": 1, "message": "fine"},
                attributes=attributes,
                events=[event],
                links=[link],
                flags=256,
                traceState="k=v",
            )
        )
    )
    (got,) = store.span(TRACE, SPAN)
    assert (got.parent_span_id, got.kind, got.status_code, got.status_message) == (sid(7), 3, 1, "fine")
    assert got.attributes == attributes
    assert [(e.name, e.time_unix_nano, e.attributes) for e in got.events] == [
        ("exception", START + 1, {"exception.type": "E"})
    ]
    assert [(x.trace_id, x.span_id, x.attributes) for x in got.links] == [("1" * 32, sid(9), {"why": "origin"})]
    assert (got.resource, got.scope_name, got.scope_version) == ({"service.name": "svc"}, "tests", "1")
    assert got.extra == {"flags": 256, "traceState": "k=v"}


def test_attributes_that_are_no_list_are_an_issue_and_the_span_loads(load: Load) -> None:
    store = load(line(span(attributes=["HERE"])).replace(b'["HERE"]', b'{"a": 1}'))
    assert len(store.spans(TRACE)) == 1
    assert "attributes are no list of keys and values" in reasons(store)[0]


def test_columns_agree_with_calls(zoo_store: Store) -> None:
    for trace in zoo_store.traces():
        rows = zoo_store.spans(trace.trace_id)
        calls = zoo_store.calls(trace.trace_id)
        for row, call in zip(rows, calls, strict=True):
            assert (row.span_id, row.kind, row.convention) == (call.span_id, call.kind, call.convention)
            assert (row.agent_name, row.provider, row.model) == (call.agent_name, call.provider, call.model)
            assert (row.tool_name, row.input_tokens) == (call.tool_name, call.usage.input_tokens)
            assert row.output_tokens == call.usage.output_tokens
            assert row.has_error == (call.error is not None)


@pytest.fixture
def zoo_store(store: Store) -> Store:
    store.load([Path(__file__).parent.parent / "data" / "zoo", Path(__file__).parent.parent / "data" / "cases"])
    return store


def test_a_view_of_a_span_promotes_what_its_raw_text_does(zoo_store: Store) -> None:
    names = [name for name in Promoted._fields if name != "origin_trace_id"]
    for trace in zoo_store.traces():
        rows = {row.span_id: row for row in zoo_store.spans(trace.trace_id)}
        for whole in zoo_store.whole_spans(trace.trace_id):
            row, facts = rows[whole.span_id], promote(View.of(whole))
            if row.kind != facts.kind:
                assert row.kind == "chain", "the twin of another span"
                continue
            told = {name: getattr(row, name) for name in names if getattr(facts, name) is not None}
            assert told == {name: getattr(facts, name) for name in names if getattr(facts, name) is not None}


# Asking ----------------------------------------------------------------------------------------------------


def test_calls_are_derived_once_and_again_after_a_load(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(given: Iterable[Span], logs: Any, order: Any) -> Any:
        spans = list(given)
        asked.extend(whole.span_id for whole in spans)
        return calls_of(spans, logs, order)

    monkeypatch.setattr("debugger.store._store.calls_of", counted)
    store = load(line(span()))
    store.calls(TRACE)
    store.calls(TRACE).clear()
    assert (len(asked), len(store.calls(TRACE))) == (1, 1)
    load(line(span(spanId=sid(2))))
    assert (len(store.calls(TRACE)), len(asked)) == (2, 3)


def test_events_start_and_end_each_span(load: Load) -> None:
    store = load(line(span(attributes=CHAT), span(spanId=sid(2), endTimeUnixNano="0")))
    kinds = [(event.type, event.span_id) for event in store.events(TRACE)]
    assert kinds == [("model_turn.start", SPAN), ("model_turn.end", SPAN), ("span.start", sid(2))]


def test_ids_by_their_first_digits(load: Load) -> None:
    store = load(line(span(traceId="abcd" + "0" * 28), span(traceId="abce" + "0" * 28, spanId=SPAN)))
    assert store.resolve_trace("ABCD") == "abcd" + "0" * 28
    assert store.resolve_trace("abce" + "0" * 28) == "abce" + "0" * 28
    assert store.resolve_span("abce" + "0" * 28, SPAN[:4]) == SPAN
    with pytest.raises(UnknownTraceError, match="abcf") as unknown:
        store.resolve_trace("abcf")
    assert unknown.value.known == ("abcd" + "0" * 28, "abce" + "0" * 28)
    for short in ("abc", ""):
        with pytest.raises(ShortIdError, match="too short"):
            store.resolve_trace(short)
    with pytest.raises(UnknownSpanError):
        store.resolve_span("abce" + "0" * 28, "ffff")


def test_the_beginning_of_two_ids_is_ambiguous(load: Load) -> None:
    store = load(line(span(traceId="abcd1" + "0" * 27), span(traceId="abcd2" + "0" * 27, spanId="abcd" + "1" * 12)))
    load(line(span(traceId="abcd2" + "0" * 27, spanId="abcd" + "2" * 12)))
    with pytest.raises(AmbiguousIdError) as ambiguous:
        store.resolve_trace("abcd")
    assert len(ambiguous.value.matches) == 2
    with pytest.raises(AmbiguousIdError):
        store.resolve_span("abcd2" + "0" * 27, "abcd")


def test_unknown_ids(store: Store) -> None:
    assert (store.traces(), store.spans(TRACE), store.issues()) == ([], [], [])
    with pytest.raises(UnknownTraceError):
        store.calls(TRACE)
    with pytest.raises(UnknownSpanError):
        store.span(TRACE, SPAN)
    with pytest.raises(UnknownSpanError):
        store.call(TRACE, SPAN)


# Loading ---------------------------------------------------------------------------------------------------


def test_progress_and_cancel(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(line(*(span(spanId=sid(i * 100 + j + 1)) for j in range(100))) for i in range(100)))
    seen: list[LoadProgress] = []
    summary = store.load([path, path], on_progress=seen.append, cancelled=lambda: len(seen) > 0)
    assert summary.was_cancelled
    assert 0 < summary.spans < 10_000
    assert store.traces()[0].spans == summary.spans == seen[-1].spans
    assert seen[0].bytes_total == path.stat().st_size
    whole = store.load([path])
    assert (whole.spans, store.traces()[0].spans, whole.was_cancelled) == (10_000, 10_000, False)


def test_the_summary_tells_lost_input_from_odd_input(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"junk\n" + line(span(name="x")).replace(b"x", b"\xff"))
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "c").touch()
    summary = store.load([tmp_path])
    places = [(Path(row.path).name, row.line, row.reason) for row in summary.issues]
    assert places == [
        ("a.jsonl", 1, "not JSON"),
        ("a.jsonl", 2, "bytes that are not Unicode, shown as U+FFFD"),
        ("b.png", None, "looks like a PNG image (passed over)"),
        ("c", None, "empty"),
    ]
    assert [row.reason for row in summary.skipped] == ["not JSON"]
    assert (summary.spans, summary.traces, summary.unrecognised) == (1, 1, 1)
    assert store.issues() == list(summary.issues)


# SQL -------------------------------------------------------------------------------------------------------

SQL = Path(__file__).parents[2] / "debugger" / "store" / "sql"
PARAMETERS = {
    "trace_id": TRACE,
    "without": ["spans"],
    "path": "x",
    "span_id": None,
    "prefix": "0af7",
    "needles": ["x"],
    "seq": -1,
    "context_id": 1,
    "first_seq": 0,
    "trace_ids": [TRACE],
    "by": "model",
    "edges": [1_000, 1_000_000],
} | dict.fromkeys(("attributes", "events", "status_code", "status_message", *Promoted._fields))
BODY = (
    "seq", "trace_id", "span_id", "parent_span_id", "name", "otel_kind", "start_unix_nano", "end_unix_nano",
    "status_code", "status_message", "attributes", "events", "links", "extra",
)  # fmt: skip
COLUMNS: dict[str, tuple[str, ...]] = {
    "trace_list": TraceRow.__struct_fields__,
    "span_list": SpanRow.__struct_fields__,
    "issue_list": IssueRow.__struct_fields__,
    "numbers_of_agents": NumbersRow.__struct_fields__,
    "numbers_of_calls": NumbersRow.__struct_fields__,
    "counts": ("spans", "traces"),
    "log_list": ("span_id", "event_name", "time_unix_nano", "severity", "body", "attributes", "scope_name"),
    "log_orphans": ("path", "records", "traces"),
    "span_count": ("spans",),
    "span_facts": ("spans", "kind"),
    "trace_size": ("spans", "bytes"),
    "span_search": ("trace_id", "seq", "held"),
    "trace_conversations": ("trace_id", "conversation"),
    "twins_suspected": ("seq", "trace_id", *Narrow._fields),
    "twins_lone": ("seq", "trace_id", *Narrow._fields),
    "twins_of_others": ("span_id",),
    "twins_list": ("trace_id", "span_id", "path"),
    "twins_sources": ("trace_id", "span_id", "first_path", "last_path"),
    "repeated_list": ("path", "span_id", "trace_id", "versions"),
    "trace_ids_by_prefix": ("trace_id",),
    "span_ids_by_prefix": ("span_id",),
    "console_columns": ("table_name", "column_name", "data_type"),
    "console_functions": ("function_name",),
    "span_bodies": (*BODY, "resource", "scope", "context_extra"),
    "span_texts": (*BODY, "resource", "scope", "context_extra", "run_id", "start_seq"),
    "span_body": (*BODY, "context_id"),
    "context": ("resource", "scope", "context_extra"),
}


@pytest.mark.parametrize("path", sorted(SQL.glob("*.sql")), ids=lambda path: path.stem)
def test_each_query_file_runs_and_gives_the_columns_it_promises(load: Load, path: Path) -> None:
    text = path.read_text()
    assert text.startswith("-- Purpose: ")
    assert "\n-- Parameters: " in text
    if path.stem in ("schema", "memory", "console"):
        return  # They make tables and views; those of the console have tests of their own.
    named = {key: value for key, value in PARAMETERS.items() if re.search(rf"\${key}\b", text)}
    store = load(line(span()))
    cursor = store._database._root.cursor().execute(text, named or None)
    if path.stem in COLUMNS:
        assert tuple(column[0] for column in cursor.description or ()) == COLUMNS[path.stem]
        is_sorted = "\norder by " in text or "\n-- Not sorted: " in text
        assert is_sorted, "a query has a total order, or says why it has none"
    else:
        assert sum(map(text.count, ("\ndelete from", "\nupdate spans", "\ninsert into"))) == 1
        assert len(cursor.fetchall()) == 1, "the number of rows that changed"
