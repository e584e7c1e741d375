"""The short ways through OTLP protobuf give what going field by field gives."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from debugger.conventions import ScalarReader
from debugger.importers import _proto_records, _proto_spans, _proto_values, otlp_proto
from debugger.importers._records import Batch, RawSpan
from debugger.importers._wire import WireError

ZOO = sorted((Path(__file__).parents[1] / "data" / "zoo").glob("*.pb.gz"))

Read = tuple[list[Batch], list[tuple[int | None, str, bool]]]


def read(data: bytes) -> Read:
    notes: list[tuple[int | None, str, bool]] = []
    batches = list(otlp_proto.read([data], lambda *said: notes.append(said)))
    return [batch for batch in batches if batch], notes


def read_slowly(data: bytes) -> Read:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_proto_spans, "_tail", lambda *_: None)
        patch.setattr(_proto_records, "pair_json", lambda pair: _proto_values.pair_of(pair)[2])
        return read(data)


def both(data: bytes) -> Read:
    fast = read(data)
    assert fast == read_slowly(data)
    return fast


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(("x" * 130, "é" * 9000, ""))
leaves = st.one_of(
    st.none(),
    texts.map(lambda text: AnyValue(string_value=text)),
    st.booleans().map(lambda value: AnyValue(bool_value=value)),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: AnyValue(int_value=value)),
    st.floats().map(lambda value: AnyValue(double_value=value)),
    st.binary(max_size=9).map(lambda value: AnyValue(bytes_value=value)),
)


def _array(items: list[Any]) -> AnyValue:
    out = AnyValue()
    out.array_value.values.extend(item for item in items if item is not None)
    return out


def _pairs_in(keys: list[str], values: list[Any]) -> AnyValue:
    out = AnyValue()
    out.kvlist_value.values.extend(KeyValue(key=k, value=v) for k, v in zip(keys, values, strict=False))
    return out


values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3).map(_array)
        | st.builds(_pairs_in, st.lists(texts, max_size=3), st.lists(inner, max_size=3))
    ),
    max_leaves=6,
)
pairs = st.builds(lambda key, value: KeyValue(key=key, value=value), texts, values)
attributes = st.lists(pairs, max_size=5)
spans = st.builds(
    Span,
    trace_id=st.sampled_from((b"t" * 16, bytes(16), b"t" * 15)),
    span_id=st.sampled_from((b"s" * 8, b"")),
    parent_span_id=st.sampled_from((b"", b"p" * 8, bytes(8))),
    trace_state=st.sampled_from(("", "vendor=1")),
    name=texts,
    kind=st.integers(0, 5),
    start_time_unix_nano=st.integers(0, 2**64 - 1),
    end_time_unix_nano=st.integers(0, 2**64 - 1),
    attributes=attributes,
    dropped_attributes_count=st.sampled_from((0, 3, 2**32 - 1)),
    events=st.lists(st.builds(Span.Event, name=texts, time_unix_nano=st.just(5), attributes=attributes), max_size=2),
    links=st.lists(st.builds(Span.Link, trace_id=st.just(b"l" * 16), attributes=attributes), max_size=2),
    flags=st.sampled_from((0, 256, 769)),
)  # fmt: skip


def request_of(found: list[Span]) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    scope.spans.extend(found)
    return request.SerializeToString()


@given(st.lists(spans, min_size=1, max_size=3))
def test_whole_requests(found: list[Span]) -> None:
    batches, _ = both(request_of(found))
    whole = [span for span in found if len(span.trace_id) == 16 and len(span.span_id) == 8]
    assert [span.name for batch in batches for span in batch] == [span.name for span in whole]  # type: ignore[union-attr]


@given(st.lists(spans, min_size=1, max_size=3))
def test_values_at_hand_are_those_in_the_text(found: list[Span]) -> None:
    for batch in read(request_of(found))[0]:
        for span in batch:
            assert isinstance(span, RawSpan)
            keys = {pair["key"] for pair in msgspec.json.decode(span.attributes)}
            values = ScalarReader(keys).read(span.attributes)
            assert repr(span.values) == repr(values)  # since NaN is not equal to itself


def test_usual_spans_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("field by field")

    monkeypatch.setattr(_proto_spans, "_in_any_order", refuse)
    plain = Span(trace_id=b"t" * 16, span_id=b"s" * 8, name="n", kind=1, start_time_unix_nano=1, end_time_unix_nano=2)
    plain.attributes.extend(KeyValue(key="k", value=value) for value in (AnyValue(int_value=-1), AnyValue()))
    other = Span(trace_id=b"t" * 16, span_id=b"s" * 8, name="n" * 200, trace_state="vendor=1", flags=1)
    other.attributes.extend(plain.attributes)
    other.events.add(name="e")
    other.status.code = 2
    found = read(request_of([plain, other]))[0][0]
    assert [span.name for span in found if isinstance(span, RawSpan)] == ["n", "n" * 200]


@given(spans, st.data())
def test_damaged_requests(span: Span, data: st.DataObject) -> None:
    raw = bytearray(request_of([span]))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    both(bytes(raw[: data.draw(st.integers(at, len(raw)))]))


@given(st.lists(spans, min_size=1, max_size=3), st.data())
def test_a_survey_says_what_reading_gives(found: list[Span], data: st.DataObject) -> None:
    raw = bytearray(request_of(found))
    if data.draw(st.booleans()):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    batches, notes = read(len(raw).to_bytes(4, "big") + bytes(raw))
    try:
        survey = otlp_proto.survey(bytes(raw))
    except WireError:
        assert notes
        return
    assert survey.spans + survey.logs == sum(map(len, batches))
    assert survey.lost == [reason for _, reason, skipped in notes if skipped]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 129, 16_380, 16_384, 2_097_151, 2_097_152])
def test_lengths_at_which_a_number_grows(size: int) -> None:
    span = Span(
        trace_id=b"t" * 16, span_id=b"s" * 8, attributes=[KeyValue(key="k", value=AnyValue(string_value="x" * size))]
    )
    batches, notes = both(request_of([span]))
    assert not notes
    assert batches[0][0].attributes == '[{"key":"k","value":{"stringValue":"' + "x" * size + '"}}]'


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
def test_zoo(path: Path) -> None:
    batches, notes = both(gzip.decompress(path.read_bytes()))
    assert batches
    assert not notes


@pytest.mark.parametrize("delimited", [False, True])
def test_runs_of_empty_requests_are_skipped_at_once(delimited: bool) -> None:
    """One by one ten million of them take a minute; what stands before and after them is read."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, name="n")
    one = request.SerializeToString()
    if delimited:
        one = len(one).to_bytes(4, "big") + one
    told: list[Any] = []
    data = one + (b"\0\0\0\0" if delimited else b"\x0a\0") * 1_000_000 + one
    blocks = [data[at : at + 65_536] for at in range(0, len(data), 65_536)]
    batches = list(otlp_proto.read(blocks, lambda *note: told.append(note)))
    assert (sum(len(batch) for batch in batches), told) == (2, [])
