"""How far a load is, in words."""

from __future__ import annotations

from typing import Final

from ..store.rows import LoadProgress
from .text import duration, plural, size

_RATE_AFTER_S: Final = 3.0
"""Before that, a rate means nothing: what is read first need not be like the rest, and opening it takes a while."""
_LEFT_AFTER_PERCENT: Final = 2
"""Nor does the time left before so much is read, ..."""
_LEFT_AFTER_S: Final = 30.0
"""... unless it went on for so long."""
_MINUTE_S: Final = 60
"""Below it the time left is told in whole seconds: nobody knows it better."""


def progress_text(progress: LoadProgress, seconds: float) -> str:
    """``reading: 45 % of 2.7 GB, 450,000 spans, 41,000 spans/s, 12 s left``."""
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
