"""Odd inputs of the store: names that are not Unicode, many versions of one span."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from debugger.store import Store
from runtime.trace import encode_request

from .otlp import line, span


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


def test_a_file_name_that_is_not_unicode_is_shown_with_stand_ins(store: Store, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    try:
        odd.write_bytes(line(span()) + b"junk\n")
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    summary = store.load([tmp_path])
    assert summary.spans == 1
    assert [Path(row.path).name for row in summary.issues] == ["\ufffd.jsonl"]
    assert store.traces()[0].source.endswith("\ufffd.jsonl")


def test_many_versions_of_one_span_are_told_apart_by_what_they_say(store: Store, tmp_path: Path) -> None:
    names = ["a", "b", "a", "c", "b", "a"] * 20
    (tmp_path / "same.jsonl").write_bytes(b"".join(line(span(name=name)) for name in names))
    summary = store.load([tmp_path / "same.jsonl"])
    (row,) = store.traces()
    assert row.spans == 3
    assert "is there 3 times, with different content" in summary.issues[-1].reason


def test_a_run_in_two_files_of_a_folder_counts_once_and_both_are_named(tmp_path: Path) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from runtime import OtlpJsonFileExporter

    printed, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(printed))
    provider.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(tmp_path / "run.jsonl")))
    tracer = provider.get_tracer("lib", "1.2")
    with (
        tracer.start_as_current_span("outer"),
        tracer.start_as_current_span("inner", attributes={"x": (1.0, 2.5)}) as at,
    ):
        at.add_event("said", {"k": "v"})
    provider.shutdown()
    console = tmp_path / "run.json"
    console.write_text("\n".join(span.to_json() for span in printed.get_finished_spans()))
    with Store.memory() as store:
        summary = store.load([tmp_path])
        (trace,) = store.traces()
        assert trace.spans == 2
        assert {span.scope_name for span in store.whole_spans(trace.trace_id)} == {"lib"}, "the fuller one stays"
        (said,) = summary.issues
        assert said.path.endswith("run.jsonl")
        assert f"2 spans are in {console} too, trace {trace.trace_id}; each counts once" == said.reason
        assert store.load([console]).issues == (), "what is loaded again is no news"
        assert store.traces()[0].spans == 2
    console.write_text(console.read_text().replace('"k": "v"', '"k": "w"'))
    with Store.memory() as store:
        store.load([tmp_path])
        assert store.traces()[0].spans == 3, "what says something else stays beside it"


def test_what_has_no_place_in_a_span_is_written_back_where_it_was(tmp_path: Path) -> None:
    said = {"attributes": [{"key": "k", "value": {"stringValue": "v"}}], "droppedAttributesCount": 3}
    fields = span(
        traceState="a=b,c=d", flags=257, droppedAttributesCount=1, droppedEventsCount=2, droppedLinksCount=4,
        events=[{"name": "e", "timeUnixNano": "5", **said}],
        links=[{"traceId": "ab" * 16, "spanId": "cd" * 8, "traceState": "x=y", "flags": 1, **said}],
    )  # fmt: skip
    scoped = {"scope": {"name": "lib", "version": "1", **said}, "schemaUrl": "https://in.er", "spans": [fields]}
    group = {"resource": said, "schemaUrl": "https://out.er", "scopeSpans": [scoped]}
    path = tmp_path / "full.jsonl"
    path.write_text(json.dumps({"resourceSpans": [group]}))
    with Store.memory() as store:
        assert store.load([path]).issues == ()
        (whole,) = store.whole_spans(store.traces()[0].trace_id)
    (again,) = json.loads(encode_request([whole]))["resourceSpans"]
    assert (again["schemaUrl"], again["resource"]) == ("https://out.er", said)
    (scoped_again,) = again["scopeSpans"]
    assert scoped_again["schemaUrl"] == "https://in.er"
    assert scoped_again["scope"] == scoped["scope"]
    (back,) = scoped_again["spans"]
    assert {key: back[key] for key in fields if key != "status"} == {k: v for k, v in fields.items() if k != "status"}
