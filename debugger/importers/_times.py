"""Times that can be stored: every importer bounds its own here, since one that cannot be stored fails a whole load."""

from __future__ import annotations

from typing import Final

from ._records import Note

LAST_NANO: Final = 2**63 - 2
"""April 2262. One more is DuckDB's word for infinity, and two more fit in no column."""
_NO_TIME: Final = "a time before 1970 or after 2262"


def stored_time(nanoseconds: int | None, line: int | None, note: Note) -> int | None:
    """The time as it is; None for one that cannot be stored, which is noted."""
    if nanoseconds is None or 0 <= nanoseconds <= LAST_NANO:
        return nanoseconds
    note(line, _NO_TIME, False)
    return None
