"""A request that cannot be brought in: set aside whole, while everything else gets in, wherever a process dies."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import debugger.store.library._take as taking
from debugger.cli import main
from debugger.commands.listen import _Plain
from debugger.errors import LibraryError, QueryCancelledError, StoreError, TooLargeError
from debugger.receiver import ingest, worker
from debugger.receiver.status import Status
from debugger.store import Library
from debugger.store._ingest import Ingest

from .otlp import line, span

MARK = "poison"
GOOD = [f"{number:032x}" for number in range(1, 9)]


class Died(BaseException):
    """Stands for kill -9: nothing of ours may catch it."""


def die(*_: object, **__: object) -> None:
    raise Died


def requests(*names: str) -> list[bytes]:
    """One request for each trace id, or one that cannot be brought in."""
    return [line(span(traceId=name)) if name != MARK else line(span(traceId="f" * 32, name=MARK)) for name in names]


def put(library: Library, number: int, *names: str) -> Path:
    path = library.spool / f"{1_760_000_000_000_000_000 + number:020d}-1.otlp.jsonl"
    path.write_bytes(b"".join(requests(*names)))
    return path


def set_aside(library: Library) -> list[Path]:
    folder = library.folder / "set-aside"
    return sorted(folder.iterdir()) if folder.exists() else []


def traces(library: Library) -> list[str]:
    return sorted(row.trace_id for row in library.reader().traces())


Poison = Callable[[BaseException], None]


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> Poison:
    """Makes every load fail that meets the mark."""

    def fail_with(fault: BaseException) -> None:
        whole = Ingest.flush

        def flush(self: Ingest) -> None:
            if any(MARK in row for row in self._rows):
                raise fault
            whole(self)

        monkeypatch.setattr(Ingest, "flush", flush)

    return fail_with


def test_only_the_one_request_stays_out(poisoned: Poison, tmp_path: Path) -> None:
    fault = TooLargeError("512MB")
    poisoned(fault)
    with Library.open(tmp_path) as library:
        put(library, 1, *GOOD[:2])
        put(library, 2, *GOOD[2:5], MARK, GOOD[5])
        put(library, 3, *GOOD[6:])
        found = library.take_spool()
        assert (found.spans, found.new_traces, found.waiting) == (8, 8, 0)
        assert traces(library) == GOOD
        (aside,) = set_aside(library)
        assert aside.read_bytes() == requests(MARK)[0]
        assert aside.name.startswith("2025-10-09T")
        (row,) = found.set_aside
        assert row.path == str(aside)
        assert str(fault) in row.reason
        assert row in library.reader().issues()
        assert library.facts().set_aside == (str(aside),)
        again = library.take_spool()
        assert (again.spans, again.set_aside) == (0, ())


def test_what_was_set_aside_is_loaded_by_a_version_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Ingest) -> None:
        raise ValueError("odd\x1b[31m")

    with Library.open(tmp_path) as library, monkeypatch.context() as patch:
        patch.setattr(Ingest, "flush", fail)
        put(library, 1, GOOD[0])
        library.take_spool()
        (aside,) = set_aside(library)
    assert main(["library", "info", "--library", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "set aside  1 request" in said
    assert str(aside) in said
    assert main(["list", str(aside)]) == 0
    assert main(["load", str(aside), "--library", str(tmp_path)]) == 0
    with Library.open(tmp_path) as library:
        assert traces(library) == GOOD[:1]
        assert library.facts().set_aside == ()
        assert library.reader().issues() == []
        assert aside.exists()


def test_protobuf_requests_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = []
    for number in (1, 2, 3):
        asked = ExportTraceServiceRequest()
        asked.resource_spans.add().scope_spans.add().spans.add(
            trace_id=bytes(15) + b"\1", span_id=number.to_bytes(8, "big"), name="work", start_time_unix_nano=number
        )
        bodies.append(asked.SerializeToString())
    frames = [len(body).to_bytes(4, "big") + body for body in bodies]

    def fail_on_second(self: Ingest, whole: Callable[[Ingest], None] = Ingest.flush) -> None:
        if any(row[2] == f"{2:016x}" for row in self._rows):
            raise RecursionError("too deep")
        whole(self)

    with Library.open(tmp_path) as library:
        (library.spool / f"{1_760_000_000_000_000_000:020d}-1.otlp.pb").write_bytes(b"".join(frames))
        with monkeypatch.context() as patch:
            patch.setattr(Ingest, "flush", fail_on_second)
            assert library.take_spool().spans == 2
        (aside,) = set_aside(library)
        assert aside.read_bytes() == frames[1]
        assert library.load([aside]).spans == 1


def test_a_fault_of_the_machine_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Library.open(tmp_path) as library:
        path = put(library, 1, *GOOD[:2])
        with monkeypatch.context() as patch:
            patch.setattr(Ingest, "flush", fail)
            with pytest.raises(LibraryError):
                library.take_spool()
        assert [*library.spool.iterdir()] == [path]
        assert set_aside(library) == []


def test_faults_of_the_machine_and_of_the_content_are_told_apart() -> None:
    too_large, no_room = TooLargeError("512MB"), TooLargeError("512MB")
    too_large.__cause__ = duckdb.OutOfMemoryException("failed to allocate data of size 100 MB")
    no_room.__cause__ = duckdb.OutOfMemoryException("failed to offload data block (max_temp_directory_size)")
    refused = StoreError("a file of the database is refused")
    refused.__cause__ = duckdb.IOException("IO Error: Could not set lock on file")
    full = duckdb.FatalException("No space left on device")
    of_content = (too_large, OverflowError(), MemoryError(), duckdb.ConversionException("no such value"))
    of_machine = (
        no_room,
        refused,
        full,
        PermissionError(),
        QueryCancelledError("x"),
        sqlite3.OperationalError("locked"),
    )
    assert all(map(taking.is_of_content, of_content))
    assert not any(map(taking.is_of_content, of_machine))


def test_where_nothing_can_be_written_nothing_is_set_aside(
    poisoned: Poison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the failure looked like: an empty segment cannot be made either."""
    poisoned(RuntimeError("can't start new thread"))
    with Library.open(tmp_path) as library:
        put(library, 1, MARK)

        def none(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(taking.Work, "begin", none)
        with pytest.raises(RuntimeError):
            library.take_spool()
        assert set_aside(library) == []
        assert len([*library.spool.iterdir()]) == 1


_STEPS = 10
_TELLING = (4, 7)
"""Before the whole file goes, and between what the library says and the move."""


@pytest.mark.parametrize(
    "dies_at", [pytest.param(n, marks=() if n in _TELLING else pytest.mark.thorough) for n in range(1, _STEPS + 1)]
)
def test_whenever_it_dies_nothing_is_lost(
    poisoned: Poison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """It dies before its nth step on the disk, and another process goes on."""
    poisoned(OverflowError("odd"))
    steps = 0

    def stepping(step: Callable[..., object]) -> Callable[..., object]:
        def take(*args: object, **named: object) -> object:
            nonlocal steps
            steps += 1
            if steps == dies_at:
                raise Died
            return step(*args, **named)

        return take

    with Library.open(tmp_path) as library:
        put(library, 1, GOOD[0], MARK)
        put(library, 2, GOOD[1])
        with monkeypatch.context() as patch:
            patch.setattr(taking, "sync", stepping(taking.sync))
            for name in ("rename", "unlink"):
                patch.setattr(taking.Path, name, stepping(getattr(Path, name)))
            with suppress(Died):
                library.take_spool()
    with Library.open(tmp_path) as library:
        library.take_spool()
        assert traces(library) == GOOD[:2]
        assert steps == dies_at
        assert [path.read_bytes() for path in set_aside(library)] == requests(MARK)
        assert not [path for path in library.spool.iterdir() if path.name.startswith(".")]
        reasons = [row for row in library.reader().issues() if "set aside" in row.reason]
        assert len(reasons) == 1


def test_many_odd_requests_do_not_keep_new_ones_waiting(
    poisoned: Poison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MOST_LOADS", 6)
    poisoned(OverflowError("odd"))
    with Library.open(tmp_path) as library:
        put(library, 1, *[MARK] * 4, GOOD[0])
        assert library.take_spool().waiting > 0
        put(library, 2, GOOD[1])
        library.take_spool()
        assert GOOD[1] in traces(library)
        for _ in range(8):
            if not library.take_spool().waiting:
                break
        assert traces(library) == GOOD[:2]
        assert len(set_aside(library)) == 1  # four times the same bytes, received at the same time


def test_the_receiver_says_what_was_set_aside(
    poisoned: Poison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    poisoned(OverflowError("odd"))
    with Library.open(tmp_path) as library:
        put(library, 1, MARK)
        said = worker.Worker(tmp_path).take()
        (aside,) = set_aside(library)

    async def take(*_: object) -> dict[str, object]:
        return said

    async def closed() -> int:
        return 0

    monkeypatch.setattr(ingest.Worker, "take", take)
    problems: list[str] = []
    receiving = ingest.Ingest(tmp_path, closed, problems.append)
    assert asyncio.run(receiving.take())
    assert problems == [""]
    status = Status(
        state="listening", http=None, grpc=None, library="", set_aside=receiving.set_aside,
        last_set_aside=receiving.last_set_aside,
    )  # fmt: skip
    log = _Plain()
    log(Status(state="listening", http=None, grpc=None, library=""))
    log(status)
    reason = "a received request that could not be brought in is set aside here: OverflowError: odd"
    assert f"1 request set aside ({aside}: {reason})" in capsys.readouterr().err
