"""Signals that end a process unheard, heard: what a command has open is closed in its own way first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from signal import SIG_IGN, Signals, getsignal, signal
from threading import current_thread, main_thread
from typing import Final

ENDING: Final = tuple(number for number in Signals if number.name in ("SIGTERM", "SIGHUP"))
"""What ends a process unheard; there is no SIGHUP on Windows."""


def exit_code_of(number: int) -> int:
    """The exit code that a shell gives to a process which a signal ended."""
    return 128 + number


@contextmanager
def hearing(hear: Callable[[int], None], numbers: Collection[Signals]) -> Iterator[None]:
    """Call ``hear`` for signals; not for those that nohup and the like had ignored."""
    if current_thread() is not main_thread():  # it hears no signal
        yield
        return
    wanted = [number for number in numbers if getsignal(number) is not SIG_IGN]
    before = [(number, signal(number, lambda heard, _frame: hear(heard))) for number in wanted]
    try:
        yield
    finally:
        for number, handler in before:
            signal(number, handler)
