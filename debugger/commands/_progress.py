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
_RATE_AFTER_S: Final = 3.0
"""Before that, a rate means nothing: what is read first need not be like the rest, and opening it takes a while."""
_LEFT_AFTER_PERCENT: Final = 2
"""Nor does the time left before so much is read, ..."""
_LEFT_AFTER_S: Final = 30.0
"""... unless it went on for so long."""
_MINUTE_S: Final = 60
"""Below it the time left is told in whole seconds: nobody knows it better."""


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


def progress_text(progress: LoadProgress, seconds: float) -> str:
    """``reading: 45 % of 2.7 GB, 450,000 spans, 41,000 spans/s, 12 s left``."""
    from ..analysis.text import duration, plural, size

    if progress.is_finishing:
        return f"finishing: {plural(progress.spans, 'span')}"
    parts = []
    total, done = progress.bytes_total, progress.bytes_done
    if total:
        parts.append(f"{min(done * 100 // total, 100)} % of {size(total)}")
    parts.append(plural(progress.spans, "span"))
    if seconds >= _RATE_AFTER_S:
        parts.append(f"{plural(round(progress.spans / seconds), 'span')}/s")
        is_known = seconds >= _LEFT_AFTER_S or (total and done * 100 >= total * _LEFT_AFTER_PERCENT)
        if total and 0 < done < total and is_known:
            left = int(seconds * (total - done) / done) + 1
            parts.append(f"{f'{left} s' if left < _MINUTE_S else duration(left * 1_000_000_000)} left")
    return f"reading: {', '.join(parts)}"
