"""The library: loading into it, reading from it, removing, compacting, rebuilding."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Final

import duckdb
from msgspec import structs

from ...errors import LibraryError, NoLibraryError
from .._ingest import Counters, Ingest
from .._store import LoadSummary, Store
from ..rows import IssueRow, LoadProgress
from ._catalog import Catalog, Segment
from ._compact import compact
from ._files import READER, Scan, is_there
from ._pack import ENDINGS, is_pack, pack
from ._place import Place, library_folder
from ._rebuild import RebuildSummary, rebuild
from ._segments import Segments
from ._work import Work, clean

_TAKEN_AT_ONCE: Final = 128 << 20
"""Bytes of the spool after which a taking ends: what was received first is seen first, and memory is bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySummary(LoadSummary):
    """What a load brought into the library."""

    new_traces: int = 0
    """Traces that it brought something of."""
    known: tuple[str, ...] = ()
    """Files that the library held already."""
    waiting: int = 0
    """Spool files that are left for the next taking."""
    copied: int = 0
    """Spans of older segments that had to be copied, since more of their traces came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFacts:
    """What a library holds, by the numbers."""

    folder: str
    traces: int
    spans: int
    """Rows on disk; those of traces that other segments took over are among them until they are compacted."""
    segments: int
    segment_bytes: int
    spool_files: int
    spool_bytes: int
    files: int
    """Files that were loaded, the spool's among them."""
    missing_files: tuple[str, ...]
    """Files that are not where they were, or not as large. What they brought is in the segments only."""
    outdated_files: int
    """Files that an older version has read; a rebuild reads them again."""


class LibraryReader(Store):
    """The traces of a library, as they are now: each query sees what has been published before it."""

    def __init__(self, segments: Segments) -> None:
        super().__init__(segments)
        self._segments = segments

    @property
    def generation(self) -> int:
        """Goes up when the library has changed: what was derived before may be out of date."""
        self._segments.refresh()
        return self._segments.generation

    def refresh(self) -> bool:
        """Whether the library has changed since the last look. Costs microseconds; queries look by themselves."""
        return self._segments.refresh()

    def load(
        self,
        paths: Sequence[str | Path],
        *,
        on_progress: Callable[[LoadProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> LoadSummary:
        """A reader only reads. Raises LibraryError."""
        raise LibraryError("a library is loaded through Library.load, not through its reader")


class Library:
    """A library's folder. May be used from several threads and processes at once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._readers: list[LibraryReader] = []

    @classmethod
    def open(cls, folder: Path | None = None, *, make: bool = True) -> Library:
        """Open the library of a folder, or the user's; make it where there is none.

        Raises: LibraryError: the folder is something else, or cannot be used; NewerLibraryError; NoLibraryError: there
            is none, and none is to be made.
        """
        library = cls(Place(folder.absolute() if folder is not None else library_folder()))
        if not make and library._place.is_empty():
            raise NoLibraryError(library.folder)
        library._place.prepare()
        library._catalog().close()
        return library

    def _catalog(self) -> Catalog:
        return Catalog.open(self._place.catalog)

    @property
    def user_file(self) -> Path:
        """The SQLite file that holds what users say; the notebook is in it as well."""
        return self._place.catalog

    @property
    def folder(self) -> Path:
        """Where the library lies."""
        return self._place.folder

    @property
    def spool(self) -> Path:
        """Where the receiver leaves what it acknowledged: closed files end as in ``ENDINGS``, others in ``.open``."""
        return self._place.spool

    def close(self) -> None:
        """Close the library and the readers that it gave."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def reader(self) -> LibraryReader:
        """The traces, to read. Each reader has connections of its own; ``close`` closes them all."""
        reader = LibraryReader(Segments(self._place, self._catalog()))
        self._readers.append(reader)
        return reader

    # Loading.

    def load(
        self,
        paths: Sequence[str | Path],
        *,
        on_progress: Callable[[LoadProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> LibrarySummary:
        """Read files, folders, archives or standard input (``-``) into the library.

        A file that the library holds already is not read again. The load counts as a whole at its end; when it is
        cancelled, the files that were read to their end count, and the one being read does not.

        Raises: LibraryError: the library cannot be written.
        Cost: blocks; call it in a worker.
        """
        return _as_given(self._load(paths, "file", on_progress, cancelled), paths)

    def keep(self, trace: Path) -> Path:
        """Keep a replay's trace: its file is copied into the library, and loaded from there.

        Returns: the copy.

        Raises: LibraryError: the library cannot be written.
        """
        with self._saying_what_failed():
            for number in itertools.count(1):
                target = self._place.kept / f"replay-{number}.otlp.jsonl"
                try:
                    copy = target.open("xb")
                except FileExistsError:
                    continue
                try:
                    with copy, trace.open("rb") as source:
                        shutil.copyfileobj(source, copy)
                        copy.flush()
                        os.fsync(copy.fileno())
                    self._load([target], "replay", None, None)
                except BaseException:
                    target.unlink()
                    raise
                return target
            raise AssertionError("unreachable: the numbers never end")

    def take_spool(self, *, cancelled: Callable[[], bool] | None = None) -> LibrarySummary:
        """Bring in the closed spool files that are not in the library yet, oldest first, as one segment.

        Where there is much, some are left waiting. The files stay; many small ones that were taken become one.

        Raises: LibraryError: the library cannot be written.
        """
        with self._saying_what_failed(), self._catalog() as catalog:
            closed = [path for path in self.spool.iterdir() if path.name.endswith(ENDINGS) and not is_pack(path)]
            waiting = sorted(path for path in closed if not catalog.is_taken(path))
            sizes = accumulate((path.stat().st_size for path in waiting), initial=0)
            paths = [path for path, before in zip(waiting, sizes, strict=False) if before < _TAKEN_AT_ONCE]
        left = len(waiting) - len(paths)
        summary = self._load(paths, "spool", None, cancelled, is_behind=left > 0)
        if not left:
            with self._saying_what_failed(), self._catalog() as catalog:
                pack(self._place, catalog)
        return replace(summary, waiting=left)

    def _load(
        self,
        paths: Sequence[str | Path],
        kind: str,
        on_progress: Callable[[LoadProgress], None] | None,
        cancelled: Callable[[], bool] | None,
        *,
        is_behind: bool = False,
    ) -> LibrarySummary:
        began = time.perf_counter()
        stop = cancelled or (lambda: False)
        absolute = [path if str(path) == "-" else os.path.abspath(path) for path in paths]  # noqa: PTH100 (".." too)
        with self._saying_what_failed(), self._catalog() as catalog:
            catalog.need_writable()
            scan = Scan(catalog, kind=kind, cancelled=stop)
            try:
                if not scan.any_new(absolute):
                    return _summary(began, None, scan, catalog)
                load = _Load(self._place, catalog, scan, stop)
                load.run(absolute, on_progress)
                compact(self._place, catalog, is_behind=is_behind)
                return _summary(began, load, scan, catalog)
            finally:
                scan.close()

    # What users say.

    def remove(self, trace_ids: Iterable[str]) -> int:
        """Take traces out of the library. Loading a file that holds one again brings it back.

        Returns: how many there were.
        """
        with self._saying_what_failed(), self._catalog() as catalog, catalog.writing():
            segments = Segments(self._place, self._catalog())
            try:
                homes = segments.homes(dict.fromkeys(trace_ids))
                for name, found in homes.items():
                    catalog.mark_reduced(segments.files_of(name, found))
                    catalog.add_removed(found)
                    catalog.lower(name, len(found))
            finally:
                segments.close()
            return sum(map(len, homes.values()))

    def rebuild(
        self,
        on_progress: Callable[[LoadProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> RebuildSummary:
        """Make all segments new from the files that were loaded. What they no longer tell stays as it was.

        Raises: LibraryError: the library cannot be written; QueryCancelledError: cancelled while it waited.
        """
        with self._saying_what_failed(), self._catalog() as catalog:
            return rebuild(self._place, catalog, on_progress, cancelled or (lambda: False))

    def facts(self) -> LibraryFacts:
        """How much there is. Raises LibraryError."""
        with self._saying_what_failed(), self._catalog() as catalog:
            segments, files = catalog.segments(), catalog.files()
            spooled = [path.stat().st_size for path in self.spool.iterdir() if path.is_file()]
            return LibraryFacts(
                folder=str(self.folder),
                traces=sum(segment.live for segment in segments),
                spans=sum(segment.spans for segment in segments),
                segments=len(segments),
                segment_bytes=sum(segment.bytes for segment in segments),
                spool_files=len(spooled),
                spool_bytes=sum(spooled),
                files=len(files),
                missing_files=tuple(file.path for file in files if file.kind != "stream" and not is_there(file)),
                outdated_files=sum(file.reader != READER for file in files),
            )

    @contextmanager
    def _saying_what_failed(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise LibraryError.from_system(self.folder, fault) from fault
        except (duckdb.OperationalError, duckdb.FatalException, sqlite3.Error) as fault:
            raise LibraryError.from_database(self.folder, fault) from fault


class _Load:
    """One load, from the first byte to the moment in which it counts."""

    def __init__(self, place: Place, catalog: Catalog, scan: Scan, cancelled: Callable[[], bool]) -> None:
        self._place = place
        self._catalog = catalog
        self._scan = scan
        self._cancelled = cancelled
        self.new_traces = 0
        self.copied = 0
        self.ingest: Ingest | None = None

    def run(self, paths: Sequence[str | Path], on_progress: Callable[[LoadProgress], None] | None) -> None:
        """Read the paths and publish what was in them."""
        work = Work.begin(self._place)
        try:
            self._scan.first_id = work.first_id
            moved = None if on_progress is None else lambda progress: on_progress(self._scan.overall(progress))
            ingest = self.ingest = Ingest(
                work.database, Counters(work.first_id), {}, moved, self._cancelled, self._scan.wanted
            )
            ingest.read(paths)
            if on_progress is not None:
                on_progress(
                    LoadProgress(path="", bytes_done=0, bytes_total=None, spans=ingest.spans, is_finishing=True)
                )
            half_read = self._scan.last if ingest.was_cancelled else None
            if half_read is not None:
                ingest.forget_file(half_read, self._scan.path_of(half_read))
            if ingest.spans + ingest.logs or self._scan.kind == "spool":
                self._publish(work, ingest, half_read)
        finally:
            work.discard()
        with self._catalog.writing():
            clean(self._place, {segment.name for segment in self._catalog.segments()})

    def _publish(self, work: Work, ingest: Ingest, half_read: int | None) -> None:
        work.database.query("library/source_traces_fill")
        with self._catalog.writing():
            position = self._catalog.next_position()
            if ingest.spans + ingest.logs:
                self._take_over(work)
                ingest.settle()
                self.new_traces, spans, size = work.publish()
                self._catalog.add_segment(Segment(work.name, position, self.new_traces, spans, size))
            # An empty spool file is taken as well: it would be looked at again and again.
            read = self._scan.ids() if self._scan.kind == "spool" else ingest.read_files
            for file in self._scan.files(position, read - {half_read}):
                self._catalog.add_file(file)
            self._catalog.add_issues(ingest.issues)

    def _take_over(self, work: Work) -> None:
        """Copy what older segments hold of the traces that the new one has something of."""
        removed = self._catalog.removed()
        taken: set[str] = set()
        for segment in self._catalog.segments():
            work.attach(self._place.segments / segment.name)
            found = [row[0] for row in work.database.query("library/overlap")]
            live = [x for x in found if x not in taken and removed.get(x, -1) < segment.position]
            taken.update(found)
            if live:
                self.copied += work.copy(live)
                self._catalog.lower(segment.name, len(live))
            work.detach()


def _as_given(summary: LibrarySummary, paths: Sequence[str | Path]) -> LibrarySummary:
    """With the words of the user for files: the library itself knows them by their whole paths."""
    words = {os.path.abspath(path): str(path) for path in paths if str(path) != "-"}  # noqa: PTH100
    given = sorted(words.items(), key=lambda pair: -len(pair[0]))

    def name(path: str) -> str:
        for absolute, word in given:
            rest = path.removeprefix(absolute)
            if rest != path and rest[:1] in ("", os.sep, "!"):
                return word.rstrip(os.sep) + rest
        return path

    def rows(issues: tuple[IssueRow, ...]) -> tuple[IssueRow, ...]:
        return tuple(structs.replace(row, path=name(row.path)) for row in issues)

    return replace(
        summary,
        issues=rows(summary.issues),
        skipped=rows(summary.skipped),
        known=tuple(map(name, summary.known)),
    )


def _summary(began: float, load: _Load | None, scan: Scan, catalog: Catalog) -> LibrarySummary:
    ingest = load.ingest if load is not None else None
    return LibrarySummary(
        spans=ingest.spans if ingest else 0,
        traces=catalog.live_traces(),
        issues=(*ingest.issues, *ingest.repeated) if ingest else (),
        skipped=tuple(ingest.skipped) if ingest else (),
        unrecognised=ingest.unrecognised if ingest else 0,
        seconds=time.perf_counter() - began,
        was_cancelled=ingest.was_cancelled if ingest else False,
        new_traces=load.new_traces if load else 0,
        copied=load.copied if load else 0,
        known=tuple(scan.known),
    )
