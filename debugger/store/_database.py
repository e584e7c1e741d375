"""The one place that speaks to DuckDB: connections, the files of SQL, rows.

Each thread has a cursor of its own; an interrupt from another thread ends what that cursor is doing.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final, TypeAlias, TypeVar
from uuid import uuid4

import duckdb
from msgspec import Struct

from ..errors import LibraryError, QueryCancelledError, StoreError, TooLargeError
from ..scratch import process_scratch

R = TypeVar("R", bound=Struct)
TellRows: TypeAlias = Callable[[int], None]

MEMORY_LIMIT: Final = "512MB"
"""What DuckDB may keep in memory; the whole process stays under 1 GB with it, however large the input."""
_FETCHED_ROWS: Final = 16_384
"""Rows that are there as plain tuples at a time."""
_APPEND_ROWS: Final = 2048
"""DuckDB's vector size. Larger pieces are slower: the appender keeps them as Python objects until it is flushed."""
_COMMITTED_ROWS: Final = 122_880
"""Rows that are committed together: as many as DuckDB stores together in memory."""
_NEW_FILE: Final = "recovery_mode no_wal_writes, row_group_size 20480"
"""How files are written that are thrown away where they do not come to their end. Of whole texts, six times as many
rows in a group, DuckDB's default, hardly fit into its memory: a load took 350 MB more for them, and longer."""
_BUILDING: Final = "building"
_FULL: Final = ("no space left on device", "disk is full")
"""What DuckDB and SQLite say of a full disk, somewhere in what they say."""


@cache
def sql_text(name: str) -> str:
    """The text of ``sql/<name>.sql``; a name may lead into a folder."""
    return (files(__package__) / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def connect(path: str) -> duckdb.DuckDBPyConnection:
    """A connection with our settings to a database file, or to a new database in memory."""
    own = str(_own_folder() / uuid4().hex)
    # Our Python variables are no tables, and nothing is fetched from the network.
    config: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # Beyond this, texts go to a temporary folder, which DuckDB makes when it needs it and removes at the end.
        "memory_limit": MEMORY_LIMIT,
        "temp_directory": own,
        # The user's own DuckDB is no business of ours, and no message names the user's folder.
        "home_directory": own,
        "secret_directory": own,
    }
    return duckdb.connect(path, config=config)


def _own_folder() -> Path:
    try:
        return process_scratch()
    except OSError:  # No place for temporary files: only what needs one fails, when it does.
        return Path(gettempdir(), f"retrospan-{os.getpid()}")


def first_line(fault: Exception) -> str:
    """What DuckDB says, without the advice that follows."""
    return str(fault).strip().partition("\n")[0]


def is_full(fault: Exception) -> bool:
    """Whether what DuckDB or SQLite says is that the disk is full."""
    said = str(fault).lower()
    return any(words in said for words in _FULL)


def library_fault(folder: Path, fault: Exception) -> StoreError:
    """What DuckDB says of a library: that one text is too large is the input's fault, not the library's."""
    if isinstance(fault, duckdb.OutOfMemoryException):
        return TooLargeError(MEMORY_LIMIT)
    if is_full(fault):
        return LibraryError(
            f"{folder}: the library cannot be written (no space left on device)",
            hint="what was complete before is kept: make room, and the same command goes on",
        )
    return LibraryError.from_database(folder, fault)


def rows_of(make: type[R], cursor: duckdb.DuckDBPyConnection, tell: TellRows = lambda _: None) -> list[R]:
    """The rows of a query as rows of a type, whose fields are the columns by name.

    Equal texts that follow on each other are one object: of a million spans, that is half of what they would take.

    Args:
        make: the type.
        cursor: where the query was executed.
        tell: told every so often how many rows are made; what it raises ends the work.
    """
    names = [column[0] for column in cursor.description or ()]
    in_order = itemgetter(*[names.index(field) for field in make.__struct_fields__])
    out: list[R] = []
    known: dict[Any, Any] = {}
    while rows := cursor.fetchmany(_FETCHED_ROWS):
        known.clear()  # Ids are never met again, and would soon be most of it.
        columns = in_order(list(zip(*rows, strict=True)))
        out.extend(map(make, *[_shared(column, known) for column in columns]))
        tell(len(out))
    return out


def texts_shared(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query with one object for equal texts that are near each other. All have the same columns."""
    while part := list(islice(rows, _FETCHED_ROWS)):
        known: dict[Any, Any] = {}
        yield from zip(*[_shared(column, known) for column in zip(*part, strict=True)], strict=True)


def _shared(column: Sequence[Any], known: dict[Any, Any]) -> Iterable[Any]:
    """The column with one object for equal texts; numbers and the absent stay as they are."""
    first = next((value for value in column if value is not None), None)
    return map(known.setdefault, column, column) if isinstance(first, str) else column


@contextmanager
def told(name: str) -> Iterator[None]:
    """Says as our errors why DuckDB did not end a query."""
    try:
        yield
    except duckdb.InterruptException as fault:
        raise QueryCancelledError(name) from fault
    except duckdb.OutOfMemoryException as fault:
        raise TooLargeError(MEMORY_LIMIT) from fault
    except duckdb.IOException as fault:
        if not is_full(fault):
            raise StoreError(f"a file of the database is refused: {first_line(fault)}") from fault
        raise StoreError(
            f"a temporary file cannot be written to {gettempdir()} (no space left on device)",
            hint="TMPDIR names another folder",
        ) from fault


@contextmanager
def collector_off() -> Iterator[None]:
    """Without the garbage collector: it would walk many rows again and again (12 % of a load, a third of a list)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Database:
    """A DuckDB database with one cursor per thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._root = connection
        self._lock = threading.Lock()
        self._cursors: dict[int, duckdb.DuckDBPyConnection] = {}
        self._appending = 0
        self._held = 0
        """Rows that are appended and not committed."""
        self._committed = 0
        """Rows that are. A small commit copies its rows once more, so that each is as large as all before it."""

    @classmethod
    def in_memory(cls) -> Database:
        """An empty database in memory, with the tables of a store."""
        connection = connect(":memory:")
        connection.execute(sql_text("schema"))
        connection.execute(sql_text("memory"))
        return cls(connection)

    def execute(self, text: str) -> None:
        """Run statements that are made here, not in a file."""
        self.commit()
        self._cursor().execute(text)

    def run(self, name: str) -> None:
        """Run all statements of a query file."""
        self.execute(sql_text(name))

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        ident = threading.get_ident()
        with self._lock:
            cursor = self._cursors.get(ident)
            if cursor is None:
                alive = {thread.ident for thread in threading.enumerate()}
                for gone in [key for key in self._cursors if key not in alive]:
                    self._cursors.pop(gone).close()
                cursor = self._cursors[ident] = self._new_cursor()
            return cursor

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        return self._root.cursor()

    def query(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query file.

        Raises: QueryCancelledError: ``interrupt`` was called for this thread meanwhile.
        Cost: blocks; call it in a worker.
        """
        self.commit()
        with told(name):
            return self._cursor().execute(sql_text(name), dict(parameters) if parameters else None).fetchall()

    def each(self, name: str, parameters: Mapping[str, Any] | None = None) -> Generator[tuple[Any, ...]]:
        """The rows of a query file, some thousand at a time. This thread must ask nothing else meanwhile.

        Raises: QueryCancelledError: ``interrupt`` was called for this thread meanwhile.
        """
        self.commit()
        with told(name):
            yield from pieces(self._cursor().execute(sql_text(name), dict(parameters) if parameters else None))

    def fetch(
        self,
        name: str,
        make: type[R],
        parameters: Mapping[str, Any] | None = None,
        tell: TellRows = lambda _: None,
    ) -> list[R]:
        """All rows of a query file as rows of a type, whose fields are the query's columns by name.

        Args: tell: see ``rows_of``.
        Raises: QueryCancelledError: ``interrupt`` was called for this thread meanwhile.
        """
        self.commit()
        with told(name):
            return rows_of(make, self._cursor().execute(sql_text(name), dict(parameters) if parameters else None), tell)

    def append(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Append rows. Other threads see them when there are enough, or after ``commit``; this one's next query does.

        For one thread at a time, which must end with ``commit``. What fails takes with it what is not committed.
        """
        cursor = self._cursor()
        if not self._held:
            self._appending = threading.get_ident()
            cursor.begin()
        try:
            self._held += 1 + append_rows(cursor, table, rows)
        except BaseException:
            self._held = 0
            cursor.rollback()
            raise
        if self._held >= min(max(self._committed, _APPEND_ROWS), _COMMITTED_ROWS):
            self.commit()

    def commit(self) -> None:
        """Let all see what this thread has appended."""
        if self._held and self._appending == threading.get_ident():
            self._committed += self._held
            self._held = 0
            self._cursor().commit()

    def copy_to(self, path: Path) -> None:
        """Write all tables to a new database file. Raises QueryCancelledError."""
        cursor = self._cursor()
        with told("copy"):
            cursor.execute(f"attach '{quoted(path)}' as copied ({_NEW_FILE})")
            try:
                # With the tables as they are declared: finding out how to store each column takes half as long again.
                cursor.execute(f"use copied; {sql_text('schema')}; use memory")
                for (table,) in cursor.execute(
                    "select table_name from duckdb_tables() where database_name = 'memory'"
                ).fetchall():
                    cursor.execute(f"insert into copied.{table} from memory.{table}")
            except BaseException:
                with suppress(duckdb.Error):  # it would say that the end could not be written either
                    cursor.execute("detach copied")
                raise
            cursor.execute("detach copied")

    def interrupt(self, thread_ident: int) -> None:
        """End the query that a thread is running; its call raises QueryCancelledError."""
        with self._lock:
            cursor = self._cursors.get(thread_ident)
        if cursor is not None:
            cursor.interrupt()

    def stop(self) -> None:
        """End all queries that run; they raise QueryCancelledError."""
        with self._lock:
            for cursor in self._cursors.values():
                cursor.interrupt()

    def close(self) -> None:
        """Close all cursors and the database."""
        with self._lock:
            for cursor in self._cursors.values():
                cursor.close()
            self._cursors.clear()
        self._root.close()


class BulkDatabase(Database):
    """A database file that one thread builds and nobody reads yet.

    It has no log: a file that was not finished is thrown away as a whole, and what goes through a log is written twice.
    """

    _is_closed = False

    @classmethod
    def file(cls, path: Path, *schemas: str, engine: duckdb.DuckDBPyConnection | None = None) -> BulkDatabase:
        """A new file with the tables of these query files.

        Args: engine: a database in memory that builds one file after the other, and outlives this one.
        """
        connection = engine.cursor() if engine is not None else connect(":memory:")
        connection.execute(f"attach '{quoted(path)}' as {_BUILDING} ({_NEW_FILE})")
        connection.execute(f"use {_BUILDING}")
        # At once: each statement by itself would be a commit of its own.
        connection.begin()
        for name in schemas:
            connection.execute(sql_text(name))
        connection.commit()
        made = cls(connection)
        made._committed = _COMMITTED_ROWS  # nobody reads what is there already
        return made

    def close(self) -> None:
        """Close the file. Where the engine is another's, it is free for the next file."""
        with self._lock:
            for cursor in self._cursors.values():
                cursor.close()
            self._cursors.clear()
        try:
            if not self._is_closed:
                self._is_closed = True
                self._root.execute(f"use memory; detach {_BUILDING}")
        finally:
            self._root.close()

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = super()._new_cursor()
        cursor.execute(f"use {_BUILDING}")
        return cursor

    def attach(self, path: Path, name: str) -> None:
        """Open another database file beside this one, to read from it."""
        self.execute(f"attach '{quoted(path)}' as {name} (read_only)")

    def detach(self, name: str) -> None:
        """Close the other database file."""
        self.execute(f"detach {name}")


def pieces(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """The rows of a cursor, without all of them being there at once."""
    while rows := cursor.fetchmany(_APPEND_ROWS):
        yield from rows


def quoted(path: Path) -> str:
    """A path for an SQL text."""
    return str(path).replace("'", "''")


def append_rows(cursor: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Sequence[Any]]) -> int:
    """Append rows in the open transaction; how many there were."""
    remaining = iter(rows)
    number = 0
    with cursor.appender(table) as appender:
        while piece := list(islice(remaining, _APPEND_ROWS)):
            appender.append_rows(piece)
            appender.flush()
            number += len(piece)
    return number
