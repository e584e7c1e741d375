"""Rebuilding: new segments from the files that were loaded, and from old segments where a file is gone.

A library refers to the files that were loaded into it and holds no copy of them. So what no file can tell any more
stays as the old segments have it, whole traces at a time, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import duckdb

from .._ingest import Counters, Ingest
from ..rows import LoadProgress
from ._catalog import Catalog, LoadedFile, Segment
from ._files import READER, holds_still
from ._place import Place
from ._work import Work, clean


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildSummary:
    """What a rebuild did."""

    traces: int
    spans: int
    read: tuple[str, ...]
    """Files that were read again."""
    missing: tuple[str, ...]
    """Files that are gone or have changed; what they brought was kept as it was."""
    unreadable: tuple[str, ...]
    """Old segments that could not be read: what they held of missing files is lost."""
    was_cancelled: bool = False
    """Then nothing has changed."""


class Rebuild:
    """One rebuild, while the library's lock is held."""

    def __init__(
        self,
        place: Place,
        catalog: Catalog,
        on_progress: Callable[[LoadProgress], None] | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self._place = place
        self._catalog = catalog
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._unreadable: list[str] = []

    def run(self) -> RebuildSummary:
        """Make one new segment instead of all."""
        files = self._catalog.files()
        there = [file for file in files if holds_still(file)]
        gone = [file for file in files if file not in there]
        work = Work.begin(self._place, self._catalog.last_file_id)
        try:
            ingest = Ingest(
                work.database,
                Counters(work.first_id),
                {},
                self._on_progress,
                self._cancelled,
                lambda path: self._reading,
            )
            self._reading = 0
            self._read(work, ingest, there)
            traces = spans = 0
            if not ingest.was_cancelled:
                work.database.query("library/source_traces_fill")
                self._keep(work, gone)
                ingest.settle()
                traces, spans = self._swap(work, there)
        finally:
            work.discard()
        return RebuildSummary(
            traces=traces,
            spans=spans,
            read=tuple(file.path for file in there),
            missing=tuple(file.path for file in gone),
            unreadable=tuple(self._unreadable),
            was_cancelled=ingest.was_cancelled,
        )

    def _read(self, work: Work, ingest: Ingest, files: Iterable[LoadedFile]) -> None:
        """Read the files in the order of their loads, with the removals in between."""
        removals = sorted((position, trace_id) for trace_id, position in self._catalog.removed().items())
        for file in files:
            due = [trace_id for position, trace_id in removals if position < file.position]
            removals = removals[len(due) :]
            self._forget(work, due)
            self._reading = file.file_id
            ingest.read([file.path])
            if ingest.was_cancelled:
                return
        self._forget(work, [trace_id for _, trace_id in removals])

    def _forget(self, work: Work, trace_ids: list[str]) -> None:
        if trace_ids:
            for table in ("spans", "logs"):
                work.database.query(f"library/{table}_delete_traces", {"trace_ids": trace_ids})

    def _keep(self, work: Work, gone: Iterable[LoadedFile]) -> None:
        """Keep the traces that a missing file has something of; nothing that was read again may be mixed in."""
        removed = self._catalog.removed()
        file_ids = [file.file_id for file in gone]
        file_ids += self._catalog.parts_of(file_ids)
        seen: set[str] = set()
        for segment in self._catalog.segments() if file_ids else ():
            try:
                work.attach(self._place.segments / segment.name)
            except duckdb.IOException:
                self._unreadable.append(segment.name)
                continue
            ids = {row[0] for row in work.database.query("library/old_ids")}
            live = {x for x in ids - seen if removed.get(x, -1) < segment.position}
            seen |= ids
            found = work.database.query("library/old_file_traces", {"file_ids": file_ids})
            kept = [row[0] for row in found if row[0] in live]
            if kept:
                self._forget(work, kept)
                work.database.query("library/source_traces_delete_traces", {"trace_ids": kept})
                work.copy(kept)
            work.detach()

    def _swap(self, work: Work, there: Iterable[LoadedFile]) -> tuple[int, int]:
        for segment in self._catalog.segments():
            self._catalog.drop_segment(segment.name)
        for file in there:
            self._catalog.update_file(file.file_id, READER)
        self._catalog.forget_parts(file.file_id for file in there)
        traces, spans, size = work.publish()
        if traces:
            self._catalog.add_segment(Segment(work.name, self._catalog.next_position(), traces, spans, size))
        return traces, spans


def rebuild(
    place: Place,
    catalog: Catalog,
    on_progress: Callable[[LoadProgress], None] | None,
    cancelled: Callable[[], bool],
) -> RebuildSummary:
    """Make all segments new. Other processes read the old ones meanwhile, and wait with what they load."""
    with catalog.writing(cancelled):
        summary = Rebuild(place, catalog, on_progress, cancelled).run()
    with catalog.writing():
        clean(place, {segment.name for segment in catalog.segments()})
    return summary
