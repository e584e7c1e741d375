"""Every importer over every kind of input: good spans load, what is odd is noted, nothing is fatal."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from debugger.importers import (
    FORMATS,
    RawSpan,
    _json_stream,
    _lines,
    any_value,
    format_of,
    iter_sources,
    jaeger_json,
    key_values,
    load_text,
    looks_like,
    otlp_json,
    otlp_proto,
)
from debugger.importers._lines import depth_after, iter_lines
from debugger.importers._source import MOST_EMPTY

from .otlp import SPAN, START, TRACE, line, pairs, request, span

OTHER_SPAN = "00f067aa0ba902b7"
Notes = list[tuple[int | None, str, bool]]


def read(data: bytes, block: int = 1 << 16) -> tuple[list[RawSpan], Notes]:
    """All spans of an OTLP/JSON text, read in blocks of the given size."""
    notes: Notes = []
    blocks = [data[i : i + block] for i in range(0, len(data), block)]
    form = FORMATS[0]
    spans = [raw for batch in form.read(blocks, lambda *note: notes.append(note)) for raw in batch]
    return spans, notes


def snake(value: Any) -> Any:
    """The same document as protobuf field names."""
    if isinstance(value, dict):
        return {"".join("_" + c.lower() if c.isupper() else c for c in k): snake(v) for k, v in value.items()}
    return [snake(item) for item in value] if isinstance(value, list) else value


ONE = request(span(attributes={"a": "x"}))
TWO = request(span(spanId=OTHER_SPAN, attributes={"b": 1}))

BOTH = {"resourceSpans": ONE["resourceSpans"] + TWO["resourceSpans"]}


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


SHAPES: dict[str, bytes] = {
    "one request a line": compact(ONE) + b"\n" + compact(TWO) + b"\n",
    "carriage returns": compact(ONE) + b"\r\n" + compact(TWO) + b"\r\n",
    "no line break at the end": compact(ONE) + b"\n" + compact(TWO),
    "blank lines": b"\n\n" + compact(ONE) + b"\n \n" + compact(TWO) + b"\n\n",
    "one object": compact(BOTH),
    "several objects in a row": compact(ONE) + compact(TWO),
    "array of requests": compact([ONE, TWO]),
    "indented with byte-order mark": b"\xef\xbb\xbf" + json.dumps(BOTH, indent=2).encode(),
    "indented, two documents": json.dumps(ONE, indent=1).encode() + b"\n" + json.dumps(TWO, indent=4).encode(),
    "indented array": json.dumps([ONE, TWO], indent=2).encode(),
    "snake_case": compact(snake(ONE)) + b"\n" + compact(snake(TWO)),
    "a cut line before a whole one": compact(ONE) + b"\n" + compact(ONE)[:90] + b"\n" + compact(TWO),
    "a cut line and a whole one in the same line": compact(ONE) + b"\n" + compact(ONE)[:90] + compact(TWO),
    "log lines in between": b"server up\n" + compact(ONE) + b'\n10.0.0.1 "POST /v1/traces"\n' + compact(TWO),
}


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_file_gives_the_same_spans(shape: str, block: int) -> None:
    spans, _ = read(SHAPES[shape], block)
    assert [raw.span_id for raw in spans] == [SPAN, OTHER_SPAN]
    assert [key_values(load_text(raw.attributes)) for raw in spans] == [{"a": "x"}, {"b": 1}]
    assert {raw.trace_id for raw in spans} == {TRACE}
    assert {(raw.start_unix_nano, raw.end_unix_nano, raw.kind) for raw in spans} == {(START, START + 1000, 1)}
    resources = [key_values(load_text(raw.context.resource)["attributes"]) for raw in spans]
    assert resources == [{"service.name": "svc"}] * 2


@pytest.mark.parametrize(
    ("data", "reasons"),
    [
        (b"", []),
        (b"\n \r\n", []),
        (b"hello\n", [(1, "not JSON", True)]),
        (line(span()) + b"10.0 abc\n", [(2, "not JSON", True)]),
        (line(span()) + line(span())[:60], [(2, "ends in the middle", True)]),
        (b'{"resourceSpans": nul}', [(1, "not JSON", True)]),
        (b'{"resourceSpans": 5}', [(1, "resourceSpans is no list", True)]),
        (b'{"resourceSpans": [5]}', [(1, "an item of resourceSpans is no object", True)]),
        (b'{"resourceSpans": [{"scopeSpans": {}}]}', [(1, "scopeSpans is no list", True)]),
        (b'{"other": 1}', [(1, "no OTLP request", True)]),
        (b"{}", [(1, "no OTLP request", True)]),
        (b"[1, 2]", [(1, "no OTLP request", True)] * 2),
        (b'{"resourceLogs": 5}', [(1, "resourceLogs is no list", True)]),
        (b'{"resourceMetrics": []}', [(1, "metrics are not read", True)]),
        (b"[" * 100_000 + b"]" * 100_000, [(1, "nested too deeply", True)]),
        (line(span(spanId=...)), [(1, "a span without ids", True)]),
        (line(span(traceId="0" * 32)), []),
    ],
)
def test_faults_are_noted_with_their_line(data: bytes, reasons: Notes) -> None:
    assert read(data)[1] == reasons


def test_a_file_cut_at_any_byte_never_fails_and_keeps_the_whole_lines() -> None:
    first, second = line(span(attributes={"text": "é\n"})), line(span(spanId=OTHER_SPAN))
    data = first + second
    for end in range(len(data) + 1):
        spans, notes = read(data[:end])
        whole = (end >= len(first) - 1) + (end >= len(data) - 1)
        assert len(spans) == whole, end
        cut_off = end not in (0, len(first) - 1, len(first), len(data) - 1, len(data))
        assert bool(notes) == cut_off, end


def test_garbage_of_every_kind_is_survived() -> None:
    for data in (bytes(range(256)) * 20, b"\x00" * 5000, b'{"resourceSpans":' * 3000, b'"' * 999, b"}" * 999, b"[[[,"):
        spans, notes = read(data)
        assert spans == []
        assert notes


DEEP = 10_000


@pytest.mark.parametrize(
    "attributes",
    [
        '[{"key":"k","value":' + '{"arrayValue":{"values":[' * DEEP + "{}" + "]}}" * DEEP + "}]",
        '[{"key":"k","value":' + '{"kvlistValue":{"values":[{"key":"k","value":' * DEEP + "{}" + "}]}}" * DEEP + "}]",
    ],
    ids=["arrays", "lists of pairs"],
)
def test_deep_nesting_is_an_issue_and_the_next_line_loads(attributes: str) -> None:
    deep = line(span(attributes=["HERE"])).replace(b'["HERE"]', attributes.encode())
    spans, notes = read(deep + line(span(spanId=OTHER_SPAN)))
    assert [raw.span_id for raw in spans] == [OTHER_SPAN]
    assert notes == [(1, "nested too deeply", True)]


def test_nesting_that_parses_is_cut_when_it_is_decoded() -> None:
    value: Any = {}
    for _ in range(250):
        value = {"arrayValue": {"values": [value]}}
    decoded, levels = any_value(value), 0
    while isinstance(decoded, list):
        decoded, levels = decoded[0], levels + 1
    assert (decoded, levels) == ("[nested too deeply]", 101)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"stringValue": ""}, ""),
        ({"boolValue": False}, False),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 7}, 7),
        ({"intValue": "9223372036854775808"}, None),
        ({"intValue": "x"}, None),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": 3}, 3.0),
        ({"doubleValue": "-Infinity"}, float("-inf")),
        ({"doubleValue": None}, None),
        ({"bytesValue": "AAEC/w=="}, b"\x00\x01\x02\xff"),
        ({"bytesValue": "%"}, None),
        ({"arrayValue": {"values": [{"stringValue": "x"}, {"arrayValue": {}}, {}]}}, ["x", [], None]),
        ({"kvlistValue": {"values": pairs({"role": "user", "n": 1})}}, {"role": "user", "n": 1}),
        ({}, None),
        ({"newValue": 1}, None),
        ("text", None),
    ],
)
def test_attribute_values(value: Any, wanted: Any) -> None:
    assert any_value(value) == wanted


def test_not_a_number_is_kept() -> None:
    (got,) = key_values([{"key": "k", "value": {"doubleValue": "NaN"}}]).values()
    assert got != got


def test_attributes_stay_word_for_word() -> None:
    text = '[{"key":"dup","value":{"stringValue":"1\\u0000"}}, {"key":"dup","value":{"intValue":"2"}},{"key":""}]'
    (raw,), notes = read(line(span(attributes=["HERE"])).replace(b'["HERE"]', text.encode()))
    assert raw.attributes == text
    assert notes == []
    assert key_values(load_text(raw.attributes)) == {"dup": 2, "": None}


BASE64 = [base64.b64encode(bytes.fromhex(text)).decode() for text in (TRACE, SPAN)]
IDS = [
    (TRACE, SPAN, TRACE, SPAN, False),
    (TRACE.upper(), SPAN.upper(), TRACE, SPAN, False),
    (*BASE64, TRACE, SPAN, False),
    ("abc", "x\x1by", "abc", "x?y", True),
]  # fmt: skip


@pytest.mark.parametrize(("trace", "span_id", "want_trace", "want_span", "odd"), IDS)
def test_ids(trace: str, span_id: str, want_trace: str, want_span: str, odd: bool) -> None:
    (raw,), notes = read(line(span(traceId=trace, spanId=span_id, parentSpanId=span_id)))
    assert (raw.trace_id, raw.span_id, raw.parent_span_id) == (want_trace, want_span, want_span)
    assert bool(notes) == odd


@pytest.mark.parametrize("parent", ["", "0000000000000000", "AAAAAAAAAAA=", None, ...])
def test_no_parent(parent: Any) -> None:
    (raw,), _ = read(line(span(parentSpanId=parent)))
    assert raw.parent_span_id is None


@pytest.mark.parametrize(
    ("start", "end", "want"),
    [
        (str(START), "0", (START, None)),
        (START, 0, (START, None)),
        (..., ..., (None, None)),
        (None, "", (None, None)),
        ("-5", str(2**63), (None, None)),
        (float(START), "soon", (START, None)),
    ],
)
def test_times(start: Any, end: Any, want: tuple[int | None, int | None]) -> None:
    (raw,), _ = read(line(span(startTimeUnixNano=start, endTimeUnixNano=end)))
    assert (raw.start_unix_nano, raw.end_unix_nano) == want


def test_protobuf_names_of_kinds_and_status() -> None:
    (raw,), _ = read(line(span(kind="SPAN_KIND_CLIENT", status={"code": "STATUS_CODE_ERROR", "message": "no"})))
    assert (raw.kind, raw.status_code, raw.status_message) == (3, 2, "no")


def test_unknown_fields_are_kept() -> None:
    document = request(span(flags=257, traceState="a=b", droppedAttributesCount=3, brandNew={"x": [1]}))
    document["resourceSpans"][0]["schemaUrl"] = "https://example.org/1"
    document["resourceSpans"][0]["scopeSpans"][0]["madeUp"] = True
    (raw,), _ = read(json.dumps(document).encode())
    assert load_text(raw.extra) == {
        "flags": 257, "traceState": "a=b", "droppedAttributesCount": 3, "brandNew": {"x": [1]},
    }  # fmt: skip
    assert load_text(raw.context.extra) == {"resourceSchemaUrl": "https://example.org/1", "madeUp": True}


def test_both_roads_keep_the_same_fields() -> None:
    plain = span(flags=257, traceState="a=b", droppedLinksCount=1, events=[{"name": "e", "timeUnixNano": "5"}])
    fast, _ = read(line(plain))
    slow, _ = read(json.dumps(snake(request(plain))).encode())
    assert load_text(fast[0].extra) == load_text(slow[0].extra)
    assert load_text(fast[0].events) == load_text(slow[0].events)
    assert fast[0]._replace(attributes="", events="", extra="", context=slow[0].context) == slow[0]._replace(
        attributes="", events="", extra=""
    )


@pytest.mark.parametrize("bad", [b"\\ud800 half", b"\xff\xfe bytes"])
def test_what_is_not_unicode_is_replaced_and_noted(bad: bytes) -> None:
    (raw, other), notes = read(line(span(name="HERE"), span(spanId=OTHER_SPAN)).replace(b"HERE", bad))
    assert raw.name.startswith("\ufffd")
    assert other.name == "work"
    assert notes == [(1, "bytes that are not Unicode, shown as U+FFFD", False)]


def test_a_surrogate_pair_is_one_character() -> None:
    (raw,), notes = read(line(span(name="\U0001f600")))
    assert (raw.name, notes) == ("\U0001f600", [])


def test_wrong_types_lose_nothing_but_themselves() -> None:
    odd = span(name=5, kind="", events="none", links=7, status=[1])
    odd["attributes"] = {"a": 1}
    (raw, good), notes = read(json.dumps(request(odd, span(spanId=OTHER_SPAN))).encode())
    assert (raw.name, raw.kind, raw.status_code, raw.attributes) == ("5", 0, 0, "[]")
    assert load_text(raw.extra) == {"attributes": {"a": 1}, "events": "none", "links": 7}
    assert good.span_id == OTHER_SPAN
    assert {reason for _, reason, _ in notes} == {"attributes is no list", "events is no list", "links is no list"}


# Sources ---------------------------------------------------------------------------------------------------


def sources(*paths: Path | str) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    notes: list[tuple[str, str]] = []
    found = iter_sources(list(paths), lambda path, reason: notes.append((path, reason)))
    return {source.path: b"".join(source.blocks) for source in found}, notes


def test_gzip_of_two_members_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n") + b"\x00\x00")
    assert sources(path) == ({str(path): b"one\ntwo\n"}, [])


@pytest.mark.parametrize("kind", ["gzip members", "zstd frames"])
def test_members_are_read_on_unless_too_many_in_a_row_are_empty(tmp_path: Path, kind: str) -> None:
    pack = gzip.compress if kind == "gzip members" else zstd.compress
    path, one, empty = tmp_path / "members", pack(b"line\n"), pack(b"")
    path.write_bytes((one + empty * MOST_EMPTY) * 5 + one * 2 * MOST_EMPTY)
    assert sources(path) == ({str(path): b"line\n" * (5 + 2 * MOST_EMPTY)}, [])
    path.write_bytes(one + empty * (MOST_EMPTY + 1) + one)
    note = f"more than 1,000 empty {kind} in a row; not read on"
    assert sources(path) == ({str(path): b"line\n"}, [(str(path), note)])


@pytest.mark.parametrize("keep", [12, -9, -1])
def test_gzip_cut_off_gives_what_there_is(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"line\n" * 1000)[:keep])
    found, notes = sources(path)
    assert found[str(path)] == b"line\n" * (len(found[str(path)]) // 5)
    assert notes == [(str(path), "gzip data that ends in the middle")]


def test_gzip_with_damage_gives_what_there_is(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(bytes(range(256)) * 4))
    data[20:40] = b"\xff" * 20
    path = tmp_path / "bad.gz"
    path.write_bytes(bytes(data))
    assert sources(path)[1] == [(str(path), "damaged gzip data")]


def test_zip_members_are_sources(tmp_path: Path) -> None:
    with zipfile.ZipFile(path := tmp_path / "several.bin", "w") as archive:
        for name, data in (("a.jsonl", b"one"), ("b/b.jsonl", b"two"), ("in.zip", b"PK\x03\x04")):
            archive.writestr(name, data)
    notes = [(f"{path}!in.zip", "a zip within a zip is not read")]
    assert sources(path) == ({f"{path}!a.jsonl": b"one", f"{path}!b/b.jsonl": b"two"}, notes)


def test_a_broken_zip_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "broken.zip"
    path.write_bytes(b"PK\x03\x04 and then nothing")
    found, notes = sources(path)
    assert found == {}
    assert notes[0][0] == str(path)


def test_folders_are_read_sorted_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", ".hidden", ".git/x", "a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found, _ = sources(tmp_path)
    assert [Path(path).relative_to(tmp_path).as_posix() for path in found] == ["a.txt", "b.txt", "a/z.txt"]


def test_a_missing_file_is_noted_and_the_next_is_read(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"x")
    found, notes = sources(tmp_path / "gone", there)
    assert found == {str(there): b"x"}
    assert notes == [(str(tmp_path / "gone"), "no such file or folder")]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"piped"))))
    assert sources("-") == ({"-": b"piped"}, [])


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\x89PNG\r\n\x1a\n....", "a PNG image"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b'{"hello": 1}', "JSON that is no trace"),
        (b"\n\n\n{", "JSON that is no trace"),
        (
            b'[{"id": "1", "run_type": "llm", "dotted_order": "2"}]',
            "runs exported by LangSmith, which are no OpenTelemetry spans",
        ),
        (b'{"traceEvents": []}', "a trace of the Chrome browser"),
        (b'[{"role": "user", "content": "hi"}]', "a conversation without spans"),
        (b"\n\n\nplain words", "plain text"),
        (b"\x00\x01\x02", "binary data"),
        (b"# Notes", "plain text"),
        (b"  \n", "a file of white space"),
    ],
)
def test_unknown_files_say_what_they_look_like(head: bytes, words: str) -> None:
    assert format_of(head) is None
    assert looks_like(head) == words


@pytest.mark.parametrize(
    ("text", "depth"),
    [(b'{"a": [', 2), (b'{"a": "}"', 1), (b'{"a": "\\"}"}', 0), (b'{"a": "cut', 2), (b"]}", -2), (b"plain", 0)],
)
def test_open_brackets(text: bytes, depth: int) -> None:
    assert depth_after(text) == depth


def test_lines_over_blocks() -> None:
    assert list(iter_lines([b"a\nb", b"c", b"\n\nd"], print)) == [b"a", b"bc", b"", b"d"]
    assert list(iter_lines([b"a\n", b"", b"b", b"c\n", b"\n"], print)) == [b"a\n", b"bc", b"\n"]


@pytest.mark.parametrize("size", [1, 700, 4_000])
def test_a_line_beyond_the_bound_is_said_and_passed_over(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    good, long = line(span()), line(span(attributes={"text": "x" * 9_000}))
    monkeypatch.setattr(_lines, "MAX_BYTES", 5_000)
    for data in (good + long + good, good + long[:-1]):
        spans, notes = read(data, size)
        assert len(spans) == data.count(good)
        assert [(number, lost) for number, _, lost in notes] == [(2, True)]
        assert notes[0][1].startswith("a line of 0 MB, and")


def test_a_line_beyond_the_bound_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lines, "MAX_BYTES", 5_000)
    tracemalloc.start()
    try:
        assert list(iter_lines((bytes(1_000) for _ in range(300)), lambda *_: None)) == [b""]
        assert tracemalloc.get_traced_memory()[1] < 50_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", [otlp_json, jaeger_json])
def test_an_indented_value_beyond_the_bound_is_said_and_passed_over(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (otlp_json, _json_stream):
        monkeypatch.setattr(module, "MAX_BYTES", 5_000)
    notes: Notes = []
    data = [b"{\n", *[b'"a": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",\n'] * 200]
    assert [raw for batch in form.read(data, lambda *noted: notes.append(noted)) for raw in batch] == []
    assert notes == [(1, "a value of more than 256 MiB; passed over", True)]


@pytest.mark.parametrize("data", [b"\x7f\xff\xff\xff\x0a\x04abcd", b"\x0a\xff\xff\xff\xff\x07abcd"])
def test_a_protobuf_request_beyond_the_bound_ends_the_file(data: bytes) -> None:
    notes: Notes = []
    batches = otlp_proto.read([data], lambda *noted: notes.append(noted))
    assert [raw for batch in batches for raw in batch] == []
    assert len(notes) == 1
    assert "256 MiB are read at most" in notes[0][1]
