"""From sources to rows: what a load does.

The wide parts of a span go in as the text they are; only those attributes are decoded that a convention asks for.
"""

from __future__ import annotations

import os
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from runtime.trace import Span

from ..conventions import FILLED, Narrow, Promoted, Promoter, View, lone_twins, promote, settle
from ..importers import (
    Batch,
    Context,
    Follower,
    Format,
    Note,
    RawLog,
    RawSpan,
    Source,
    format_of,
    is_logs,
    is_spans,
    iter_sources,
    key_values,
    load_text,
    looks_like,
)
from ._database import Database, collector_off, texts_shared
from ._passed_over import LOOKS_LIKE, PASSED_OVER
from ._spans import identity, is_printed, merge_unfinished, span_from_row, text_field
from .rows import IssueRow, LoadProgress

_BATCH_ROWS: Final = 2_048
"""As many as DuckDB takes at once. More would take fresh memory, and be seen later."""
_TOLD_ROWS: Final = 20_480
"""How many rows between two words of progress, on which a screen lists all traces anew."""
_TOLD_S: Final = 1.0
"""Seconds after which a word comes in any case: one that stands still for long looks as if nothing went on."""


def _shown(path: str) -> str:
    """A file's name as text: bytes that are no UTF-8 become U+FFFD, since the database holds Unicode only."""
    return os.fsencode(path).decode("utf-8", "replace")


_READING: Final = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, msgspec.MsgspecError,
)  # fmt: skip
"""What reading raises for a value that nobody has thought of. It costs that span, or the rest of that source."""


def _failed(fault: Exception) -> str:
    return f"reading it failed ({type(fault).__name__}: {str(fault)[:200]}), please report this"


def _batches(form: Format, source: Source, note: Note) -> Iterator[Batch]:
    """What a reader gives. Where it fails that is told as input lost, and what came before stays."""
    try:
        yield from form.read(source.blocks, note)
    except _READING as fault:
        note(None, f"not read to its end; {_failed(fault)}", True)


class _CancelledError(Exception):
    """Ends the reading, wherever in the input it is: a line that is passed over brings no batch after which to ask."""


class Counters:
    """The numbers that were given last, of rows, sources, issues and contexts; all begin after the same one."""

    def __init__(self, last: int = 0) -> None:
        self.seq = self.source_id = self.issue_id = self.context_id = last


class Ingest:
    """One load into a database: interned contexts, issues, what was counted.

    ``read`` brings rows in; ``settle`` then makes one of what is there more than once.
    """

    def __init__(
        self,
        database: Database,
        counters: Counters,
        contexts: dict[Context, tuple[int, str]],
        on_progress: Callable[[LoadProgress], None] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        wanted: Callable[[str], int | None] = lambda path: 0,
    ) -> None:
        self._database = database
        self._counters = counters
        self._contexts = contexts
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._wanted = wanted
        self._told = 0, 0.0
        """Rows, and when, at the last word of progress."""
        self._file_id: int | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._log_rows: list[tuple[Any, ...]] = []
        self._new_contexts: list[tuple[Any, ...]] = []
        self._promoter = Promoter()
        self.first_seq = counters.seq + 1
        self.spans = 0
        self.logs = 0
        self.read_files: set[int] = set()
        """The numbers of the files that brought something."""
        self.issues: list[IssueRow] = []
        self.skipped: list[IssueRow] = []
        self.repeated: list[IssueRow] = []
        self.unrecognised = 0
        self.was_cancelled = False

    def note(self, path: str, line: int | None, reason: str, skipped: bool) -> None:
        """Record something odd; ``skipped`` where input was lost."""
        row = IssueRow(path=_shown(path), line=line, reason=reason)
        self.issues.append(row)
        if skipped:
            self.skipped.append(row)

    def read(self, paths: Sequence[str | Path]) -> None:
        """Bring in the rows of every source under the paths."""
        self._read(iter_sources(paths, self._note_path, self._is_wanted, self._check))

    def read_new(self, follower: Follower) -> None:
        """Bring in what is new in the files that are followed."""
        self._read(follower.sources(self._note_path, self._check))

    def _note_path(self, path: str, reason: str) -> None:
        self.note(path, None, reason, True)

    def _read(self, sources: Iterable[Source]) -> None:
        with collector_off():
            try:
                for source in sources:
                    self._check()
                    self._load(source)
            except _CancelledError:
                self.was_cancelled = True
            self.flush()

    def _check(self) -> None:
        if self._cancelled():
            raise _CancelledError

    def settle(self) -> None:
        """Merge the versions of spans that are there more than once, in the traces that got new rows."""
        if self.spans:
            self._unsettle()
            self._merge_versions()
            self._settle_twins()
        if self.logs:
            self._database.query("log_delete_equal")

    def write_issues(self) -> None:
        """Put what was odd into the table of issues."""
        first = self._counters.issue_id + 1
        self._counters.issue_id += len(self.issues)
        self._database.append("issues", ((first + i, x.path, x.line, x.reason) for i, x in enumerate(self.issues)))

    def forget_file(self, file_id: int, path: str) -> None:
        """Take out what came from a file, and what was odd about it."""
        for table in ("spans", "logs", "sources"):
            rows = self._database.query(f"library/{table}_delete_file", {"file_id": file_id})
            if table == "spans":
                self.spans -= rows[0][0]
            elif table == "logs":
                self.logs -= rows[0][0]
        shown = _shown(path)
        for noted in (self.issues, self.skipped):
            noted[:] = [row for row in noted if row.path != shown and not row.path.startswith(f"{shown}!")]

    def _is_wanted(self, path: str) -> bool:
        self._file_id = self._wanted(path)
        return self._file_id is not None

    def _load(self, source: Source) -> None:
        if source.is_again:
            self._database.query("issues_delete_path", {"path": _shown(source.path)})
        form = format_of(source.head)
        if form is None:
            self.unrecognised += bool(source.head)
            reason = f"{LOOKS_LIKE}{looks_like(source.head)}" if source.head else "empty"
            beside = PASSED_OVER if source.head and not source.is_named else ""
            self.note(source.path, None, reason + beside, source.is_named)
            return
        self.begin_source(source.path)
        noted = len(self.issues)
        first = source.lines_before
        before = self.spans + self.logs

        def note(line: int | None, reason: str, lost: bool) -> None:
            self.note(source.path, None if line is None else first + line, reason, lost)

        for batch in _batches(form, source, note):
            if is_logs(batch):
                self.add_logs(batch, source.path)
            elif is_spans(batch):
                self.add(batch, source.path)
            if len(self._rows) + len(self._log_rows) >= _BATCH_ROWS:
                self.flush()
                self._report_when_due(source)
                self._check()
        if self.spans + self.logs > before:
            self.read_files.add(self._file_id or 0)
        elif len(self.issues) == noted and not source.has_more():
            self.note(source.path, None, "no spans in it", True)
        self._report(source)

    def begin_source(self, path: str, file_id: int | None = None) -> None:
        """The rows that follow come from here."""
        self._counters.source_id += 1
        row = (self._counters.source_id, _shown(path), self._file_id if file_id is None else file_id)
        self._database.append("sources", [row])

    def _report_when_due(self, source: Source) -> None:
        """Say how far it is after many rows, and on a busy machine after some time."""
        rows, now = self.spans + self.logs, time.monotonic()
        told_rows, told_at = self._told
        if not told_rows or rows >= told_rows + _TOLD_ROWS or now >= told_at + _TOLD_S:
            self._told = rows, now
            self._report(source)

    def _report(self, source: Source) -> None:
        if self._on_progress is not None:
            counter = source.counter
            progress = LoadProgress(
                path=source.path, bytes_done=counter.done, bytes_total=counter.size, spans=self.spans
            )
            self._on_progress(progress)

    def add(self, batch: Iterable[RawSpan], path: str) -> None:
        """Gather spans; ``path`` is where they come from, for what is noted about them."""
        counters, of_text, of_values = self._counters, self._promoter.of_text, self._promoter.of_values
        rows, first, source_id = self._rows, counters.seq, counters.source_id
        last: Context | None = None
        context_id, scope_name = 0, ""
        seq = first
        for seq, span in enumerate(batch, first + 1):
            context = span.context
            if context is not last:
                context_id, scope_name = self._context(context, path)
                last = context
            facts: Promoted | None
            try:
                if span.values is not None:
                    facts = of_values(span.values, scope_name, span.status_code, span.name)
                else:
                    facts = of_text(span.attributes, scope_name, span.status_code, span.name)
            except _READING as fault:
                self.note(path, None, f"span {span.span_id}: nothing is known of it; {_failed(fault)}", False)
                facts = Promoted()
            if facts is None:
                self.note(path, None, f"span {span.span_id}: attributes are no list of keys and values", False)
                facts = Promoted()
            rows.append((seq, *span[:9], *facts, context_id, source_id, *span[9:13]))
        self.spans += seq - first
        counters.seq = seq

    def add_logs(self, batch: Iterable[RawLog], path: str) -> None:
        """Gather log records; ``path`` as for ``add``."""
        counters = self._counters
        for record in batch:
            context_id, _ = self._context(record.context, path)
            counters.seq += 1
            self._log_rows.append((counters.seq, *record[:8], context_id, counters.source_id))
            self.logs += 1

    def _context(self, context: Context, path: str) -> tuple[int, str]:
        known = self._contexts.get(context)
        if known is not None:
            return known
        resource, scope = load_text(context.resource), load_text(context.scope)
        try:
            attributes = key_values(resource.get("attributes")) if isinstance(resource, dict) else {}
        except _READING as fault:
            self.note(path, None, f"a resource: its service is not known; {_failed(fault)}", False)
            attributes = {}
        service = attributes.get("service.name")
        self._counters.context_id += 1
        entry = (self._counters.context_id, text_field(scope, "name"))
        self._contexts[context] = entry
        service = service if isinstance(service, str) else None
        version = text_field(scope, "version")
        self._new_contexts.append((entry[0], service, entry[1], version, *context))
        return entry

    def flush(self) -> None:
        """Write what was gathered."""
        # Contexts first: no reader may see a span without its context.
        if self._new_contexts:
            self._database.append("contexts", self._new_contexts)
            self._new_contexts = []
        if self._rows:
            self._database.append("spans", self._rows)
            self._rows = []
        if self._log_rows:
            self._database.append("logs", self._log_rows)
            self._log_rows = []

    def _unsettle(self) -> None:
        """Give the traces with new spans back what their spans say by themselves; they are settled as a whole."""
        self._database.query("spans_update_unsettled", {"first_seq": self.first_seq})
        self._database.query("unsettled_delete", {"first_seq": self.first_seq})

    def _merge_versions(self) -> None:
        """Ended wins over unfinished, unfinished ones add up, equal ones count once, different ones both stay."""
        fresh = {"first_seq": self.first_seq}
        if not self._database.query("twins_list", fresh):
            return
        shared = self._database.query("twins_sources", fresh)
        self._database.query("twins_delete_superseded")
        self._database.query("twins_delete_equal")
        differing: set[tuple[str, str]] = set()
        for trace_id, span_id, path in self._database.query("twins_list", fresh):
            rows = self._database.query("span_bodies", {"trace_id": trace_id, "span_id": span_id})
            rows.sort(key=lambda row: row[0])
            if rows[0][7] is None:
                self._merge_unfinished(rows)
            elif (versions := self._drop_equal(rows)) > 1:
                self.repeated.append(repeated_issue(path, span_id, trace_id, versions))
                differing.add((trace_id, span_id))
        self._say_shared([row for row in shared if (row[0], row[1]) not in differing])
        self._database.query("repeated_delete")
        self._database.query("repeated_fill")

    def _say_shared(self, shared: Sequence[Sequence[Any]]) -> None:
        """Name both files of spans that were read twice."""
        for (trace_id, first, last), spans in Counter((row[0], row[2], row[3]) for row in shared).items():
            said = "1 span is" if spans == 1 else f"{spans:,} spans are"
            self.note(last, None, f"{said} in {_shown(first)} too, trace {trace_id}; each counts once", False)

    def _settle_twins(self) -> None:
        """Of doubled spans one stays a call; the columns then say the same as ``Store.calls``."""
        rows = texts_shared(self._database.each("twins_suspected", {"first_seq": self.first_seq}))
        changed: list[tuple[Any, ...]] = []
        with collector_off():
            for _, trace in groupby(rows, key=itemgetter(1)):
                places, spans = array("q"), list[Narrow]()  # A trace may have a million spans.
                for row in trace:
                    places.append(row[0])
                    spans.append(Narrow._make(row[2:]))
                changed.extend((places[fact.place], *fact[1:]) for fact in settle(spans))
        self._write_settled(changed)
        lone = self._database.query("twins_lone", {"first_seq": self.first_seq})
        twins = lone_twins([(row[1], Narrow(*row[2:])) for row in lone])
        self._write_settled([(lone[i][0], "chain", *lone[i][-len(FILLED) :]) for i in twins])

    def _write_settled(self, changed: Sequence[Sequence[Any]]) -> None:
        if changed:
            self._database.append("settled", changed)
            self._database.query("settled_keep")
            self._database.query("spans_update_settled")
            self._database.query("settled_delete")

    def _merge_unfinished(self, rows: Sequence[Sequence[Any]]) -> None:
        attributes, events = merge_unfinished(rows)
        whole = span_from_row([*rows[-1][:10], attributes, events, *rows[-1][12:]])
        facts = promote(View.of(whole))._asdict()
        status = {"status_code": whole.status_code, "status_message": whole.status_message}
        texts = {"attributes": attributes, "events": events}
        self._database.query("span_update_merged", {"seq": rows[0][0], **texts, **status, **facts})
        for row in rows[1:]:
            self._database.query("span_delete", {"seq": row[0]})

    def _drop_equal(self, rows: Sequence[Sequence[Any]]) -> int:
        """Keep one of those that say the same; how many say something different."""
        kept: dict[str, tuple[int, Span]] = {}
        surplus: list[int] = []
        for row in rows:
            span = span_from_row(row)
            said = identity(span)
            if said in kept:
                surplus.append(row[0])
            else:
                kept[said] = (row[0], span)
        for said, (seq, span) in list(kept.items()):
            if any(is_printed(span, other) for _, other in kept.values()):
                surplus.append(seq)
                del kept[said]
        for seq in surplus:
            self._database.query("span_delete", {"seq": seq})
        return len(kept)


def repeated_issue(path: str, span_id: str, trace_id: str, versions: int) -> IssueRow:
    """What is odd about spans that share an id and say different things."""
    what = f"span {span_id} of trace {trace_id}"
    return IssueRow(path=path, line=None, reason=f"{what} is there {versions} times, with different content")
