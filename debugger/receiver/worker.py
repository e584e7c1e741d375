"""A process of its own that takes closed spool files into the library, so that doing so never delays an answer.

It is told to by a line on standard input, answers with one JSON line, and ends with its input: so it never outlives
the receiver for long.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from ..errors import DebuggerError
from ..store import Library


def main(folder: str) -> None:
    """Serve until the input ends."""
    # Ctrl-C in a terminal reaches every process; when to end is the receiver's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    library: Library | None = None
    said: dict[str, object]
    for _ in sys.stdin:
        try:
            library = library or Library.open(Path(folder))
            summary = library.take_spool()
            said = {"spans": summary.spans, "copied": summary.copied, "waiting": summary.waiting}
        except (DebuggerError, OSError) as fault:
            said = {"error": str(fault)}
        except Exception as fault:  # noqa: BLE001 (the border: the receiver shows it, and goes on receiving)
            said = {"error": f"{type(fault).__name__}: {fault}"}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
