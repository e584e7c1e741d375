"""What all commands that read traces share: their arguments, loading, and what is said about the input.

Cheap to import: the store comes in when something is loaded.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import DebuggerError, NoLibraryError, UnreadableInputError
from ._progress import Progress

if TYPE_CHECKING:
    from ..store import IssueRow, Library, LoadSummary, Store

_SHOWN_FILES: Final = 3
_SHOWN_LINES: Final = 5
_LAST_PORT: Final = 65_535


def add_input(parser: ArgumentParser) -> None:
    """PATH, ``--library`` and ``--strict``."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        default=[],  # Without one argparse names PATH among what is required.
        type=path_word,
        help="file, folder, .gz or .zip, or - for standard input; without it the library is read",
    )
    add_library(parser)
    add_strict(parser)


def add_strict(parser: ArgumentParser) -> None:
    """``--strict``."""
    parser.add_argument("--strict", action="store_true", help="skipped input is an error (exit 1)")


def add_library(parser: ArgumentParser) -> None:
    """``--library``."""
    parser.add_argument(
        "--library",
        metavar="DIR",
        type=path_word,
        help="the library in this folder; default: yours, below RETROSPAN_HOME where that is set",
    )


def open_library(args: Namespace, *, make: bool = True) -> Library:
    """The library that the arguments name.

    Args: make: whether it is made where there is none.
    Raises: LibraryError.
    """
    from ..store import Library

    return Library.open(Path(args.library) if args.library else None, make=make)


def path_word(word: str) -> str:
    """A PATH as it was typed. An empty one is an unset variable of a script, and must not mean the current folder."""
    if not word:
        raise ArgumentTypeError("an empty name is no file")
    return word


def port_word(word: str) -> int:
    """A port to listen on, where 0 stands for any that is free. Raises ArgumentTypeError."""
    if not word.isdecimal() or int(word) > _LAST_PORT:
        raise ArgumentTypeError(f"{word!r} is no port (0 to {_LAST_PORT})")
    return int(word)


def id_word(word: str) -> str:
    """The id of a trace or span as it was typed; bytes that are no text fit no id, but must be sayable."""
    if not word:
        raise ArgumentTypeError("an empty text is no id")
    return word.encode("utf-8", "replace").decode()


def keep_input(args: Namespace, store: Store) -> None:
    """Refuse an output file that the input was read from: writing would destroy the recording.

    Raises: DebuggerError.
    """
    output: Path | None = args.output
    if output is None or not output.exists():
        return
    for source in {*args.paths, *(row.source for row in store.traces())}:
        try:
            same = output.samefile(source)
        except OSError:
            continue  # standard input, or a member of an archive
        if same and output.is_file():
            raise DebuggerError(f"-o {output}: the input was read from there", hint="name another file")


def load_input(args: Namespace) -> tuple[Store, LoadSummary]:
    """The store with what the paths hold, or the library; says on standard error what was skipped.

    Raises: UnreadableInputError: there is not one span in the paths; LibraryError.
    """
    from ..store import LoadSummary, Store

    if not args.paths:
        nothing = LoadSummary(spans=0, traces=0, issues=(), skipped=(), unrecognised=0, seconds=0.0)
        try:
            return open_library(args, make=False).reader(), nothing
        except NoLibraryError:  # nothing was loaded yet: to read is not to make one
            return Store.memory(), nothing
    if args.library:
        raise DebuggerError("PATH and --library say two things to read", hint="name one of them")
    store = Store.memory()
    progress = Progress() if sys.stderr.isatty() else None
    summary = store.load(args.paths, on_progress=progress)
    if progress is not None:
        progress.clear()
    if summary.spans == 0:
        store.close()
        raise UnreadableInputError(nothing_read(args.paths, summary))
    if summary.skipped:
        sys.stderr.write(f"retrospan: {skipped_line(summary.skipped)}\n")
    return store, summary


def exit_code(args: Namespace, summary: LoadSummary) -> int:
    """1 where input was skipped and the user asked to be strict, else 0."""
    return 1 if args.strict and summary.skipped else 0


def nothing_read(paths: Sequence[str], summary: LoadSummary) -> str:
    """Why there is not one span in the input."""
    from ..importers import readable_formats

    if not summary.issues:
        return f"no spans in {', '.join(map(str, paths))}"
    shown = [_why(row) for row in summary.issues[:_SHOWN_FILES]]
    more = len(summary.issues) - len(shown)
    shown += [f"and {more} more"] if more else []
    shown += [f"what is read: {readable_formats()}"] if summary.unrecognised else []
    return "; ".join(shown)


def _why(row: IssueRow) -> str:
    place = row.path if row.line is None else f"{row.path}, line {row.line}"
    return f"no spans in {place} (empty)" if row.reason == "empty" else f"{place}: {row.reason}"


def skipped_line(skipped: Sequence[IssueRow]) -> str:
    """One line for all that was skipped: ``2 lines skipped: FILE line 3: not JSON; line 6: ends in the middle``."""
    from ..analysis.text import visible

    lines = sum(row.line is not None for row in skipped)
    counts = [
        f"{number} {noun if number == 1 else noun + 's'}"
        for number, noun in ((lines, "line"), (len(skipped) - lines, "file"))
        if number
    ]
    parts: list[str] = []
    last = None
    for row in skipped[:_SHOWN_LINES]:
        path = "" if row.path == last else row.path
        last = row.path
        if row.line is None:
            parts.append(f"{path or row.path}: {row.reason}")
        else:
            parts.append(f"{path} line {row.line}: {row.reason}".lstrip())
    more = len(skipped) - len(parts)
    if more:
        parts.append(f"and {more} more")
    return visible(f"{' and '.join(counts)} skipped: {'; '.join(parts)}")
