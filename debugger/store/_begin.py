"""Loads DuckDB with ctrl+c held back: an interrupt while its extension starts is a crash of the whole process."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType


def begin() -> None:
    """Import DuckDB; an interrupt that comes meanwhile is raised right after it."""
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)

    handler = signal.getsignal(signal.SIGINT)
    # Only Python's main thread has handlers; one that another program has set without Python cannot be put back.
    if "duckdb" in sys.modules or handler is None or threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGINT, hold)
    try:
        import duckdb  # noqa: F401
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        signal.raise_signal(signal.SIGINT)
