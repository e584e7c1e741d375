"""What goes wrong around a library: it says so in one line, and loses nothing."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest

import debugger.store.library._catalog as catalog
import debugger.store.library._compact as compaction
from debugger.cli import main
from debugger.errors import LibraryError, NewerLibraryError, QueryCancelledError
from debugger.store import Library, LoadProgress
from debugger.store._database import BulkDatabase
from debugger.store.library import library_folder
from debugger.store.library._catalog import Catalog, Segment
from tests.support.repo import ROOT

from .otlp import START, line, span

TRACES = [f"{number:032x}" for number in range(1, 5)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "library"


def file_of(folder: Path, number: int, *traces: str) -> Path:
    path = folder / f"{number}.jsonl"
    path.write_bytes(
        b"".join(line(span(traceId=x, spanId=f"{number:016x}", startTimeUnixNano=START + number)) for x in traces)
    )
    return path


def ids(library: Library) -> set[str]:
    return {row.trace_id for row in library.reader().traces()}


def test_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROSPAN_HOME", str(tmp_path))
    assert library_folder() == tmp_path / "library"
    monkeypatch.delenv("RETROSPAN_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in library_folder().parents
    assert library_folder().parts[-2:] == ("retrospan", "library")


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(LibraryError, match="not a library"):
        Library.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("content", [b"not SQLite at all" * 100, None])
def test_another_file_in_the_catalogs_place_is_refused(home: Path, content: bytes | None) -> None:
    home.mkdir()
    path = home / "library.sqlite"
    if content is not None:
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as other:
            other.execute("create table cookies (x)")
        other.close()
    with pytest.raises(LibraryError, match="not a library"):
        Library.open(home)


def test_a_newer_version_is_refused(home: Path) -> None:
    Library.open(home).close()
    connection = sqlite3.connect(home / "library.sqlite")
    connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(NewerLibraryError) as refused:
        Library.open(home)
    assert (refused.value.found, refused.value.hint) == (99, "update retrospan")


def test_an_older_version_is_brought_up_to_date(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Library.open(home) as library:
        library.load([file_of(tmp_path, 1, TRACES[0])])
    plain = catalog.sql_text
    step = "-- a later version\ncreate table pin (trace_id text primary key);\ninsert into pin values ('a');\n"
    monkeypatch.setattr(catalog, "sql_text", lambda name: step if name == "later" else plain(name))
    monkeypatch.setattr(catalog, "MIGRATIONS", (*catalog.MIGRATIONS, "later"))
    for _ in range(2):
        with Library.open(home) as library:
            assert ids(library) == {TRACES[0]}
    with Catalog.open(home / "library.sqlite") as opened:
        assert opened.execute("select * from pin") == [("a",)]
        assert opened.execute("pragma user_version") == [(len(catalog.MIGRATIONS),)]


def test_what_cannot_be_written_can_be_read(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path, 1, TRACES[0])
    with Library.open(home) as library:
        library.load([path])
    monkeypatch.setattr(catalog, "_can_write", lambda path: False)
    with Library.open(home) as library:
        assert ids(library) == {TRACES[0]}
        with pytest.raises(LibraryError, match="cannot be written"):
            library.load([path])
        with pytest.raises(LibraryError, match="cannot be written"):
            library.remove([TRACES[0]])


def test_a_full_disk_is_one_line_and_what_was_written_goes(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Library.open(home) as library:
        library.load([file_of(tmp_path, 1, TRACES[0])])

        def full(self: BulkDatabase, name: str) -> None:
            raise duckdb.IOException("Could not write file: No space left on device\n\nAdvice")

        path = file_of(tmp_path, 2, TRACES[1])
        monkeypatch.setattr(BulkDatabase, "run", full)
        with pytest.raises(LibraryError) as fault:
            library.load([path])
        assert str(fault.value) == f"{home}: the library cannot be written (no space left on device)"
        assert len(list((home / "segments").iterdir())) == 1
        assert ids(library) == {TRACES[0]}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become nobody")
def test_a_library_of_another_user_is_read_and_a_load_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with TemporaryDirectory(prefix="retrospan-") as open_to_all:  # pytest's own folders are for one user.
        Path(open_to_all).chmod(0o755)
        _read_as_nobody(Path(open_to_all), capsys)


def _read_as_nobody(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, more = file_of(shared, 1, TRACES[0]), file_of(shared, 2, TRACES[1])
    words = ["--library", str(shared / "library")]
    assert main(["load", str(path), *words]) == 0
    assert main(["show", "--trace", TRACES[0], *words]) == 0, "all modules are loaded, which nobody may not read"
    capsys.readouterr()
    os.seteuid(65534)
    try:
        assert main(["list", *words]) == 0
        assert main(["show", "--trace", TRACES[0], *words]) == 0
        assert TRACES[0][:12] in capsys.readouterr().out
        assert main(["load", str(more), *words]) == 2
    finally:
        os.seteuid(0)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "the library cannot be written (permission denied)" in said


def test_a_full_disk_is_one_line_and_leaves_the_library_as_it_was(home: Path, tmp_path: Path) -> None:
    with Library.open(home) as library:
        library.load([file_of(tmp_path, 1, TRACES[0])])
    path = file_of(tmp_path, 2, TRACES[1])
    done = subprocess.run(
        [sys.executable, "-m", "debugger.cli", "load", path, "--library", home],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)),
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert str(home) in done.stderr
    with Library.open(home) as library:
        assert ids(library) == {TRACES[0]}
        library.load([path])
        assert ids(library) == set(TRACES[:2])
    assert {path.suffix for path in (home / "segments").iterdir()} == {".duckdb"}


def test_a_cancelled_load_keeps_what_was_read_to_its_end(home: Path, tmp_path: Path) -> None:
    first, second = file_of(tmp_path, 1, TRACES[0]), tmp_path / "2.jsonl"
    second.write_bytes(b"".join(line(span(traceId=TRACES[1], spanId=f"{n:016x}")) for n in range(1, 3_000)))
    seen: list[LoadProgress] = []
    with Library.open(home) as library:
        assert library.load([second], on_progress=seen.append, cancelled=lambda: bool(seen)).was_cancelled
        assert ids(library) == set()
        seen.clear()
        summary = library.load([first, second], on_progress=seen.append, cancelled=lambda: bool(seen))
        assert summary.was_cancelled
        assert summary.spans == 1
        assert ids(library) == {TRACES[0]}
        seen.clear()
        again = library.load([first, second])
        assert again.known == (str(first),)
        assert ids(library) == set(TRACES[:2])
    assert library.load([first, second]).spans == 0


def test_a_load_that_waits_for_another_process_can_be_cancelled(home: Path, tmp_path: Path) -> None:
    with Library.open(home) as library, Catalog.open(home / "library.sqlite") as other, other.writing():
        asked: list[int] = []

        def cancelled() -> bool:
            asked.append(1)
            return len(asked) > 3

        with pytest.raises(QueryCancelledError):
            library.rebuild(cancelled=cancelled)
        assert ids(library) == set()


def test_a_rebuild_reads_what_is_there_and_keeps_what_is_gone(home: Path, tmp_path: Path) -> None:
    paths = [
        file_of(tmp_path, 1, TRACES[0], TRACES[1]),
        file_of(tmp_path, 2, TRACES[1], TRACES[2]),
        file_of(tmp_path, 3, TRACES[3]),
    ]
    with Library.open(home) as library:
        reader = library.reader()
        for path in paths:
            library.load([path])
        library.remove([TRACES[3]])
        before = [(row, [span.span_id for span in reader.spans(row.trace_id)]) for row in reader.traces()]
        paths[0].unlink()
        paths[1].write_bytes(paths[1].read_bytes() + b"\n")
        summary = library.rebuild()
        assert (summary.read, summary.missing) == ((str(paths[2]),), (str(paths[0]), str(paths[1])))
        assert [(row, [span.span_id for span in reader.spans(row.trace_id)]) for row in reader.traces()] == before
        facts = library.facts()
        assert (facts.traces, facts.segments, facts.missing_files) == (3, 1, tuple(map(str, paths[:2])))
        library.load([paths[2]])
        assert ids(library) == set(TRACES)


def test_a_lost_segment_is_said_and_made_again(home: Path, tmp_path: Path) -> None:
    with Library.open(home) as library:
        library.load([file_of(tmp_path, 1, TRACES[0])])
        gone = file_of(tmp_path, 2, TRACES[1])
        library.load([gone])
        gone.unlink()
        for path in (home / "segments").iterdir():
            path.unlink()
        with pytest.raises(LibraryError, match="is missing") as missing:
            library.reader().traces()
        assert "library rebuild" in missing.value.hint
        assert len(library.rebuild().unreadable) == 2
        assert ids(library) == {TRACES[0]}


def test_many_loads_leave_few_segments_and_readers_go_on(home: Path, tmp_path: Path) -> None:
    with Library.open(home) as library:
        reader = library.reader()
        for number in range(compaction.MOST + 1):
            library.load([file_of(tmp_path, number + 1, f"{number + 1:032x}")])
            assert len(reader.traces()) == number + 1
        assert len(list((home / "segments").iterdir())) == compaction.FEWEST
        assert len(reader.traces()) == compaction.MOST + 1


def test_large_segments_are_copied_only_when_there_are_far_too_many() -> None:
    def segments(count: int, size: int) -> list[Segment]:
        return [Segment(f"{n:08d}.duckdb", n, 1, 1, size) for n in range(count)]

    assert compaction.chosen(segments(11, 1_000_000_000)) == []
    assert len(compaction.chosen(segments(21, 1_000_000_000))) == 17
    assert sum(x.bytes for x in compaction.chosen(segments(3, 10**9) + segments(9, 10))) < 100


def test_while_more_waits_only_small_segments_are_copied_until_there_are_very_many() -> None:
    def chosen(*spans: int) -> list[int]:
        segments = [Segment(f"{n:08d}.duckdb", n, 1, count, 1000 * count) for n, count in enumerate(spans)]
        return [segment.spans for segment in compaction.chosen(segments, is_behind=True)]

    assert chosen(*[100] * 20) == []
    assert chosen(*[12_000] * 60) == []
    assert chosen(*[12_000] * 30, 200, 100) == [200, 100]
    assert chosen(*[12_000] * 61) == [12_000] * compaction.AT_ONCE
