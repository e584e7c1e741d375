"""Files of other kinds that lie beside the traces of a folder: one thing to tell, however many they are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import islice
from os.path import commonpath, relpath
from pathlib import Path
from typing import Final

from .rows import IssueRow

LOOKS_LIKE: Final = "looks like "
"""Begins the reason of a file of no format that is read."""
PASSED_OVER: Final = " (passed over)"
"""Ends the reason of such a file. Nobody asked for it, so nothing was lost."""
_NAMED: Final = 5


def is_passed_over(row: IssueRow) -> bool:
    """Whether an issue is one of such a file."""
    return row.reason.endswith(PASSED_OVER)


def as_one(rows: Iterable[IssueRow]) -> list[IssueRow]:
    """The issues with all files that were passed over in one of them, at the place of the first."""
    out: list[IssueRow] = []
    files: list[IssueRow] = []
    place = 0
    for row in rows:
        if not is_passed_over(row):
            out.append(row)
            continue
        place = place if files else len(out)
        files.append(row)
    if len(files) > 1:
        out.insert(place, _together(files))
    elif files:
        out.insert(place, files[0])
    return out


def _together(files: list[IssueRow]) -> IssueRow:
    is_archive = cache(lambda path: Path(path).is_file())

    def place(path: str) -> str:
        """The path with an archive as the folder of its members."""
        archive, mark, member = path.partition("!")
        return f"{archive}/{member}" if mark and is_archive(archive) else path

    folders = {str(Path(place(row.path)).parent) for row in files}
    try:
        folder = commonpath(folders) or "."  # nothing is common to names below here
    except ValueError:  # one is named from the root, another from here
        folder = "."
    shown = [
        f"{relpath(place(row.path), folder)} ({row.reason.removeprefix(LOOKS_LIKE).removesuffix(PASSED_OVER)})"
        for row in islice(files, _NAMED)
    ]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    reason = f"{len(files)} files that are no traces were passed over: {', '.join(shown)}{more}"
    return IssueRow(path=folder, line=None, reason=reason)
