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

from ...errors import LibraryError, NoLibraryError
from .._database import library_fault
from .._passed_over import is_passed_over
from .._store import LoadSummary, Store
from ..rows import IssueRow, LoadProgress
from ._catalog import Catalog
from ._compact import compact
from ._files import READER, Scan, is_there
from ._load import LibrarySummary, Load, as_given, summary_of
from ._pack import pack
from ._place import Place, library_folder
from ._rebuild import RebuildSummary, rebuild
from ._segments import Segments
from ._take import Taking, waiting_in
from ._work import Workshop

_TAKEN_AT_ONCE: Final = 32 << 20
"""Bytes of the spool after which a taking ends: what was received first is seen first, and memory is bounded."""


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
    set_aside: tuple[str, ...]
    """Files with one request each that could not be brought in from the spool, and was not loaded since."""


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

    def _noted(self) -> list[IssueRow]:
        # Files of other kinds that lay beside traces are no fault of what the library holds.
        return [row for row in self._segments.fetch("issue_list", IssueRow) if not is_passed_over(row)]

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
        self._workshops: list[Workshop] = []
        """That of the last taking of the spool, for the next one."""

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
        while self._workshops:
            self._workshops.pop().close()

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
        return as_given(self._load(paths, "file", on_progress, cancelled), paths)

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

    def take_spool(
        self, *, share: tuple[int, int] = (0, 1), cancelled: Callable[[], bool] | None = None
    ) -> LibrarySummary:
        """Bring in the closed spool files that are not in the library yet, oldest first, as one segment.

        Where there is much, some are left waiting. The files stay. What makes few of many is left to ``tidy``, so that
        what came is seen before. A request that cannot be brought in is set aside, and the others get in without it.

        Args:
            share: which of how many shares of the files, where several processes take at the same time.
            cancelled: asked now and then.

        Raises: LibraryError: the library cannot be written.
        """
        with self._saying_what_failed(), self._catalog() as catalog:
            whole, parts = waiting_in(self._place, catalog)
            # Of what is being looked for something odd only one process takes, and what came meanwhile goes first.
            mine = [whole[share[0] :: share[1]], parts if share[0] == 0 else []]
            now = [_first_of(files, _TAKEN_AT_ONCE) for files in mine]

            def load(paths: Sequence[Path]) -> LibrarySummary:
                with self._workshop() as workshop:
                    return self._load(paths, "spool", None, cancelled, workshop)

            found = Taking(self._place, catalog, load, cancelled or (lambda: False)).run(*now)
        return replace(found, waiting=found.waiting + sum(map(len, mine)) - sum(map(len, now)))

    def tidy(self, *, is_behind: bool = False) -> bool:
        """Make few segments and spool files of many small ones. To be called between takings of the spool.

        Args: is_behind: more is waiting to be taken, so only what is cheap or cannot wait is done.

        Returns: whether segments became one; then there may be more to do.

        Raises: LibraryError: the library cannot be written.
        """
        with self._saying_what_failed(), self._catalog() as catalog:
            catalog.need_writable()
            with self._workshop() as workshop:
                has_compacted = compact(self._place, catalog, is_behind=is_behind, workshop=workshop)
            if not is_behind:
                pack(self._place, catalog)
            return has_compacted

    @contextmanager
    def _workshop(self) -> Iterator[Workshop]:
        """A workshop of the caller's own. It is kept for the next one, unless something went wrong."""
        try:
            workshop = self._workshops.pop()
        except IndexError:
            workshop = Workshop()
        try:
            yield workshop
        except BaseException:
            workshop.close()
            raise
        self._workshops.append(workshop)

    def _load(
        self,
        paths: Sequence[str | Path],
        kind: str,
        on_progress: Callable[[LoadProgress], None] | None,
        cancelled: Callable[[], bool] | None,
        workshop: Workshop | None = None,
    ) -> LibrarySummary:
        began = time.perf_counter()
        stop = cancelled or (lambda: False)
        absolute = [path if str(path) == "-" else os.path.abspath(path) for path in paths]  # noqa: PTH100 (".." too)
        with self._saying_what_failed(), self._catalog() as catalog:
            catalog.need_writable()
            scan = Scan(catalog, kind=kind, cancelled=stop)
            try:
                if not scan.any_new(absolute):
                    return summary_of(began, None, scan, catalog)
                load = Load(self._place, catalog, scan, stop, workshop)
                load.run(absolute, on_progress)
                if kind != "spool":
                    compact(self._place, catalog)
                return summary_of(began, load, scan, catalog)
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
                set_aside=self._set_aside({file.path for file in files}),
            )

    def _set_aside(self, loaded: set[str]) -> tuple[str, ...]:
        folder = self._place.set_aside
        files = map(str, folder.iterdir()) if folder.exists() else ()
        return tuple(sorted(path for path in files if path not in loaded))

    @contextmanager
    def _saying_what_failed(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise LibraryError.from_system(self.folder, fault) from fault
        except (duckdb.OperationalError, duckdb.FatalException, sqlite3.Error) as fault:
            raise library_fault(self.folder, fault) from fault


def _first_of(files: list[Path], most: int) -> list[Path]:
    """Files up to the one that makes them more than so many bytes."""
    sizes = accumulate((path.stat().st_size for path in files), initial=0)
    return [path for path, before in zip(files, sizes, strict=False) if before < most]
