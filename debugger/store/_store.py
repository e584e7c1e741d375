"""The store: spans in DuckDB, and what is read from them; the only door to the database."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final

import duckdb

from runtime.messages import Call
from runtime.trace import Span, TraceEvent, events_of

from ..conventions import VERSION, call_of, calls_of
from ..errors import (
    AmbiguousIdError,
    AmbiguousNameError,
    NoRoomError,
    ShortIdError,
    StoreError,
    UnknownSpanError,
    UnknownTraceError,
)
from ..importers import Context, Follower, LogRecord, log_record
from ..scratch import ScratchFolder
from ._calls import KeptCalls, TellSpans
from ._console import Console, HasParts, Part
from ._database import Database, collector_off
from ._ingest import Counters, Ingest, repeated_issue
from ._messages import MessageRows, Tell, message_rows
from ._numbers import read_numbers
from ._order import TimelineOrder, parents_first
from ._passed_over import as_one
from ._search import search_parts
from ._spans import BODY_COLUMNS, KnownContexts, SpanReader, span_from_row
from .rows import IssueRow, LoadProgress, NumbersBy, NumbersRow, SearchPart, SpanRow, TraceRow

_PREFIX_LENGTH: Final = 4
_TRIES: Final = 3
_WHOLE_TRACE: Final = 2_000
"""Spans of a trace that are read to show one of them."""
_BYTES_OF_CALL: Final = 3_000
"""What a call takes in memory beside its texts, as measured on a hundred thousand."""
_TOLD_EVERY: Final = 1_000
"""Spans after which a reading says how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSummary:
    """What a load brought."""

    spans: int
    """Spans read, before versions of the same span were merged."""
    traces: int
    """Traces in the store after the load."""
    issues: tuple[IssueRow, ...]
    """Everything odd, the skipped included."""
    skipped: tuple[IssueRow, ...]
    """Where input was lost."""
    unrecognised: int
    """Files of no format that is read."""
    seconds: float
    was_cancelled: bool = False


class Store:
    """Spans of any number of files. May be used from several threads; ``load`` from one at a time."""

    def __init__(self, database: Database, *, may_have_logs: bool = True) -> None:
        self._database = database
        self._contexts: dict[Context, tuple[int, str]] = {}
        self._known_contexts = KnownContexts()
        self._counters = Counters()
        self._generation = 0
        self._calls = KeptCalls()
        self._load_lock = Lock()
        self._may_have_logs = may_have_logs

    @classmethod
    def memory(cls) -> Store:
        """An empty store that lives as long as the process."""
        return cls(Database.in_memory(), may_have_logs=False)

    def close(self) -> None:
        """Free the database; the store must not be used after that."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def generation(self) -> int:
        """Goes up with every load: what was derived before may be out of date."""
        return self._generation

    def load(
        self,
        paths: Sequence[str | Path],
        *,
        on_progress: Callable[[LoadProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> LoadSummary:
        """Read files, folders, archives or standard input (``-``) into the store.

        What is odd about the input never raises: it is in the summary and in ``issues``, and good spans always load.

        Args:
            paths: read in this order; folders recursively.
            on_progress: called from this thread after each batch.
            cancelled: asked after each batch and some megabytes apart; True ends the load, what was read stays.
        Cost: blocks; call it in a worker.
        """
        return self._bring(lambda ingest: ingest.read(paths), on_progress, cancelled)

    def load_new(
        self,
        follower: Follower,
        *,
        on_progress: Callable[[LoadProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> LoadSummary:
        """Read what a follower finds to be new in its files; as ``load`` otherwise."""
        return self._bring(lambda ingest: ingest.read_new(follower), on_progress, cancelled)

    def _bring(
        self,
        read: Callable[[Ingest], None],
        on_progress: Callable[[LoadProgress], None] | None,
        cancelled: Callable[[], bool] | None,
    ) -> LoadSummary:
        with self._load_lock:
            began = time.perf_counter()
            ingest = Ingest(self._database, self._counters, self._contexts, on_progress, cancelled or (lambda: False))
            try:
                read(ingest)
                ingest.settle()
                ingest.write_issues()
            finally:
                self._database.commit()
                self._may_have_logs |= ingest.logs > 0
                self._generation += 1
            _, traces = self._database.query("counts")[0]
            orphans = self._orphans() if ingest.logs else []
        return LoadSummary(
            spans=ingest.spans,
            traces=traces,
            issues=(*as_one(ingest.issues), *ingest.repeated, *orphans),
            skipped=tuple(ingest.skipped),
            unrecognised=ingest.unrecognised,
            seconds=time.perf_counter() - began,
            was_cancelled=ingest.was_cancelled,
        )

    def traces(self) -> list[TraceRow]:
        """All traces, newest first; those without a time last; ties by id."""
        return self._database.fetch("trace_list", TraceRow)

    def spans(self, trace_id: str, tell: TellSpans = lambda _: None) -> list[SpanRow]:
        """The spans of a trace in timeline order: by start, ties by emitted sequence, structure, input order.

        Spans without a start come last. Empty for an unknown trace.

        Args: tell: told every so often how many are read; what it raises ends the reading.
        """
        return parents_first(self._database.fetch("span_list", SpanRow, {"trace_id": trace_id}, tell))

    def span(self, trace_id: str, span_id: str) -> list[Span]:
        """The whole span; several where really different spans share the id. Raises UnknownSpanError."""
        which = {"trace_id": trace_id, "span_id": span_id}
        rows = [(*row[:-1], *self._context(trace_id, row[-1])) for row in self._database.query("span_body", which)]
        if any(len(row) < BODY_COLUMNS for row in rows):
            rows = self._database.query("span_bodies", which)
        if not rows:
            raise UnknownSpanError(trace_id, span_id)
        return [span_from_row(row) for row in rows]

    def _context(self, trace_id: str, context_id: int) -> tuple[str | None, ...]:
        which = {"trace_id": trace_id, "context_id": context_id}
        return self._known_contexts.of(context_id, lambda: self._database.query("context", which))

    def whole_spans(self, trace_id: str) -> list[Span]:
        """All spans of a trace, whole, by start and input order."""
        order = TimelineOrder()
        with collector_off():
            spans = list(self._each_span(trace_id, order))
            return [spans[place] for place in order.places()]

    def _each_span(self, trace_id: str, order: TimelineOrder, tell: TellSpans = lambda _: None) -> Iterator[Span]:
        """All spans of a trace as they lie, one by one: the texts of a large one need not be in memory together."""
        read = SpanReader().read
        for done, (*row, run_id, start_seq) in enumerate(self._database.each("span_texts", {"trace_id": trace_id})):
            if done and not done % _TOLD_EVERY:
                tell(done)
            order.add(row[6], run_id, start_seq, row[0])
            yield read(row)

    def _derived(self, trace_id: str, tell: TellSpans = lambda _: None) -> list[Call]:
        logs = self.logs(trace_id)
        elsewhere = {row[0] for row in self._database.query("twins_of_others", {"trace_id": trace_id})}
        with collector_off():
            order = TimelineOrder()
            calls = calls_of(self._each_span(trace_id, order, tell), logs, order.places)
            return parents_first([_chain(call) if call.span_id in elsewhere else call for call in calls])

    def check_room(self, trace_id: str, room: int) -> None:
        """See whether the calls of a trace would fit into so many bytes of memory.

        Raises: NoRoomError: they would not; UnknownTraceError.
        """
        if self._calls.get(trace_id, self._version) is not None:
            return
        if not (rows := self._database.query("trace_size", {"trace_id": trace_id})):
            raise UnknownTraceError(trace_id, self._trace_ids())
        spans, size = rows[0]
        needed = spans * _BYTES_OF_CALL + size
        if needed > room:
            raise NoRoomError(spans, needed, room)

    @property
    def _version(self) -> tuple[int, str]:
        """Of what is derived from the spans."""
        return self.generation, VERSION

    def calls(self, trace_id: str, tell: TellSpans = lambda _: None) -> list[Call]:
        """The calls of a trace in timeline order. Derived when first asked for, then kept until the next load.

        Args: tell: told every thousand spans how many are read; what it raises ends the reading.
        Raises: UnknownTraceError.
        Cost: a second for some ten thousand spans; call it in a worker.
        """
        calls = self._calls.read(trace_id, self._version, lambda told: self._derived(trace_id, told), tell)
        if not calls:
            raise UnknownTraceError(trace_id, self._trace_ids())
        return list(calls)

    def call(self, trace_id: str, span_id: str) -> Call:
        """The call of one span; the first where several share the id.

        Some of it may stand on other spans, so the whole trace is read, and kept. Only of a trace beyond some
        thousand spans that nobody has read yet, the span's own words and the settled columns have to do.

        Raises: UnknownSpanError.
        """
        rows = self._database.query("span_facts", {"trace_id": trace_id, "span_id": span_id})
        if not rows:
            raise UnknownSpanError(trace_id, span_id)
        spans, kind = rows[0]
        if spans <= _WHOLE_TRACE or self._calls.get(trace_id, self._version) is not None:
            return next(call for call in self.calls(trace_id) if call.span_id == span_id)
        call = call_of(self.span(trace_id, span_id)[0], self.logs(trace_id, span_id).get(span_id, ()))
        return replace(call, kind=kind)

    def logs(self, trace_id: str, span_id: str | None = None) -> dict[str, list[LogRecord]]:
        """The log records of a trace, or of one span of it, by span id and in the order of time."""
        out: dict[str, list[LogRecord]] = {}
        if not self._may_have_logs:  # most files hold none, and each trace would ask
            return out
        for row in self._database.query("log_list", {"trace_id": trace_id, "span_id": span_id}):
            out.setdefault(row[0] or "", []).append(log_record(*row[1:]))
        return out

    def events(self, trace_id: str) -> list[TraceEvent]:
        """The trace events of a trace, which restore takes. Raises UnknownTraceError."""
        calls = self.calls(trace_id)
        with collector_off():
            return events_of(calls)

    def search(self, texts: Sequence[str], trace_id: str | None = None) -> Generator[SearchPart]:
        """Look for texts in all that was recorded, whatever their case; tells of each span that was looked at.

        Within one trace of up to 5,000 spans also in what its calls say, which may stand on another span. A text that
        reaches over a quote or a line break is found as well, since JSON writes those with backslashes.
        This thread must ask the store nothing else until the parts have come to their end or are closed.

        Args:
            texts: what to look for; an empty one is in every span.
            trace_id: only in this trace; None looks everywhere.
        Raises: QueryCancelledError: ``interrupt`` ended it.
        Cost: reads all recorded texts, once for all: four seconds for a million spans; call it in a worker.
        """
        return search_parts(self._database.each, texts, trace_id, self.calls)

    def conversations(self) -> dict[str, str]:
        """The conversation of each trace whose spans name one. Cost: reads all attributes; call it in a worker."""
        named = self._database.query("trace_conversations")
        return {trace_id: str(json.loads(f'"{conversation}"', strict=False)) for trace_id, conversation in named}

    def issues(self) -> list[IssueRow]:
        """Everything odd about what was loaded, in the order in which it was met; then what belongs to nothing.

        A log record without its span is no fault of its file: the span may be loaded later.
        """
        repeated = [repeated_issue(*row) for row in self._database.query("repeated_list")]
        return [*self._noted(), *repeated, *self._orphans()]

    def _noted(self) -> list[IssueRow]:
        return as_one(self._database.fetch("issue_list", IssueRow))

    def _orphans(self) -> list[IssueRow]:
        return [
            IssueRow(path=path, line=None, reason=_orphan_reason(records, traces))
            for path, records, traces in self._database.query("log_orphans")
        ]

    def resolve_trace(self, text: str) -> str:
        """The id of the trace that a text names: whole, or its first four or more digits; else by its name.

        Raises: UnknownTraceError, ShortIdError, AmbiguousIdError, AmbiguousNameError.
        """
        matches = self._ids("trace_ids_by_prefix", text)
        if matches[:1] in ((text,), (text.lower(),)):
            return matches[0]
        if not matches or len(text) < _PREFIX_LENGTH:
            # Also as lists show it: a workflow or an agent without the word for what it does.
            forms = (text, f"invoke_workflow {text}", f"invoke_agent {text}")
            named = tuple(row.trace_id for row in self.traces() if row.name in forms)
            if len(named) > 1:
                raise AmbiguousNameError(text, named)
            if named:
                return named[0]
        if len(text) < _PREFIX_LENGTH:
            raise ShortIdError(text, _PREFIX_LENGTH)
        if not matches:
            raise UnknownTraceError(text, self._trace_ids())
        if len(matches) > 1:
            raise AmbiguousIdError(text, matches)
        return matches[0]

    def resolve_span(self, trace_id: str, text: str) -> str:
        """The id of the span of a trace that a text names: whole, or its first four or more digits.

        Raises: UnknownSpanError, ShortIdError, AmbiguousIdError.
        """
        matches = self._ids("span_ids_by_prefix", text, trace_id=trace_id)
        if matches[:1] in ((text,), (text.lower(),)):
            return matches[0]
        if len(text) < _PREFIX_LENGTH:
            raise ShortIdError(text, _PREFIX_LENGTH)
        if not matches:
            raise UnknownSpanError(trace_id, text)
        if len(matches) > 1:
            raise AmbiguousIdError(text, matches)
        return matches[0]

    def _ids(self, query: str, text: str, **parameters: str) -> tuple[str, ...]:
        """The ids that start with a text, a whole one first: as it is written, else in lower case, as hex ids are."""
        for wanted in dict.fromkeys((text, text.lower())):
            found = tuple(str(row[0]) for row in self._database.query(query, {"prefix": wanted, **parameters}))
            if found:
                return found
        return ()

    def console(self) -> Console:
        """SQL over what is loaded now. Cost: a store in memory is copied to a temporary file."""
        return console_over([self])

    @property
    def lies_in_files(self) -> bool:
        """Whether its spans lie in files, which a console reads where they are."""
        return isinstance(self._database, HasParts)

    def numbers(
        self, by: NumbersBy, trace_ids: Collection[str] | None, without: Collection[str] = ()
    ) -> list[NumbersRow]:
        """Numbers over calls, of a store in memory; of a library, its console has them. Raises QueryCancelledError."""
        return read_numbers(self._database.query, by, trace_ids, without)

    def stop(self) -> None:
        """End all that is asked now, by any thread; it raises QueryCancelledError."""
        self._database.stop()

    def interrupt(self, thread_ident: int) -> None:
        """End what a thread is asking the store; its call raises QueryCancelledError."""
        self._database.interrupt(thread_ident)

    def _trace_ids(self) -> tuple[str, ...]:
        return tuple(row.trace_id for row in self.traces())


def console_over(stores: Sequence[Store], hidden: Collection[str] = ()) -> Console:
    """SQL over what some stores hold now.

    Args:
        stores: what is asked, as if it were one.
        hidden: traces of the stores in memory that do not count.
    Raises: QueryCancelledError: the copying of a store was interrupted; StoreError.
    Cost: a store in memory is copied to a temporary file.
    """
    for _ in range(_TRIES):
        folder = ScratchFolder()
        try:
            return _console_over(stores, hidden, folder)
        except duckdb.IOException:
            folder.remove()  # A segment of a library went away just now: its traces are in another one.
        except BaseException:
            folder.remove()
            raise
    raise StoreError("the library changes too fast to be asked", hint="ask again")


def _console_over(stores: Sequence[Store], hidden: Collection[str], folder: ScratchFolder) -> Console:
    parts: list[Part] = []
    for number, store in enumerate(stores):
        database = store._database
        if isinstance(database, HasParts):
            parts.extend(database.parts())
        else:
            path = folder.path / f"spans{number}.duckdb"
            database.copy_to(path)
            parts.append(Part(path=path, hidden=list(hidden)))
    issues = [issue for store in stores for issue in store.issues()]

    def messages(tell: Tell) -> Iterator[MessageRows]:
        asked = [(store, row) for store in stores for row in store.traces() if row.trace_id not in hidden]
        return message_rows(_calls_in(asked, tell))

    return Console(parts, issues, messages, folder)


def _calls_in(asked: Sequence[tuple[Store, TraceRow]], tell: Tell) -> Iterator[list[Call]]:
    """The calls of traces one by one: those that are kept, else derived and not kept."""
    total = sum(row.spans for _, row in asked)
    before = 0

    def told(done: int) -> None:
        tell(before + done, total)

    for store, row in asked:
        yield store._calls.get(row.trace_id, store._version) or store._derived(row.trace_id, told)
        before += row.spans
        told(0)


def _chain(call: Call) -> Call:
    """A call that is another one of a second trace."""
    return replace(call, kind="chain") if call.kind == "llm" else call


def _orphan_reason(records: int, named: int) -> str:
    noun = "log record belongs" if records == 1 else "log records belong"
    none = f", {records - named} of them name none" if 0 < named < records else ""
    return f"{records} {noun} to no span that was loaded{none}"
