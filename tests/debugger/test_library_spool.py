"""The spool below a library: taken in bounds, packed without loss, and known again when the folder has moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import debugger.store.library._compact as compacting
import debugger.store.library._library as library_module
import debugger.store.library._pack as packing
from debugger.store import Library

from .otlp import START, line, span

TRACES = [f"{number:032x}" for number in range(1, 20)]


def put(library: Library, number: int, *traces: str) -> None:
    spans = [span(traceId=x, spanId=f"{number:016x}", startTimeUnixNano=START + number) for x in traces]
    (library.spool / f"{number:020d}-1.otlp.jsonl").write_bytes(b"".join(map(line, spans)))


def said(library: Library) -> list[tuple[str, list[str]]]:
    reader = library.reader()
    return [(row.trace_id, [each.span_id for each in reader.spans(row.trace_id)]) for row in reader.traces()]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "FEWEST", 3)


def test_what_is_taken_is_packed_and_a_rebuild_reads_the_pack(few: None, tmp_path: Path) -> None:
    with Library.open(tmp_path) as library:
        for number in range(1, 8):
            put(library, number, TRACES[number], TRACES[0])
            library.take_spool()
            library.tidy()
        files = list(library.spool.iterdir())
        assert 0 < len(files) <= 3
        before = said(library)
        assert len(before) == 8
        assert library.take_spool().spans == 0
        library.rebuild()
        assert said(library) == before
        for path in library.spool.iterdir():
            path.unlink()
        assert library.rebuild().missing
        assert said(library) == before


def test_a_trace_that_was_removed_between_two_parts_stays_removed(few: None, tmp_path: Path) -> None:
    with Library.open(tmp_path) as library:
        for number in (1, 2):
            put(library, number, TRACES[0], TRACES[number])
            library.take_spool()
            library.tidy()
        library.remove([TRACES[0]])
        for number in (3, 4, 5, 6):
            put(library, number, TRACES[number])
            library.take_spool()
            library.tidy()
        before = said(library)
        assert TRACES[0] not in dict(before)
        library.rebuild()
        assert said(library) == before


@pytest.mark.parametrize("dies_in", ["rename", "delete"])
def test_a_packing_that_dies_leaves_everything(
    few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    with Library.open(tmp_path) as library:
        for number in (1, 2):
            put(library, number, TRACES[number], TRACES[0])
            library.take_spool()
            library.tidy()
        put(library, 3, TRACES[3])
        library.take_spool()
        with monkeypatch.context() as patch:
            patch.setattr(packing, "sync" if dies_in == "rename" else "_delete_parts", die)
            with pytest.raises(Died):
                library.tidy()
        before = said(library)
        assert len(before) == 4
        assert library.take_spool().spans == 0
        put(library, 4, TRACES[4])
        assert library.take_spool().spans == 1
        library.tidy()
        library.rebuild()
        assert [row for row in said(library) if row[0] != TRACES[4]] == before
        assert sum(path.stat().st_size for path in library.spool.iterdir()) == library.facts().spool_bytes
        assert len(list(library.spool.iterdir())) <= 2


def test_a_taking_is_bounded_and_says_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "_TAKEN_AT_ONCE", 1)
    with Library.open(tmp_path) as library:
        for number in (1, 2, 3):
            put(library, number, TRACES[number], TRACES[0])
        found = [library.take_spool() for _ in range(4)]
        assert [(summary.spans, summary.waiting, summary.copied) for summary in found] == [
            (2, 2, 0),
            (2, 1, 1),
            (2, 0, 2),
            (0, 0, 0),
        ]
        assert len(said(library)) == 4


def test_a_library_that_was_moved_knows_its_spool(tmp_path: Path) -> None:
    with Library.open(tmp_path / "old") as library:
        put(library, 1, TRACES[0])
        library.take_spool()
        before = said(library)
    os.rename(tmp_path / "old", tmp_path / "new")  # noqa: PTH104
    with Library.open(tmp_path / "new") as library:
        assert library.take_spool().spans == 0
        assert library.facts().missing_files == ()
        assert library.rebuild().missing == ()
        assert said(library) == before


def test_what_is_kept_between_takings_stays_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces go on in later takings, by turns of two libraries, and are removed and tidied in between."""
    monkeypatch.setattr(compacting, "MOST", 3)
    monkeypatch.setattr(compacting, "FEWEST", 2)
    expected: dict[str, set[str]] = {}
    with Library.open(tmp_path) as library, Library.open(tmp_path) as other:
        for number in range(1, 10):
            traces = TRACES[number % 3], TRACES[3 + number % 4]
            put(library, number, *traces)
            assert (other if number % 3 == 0 else library).take_spool().spans == 2
            for trace in traces:
                expected.setdefault(trace, set()).add(f"{number:016x}")
            if number == 4:
                library.tidy()
            if number == 6:
                library.remove([TRACES[1]])
                del expected[TRACES[1]]
        assert library.facts().segments > 3
        assert {trace: set(spans) for trace, spans in said(library)} == expected
        other.tidy()
        assert library.facts().segments <= 3
        assert {trace: set(spans) for trace, spans in said(library)} == expected
