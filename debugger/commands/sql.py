"""``retrospan sql``: a read-only question to the spans of files or of the library."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, signal
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final

from ..errors import DebuggerError
from ._input import add_input, exit_code, load_input

if TYPE_CHECKING:
    from ..store import Column, Store
    from ..store.result_files import Pieces
    from ._progress import Progress

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
    from ..store.result_files import write_result, write_text
    from ._input import keep_input
    from ._progress import Progress

    with store:
        keep_input(args, store)
        with store.console() as console:

            def answer() -> None:
                columns, pieces = console.run(args.query)
                if output is not None:
                    write_result(output, columns, pieces)
                elif args.json or args.csv:
                    # What a trace holds must not act on a terminal; a file or a pipe gets the exact data.
                    shown = visible if sys.stdout.isatty() else None
                    write_text(sys.stdout, "json" if args.json else "csv", columns, pieces, shown)
                else:
                    sys.stdout.write("\n".join(_table(columns, pieces)) + "\n")

            # Python hears ctrl+c between two of its own steps only, and one step of DuckDB may take hours.
            progress = Progress() if sys.stderr.isatty() else None
            with _ctrl_c_sets() as pressed, ThreadPoolExecutor(1, "retrospan-sql") as pool:
                work = pool.submit(answer)
                while not wait([work], timeout=0.1).done:
                    if pressed.is_set():
                        console.interrupt()
                    if progress is not None:
                        _tell(progress, console.reading)
                if progress is not None:
                    progress.clear()
                work.result()


def _tell(progress: Progress, reading: tuple[int, int] | None) -> None:
    from ..analysis.text import plural

    if reading is None:
        progress.clear()
    else:
        progress.say(f"reading messages: {reading[0]:,} of {plural(reading[1], 'span')}")


@contextmanager
def _ctrl_c_sets() -> Iterator[Event]:
    """Turn Ctrl-C into an event: as an exception it could come before the thread is known that must end first."""
    pressed = Event()
    if current_thread() is not main_thread():  # it hears no signal
        yield pressed
        return
    before = signal(SIGINT, lambda _number, _frame: pressed.set())
    try:
        yield pressed
    finally:
        signal(SIGINT, before)


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
