"""The critical path: the calls that decided how long the trace took.

Going backwards from the end of the longest top-level span, whatever ended last is what was waited for; before it
started, whatever ended last then; and so on, also inside each of them. Shortening anything else would not have made the
trace shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .tree import Forest


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The stretches of time that decided."""

    by_span: dict[int, tuple[tuple[int, int], ...]]
    """By forest index: ``(start, end)`` in Unix nanoseconds of the times in which the span itself was waited for, and
    no child of it; a span that is on the path only through its children has none."""
    length_ns: int

    @property
    def spans(self) -> int:
        """How many spans are on the path."""
        return len(self.by_span)


def critical_path(forest: Forest) -> CriticalPath:
    """The critical path of a forest. Cost: O(n log n) at most; iterative, depth has no limit."""
    top = _longest(forest)
    if top is None:
        return CriticalPath({}, 0)
    start, end = _times(forest, top)
    segments: dict[int, list[tuple[int, int]]] = {}
    stack = [(top, start, end)]
    while stack:
        index, low, high = stack.pop()
        own = segments.setdefault(index, [])
        at = high
        for child, child_start, child_end in _children_by_end(forest, index):
            until = min(child_end, at)
            begin = max(child_start, low)
            if until <= begin or child_start >= at:
                continue  # It lies in the shadow of a sibling that ended later, or outside.
            if until < at:
                own.append((until, at))
            stack.append((child, begin, until))
            at = begin
            if at <= low:
                break
        if at > low:
            own.append((low, at))
    by_span = {index: tuple(reversed(own)) for index, own in sorted(segments.items())}
    return CriticalPath(by_span, end - start)


def _longest(forest: Forest) -> int | None:
    best, most = None, -1
    at = 0
    while at < len(forest):
        start, end = _times(forest, at)
        if end - start > most:
            best, most = at, end - start
        at += forest.size[at]
    return best


def _times(forest: Forest, index: int) -> tuple[int, int]:
    row = forest.rows[index]
    start = row.start_unix_nano if row.start_unix_nano is not None else row.end_unix_nano or 0
    end = row.end_unix_nano if row.end_unix_nano is not None else start
    return start, max(start, end)


def _children_by_end(forest: Forest, index: int) -> Sequence[tuple[int, int, int]]:
    """The children, the last to end first; of those that end together the one that started first."""
    found = []
    at, end = index + 1, index + forest.size[index]
    while at < end:
        found.append((at, *_times(forest, at)))
        at += forest.size[at]
    found.sort(key=lambda child: (-child[2], child[1]))
    return found
