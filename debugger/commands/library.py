"""``retrospan library info | remove | rebuild``: what is done with the library as a whole."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from ._input import add_library, id_word, open_library
from ._progress import Progress
from .load import stopped_by_interrupt

if TYPE_CHECKING:
    from ..store.library import LibraryFacts, RebuildSummary

_INTERRUPTED: Final = 130
_SHOWN: Final = 5


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    info = actions.add_parser("info", help="say where the library is and what it holds")
    remove = actions.add_parser(
        "remove",
        help="take traces out of it",
        description="Take traces out. Loading their file again brings them back.",
    )
    remove.add_argument(
        "traces", metavar="TRACE", nargs="+", type=id_word, help="id of a trace, the first digits of it, or its name"
    )
    rebuild = actions.add_parser(
        "rebuild",
        help="make its segments new from the files that were loaded",
        description="Make the segments new from the files that were loaded. What came from files that are gone or have "
        "changed is kept as it is.",
    )
    for action in (info, remove, rebuild):
        add_library(action)
        action.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Do what was asked."""
    return {"info": _info, "remove": _remove, "rebuild": _rebuild}[args.action](args)


def _info(args: Namespace) -> int:
    with open_library(args, make=False) as library:
        facts = library.facts()
    if args.json:
        _write_json(
            {
                "library": facts.folder,
                "traces": facts.traces,
                "spans": facts.spans,
                "segments": facts.segments,
                "segment_bytes": facts.segment_bytes,
                "spool_files": facts.spool_files,
                "spool_bytes": facts.spool_bytes,
                "files": facts.files,
                "missing_files": list(facts.missing_files),
                "outdated_files": facts.outdated_files,
                "set_aside": list(facts.set_aside),
            }
        )
    else:
        sys.stdout.write("\n".join(_info_lines(facts)) + "\n")
    return 0


def _info_lines(facts: LibraryFacts) -> list[str]:
    from ..analysis.text import count, plural, size, visible

    lines = [
        f"library    {visible(facts.folder)}",
        f"traces     {count(facts.traces)} ({plural(facts.spans, 'span')})",
        f"segments   {count(facts.segments)} ({size(facts.segment_bytes)})",
        f"spool      {plural(facts.spool_files, 'file')} ({size(facts.spool_bytes)})",
        f"loaded     {plural(facts.files, 'file')}",
    ]
    if facts.missing_files:
        lines.append(f"gone       {plural(len(facts.missing_files), 'file')}; the library keeps what they brought")
    if facts.outdated_files:
        number = plural(facts.outdated_files, "file")
        lines.append(f"outdated   {number}, read by an older version; `retrospan library rebuild` reads them again")
    if facts.set_aside:
        number = plural(len(facts.set_aside), "request")
        lines.append(f"set aside  {number} that could not be brought in; `retrospan load FILE` tries again:")
        lines += [f"  {visible(path)}" for path in facts.set_aside[:_SHOWN]]
        more = len(facts.set_aside) - _SHOWN
        lines += [f"  and {more} more"] if more > 0 else []
    return lines


def _remove(args: Namespace) -> int:
    with open_library(args, make=False) as library:
        reader = library.reader()
        wanted = [reader.resolve_trace(text) for text in args.traces]
        removed = library.remove(wanted)
    if args.json:
        _write_json({"removed": removed})
    else:
        from ..analysis.text import plural

        sys.stdout.write(f"removed {plural(removed, 'trace')}; loading a file again brings back what is in it\n")
    return 0


def _rebuild(args: Namespace) -> int:
    progress = Progress()
    with open_library(args, make=False) as library, stopped_by_interrupt() as stop:
        try:
            summary = library.rebuild(progress, stop.is_set)
        finally:
            progress.clear()
    if args.json:
        _write_json(
            {
                "traces": summary.traces,
                "spans": summary.spans,
                "read": list(summary.read),
                "missing": list(summary.missing),
                "unreadable": list(summary.unreadable),
                "cancelled": summary.was_cancelled,
            }
        )
    else:
        sys.stdout.write("\n".join(_rebuild_lines(summary)) + "\n")
    if summary.was_cancelled:
        return _INTERRUPTED
    return 1 if summary.unreadable else 0


def _rebuild_lines(summary: RebuildSummary) -> list[str]:
    from ..analysis.text import plural, visible

    if summary.was_cancelled:
        return ["stopped; the library is as it was"]
    read = plural(len(summary.read), "file")
    lines = [f"rebuilt from {read}: {plural(summary.traces, 'trace')}, {plural(summary.spans, 'span')}"]
    if summary.missing:
        number = len(summary.missing)
        verb = "is" if number == 1 else "are"
        lines.append(f"{plural(number, 'file')} {verb} gone or changed; what was loaded from there is kept as it was:")
        lines += [f"  {visible(path)}" for path in summary.missing[:_SHOWN]]
        lines += [f"  and {number - _SHOWN} more"] if number > _SHOWN else []
    if summary.unreadable:
        number = len(summary.unreadable)
        lines.append(f"{plural(number, 'segment')} could not be read; what they held of these files is lost")
    return lines


def _write_json(found: dict[str, object]) -> None:
    from ._json import dump

    sys.stdout.write(dump(found) + "\n")
