"""Texts are found wherever they were recorded: in attributes, messages within JSON, events, status and log records."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from debugger.store import Library, Store

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def span(number: int, attributes: dict[str, str], **more: object) -> dict[str, object]:
    return {
        "traceId": "a" * 32, "spanId": f"{number:016x}", "name": f"span {number}", "startTimeUnixNano": str(number),
        "endTimeUnixNano": str(number + 1), **more,
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": 'He said "Grüß Gott"\nand left'}]}])
    spans = [
        span(1, {"gen_ai.input.messages": message, "gen_ai.conversation.id": 'talk "1"'}),
        span(2, {"note": "grüß gott"}),
        span(3, {}, status={"code": 2, "message": "Timeout of the Pool"}),
        span(4, {}, events=[{"timeUnixNano": "4", "name": "thought", "attributes": [
            {"key": "why", "value": {"stringValue": "the weather turned"}}]}]),
    ]  # fmt: skip
    log = {"traceId": "a" * 32, "spanId": f"{2:016x}", "timeUnixNano": "2", "body": {"stringValue": "disk is full"}}
    path = tmp_path / "t.jsonl"
    lines = [
        {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]},
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with Store.memory() as store:
        store.load([path])
        yield store


def held(store, text, trace_id=None):
    return [(found, seq) for part in store.search([text], trace_id) for found, seq, bits in part if bits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Grüß", {1, 2}),
        ('said "grüß gott"', {1}),
        ('Gott"\nand LEFT', {1}),
        ("pool", {3}),
        ("WEATHER turned", {4}),
        ("disk is", {2}),
        ("span 3", {3}),
        ("nowhere", set()),
        ("", {1, 2, 3, 4}),
        ("%", set()),
    ],
)
def test_where_a_text_is_found(store, text, expected):
    ids = {row.seq: int(row.span_id, 16) for row in store.spans("a" * 32)}
    assert {ids[seq] for _, seq in held(store, text, "a" * 32)} == expected
    assert held(store, text) == held(store, text, "a" * 32)
    assert held(store, text, "b" * 32) == []


def test_many_texts_are_looked_for_at_once(store):
    asked = []
    each = store._database.each
    store._database.each = lambda name, which: asked.append(name) or each(name, which)
    texts = ["grüß", "weather", "nowhere", "full"]
    ids = {row.seq: int(row.span_id, 16) for row in store.spans("a" * 32)}
    found = {ids[seq]: bits for part in store.search(texts) for _, seq, bits in part}
    assert found == {1: 0b0001, 2: 0b1001, 3: 0, 4: 0b0010}
    assert asked == ["span_search"]
    many = [f"nowhere {i}" for i in range(20)] + texts
    found = {ids[seq]: bits >> 20 for part in store.search(many) for _, seq, bits in part}
    assert found == {1: 0b0001, 2: 0b1001, 3: 0, 4: 0b0010}


def test_conversations_are_named_by_their_spans(store):
    assert store.conversations() == {"a" * 32: 'talk "1"'}


def test_the_library_is_searched_like_a_file(tmp_path):
    library = Library.open(tmp_path)
    library.load([SAMPLES / "travel_desk.otlp.jsonl"])
    library.load([SAMPLES / "order_watch.otlp.jsonl"])
    reader = library.reader()
    try:
        found = {trace_id for trace_id, _ in held(reader, "booking service")}
        assert len(found) == 1
        trace_id = found.pop()
        assert held(reader, "booking service", trace_id)
        assert reader.conversations() == {}
        reader.interrupt(threading.get_ident())
    finally:
        library.close()


def test_in_one_trace_what_a_call_took_from_another_span_is_found_too(tmp_path):
    asked = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": 'The "Hague"'}}
    spans = [
        span(1, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                 "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [asked]}])}),
        span(2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}),
        span(3, {"note": "nothing"}),
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}), "utf-8")
    with Store.memory() as store:
        store.load([path])
        seqs = {row.span_id: row.seq for row in store.spans("a" * 32)}
        wanted = {seqs[f"{number:016x}"] for number in (1, 2)}
        assert {seq for _, seq in held(store, 'the "hague', "a" * 32)} == wanted
        assert held(store, "nothing at all", "a" * 32) == []
        assert held(store, "tool_call_x", "a" * 32) == []
        told = [seq for part in store.search(['the "hague"', "note"], "a" * 32) for _, seq, bits in part if bits == 2]
        assert told == [seqs[f"{3:016x}"]], "each text keeps its own bit"
