"""``retrospan load PATH …``: files and folders into the library."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Final

from ..errors import UnreadableInputError
from ._input import add_library, add_strict, exit_code, nothing_read, open_library, path_word, skipped_line
from ._progress import Progress

if TYPE_CHECKING:
    from ..store import LibrarySummary

_INTERRUPTED: Final = 130


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=path_word, help="file, folder, .gz or .zip, or - for standard input"
    )
    add_library(parser)
    add_strict(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Load the paths; a file that the library holds already is not read again."""
    progress = Progress()
    with open_library(args) as library, stopped_by_interrupt() as stop:
        try:
            summary = library.load(args.paths, on_progress=progress, cancelled=stop.is_set)
        finally:
            progress.clear()
        folder = library.folder
    if not summary.spans + summary.logs and not summary.known and not summary.was_cancelled:
        raise UnreadableInputError(nothing_read(args.paths, summary))
    if summary.skipped:
        sys.stderr.write(f"retrospan: {skipped_line(summary.skipped)}\n")
    if args.json:
        from ._json import dump, issue_to_json

        found = {
            "library": str(folder),
            "spans": summary.spans,
            "traces": summary.new_traces,
            "known": list(summary.known),
            "issues": [issue_to_json(row) for row in summary.issues],
            "cancelled": summary.was_cancelled,
        }
        sys.stdout.write(dump(found) + "\n")
    else:
        sys.stdout.write(f"{_said(summary)}\n")
    if summary.was_cancelled:
        sys.stderr.write(
            "retrospan: stopped; files that were read to their end are in the library, the others are not: "
            "the same command goes on\n"
        )
        return _INTERRUPTED
    return exit_code(args, summary)


def _said(summary: LibrarySummary) -> str:
    from ..analysis.text import duration, plural

    if summary.logs and not summary.spans:
        parts = [f"loaded {plural(summary.logs, 'log record')}, read with their spans once those are there"]
    else:
        parts = [f"loaded {plural(summary.spans, 'span')} of {plural(summary.new_traces, 'trace')}"]
    if summary.known:
        number = len(summary.known)
        parts.append(f"{plural(number, 'file')} {'was' if number == 1 else 'were'} in the library already")
    parts.append(f"it holds {plural(summary.traces, 'trace')} now")
    took = duration(int(summary.seconds * 1_000_000_000))
    return f"{parts[0]} in {took}; {'; '.join(parts[1:])}"


@contextmanager
def stopped_by_interrupt() -> Iterator[Event]:
    """An event that the first Ctrl-C sets; the second one ends the program at once, which does the library no harm."""
    stop = Event()
    if current_thread() is not main_thread():
        yield stop
        return

    def interrupted(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
