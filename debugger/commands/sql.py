"""``retrospan sql``: a read-only question to the spans of files or of the library."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..errors import DebuggerError
from ._input import add_input, exit_code, load_input
from ._progress import Progress
from ._signals import ENDING, exit_code_of, hearing

if TYPE_CHECKING:
    from ..store import Column, Console, Store
    from ..store.result_files import Pieces

T = TypeVar("T")

_SHOWN: Final = 1_000
"""Rows of a table for people; JSON, CSV and files hold all."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("query", metavar="QUERY", help="one SELECT or EXPLAIN over traces, calls, messages, spans, "
                        "attributes, events, logs and issues")  # fmt: skip
    add_input(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as a JSON array of objects")
    form.add_argument("--csv", action="store_true", help="as CSV with a header")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file: .parquet, .csv or .json")


def run(args: Namespace) -> int:
    """Ask, and write the rows."""
    from ..errors import QueryCancelledError
    from ..store.result_files import ENDINGS

    output: Path | None = args.output
    if output is not None and output.suffix not in ENDINGS:
        raise DebuggerError(f"-o {output}: unknown form", hint="the name ends in .parquet, .csv or .json")
    store, summary = load_input(args)
    try:
        _answer(args, store, output)
    except QueryCancelledError as fault:
        raise KeyboardInterrupt from fault
    return exit_code(args, summary)


def _answer(args: Namespace, store: Store, output: Path | None) -> None:
    from ..analysis.text import visible
    from ..store.result_files import drop_unwritten, write_result, write_text
    from ._input import keep_input

    # A store in memory is copied to a temporary file, which only goes away where the command ends in its own way.
    with hearing(_end, ENDING), store:
        keep_input(args, store)
        with store.console() as console, _beside(console) as steps:
            if output is not None and output.suffix == ".parquet":
                # DuckDB writes it, in one step.
                steps.run(lambda: write_result(output, *console.run(args.query)))
                return
            columns, pieces = steps.run(lambda: console.run(args.query))
            pieces = iter(partial(steps.run, partial(next, pieces, [])), [])
            if output is not None:
                write_result(output, columns, pieces)
                return
            with drop_unwritten(sys.stdout):
                if args.json or args.csv:
                    # What a trace holds must not act on a terminal; a file or a pipe gets the exact data.
                    shown = visible if sys.stdout.isatty() else None
                    write_text(sys.stdout, "json" if args.json else "csv", columns, pieces, shown)
                else:
                    sys.stdout.write("\n".join(_table(columns, pieces)) + "\n")
                sys.stdout.flush()


class _Steps:
    """Runs the steps of a query in a thread of its own: one step of DuckDB may take hours, and hears no Ctrl-C.

    While a step runs, Ctrl-C ends it and is raised then; as an exception at once it could come before the thread is
    known that must end first. Between two steps, as in a write to a pipe that nobody reads, it is raised at once.
    """

    def __init__(self, console: Console, pool: ThreadPoolExecutor) -> None:
        self._console = console
        self._pool = pool
        self._progress = Progress() if sys.stderr.isatty() else None
        self._is_running = False
        self._heard: int | None = None

    def hear(self, number: int) -> None:
        """A signal has come that ends the command."""
        self._heard = number
        if not self._is_running:
            _end(number)

    def run(self, step: Callable[[], T]) -> T:
        """What a step returns. Raises KeyboardInterrupt, SystemExit, what the step raises."""
        self._is_running = True
        try:
            work = self._pool.submit(step)
            while not wait([work], timeout=0.1).done:
                if self._heard is not None:
                    self._console.interrupt()
                if self._progress is not None:
                    _tell(self._progress, self._console.reading)
            if self._progress is not None:
                self._progress.clear()
        finally:
            self._is_running = False
        if self._heard is not None:
            _end(self._heard)
        return work.result()


@contextmanager
def _beside(console: Console) -> Iterator[_Steps]:
    with ThreadPoolExecutor(1, "retrospan-sql") as pool:
        steps = _Steps(console, pool)
        with hearing(steps.hear, (SIGINT, *ENDING)):
            yield steps


def _end(number: int) -> None:
    """Raise what ends the command for a signal."""
    if number == SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(exit_code_of(number))


def _tell(progress: Progress, reading: tuple[int, int] | None) -> None:
    from ..analysis.text import plural

    if reading is None:
        progress.clear()
    else:
        progress.say(f"reading messages: {reading[0]:,} of {plural(reading[1], 'span')}")


def _table(columns: tuple[Column, ...], pieces: Pieces) -> Iterator[str]:
    from ..analysis.sql_view import cell_text, plan_lines, result_view
    from ..analysis.text import fit, plural

    rows: list[tuple[Any, ...]] = []
    for piece in pieces:
        rows += piece
        if len(rows) > _SHOWN:
            break
    view = result_view([(column.name, column.type) for column in columns], rows[:_SHOWN])
    if view.is_plan:
        yield from plan_lines(view)
        return
    for values in ([column.name for column in view.columns], *view.rows):
        cells = zip(values, view.columns, strict=True)
        yield "  ".join(fit(cell_text(value), c.width, right=c.is_number) for value, c in cells).rstrip()
    if len(rows) > _SHOWN:
        yield f"… the first {plural(_SHOWN, 'row')}; --json, --csv and -o give all"
    elif not rows:
        yield "no rows"
