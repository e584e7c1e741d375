"""One suite over every format: the same trace comes out of each, and nothing in a file is fatal."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from debugger.importers import FORMATS, format_of, is_spans
from debugger.store import LoadSummary, Store
from runtime.trace import Span

from .formats import START, TRACE, WRITERS, Made, block, fixed, number_field, otlp_json, proto_pair, proto_request

ROOT, CHILD = "00f067aa0ba902b7", "00f067aa0ba902b8"
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Bœuf ☕"}]}]',
}
TWO = (
    Made(span_id=ROOT, name="root", attributes={"x": "y", "flag": True, "half": 0.5}),
    Made(span_id=CHILD, parent=ROOT, attributes=CHAT, error="went wrong", event={"why": "because"}),
)


class Loaded:
    """What a file of these bytes loads to."""

    def __init__(self, data: bytes, folder: Path) -> None:
        path = folder / "input"
        path.write_bytes(data)
        self.store = Store.memory()
        self.summary: LoadSummary = self.store.load([path])

    def spans(self) -> list[Span]:
        found = [span for trace in self.store.traces() for span in self.store.whole_spans(trace.trace_id)]
        return sorted(found, key=lambda span: span.span_id)

    def reasons(self) -> list[str]:
        return [issue.reason for issue in self.summary.issues]


@pytest.fixture
def load(tmp_path: Path) -> Callable[[bytes], Loaded]:
    return lambda data: Loaded(data, tmp_path)


def trace_of(name: str) -> str:
    """The trace that a format's file is about, where all formats are loaded at once."""
    return f"{list(WRITERS).index(name) + 1:032x}"


@contextmanager
def each_in_a_trace_of_its_own(
    spans: Sequence[Made], folder: Path, wrap: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[LoadSummary, Store]]:
    """One store with the spans in every format, each as ``trace_of`` its name."""
    for name, write in WRITERS.items():
        made = [replace(span, trace_id=trace_of(name)) for span in spans]
        (folder / f"{name}.bin").write_bytes(wrap(write(made)))
    with Store.memory() as store:
        yield store.load([folder / f"{name}.bin" for name in WRITERS]), store


Load = Callable[[bytes], Loaded]
every_format = pytest.mark.parametrize("name", WRITERS)


@every_format
def test_the_same_trace_comes_out_of_every_format(name: str, load: Load) -> None:
    loaded = load(WRITERS[name](TWO))
    assert loaded.reasons() == []
    root, child = loaded.spans()
    assert (root.trace_id, root.span_id, root.parent_span_id, root.name) == (TRACE, ROOT, None, "root")
    assert (child.parent_span_id, child.kind, child.status_code, child.status_message) == (ROOT, 3, 2, "went wrong")
    assert (child.start_unix_nano, child.end_unix_nano) == (START, START + 5_000_000)
    assert child.attributes["gen_ai.output.messages"] == CHAT["gen_ai.output.messages"]
    assert child.scope_name == ("" if name == "console" else "made")
    assert child.resource["service.name"] == "desk"
    (event,) = child.events
    assert (event.name, event.time_unix_nano, event.attributes) == ("noted", START, {"why": "because"})
    if name != "zipkin":
        assert root.attributes == {"x": "y", "flag": True, "half": 0.5}
        assert child.attributes["gen_ai.usage.input_tokens"] == 7
    (row,) = loaded.store.traces()
    assert (row.service, row.llm_calls, row.input_tokens, row.errors) == ("desk", 1, 7, 1)
    (call,) = (call for call in loaded.store.calls(TRACE) if call.kind == "llm")
    assert call.usage.input_tokens == 7
    assert call.output_messages is not None


@every_format
def test_each_format_is_recognised_by_one_importer_and_by_content(name: str) -> None:
    head = WRITERS[name](TWO)
    assert [form.name for form in FORMATS if form.sniff(head)] == [form.name for form in [format_of(head)] if form]


@pytest.mark.parametrize("pack", ["gzip", "zstd", "zip", "gzip in zip", "two frames"])
def test_packed(pack: str, tmp_path: Path) -> None:
    with each_in_a_trace_of_its_own(TWO, tmp_path, lambda data: packed(data, pack)) as (summary, store):
        assert summary.issues == ()
        assert [row.spans for row in store.traces()] == [2] * len(WRITERS)


def packed(data: bytes, pack: str) -> bytes:
    if pack == "gzip":
        return gzip.compress(data)
    if pack == "zstd":
        return zstd.compress(data)
    if pack == "two frames":
        return zstd.compress(data[:50]) + zstd.compress(data[50:])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/b.bin", gzip.compress(data) if pack == "gzip in zip" else data)
    return out.getvalue()


@every_format
def test_cut_at_every_byte(name: str) -> None:
    data = WRITERS[name](TWO)
    whole_files = ("jaeger", "zipkin", "otlp_pretty")
    form = format_of(data)
    assert form is not None
    most = 0
    for length in range(16, len(data)):
        notes: list[tuple[str, bool]] = []
        batches = list(form.read([data[:length]], lambda _, reason, lost, to=notes: to.append((reason, lost))))
        count = sum(len(batch) for batch in batches if is_spans(batch))
        assert count <= 2
        if count < 2 and not (count == 1 and name not in whole_files and not notes):
            assert any(lost for _, lost in notes), length
        if name not in whole_files:
            assert count >= most, "what was whole before stays"
            most = max(most, count)


@every_format
def test_blocks_may_be_cut_anywhere(name: str) -> None:
    data = WRITERS[name](TWO)
    form = format_of(data)
    assert form is not None
    notes: list[str] = []
    blocks = [data[i : i + 7] for i in range(0, len(data), 7)]
    batches = list(form.read(blocks, lambda _, reason, __: notes.append(reason)))
    assert (sum(map(len, batches)), notes) == (2, [])


ODD: dict[str, tuple[Made, ...]] = {
    "a parent that is nowhere": (Made(span_id=CHILD, parent=ROOT),),
    "its own parent": (Made(span_id=ROOT, parent=ROOT),),
    "a cycle": (Made(span_id=ROOT, parent=CHILD), Made(span_id=CHILD, parent=ROOT)),
    "unfinished": (Made(span_id=ROOT, end=None),),
    "an attribute of 2 MB": (Made(span_id=ROOT, attributes={"big": "x" * 2_000_000}),),
    "control characters": (Made(span_id=ROOT, name="a\x00\x1b[31m\x9b\x7f", attributes={"\x00": "\x00"}),),
    "text beyond the BMP": (Made(span_id=ROOT, name="𝄞", attributes={"k": "𝄞"}),),
    "deep lists": (Made(span_id=ROOT, attributes={"deep": [[[[[["x"]]]]]]}),),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_spans_load_whole(what: str, tmp_path: Path) -> None:
    spans = ODD[what]
    with each_in_a_trace_of_its_own(spans, tmp_path) as (_, store):
        for name in WRITERS:
            trace = trace_of(name)
            found = {span.span_id: span for span in store.whole_spans(trace)}
            assert set(found) == {made.span_id for made in spans}, name
            for made in spans:
                span = found[made.span_id]
                assert (span.name, span.parent_span_id) == (made.name, made.parent), name
                assert (span.end_unix_nano is None) == (made.end is None), name
                assert set(span.attributes) >= set(made.attributes), name
            assert len(store.calls(trace)) == len(spans), name
            assert store.events(trace), name


def test_equal_spans_count_once(tmp_path: Path) -> None:
    with each_in_a_trace_of_its_own((TWO[0], TWO[0]), tmp_path) as (_, store):
        assert [row.spans for row in store.traces()] == [1] * len(WRITERS)


def test_different_spans_of_one_id_stay(tmp_path: Path) -> None:
    with each_in_a_trace_of_its_own((TWO[0], Made(span_id=ROOT, name="other")), tmp_path) as (summary, store):
        assert [row.spans for row in store.traces()] == [2] * len(WRITERS)
        named = {Path(issue.path).stem for issue in summary.issues if "different content" in issue.reason}
        assert named == set(WRITERS)


@pytest.mark.parametrize("name", ["otlp_json", "otlp_proto", "otlp_delimited", "console", "jaeger"])
def test_numbers_that_json_does_not_have(name: str, load: Load) -> None:
    made = Made(span_id=ROOT, attributes={"nan": float("nan"), "inf": float("-inf"), "gen_ai.usage.input_tokens": 3})
    loaded = load(WRITERS[name]((made,)))
    attributes = dict(loaded.spans()[0].attributes)
    assert str(attributes["nan"]).lower() == "nan"
    assert str(attributes["inf"]) in ("-inf", "-Infinity")
    assert attributes["gen_ai.usage.input_tokens"] == 3


def test_an_end_before_its_start(load: Load) -> None:
    for name in ("otlp_json", "otlp_proto", "console"):
        loaded = load(WRITERS[name]((Made(span_id=ROOT, end=START - 1_000_000),)))
        assert loaded.store.calls(TRACE)[0].duration_ns == -1_000_000


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 40,
        b"{}",
        b"[]",
        b"null",
        b'{"data": 5}',
        b'{"data": [5, {"spans": [5, {}], "processes": 7}]}',
        b'[[[{"traceId": 5, "id": [], "tags": 7, "annotations": {}}]]]',
        b'{"context": 5}{"context": {"trace_id": 7, "span_id": null}, "status": 3, "attributes": []}',
        b'{"body": [], "severity_number": "x", "attributes": 3, "timestamp": 5}',
        b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [5, {"body": 7, "attributes": {}}]}]}]}',
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x0a\x04\x12\x02\x12\x00" * 3,
        b"\xff\xfe\xfd" * 20,
        b'{"a":' * 5000,
        b"[" * 20_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_garbage_is_noted_and_never_raises(form: Any, data: bytes) -> None:
    notes: list[str] = []
    for batch in form.read([data], lambda _, reason, __: notes.append(reason)):
        assert not is_spans(batch) or len(batch) == 0


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(sorted(WRITERS)), st.integers(0, 2000))
def test_damage_anywhere_never_raises(junk: bytes, name: str, place: int) -> None:
    data = WRITERS[name](TWO)
    place %= len(data)
    damaged = data[:place] + junk + data[place + len(junk) // 2 :]
    for form in FORMATS:
        form.sniff(damaged)
        for batch in form.read([damaged], lambda *_: None):
            len(batch)


def log_request(*records: dict[str, Any]) -> bytes:
    scoped = [{"scope": {"name": "made"}, "logRecords": list(records)}]
    return json.dumps({"resourceLogs": [{"resource": {}, "scopeLogs": scoped}]}).encode() + b"\n"


def message(event: str, body: Any, span_id: str = CHILD, **more: Any) -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": span_id, "eventName": event, "body": body, **more}


USER = message("gen_ai.user.message", {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "hi"}}]}})
SILENT = Made(span_id=CHILD, attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})


@pytest.mark.parametrize("logs_first", [False, True])
@pytest.mark.parametrize("loads", [1, 2])
def test_log_records_join_their_spans_in_any_order(logs_first: bool, loads: int, tmp_path: Path) -> None:
    spans, logs = tmp_path / "spans", tmp_path / "logs"
    spans.write_bytes(otlp_json([SILENT]))
    logs.write_bytes(log_request(USER, USER))
    paths = [logs, spans] if logs_first else [spans, logs]
    with Store.memory() as store:
        for part in [paths] if loads == 1 else [[path] for path in paths]:
            store.load(part)
        (call,) = store.calls(TRACE)
        assert [part for m in call.input_messages or () for part in m.parts]
        assert len(call.input_messages or ()) == 1, "equal records count once"
        assert store.issues() == []
        assert store.traces()[0].spans == 1


def test_log_records_without_their_span_are_listed_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "logs"
    lone = {"body": {"stringValue": "started"}, "timeUnixNano": "5"}
    path.write_bytes(log_request(USER, lone))
    with Store.memory() as store:
        summary = store.load([path])
        words = "2 log records belong to no span that was loaded, 1 of them name none"
        assert [issue.reason for issue in summary.issues] == [words]
        assert [record.event_name for record in store.logs(TRACE)[CHILD]] == ["gen_ai.user.message"]


def test_log_records_in_protobuf_and_on_the_console(load: Load, tmp_path: Path) -> None:
    record = fixed(1, START) + number_field(2, 9) + block(5, block(1, b"hello"))
    record += block(6, proto_pair("event.name", "gen_ai.user.message"))
    record += block(9, bytes.fromhex(TRACE)) + block(10, bytes.fromhex(CHILD))
    loaded = load(proto_request([record]))
    (kept,) = loaded.store.logs(TRACE)[CHILD]
    assert (kept.event_name, kept.body, kept.time_unix_nano, kept.severity) == (
        "gen_ai.user.message",
        "hello",
        START,
        9,
    )
    printed = {
        "body": {"content": "hi"},
        "severity_number": 9,
        "attributes": {"event.name": "gen_ai.user.message"},
        "timestamp": "2026-11-29T21:52:15.511974Z",
        "trace_id": f"0x{TRACE}",
        "span_id": f"0x{CHILD}",
    }
    loaded = load(json.dumps(printed, indent=4).encode())
    (kept,) = loaded.store.logs(TRACE)[CHILD]
    assert (kept.event_name, kept.body) == ("gen_ai.user.message", {"content": "hi"})
    assert kept.time_unix_nano == 1_795_989_135_511_974_000


def test_a_span_and_its_answer_in_a_query_api(load: Load) -> None:
    request = json.loads(otlp_json([TWO[0]]))
    for wrapped in ({"result": request}, {"trace": request}, {"batches": request["resourceSpans"]}):
        assert load(json.dumps(wrapped).encode()).summary.spans == 1


def test_short_ids_of_jaeger_and_zipkin_are_padded(load: Load) -> None:
    for name in ("jaeger", "zipkin"):
        made = Made(span_id="b7", trace_id="1c", parent="a1")
        (span,) = load(WRITERS[name]((made,))).spans()
        assert (span.trace_id, span.span_id) == ("1c".rjust(32, "0"), "b7".rjust(16, "0"))
        assert span.parent_span_id == "a1".rjust(16, "0")


def numbered(kind: Any, code: Any, severity: Any) -> bytes:
    """A span and a log record of it, with these numbers."""
    request, record = json.loads(otlp_json([TWO[1]])), json.loads(log_request(USER))
    request["resourceSpans"][0]["scopeSpans"][0]["spans"][0] |= {"kind": kind, "status": {"code": code}}
    record["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["severityNumber"] = severity
    return json.dumps(request).encode() + b"\n" + json.dumps(record).encode()


@pytest.mark.parametrize("number", [-1, 100, 2**31, -(2**63), 2**70, "9" * 30, 1.5, {}])
def test_kinds_and_codes_that_are_none_are_told(number: Any, load: Load) -> None:
    loaded = load(numbered(number, number, number))
    assert [(span.kind, span.status_code) for span in loaded.spans()] == [(0, 0)]
    assert loaded.reasons() == [f"{key} is none that OpenTelemetry has" for key in ("kind", "code", "severityNumber")]
    assert [kept.severity for kept in loaded.store.logs(TRACE)[CHILD]] == [0]


def test_kinds_and_codes_may_be_names(load: Load) -> None:
    loaded = load(numbered("SPAN_KIND_CLIENT", "STATUS_CODE_ERROR", "SEVERITY_NUMBER_WARN2"))
    assert [(span.kind, span.status_code) for span in loaded.spans()] == [(3, 2)]
    assert [kept.severity for kept in loaded.store.logs(TRACE)[CHILD]] == [14]
    assert loaded.reasons() == []
