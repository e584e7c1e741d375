"""How far a load is: one line that overwrites itself on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..store import LoadProgress

_FIRST_S: Final = 0.5
"""A load that is done by then says nothing."""
_EACH_S: Final = 0.2
_PLAIN_S: Final = 10.0
"""Between two lines where there is no terminal."""


class Progress:
    """Writes on standard error."""

    def __init__(self, *, is_plain: bool | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._is_plain = not sys.stderr.isatty() if is_plain is None else is_plain
        self._began = clock()
        self._next = self._began + (_PLAIN_S if self._is_plain else _FIRST_S)
        self._shown = False

    def __call__(self, progress: LoadProgress) -> None:
        """Say how far it is, if it is time to."""
        from ..analysis.progress import progress_text

        now = self._clock()
        if now >= self._next or (progress.is_finishing and self._shown):
            self._write(progress_text(progress, now - self._began), now)

    def say(self, text: str) -> None:
        """Say how far something else is, if it is time to."""
        if (now := self._clock()) >= self._next:
            self._write(text, now)

    def _write(self, text: str, now: float) -> None:
        if self._is_plain:
            self._next = now + _PLAIN_S
            sys.stderr.write(f"retrospan: {text}\n")
        else:
            self._next = now + _EACH_S
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
