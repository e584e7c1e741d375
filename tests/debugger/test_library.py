from __future__ import annotations

from pathlib import Path

import pytest

from debugger.store import Library, Store

DATA = Path(__file__).parents[1] / "data" / "zoo"
SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library.open(tmp_path / "library")


def test_a_library_reads_like_a_store(library: Library) -> None:
    with library, Store.memory() as store:
        for path in (DATA / "pydantic_ai_v5.otlp.jsonl.gz", SAMPLES / "research_team.otlp.jsonl"):
            library.load([path])
            store.load([path])
        reader = library.reader()
        assert reader.traces() == store.traces()
        assert reader.issues() == store.issues()
        for row in store.traces():
            assert reader.spans(row.trace_id)[0].name == store.spans(row.trace_id)[0].name
            assert reader.calls(row.trace_id) == store.calls(row.trace_id)


def test_a_file_that_was_loaded_is_not_read_again(library: Library, tmp_path: Path) -> None:
    path = SAMPLES / "travel_desk.otlp.jsonl"
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    with library:
        assert library.load([path]).new_traces == 1
        generation = library.reader().generation
        for again in (path, copy):
            summary = library.load([again])
            assert (summary.spans, summary.known) == (0, (str(again),))
        assert library.reader().generation == generation


def test_a_reader_sees_what_is_published_and_removed(library: Library) -> None:
    with library:
        reader = library.reader()
        assert reader.traces() == []
        before = reader.generation
        library.load([SAMPLES / "travel_desk.otlp.jsonl"])
        (row,) = reader.traces()
        assert reader.generation > before
        assert library.remove([row.trace_id, "unknown"]) == 1
        assert library.remove([row.trace_id]) == 0
        assert reader.traces() == []
        assert reader.spans(row.trace_id) == []
        library.load([SAMPLES / "travel_desk.otlp.jsonl"])
        assert reader.traces() == [row]


def test_the_spool_is_taken_once(library: Library) -> None:
    with library:
        (library.spool / "1.otlp.jsonl").write_bytes((SAMPLES / "travel_desk.otlp.jsonl").read_bytes())
        (library.spool / "2.otlp.jsonl").write_bytes(b"")
        (library.spool / "3.otlp.jsonl.open").write_bytes((SAMPLES / "order_watch.otlp.jsonl").read_bytes())
        assert library.take_spool().new_traces == 1
        assert library.take_spool().spans == 0
        assert len(library.reader().traces()) == 1
        assert len(list(library.spool.iterdir())) == 3
