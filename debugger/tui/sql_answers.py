"""Questions in SQL behind the screens: one console over what is loaded, made again once that has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ..analysis.sql_completion import SqlNames
from ..analysis.sql_view import ResultView, result_view
from ..errors import DebuggerError
from ..store import Console, Store, console_over
from ..store.result_files import ENDINGS, write_result
from ..store.rows import NumbersBy, NumbersRow
from .exporting import FileExistsAlreadyError

MOST_ROWS: Final = 100_000
"""Rows that are kept for the screen."""
_MOST_TEXT: Final = 64_000_000
"""Characters that are kept for the screen."""
_AGAIN_S: Final = 0.05
"""Until a question that did not hear that it is to end is told once more."""


class SqlAnswers:
    """Answers SQL over what some stores hold. One question at a time; ``stop`` ends it.

    Args:
        stores: what is asked now, and traces of the stores in memory that do not count.
        generation: another number whenever what is loaded has changed.
    """

    def __init__(
        self, stores: Callable[[], tuple[Sequence[Store], Collection[str]]], generation: Callable[[], int]
    ) -> None:
        self._stores = stores
        self._generation = generation
        self._lock = threading.Lock()
        self._console: Console | None = None
        self._made_at: tuple[int, frozenset[str]] | None = None
        self._worker: int | None = None
        """The thread that is answered."""
        self._asked: Sequence[Store] = ()
        """What may be copied for it."""

    def close(self) -> None:
        """Free the console, once the question that runs has ended."""
        self.stop()
        while not self._lock.acquire(timeout=_AGAIN_S):
            self.stop()
        try:
            if self._console is not None:
                self._console.close()
                self._console = None
        finally:
            self._lock.release()

    def stop(self) -> None:
        """End the question that runs; it raises QueryCancelledError. Does not block.

        A question that only begins may be missed, so whoever waits for its end calls this again and again.
        """
        worker, console = self._worker, self._console
        if worker is None:
            return
        if console is not None:
            console.interrupt()
        for store in self._asked:
            store.interrupt(worker)

    def reading(self) -> tuple[int, int] | None:
        """While the messages of all traces are read: spans done, and how many there are. Cheap."""
        console = self._console
        return None if console is None else console.reading

    @contextmanager
    def _working(self, stores: Sequence[Store]) -> Iterator[None]:
        with self._lock:
            self._asked = stores
            self._worker = threading.get_ident()
            try:
                yield
            finally:
                self._worker = None

    @contextmanager
    def _asking(self) -> Iterator[Console]:
        stores, hidden = self._stores()
        with self._working(stores):
            yield self._present(stores, hidden)

    def _present(self, stores: Sequence[Store], hidden: Collection[str]) -> Console:
        now = (self._generation(), frozenset(hidden))
        if self._console is None or self._made_at != now:
            old, self._console = self._console, None
            if old is not None:
                old.close()
            self._console = console_over(stores, hidden)
            self._made_at = now
        return self._console

    def numbers(self, by: NumbersBy, trace_ids: Collection[str] | None) -> list[NumbersRow]:
        """Numbers over the calls of some traces, or of all. Raises QueryCancelledError."""
        stores, hidden = self._stores()
        if not any(store.lies_in_files for store in stores):
            # Spans in memory are counted where they are: nothing has to be copied for that.
            with self._working(stores):
                return [row for store in stores for row in store.numbers(by, trace_ids, hidden)]
        with self._asking() as console:
            return console.numbers(by, trace_ids)

    def matching(self, condition: str, trace_id: str | None) -> frozenset[str]:
        """The spans of a trace for which a condition holds; without a trace, the traces with such spans.

        Raises: SqlError: with the place in the condition; QueryCancelledError.
        """
        with self._asking() as console:
            return console.matching(condition, trace_id)

    def names(self) -> SqlNames:
        """What a query can name, which is the same whatever is loaded: nothing is copied for it."""
        with console_over(()) as console:
            schema = console.schema()
        tables = {table: tuple((column.name, column.type) for column in columns) for table, columns in schema.tables}
        return SqlNames(tables, schema.functions)

    def ask(self, text: str) -> ResultView:
        """The answer to a query, cut where the screen could not keep it.

        Raises: SqlError: it is no query, or is refused; QueryCancelledError.
        """
        with self._asking() as console:
            columns, pieces = console.run(text)
            rows: list[tuple[Any, ...]] = []
            size = 0
            is_cut = False
            for piece in pieces:
                if len(rows) >= MOST_ROWS or size > _MOST_TEXT:
                    is_cut = True
                    break
                rows += piece
                size += sum([len(value) for row in piece for value in row if type(value) is str])
        return result_view([(column.name, column.type) for column in columns], rows, is_cut=is_cut)

    def write(self, text: str, path: Path, *, overwrites: bool) -> int:
        """Write all rows of a query to a file, whose name says in which form; how many there were.

        Raises: FileExistsAlreadyError; DebuggerError: of another form; UnwritableError; SqlError; QueryCancelledError.
        """
        if path.suffix not in ENDINGS:
            raise DebuggerError(f"{path.name}: unknown form", hint=f"the name ends in {', '.join(ENDINGS)}")
        if path.exists() and not overwrites:
            raise FileExistsAlreadyError(f"{path.name} is there already", hint="write once more to replace it")
        with self._asking() as console:
            columns, pieces = console.run(text)
            return write_result(path, columns, pieces)
