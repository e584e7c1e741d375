"""Times and numbers of any size in every format: they cost themselves, are told, and never the load."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debugger.analysis.filter_fields import trace_filter
from debugger.analysis.filter_language import FilterError
from debugger.importers import FORMATS, RawLog, RawSpan
from debugger.store import Store
from runtime.trace import decode_value, read_spans

from .formats import TRACE, otlp_json, otlp_proto
from .formats import Made as Span
from .otlp import line, span

SPAN = "00f067aa0ba902b7"
HUGE = 10**400
"""A whole number that JSON can write and no float can hold."""
EDGES = (0, 1, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 1, -1, -(2**63), HUGE, -HUGE)


def _otlp(start: Any, end: Any) -> bytes:
    record = {"traceId": TRACE, "spanId": SPAN, "timeUnixNano": start}
    made = {"traceId": TRACE, "spanId": SPAN, "name": "n", "startTimeUnixNano": start, "endTimeUnixNano": end}
    return b"\n".join(
        json.dumps(request).encode()
        for request in (
            {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]},
            {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]},
        )
    )


def _proto(start: Any, end: Any) -> bytes:
    whole = otlp_proto([Span(span_id=SPAN, start=1, end=2)])
    times = [struct.pack("<Q", min(abs(at), 2**64 - 1)) for at in (start, end)]
    for field, was, time in ((b"\x39", 1, times[0]), (b"\x41", 2, times[1])):
        whole = whole.replace(field + struct.pack("<Q", was), field + time)
    return whole


def _console(start: Any, end: Any) -> bytes:
    ids = {"trace_id": f"0x{TRACE}", "span_id": f"0x{SPAN}"}
    log = {"body": "said", "severity_number": 9, "timestamp": start, **ids}
    return json.dumps([{"name": "n", "context": ids, "start_time": start, "end_time": end}, log]).encode()


def _jaeger(start: Any, end: Any) -> bytes:
    return json.dumps({"traceID": TRACE, "spanID": SPAN, "startTime": start, "duration": end}).encode()


def _zipkin(start: Any, end: Any) -> bytes:
    made = {"traceId": TRACE, "id": SPAN, "timestamp": start, "duration": end, "localEndpoint": {}}
    return json.dumps([made]).encode()


def _rejelly(start: Any, end: Any) -> bytes:
    place = {"schemaVersion": 1, "agentId": "a", "trace": {"traceId": "t", "spanId": "s"}}
    result = {"toolName": "x", "success": True}
    return json.dumps(
        [
            {"type": "tools:execute:start", "timestamp": start, **place},
            {"type": "tools:execute:end", "timestamp": end, "results": [result], **place},
        ]
    ).encode()


MAKERS: dict[str, Callable[[Any, Any], bytes]] = {
    "OTLP/JSON": _otlp,
    "OTLP protobuf": _proto,
    "Jaeger JSON": _jaeger,
    "Zipkin JSON": _zipkin,
    "rejelly events": _rejelly,
    "console JSON of the Python SDK": _console,
}
NUMBERS = st.sampled_from(EDGES) | st.integers(-(2**70), 2**70)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda at: at.isoformat() + "Z")  # noqa: DTZ001


def test_every_format_is_here() -> None:
    assert {form.name for form in FORMATS} == MAKERS.keys()


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@given(data=st.data())
def test_a_time_can_be_stored_or_is_none_and_told(form: Any, data: st.DataObject) -> None:
    times = MOMENTS if form.name.startswith("console") else NUMBERS
    if form.name in ("OTLP/JSON", "rejelly events"):
        times |= NUMBERS.map(str) | st.floats()
    start, end = data.draw(times), data.draw(times)
    notes: list[str] = []
    raw = MAKERS[form.name](start, end)
    assert form.sniff(raw)
    found = [each for batch in form.read([raw], lambda _, reason, __: notes.append(reason)) for each in batch]
    assert found, notes
    for each in found:
        given_times = [each.time_unix_nano] if isinstance(each, RawLog) else [each.start_unix_nano, each.end_unix_nano]
        assert all(time is None or 0 <= time < 2**63 - 1 for time in given_times)
    spans = [each for each in found if isinstance(each, RawSpan)]
    assert notes or spans[0].start_unix_nano is not None or not start or start == "0"


def test_such_times_in_a_folder_cost_no_other_file(tmp_path: Path) -> None:
    for name, make in MAKERS.items():
        edges = ("9999-12-31T00:00:00Z", "2300-01-01T00:00:00Z") if name.startswith("console") else EDGES[2:]
        for number, edge in enumerate(edges):
            (tmp_path / f"{name[:4].strip()}{number}").write_bytes(make(edge, edges[0]))
            (tmp_path / f"{name[:4].strip()}{number}b").write_bytes(make(1, edge) if edges is EDGES else make(edge, 1))
    (tmp_path / "good.jsonl").write_bytes(otlp_json([Span(trace_id="a" * 32, span_id=SPAN)]))
    with Store.memory() as store:
        summary = store.load([tmp_path])
        assert "a time before 1970 or after 2262" in {row.reason for row in summary.issues}
        assert {row.trace_id for row in store.traces()} == {"a" * 32, TRACE, "t"}
        with store.console() as console:
            _, pieces = console.run("select * from spans")
            assert sum(map(len, pieces)) >= 3


def test_numbers_that_no_float_holds(tmp_path: Path) -> None:
    huge = {"doubleValue": HUGE}
    path = tmp_path / "huge.jsonl"
    pair = {"key": "service.name", "value": huge}
    made = {"traceId": TRACE, "spanId": SPAN, "name": "n", "attributes": [{"key": "gen_ai.usage.cost", "value": huge}]}
    group = {"resource": {"attributes": [pair]}, "scopeSpans": [{"spans": [made]}]}
    path.write_bytes(json.dumps({"resourceSpans": [group]}).encode() + b"\n" + line(span(spanId="1" * 16)))
    with Store.memory() as store:
        assert store.load([path]).spans == 2
        (whole,) = store.span(TRACE, SPAN)
    assert whole.resource == {"service.name": float("inf")}
    assert read_spans(path)[0].attributes == {"gen_ai.usage.cost": float("inf")}
    assert decode_value({"doubleValue": -HUGE}) == -float("inf")
    with pytest.raises(FilterError, match="takes a number"):
        trace_filter(f"spans>{'9' * 400}")


def test_a_fault_of_a_reader_costs_its_file_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> object:
        raise OverflowError("too large")

    (tmp_path / "a").write_bytes(_jaeger(1, 1))
    (tmp_path / "b.jsonl").write_bytes(line(span()))
    monkeypatch.setattr("debugger.importers.jaeger_json.placed", fails)
    monkeypatch.setattr("debugger.store._ingest.Promoter.of_text", fails)
    with Store.memory() as store:
        summary = store.load([tmp_path])
        assert [row.name for row in store.spans(store.traces()[0].trace_id)] == ["work"]
    lost, odd = summary.issues
    assert summary.skipped == (lost,)
    assert lost.reason.startswith("not read to its end; reading it failed (OverflowError: too large)")
    assert "nothing is known of it" in odd.reason


@pytest.mark.parametrize("start", [2**63 - 1, -(2**63) + 1])
def test_a_store_that_holds_such_a_time_already_is_listed_and_asked(tmp_path: Path, start: int) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(span()))
    with Store.memory() as store:
        store.load([tmp_path])
        store._database.execute(f"update spans set start_unix_nano = {start}")
        assert [row.start_unix_nano for row in store.traces()] == [start]
        with store.console() as console:
            _, pieces = console.run("select started from spans")
            assert [row for piece in pieces for row in piece] == [(None,)]
