"""One load into the library, and what it says of itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from .._ingest import Counters, Ingest
from .._passed_over import as_one
from .._store import LoadSummary
from ..rows import IssueRow, LoadProgress
from ._catalog import Catalog, Segment
from ._files import Scan
from ._place import Place
from ._work import Work, Workshop, clean


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySummary(LoadSummary):
    """What a load brought into the library."""

    logs: int = 0
    """Log records read; those whose span is not there yet wait in the library for it."""
    new_traces: int = 0
    """Traces that it brought something of."""
    known: tuple[str, ...] = ()
    """Files that the library held already."""
    waiting: int = 0
    """Spool files that are left for the next taking."""
    copied: int = 0
    """Spans of older segments that had to be copied, since more of their traces came."""
    set_aside: tuple[IssueRow, ...] = ()
    """Requests of the spool that could not be brought in: where they are now, and why."""


class Load:
    """One load, from the first byte to the moment in which it counts."""

    def __init__(
        self,
        place: Place,
        catalog: Catalog,
        scan: Scan,
        cancelled: Callable[[], bool],
        workshop: Workshop | None,
    ) -> None:
        self._place = place
        self._catalog = catalog
        self._scan = scan
        self._cancelled = cancelled
        self._workshop = workshop
        self.new_traces = 0
        self.copied = 0
        self.ingest: Ingest | None = None

    def run(self, paths: Sequence[str | Path], on_progress: Callable[[LoadProgress], None] | None) -> None:
        """Read the paths and publish what was in them."""
        work = Work.begin(self._place, self._catalog.last_file_id, self._workshop)
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
                if self._workshop is not None:
                    self._workshop.keep_ids(work.name, work.ids)
                self._catalog.add_segment(Segment(work.name, position, self.new_traces, spans, size))
            # An empty spool file is taken as well: it would be looked at again and again.
            read = self._scan.ids() if self._scan.kind == "spool" else ingest.read_files
            for file in self._scan.files(position, read - {half_read}):
                self._catalog.add_file(file)
                if Path(file.path).parent == self._place.set_aside:
                    self._catalog.drop_issues(file.path)  # it could be brought in after all
            self._catalog.add_issues(ingest.issues)

    def _take_over(self, work: Work) -> None:
        """Copy what older segments hold of the traces that the new one has something of."""
        removed = self._catalog.removed()
        fresh = {row[0] for row in work.database.query("library/fresh_ids")}
        taken: set[str] = set()
        segments = self._catalog.segments()
        for segment in segments:
            known = self._workshop.ids(segment.name) if self._workshop is not None else None
            if known is not None and known.isdisjoint(fresh):
                continue  # opening it would take longer than what came
            work.attach(self._place.segments / segment.name)
            if known is None and self._workshop is not None:
                known = frozenset(row[0] for row in work.database.query("library/old_ids"))
                self._workshop.keep_ids(segment.name, known)
            found = [row[0] for row in work.database.query("library/overlap")]
            live = [x for x in found if x not in taken and removed.get(x, -1) < segment.position]
            taken.update(found)
            if live:
                self.copied += work.copy(live)
                self._catalog.lower(segment.name, len(live))
            work.detach()
        if self._workshop is not None:
            self._workshop.forget_all_but(segment.name for segment in segments)


def as_given(summary: LibrarySummary, paths: Sequence[str | Path]) -> LibrarySummary:
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
        return tuple(as_one(structs.replace(row, path=name(row.path)) for row in issues))

    return replace(
        summary,
        issues=rows(summary.issues),
        skipped=rows(summary.skipped),
        known=tuple(map(name, summary.known)),
    )


def summary_of(began: float, load: Load | None, scan: Scan, catalog: Catalog) -> LibrarySummary:
    ingest = load.ingest if load is not None else None
    return LibrarySummary(
        spans=ingest.spans if ingest else 0,
        logs=ingest.logs if ingest else 0,
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
