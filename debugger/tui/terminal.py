"""The terminal that the app draws on, which may be closed while it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from signal import SIGHUP
from typing import IO, TYPE_CHECKING, Final, cast

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from io import TextIOWrapper

    from textual.app import App

GONE: Final = 128 + SIGHUP
"""The exit code once there is no terminal any more: that of a process which its hang-up ended."""


class LastingFile:
    """What is written to a terminal; once that has gone, to nowhere.

    Textual writes in a thread of its own, and waits for that to take what it sends: the thread must not end.

    Args:
        file: the terminal.
        tell_gone: called at each write that fails, in the thread that writes.
    """

    def __init__(self, file: IO[str], tell_gone: Callable[[], None]) -> None:
        self._file = file
        self._tell_gone = tell_gone

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return self._file.write(text)
        except OSError:
            self._lose()
            return len(text)

    def flush(self) -> None:
        """Write what was kept back."""
        try:
            self._file.flush()
        except OSError:
            self._lose()

    def fileno(self) -> int:
        """The number of the file."""
        return self._file.fileno()

    def _lose(self) -> None:
        # What the file still holds goes there too, when Python flushes it at its end and would complain.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)
        self._tell_gone()


class TerminalDriver(LinuxDriver):
    """Textual's driver; where the terminal is closed, the app leaves."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            self._file = cast("TextIOWrapper", LastingFile(self._file, self._leave))

    def run_input_thread(self) -> None:
        """Read keys until the app leaves, or the terminal goes."""
        try:
            super().run_input_thread()
        except OSError:
            self._leave()

    def _leave(self) -> None:
        self._app.exit(return_code=GONE)
