"""SQL of the user: a database of its own, read-only, without a way to files or the network.

The spans lie in database files that are attached read-only: the segments of a library, or a copy of what was loaded
into memory. Then DuckDB is told to open nothing more, and its settings are locked. What comes from the user runs after
that, as one SELECT or EXPLAIN, in a transaction that may not write: a SELECT can begin with an INSERT.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import duckdb

from ..errors import QueryCancelledError, SqlError
from ..scratch import ScratchFolder
from ._database import append_rows, connect, quoted, sql_text, told
from ._messages import MessageRows, Tell
from ._numbers import read_numbers
from .rows import IssueRow, NumbersBy, NumbersRow

_INTERRUPTED: Final = (duckdb.InterruptException, RuntimeError)
"""What DuckDB raises for ``interrupt``, and for Ctrl-C in the main thread."""
FETCHED: Final = 1_000
"""Rows that are handed on together at most."""
_PIECE: Final = 8 << 20
"""Characters and bytes after which a piece is handed on, however few its rows are."""
MOST_IN_CELL: Final = 64 << 20
"""Characters and bytes of one value, whose every copy on the way out is as large."""
_MOST_LEVELS: Final = 200
"""Of a nested value: each way out of here goes through it by recursion."""
_EXPLAIN: Final = re.compile(r"\s*explain\b\s*(analyze\b\s*)?(\([^()]*\)\s*)?", re.IGNORECASE)
_PLACE: Final = re.compile(r"\n\s*LINE (\d+): ?(.*)\n( *)\^", re.DOTALL)
_NO_TABLE: Final = re.compile(r"Catalog Error: Table with name (.+?) does not exist!", re.DOTALL)
_ACTS: Final = re.compile(
    r"\b(write_log|(?:force_)?checkpoint|truncate_duckdb_logs|nextval|(?:enable|disable)_\w+)\"?\s*\(", re.IGNORECASE
)
"""Calls of functions that a SELECT may make although they do something. None reaches the data or a file."""
_NO_CALLS: Final = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Texts and remarks, in which nothing is called."""
_LOCKS: Final = (
    "set allow_persistent_secrets = false",
    "set max_temp_directory_size = '4GB'",
    "set enable_external_access = false",
    "set lock_configuration = true",
)
ReadMessages: TypeAlias = Callable[[Tell], Iterable[MessageRows]]
"""Reads the messages of all traces, and tells how far it is."""
_NAMES_MESSAGES: Final = re.compile(r"\bmessages\b", re.IGNORECASE)
_MESSAGES: Final = """
create table below.message_texts (message_id bigint, role varchar, text varchar, parts json);
create table below.message_uses (
    trace_id varchar, span_id varchar, direction varchar, position bigint, message_id bigint
)
"""
_SPANS: Final = """
select spans.trace_id, span_id, parent_span_id, name, otel_kind, start_unix_nano, end_unix_nano, status_code,
    status_message, kind, convention, error_type, agent_name, provider, model, tool_name, input_tokens, output_tokens,
    cost_nano_usd, origin_trace_id, attributes, events, links, service, scope_name, resource, path as file
from {0}.spans left join {0}.contexts using (context_id) left join {0}.sources using (source_id)
where not exists (select 1 from below.hidden where hidden.part = '{0}' and hidden.trace_id = spans.trace_id)
"""
_LOGS: Final = """
select trace_id, span_id, event_name, time_unix_nano, severity, body, attributes
from {0}.logs
where not exists (select 1 from below.hidden where hidden.part = '{0}' and hidden.trace_id = logs.trace_id)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A database file with spans, and the traces in it that do not count (removed, or newer elsewhere)."""

    path: Path
    hidden: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    type: str
    """As DuckDB calls it."""


@dataclass(frozen=True, slots=True)
class SqlSchema:
    """What a query can name."""

    tables: tuple[tuple[str, tuple[Column, ...]], ...]
    """Views with their columns, by name."""
    functions: tuple[str, ...]
    """By name."""


@runtime_checkable
class HasParts(Protocol):
    """A database that lies in files which never change."""

    def parts(self) -> list[Part]:
        """The files."""


class Console:
    """Answers SQL over some database files. For one thread at a time; ``interrupt`` from any."""

    def __init__(
        self,
        parts: Iterable[Part],
        issues: Iterable[IssueRow],
        messages: ReadMessages,
        folder: ScratchFolder | None = None,
    ) -> None:
        self._folder = folder
        self._is_open = False
        self._stopped = threading.Event()
        self._messages: ReadMessages | None = messages
        self.reading: tuple[int, int] | None = None
        """While the messages are read: spans done, and how many there are. Another thread may look."""
        self._connection = connection = connect(":memory:")
        connection.execute("create schema below")  # what the views are made of, and nobody is shown
        connection.execute("create table below.hidden (part varchar, trace_id varchar)")
        connection.execute(_MESSAGES)
        connection.execute("create table issues (path varchar, line bigint, reason varchar)")
        names = []
        for i, part in enumerate(parts):
            names.append(f"part{i}")
            connection.execute(f"attach '{quoted(part.path)}' as part{i} (read_only)")
            for trace_id in part.hidden:
                connection.execute("insert into below.hidden values (?, ?)", [names[-1], trace_id])
        if not names:  # a library without a trace: the views are there, and empty
            names.append("part0")
            connection.execute("attach ':memory:' as part0")
            connection.execute("use part0")
            connection.execute(sql_text("schema"))
            connection.execute("use memory")
        for row in issues:
            connection.execute("insert into issues values (?, ?, ?)", [row.path, row.line, row.reason])
        for view, text in (("all_spans", _SPANS), ("all_logs", _LOGS)):
            connection.execute(f"create view below.{view} as {' union all '.join(text.format(name) for name in names)}")
        connection.execute(sql_text("console"))
        for lock in _LOCKS:
            connection.execute(lock)

    def close(self) -> None:
        """Close the database and remove what was written for it."""
        self._connection.close()
        if self._folder is not None:
            self._folder.remove()

    def __enter__(self) -> Console:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def interrupt(self) -> None:
        """End the query that runs; it raises QueryCancelledError. One that only begins may be missed: ask again."""
        self._stopped.set()
        with suppress(duckdb.ConnectionException):  # closed meanwhile by the thread that is answered
            self._connection.interrupt()

    def schema(self) -> SqlSchema:
        """The views with their columns, and the functions."""
        tables: dict[str, list[Column]] = {}
        for table, name, kind in self.answer("console_columns"):
            tables.setdefault(table, []).append(Column(name, kind))
        functions = tuple(name for (name,) in self.answer("console_functions"))
        return SqlSchema(tuple((table, tuple(columns)) for table, columns in tables.items()), functions)

    def numbers(self, by: NumbersBy, trace_ids: Collection[str] | None) -> list[NumbersRow]:
        """Numbers over calls. Raises QueryCancelledError."""
        return read_numbers(self.answer, by, trace_ids, ())

    def matching(self, condition: str, trace_id: str | None) -> frozenset[str]:
        """The spans of a trace for which a condition on the view ``spans`` holds; without one, traces with such spans.

        Raises: SqlError: its place is one in the condition; QueryCancelledError.
        """
        wanted, within = "trace_id", ""
        if trace_id is not None:
            quoted_id = trace_id.replace("'", "''")
            wanted, within = "span_id", f"trace_id = '{quoted_id}' and "
        try:
            _, pieces = self.run(f"select distinct {wanted} from spans where {within}(\n{condition}\n)")
            return frozenset(row[0] for piece in pieces for row in piece)
        except SqlError as fault:
            place = None if fault.line is None else fault.line - 1
            raise SqlError(fault.reason, line=place, column=fault.column, hint=fault.hint) from fault

    def answer(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query file of ours. Raises QueryCancelledError."""
        self._leave()
        with told(name):
            return self._connection.execute(sql_text(name), dict(parameters) if parameters else None).fetchall()

    def run(self, text: str) -> tuple[tuple[Column, ...], Iterator[list[tuple[Any, ...]]]]:
        """Run one SELECT or EXPLAIN.

        Returns: the columns, and the rows in pieces as they are fetched.
        Raises: SqlError: it is no such statement, or DuckDB refuses it; QueryCancelledError.
        """
        self._stopped.clear()
        self._check(text)
        if self._messages is not None and _NAMES_MESSAGES.search(text):
            # What messages say is known to the conventions only, so they are read for the first query that wants them.
            self._leave()
            self._read_messages(self._messages)
            self._messages = None
        self._leave()
        try:
            self._connection.execute("begin transaction read only")
            self._is_open = True
            self._connection.execute(text)
        except _INTERRUPTED as fault:
            raise QueryCancelledError("query") from fault
        except duckdb.CatalogException as fault:
            raise self._no_view(fault) from fault
        except duckdb.Error as fault:
            raise _said(fault) from fault
        columns = tuple(Column(str(name), str(kind)) for name, kind, *_ in self._connection.description or ())
        return columns, self._pieces()

    def _no_view(self, fault: duckdb.CatalogException) -> SqlError:
        """The error of a name that is not there; of a table with the views, where DuckDB would name its own tables."""
        said = _said(fault)
        missing = _NO_TABLE.match(said.reason)
        if missing is None:
            return said
        views = [name for name, _ in self.schema().tables]
        near = get_close_matches(missing[1].lower(), views, n=1)
        hint = (f"did you mean {near[0]}? " if near else "") + f"there are {', '.join(views)}"
        return SqlError(f"there is no view {missing[1]}", line=said.line, column=said.column, hint=hint)

    def _read_messages(self, read: ReadMessages) -> None:
        self._connection.begin()
        try:
            for piece in read(self._tell):
                append_rows(self._connection, "below.message_texts", piece.texts)
                append_rows(self._connection, "below.message_uses", piece.uses)
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            self.reading = None
        self._connection.commit()

    def _tell(self, done: int, total: int) -> None:
        self.reading = done, total
        if self._stopped.is_set():
            raise QueryCancelledError("messages")

    def _leave(self) -> None:
        """End the transaction of the last query."""
        if self._is_open:
            self._is_open = False
            self._connection.rollback()

    def _pieces(self) -> Iterator[list[tuple[Any, ...]]]:
        while True:
            try:
                rows = list(_limited(iter(self._connection.fetchone, None)))
            except _INTERRUPTED as fault:
                raise QueryCancelledError("query") from fault
            except duckdb.Error as fault:
                raise _said(fault) from fault
            if not rows:
                return
            yield rows

    def _check(self, text: str) -> None:
        """Refuse everything but one SELECT, explained or not."""
        kinds = self._kinds(text)
        if kinds == ["EXPLAIN"]:
            # What is explained with ANALYZE really runs.
            kinds = self._kinds(_EXPLAIN.sub("", text, count=1))
        if len(kinds) != 1:
            raise SqlError("one statement is needed, " + (f"not {len(kinds)}" if kinds else "and there is none"))
        if kinds == ["MULTI"]:
            raise SqlError(
                "a PIVOT has to say which columns it makes, since finding them out takes a statement of its own",
                hint="write ON kind IN ('llm', 'tool')",
            )
        if kinds != ["SELECT"]:
            raise SqlError(f"only SELECT and EXPLAIN are answered, not {kinds[0]}", hint="the data is read-only")
        if (acts := _ACTS.search(_NO_CALLS.sub("''", text))) is not None:
            raise SqlError(f"{acts[1].lower()}() does something instead of answering", hint="the data is read-only")

    def _kinds(self, text: str) -> list[str]:
        try:
            return [str(statement.type).rpartition(".")[2] for statement in self._connection.extract_statements(text)]
        except duckdb.Error as fault:
            raise _said(fault) from fault


def _limited(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """As many rows as make a piece.

    Raises: SqlError: a value is too large or nested too deep.
    """
    left = _PIECE
    for row in islice(rows, FETCHED):
        sizes = [_size(value, 0) for value in row if type(value) not in _SMALL]
        if sizes and (largest := max(sizes)) > MOST_IN_CELL:
            raise SqlError(
                f"a value has {largest:,} characters or bytes, and {MOST_IN_CELL:,} are the most that is answered",
                hint="ask for a part of it, as in left(COLUMN, 1000)",
            )
        yield row
        left -= sum(sizes)
        if left <= 0:
            return


_SMALL: Final = frozenset((int, float, bool, type(None)))


def _size(value: Any, depth: int) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if not isinstance(value, Mapping | list | tuple):
        return 0
    if depth >= _MOST_LEVELS:
        raise SqlError(
            f"a value is nested more than {_MOST_LEVELS} levels deep, and no deeper one is answered",
            hint="ask for a part of it, or for it as text, as in COLUMN::varchar",
        )
    return sum(_size(item, depth + 1) for item in (value.values() if isinstance(value, Mapping) else value))


def _said(fault: duckdb.Error) -> SqlError:
    """DuckDB's message with its place in the query as numbers."""
    text = str(fault)
    found = _PLACE.search(text)
    if found is None:
        return SqlError(text.strip().partition("\n\nPossible solutions")[0].replace("\n", " "))
    # The caret stands under the line as DuckDB prints it, behind the words "LINE 1: ".
    column = len(found[3]) - len(f"LINE {found[1]}: ") + 1
    return SqlError(text[: found.start()].strip().replace("\n", " "), line=int(found[1]), column=max(column, 1))
