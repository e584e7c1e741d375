"""A process of its own that takes closed spool files into the library, so that doing so never delays an answer.

It is told to by a line on standard input (``take SHARE OF``: which of how many shares of the files), answers with one
JSON line, and ends with its input: so it never outlives the receiver for long. The one with the first share tidies the
library when nothing else is to be done, so that what came is seen before.
"""

from __future__ import annotations

import json
import select
import signal
import sys
from pathlib import Path
from typing import Final

from ..errors import DebuggerError
from ..store import Library

_IDLE_S: Final = 0.5
"""As long as this nothing must have been asked for, before the library is tidied."""


def main(folder: str) -> None:
    """Serve until the input ends."""
    # Ctrl-C in a terminal reaches every process; when to end is the receiver's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = Worker(Path(folder))
    # One line is written for each answer, so nothing lies in a buffer where select would not see it.
    for line in sys.stdin:
        share, of = map(int, line.split()[1:])
        sys.stdout.write(json.dumps(worker.take(share, of)) + "\n")
        sys.stdout.flush()
        if share:
            continue
        worker.tidy(is_behind=True)
        while not select.select([sys.stdin], [], [], _IDLE_S)[0] and worker.tidy(is_behind=False):
            pass


class Worker:
    """Takes the spool, and says how that went."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library: Library | None = None
        self._untidy = ""

    def take(self, share: int = 0, of: int = 1) -> dict[str, object]:
        """The answer to one line: what was taken, or ``error``; ``untidy`` where tidying failed before."""
        said: dict[str, object]
        try:
            self._library = self._library or Library.open(self._folder)
            summary = self._library.take_spool(share=(share, of))
            said = {"spans": summary.spans, "copied": summary.copied, "waiting": summary.waiting}
            if summary.set_aside:
                said["set_aside"] = [[row.path, row.reason] for row in summary.set_aside]
        except Exception as fault:  # noqa: BLE001 (the border: the receiver shows it, and goes on receiving)
            said = {"error": _told(fault)}
        if self._untidy:
            said["untidy"] = self._untidy
        return said

    def tidy(self, *, is_behind: bool) -> bool:
        """Tidy the library; whether there may be more to do. What went wrong is told with the next answer."""
        if self._library is None:
            return False
        try:
            has_compacted = self._library.tidy(is_behind=is_behind)
        except Exception as fault:  # noqa: BLE001 (the border, as above)
            self._untidy = _told(fault)
            return False
        self._untidy = ""
        return has_compacted


def _told(fault: Exception) -> str:
    return str(fault) if isinstance(fault, DebuggerError | OSError) else f"{type(fault).__name__}: {fault}"
