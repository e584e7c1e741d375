"""Reading a library: its segments, attached read-only, as one database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import duckdb

from ...errors import LibraryError
from .._console import Part
from .._database import Database, R, TellRows, connect, pieces, quoted, rows_of, sql_text, told
from ..rows import TraceRow
from ._catalog import Catalog, Segment
from ._packed import Ask, read_ids, read_traces
from ._place import Place

_ATTEMPTS: Final = 20
"""How often a reader looks again when a segment was replaced between reading the catalog and opening the file."""


class Attached:
    """A segment that is open. What it says about its traces never changes, and is kept."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.alias = f"s{segment.name.partition('.')[0]}"
        self.users = 0
        self.is_retired = False
        self.ids: frozenset[str] | None = None
        self.traces: list[TraceRow] | None = None


class View:
    """The segments that count at one moment, newest first, and what is removed. Never changes."""

    def __init__(self, segments: list[Attached], removed: dict[str, int]) -> None:
        self.segments = segments
        self.removed = removed

    def counts(self, segment: Attached, trace_id: str) -> bool:
        """Whether what a segment holds of a trace has not been removed."""
        return self.removed.get(trace_id, -1) < segment.segment.position


class Segments(Database):
    """The segments of a library as a store's database. Follows what is published with each query."""

    def __init__(self, place: Place, catalog: Catalog) -> None:
        super().__init__(connect(":memory:"))
        self._place = place
        self._catalog = catalog
        self._version: int | None = None
        self._state = threading.Lock()
        self._view = View([], {})
        self._home: tuple[View, dict[str, Attached]] | None = None
        self._listed: tuple[View | None, list[TraceRow]] = (None, [])
        self.generation = 0

    # Following the catalog.

    def refresh(self) -> bool:
        """See what has been published since; whether there was anything. Costs microseconds where there was not."""
        with self._state:
            version = self._catalog.data_version()
            if version == self._version:
                return False
            self._look_again()
            self._version = version
            self.generation += 1
            return True

    def _look_again(self) -> None:
        for _ in range(_ATTEMPTS):
            removed, segments = self._catalog.removed(), self._catalog.segments()
            known = {attached.segment.name: attached for attached in self._view.segments}
            try:
                attached = [self._attach(segment, known) for segment in segments]
            except duckdb.IOException:
                if self._catalog.segments() == segments:
                    raise
                continue
            for old in self._view.segments:
                old.is_retired = old not in attached
            self._view, retired = View(attached, removed), self._view.segments
            for old in retired:
                self._let_go(old)
            return
        raise LibraryError(f"{self._place.folder}: the library changes too fast to be read", hint="try again")

    def _attach(self, segment: Segment, known: dict[str, Attached]) -> Attached:
        found = known.get(segment.name)
        if found is not None:
            if found.segment != segment:
                found.segment = segment
            return found
        attached = Attached(segment)
        path = self._place.segments / segment.name
        try:
            self._root.execute(f"attach if not exists '{quoted(path)}' as {attached.alias} (read_only)")
        except duckdb.IOException as fault:
            if segment not in self._catalog.segments():
                raise  # it was replaced a moment ago
            what = f"cannot be read ({str(fault).splitlines()[0]})" if path.exists() else "is missing"
            hint = "`retrospan library rebuild` makes it again from what was loaded"
            raise LibraryError(f"{path}: this part of the library {what}", hint=hint) from fault
        return attached

    def _let_go(self, attached: Attached) -> None:
        if attached.is_retired and not attached.users:
            self._root.execute(f"detach database if exists {attached.alias}")

    @contextmanager
    def _looking(self) -> Iterator[View]:
        """What counts now; its segments stay open until the end."""
        self.refresh()
        with self._state:
            view = self._view
            for attached in view.segments:
                attached.users += 1
        try:
            yield view
        finally:
            with self._state:
                for attached in view.segments:
                    attached.users -= 1
                    self._let_go(attached)

    # Asking.

    def _ask(self, attached: Attached, name: str, parameters: Mapping[str, Any] | None) -> duckdb.DuckDBPyConnection:
        cursor = self._cursor()
        cursor.execute(f"use {attached.alias}")
        return cursor.execute(sql_text(name), dict(parameters) if parameters else None)

    def _asking(self, attached: Attached) -> Ask:
        return lambda name, parameters: self._ask(attached, name, parameters).fetchall()

    def query(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query file; a query about one trace is put to the segment that holds it."""
        with told(name), self._looking() as view:
            if name in _EVERYWHERE:
                return self._everywhere(view, name, parameters)
            if parameters and "trace_id" in parameters:
                home = self._homes(view).get(parameters["trace_id"])
                return self._ask(home, name, parameters).fetchall() if home else []
            return _ACROSS[name](self, view, parameters or {})

    def each(self, name: str, parameters: Mapping[str, Any] | None = None) -> Generator[tuple[Any, ...]]:
        """The rows of a query file, some thousand at a time: of one trace, or of all, from where each counts."""
        with told(name), self._looking() as view:
            if (parameters or {})["trace_id"] is None:
                homes = self._homes(view)
                for attached in view.segments:
                    for row in pieces(self._ask(attached, name, parameters)):
                        if homes.get(row[0]) is attached:
                            yield row
                return
            home = self._homes(view).get((parameters or {})["trace_id"])
            if home is not None:
                yield from pieces(self._ask(home, name, parameters))

    def fetch(
        self,
        name: str,
        make: type[R],
        parameters: Mapping[str, Any] | None = None,
        tell: TellRows = lambda _: None,
    ) -> list[R]:
        """All rows of a query file as rows of a type, whose fields are the query's columns by name."""
        if name in _ACROSS:
            return self.query(name)  # type: ignore[return-value]
        with told(name), self._looking() as view:
            home = self._homes(view).get((parameters or {})["trace_id"])
            if home is None:
                return []
            return rows_of(make, self._ask(home, name, parameters), tell)

    def homes(self, trace_ids: Iterable[str]) -> dict[str, list[str]]:
        """By segment, those of the traces that are there."""
        out: dict[str, list[str]] = {}
        with self._looking() as view:
            homes = self._homes(view)
            for trace_id in trace_ids:
                if trace_id in homes:
                    out.setdefault(homes[trace_id].segment.name, []).append(trace_id)
        return out

    def files_of(self, name: str, trace_ids: list[str]) -> list[int]:
        """The files that have something of some traces of a segment."""
        with self._looking() as view:
            attached = next(x for x in view.segments if x.segment.name == name)
            rows = self._ask(attached, "library/trace_files", {"trace_ids": trace_ids}).fetchall()
        return [row[0] for row in rows if row[0] is not None]

    def live_ids(self) -> dict[str, list[str]]:
        """For each segment the traces whose rows in it count."""
        with self._looking() as view:
            out: dict[str, list[str]] = {attached.segment.name: [] for attached in view.segments}
            for trace_id, attached in self._homes(view).items():
                out[attached.segment.name].append(trace_id)
            return out

    def parts(self) -> list[Part]:
        """The segments, each with those of its traces that do not count."""
        with self._looking() as view:
            homes = self._homes(view)
            return [
                Part(
                    path=self._place.segments / attached.segment.name,
                    hidden=[trace_id for trace_id in attached.ids or () if homes.get(trace_id) is not attached],
                )
                for attached in view.segments
            ]

    def _homes(self, view: View) -> dict[str, Attached]:
        kept = self._home
        if kept is not None and kept[0] is view:
            return kept[1]
        homes: dict[str, Attached] = {}
        for attached in reversed(view.segments):
            ids = attached.ids
            if ids is None:
                ids = attached.ids = read_ids(self._asking(attached))
            homes.update(dict.fromkeys(ids, attached))
        for trace_id in view.removed:
            at = homes.get(trace_id)
            if at is not None and not view.counts(at, trace_id):
                del homes[trace_id]
        self._home = (view, homes)
        return homes

    def _everywhere(self, view: View, name: str, parameters: Mapping[str, Any] | None) -> list[tuple[Any, ...]]:
        """The rows of all segments, whose first column is the trace: each from where its trace counts."""
        homes = self._homes(view)
        return [
            row
            for attached in view.segments
            for row in self._ask(attached, name, parameters).fetchall()
            if homes.get(row[0]) is attached
        ]

    def _trace_list(self, view: View, _: Mapping[str, Any]) -> list[Any]:
        if self._listed[0] is not view:
            self._listed = (view, self._list(view))
        return list(self._listed[1])

    def _list(self, view: View) -> list[TraceRow]:
        homes = self._homes(view)
        out: list[TraceRow] = []
        for attached in view.segments:
            rows = attached.traces
            if rows is None:
                rows = attached.traces = read_traces(self._asking(attached))
            out.extend(row for row in rows if homes.get(row.trace_id) is attached)
        if len(view.segments) > 1:
            out.sort(key=_newest_first)
        return out

    def _orphans(self, view: View, _: Mapping[str, Any]) -> list[Any]:
        homes = self._homes(view)
        out: dict[str, list[int]] = {}
        for attached in reversed(view.segments):
            for trace_id, path, records, traces in self._ask(attached, "library/segment_orphans", None).fetchall():
                if trace_id is None or homes.get(trace_id) is attached:
                    counts = out.setdefault(path, [0, 0])
                    counts[0] += records
                    counts[1] += traces
        return [(path, records, traces) for path, (records, traces) in out.items()]

    def _repeated(self, view: View, _: Mapping[str, Any]) -> list[Any]:
        homes = self._homes(view)
        rows = [
            (path, span_id, trace_id, versions)
            for attached in view.segments
            for trace_id, path, span_id, versions in self._ask(attached, "library/segment_repeated", None).fetchall()
            if homes.get(trace_id) is attached
        ]
        return sorted(rows, key=lambda row: (row[0], row[2], row[1]))

    def _issues(self, _: View, __: Mapping[str, Any]) -> list[Any]:
        with self._state:
            return list(self._catalog.issues())

    def _prefix(self, view: View, parameters: Mapping[str, Any]) -> list[Any]:
        prefix = parameters["prefix"]
        # A trace with log records only is none that can be opened.
        return [(trace_id,) for trace_id in sorted(self._homes(view)) if trace_id.startswith(prefix)]

    def close(self) -> None:
        """Close everything."""
        super().close()
        self._catalog.close()


_EVERYWHERE: Final = frozenset(("trace_conversations",))
"""What is asked of every segment alike."""

_ACROSS: Final[dict[str, Callable[[Segments, View, Mapping[str, Any]], list[Any]]]] = {
    "trace_list": Segments._trace_list,
    "log_orphans": Segments._orphans,
    "repeated_list": Segments._repeated,
    "issue_list": Segments._issues,
    "trace_ids_by_prefix": Segments._prefix,
}
"""What is asked of all segments together."""


def _newest_first(row: TraceRow) -> tuple[bool, int, str]:
    start = row.start_unix_nano
    return (start is None, -(start or 0), row.trace_id)
