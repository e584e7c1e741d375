"""What happens when in a trace: where calls of a kind are, gaps between them, and how busy each moment was.

Made in one pass in a worker, after the forest; keys only look up.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest

from .timeline import Axis, length_of
from .tree import Forest

BINS = 2048
"""Moments that busyness is counted for; no screen is wider."""

SLOWEST = 1000
"""Calls that are ranked; nobody looks at more of them one by one."""

_HEIGHTS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """The rhythm of one forest; all indices are the forest's, ascending."""

    kinds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Where the calls of each kind are."""
    names: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Where the spans of each name are."""
    slowest: Sequence[int] = ()
    """The slowest model calls, the slowest first, at most ``SLOWEST``."""
    gaps: Sequence[int] = ()
    """By index: nanoseconds since the last earlier sibling had ended, or the parent had started; 0 where none."""
    busy: Sequence[int] = ()
    """For each of ``BINS`` moments: how many spans without children were open at most."""
    errors: Sequence[int] = ()
    """The moments in which a span in error ended or, where it has no end, started."""


def rhythm_of(forest: Forest, axis: Axis | None) -> Rhythm:
    """The rhythm of a forest. Cost: linear; called in a worker."""
    kinds: defaultdict[str, array[int]] = defaultdict(partial(array, "i"))
    names: defaultdict[str, array[int]] = defaultdict(partial(array, "i"))
    for i, row in enumerate(forest.rows):
        kinds[row.kind].append(i)
        names[row.name].append(i)
    busy, errors = _busy(forest, axis)
    slowest = _slowest(forest, kinds.get("llm", ()))
    return Rhythm(kinds=dict(kinds), names=dict(names), slowest=slowest, gaps=_gaps(forest), busy=busy, errors=errors)


def _slowest(forest: Forest, calls: Sequence[int]) -> Sequence[int]:
    lengths = [(length, -i) for i in calls if (length := length_of(forest.rows[i])) is not None]
    return tuple(-i for _, i in nlargest(SLOWEST, lengths))


def _gaps(forest: Forest) -> Sequence[int]:
    gaps = array("q", bytes(8 * len(forest)))
    last: dict[int, int] = {}  # by parent: when everything so far below it had ended
    for i, row in enumerate(forest.rows):
        start, parent = row.start_unix_nano, forest.parent[i]
        if start is None:
            continue
        since = last.get(parent)
        if since is None and parent >= 0:
            since = forest.rows[parent].start_unix_nano
        if since is not None and start > since:
            gaps[i] = min(start - since, 1 << 62)
        # What has no end yet may still run, so nothing after it is known to be a gap.
        end = row.end_unix_nano if row.end_unix_nano is not None else 1 << 80
        last[parent] = max(end, since if since is not None else end)
    return gaps


def _busy(forest: Forest, axis: Axis | None) -> tuple[Sequence[int], Sequence[int]]:
    if axis is None:
        return (), ()
    change = [0] * (BINS + 1)
    errors: set[int] = set()
    low, length, top = axis.start, axis.length, BINS - 1
    for row, size in zip(forest.rows, forest.size, strict=True):  # a million times, so plain comparisons
        start, end = row.start_unix_nano, row.end_unix_nano
        known = end if start is None else start
        is_error = row.status_code == 2 or row.error_type is not None
        if known is None or (size != 1 and not is_error):
            continue
        first = last = (known - low) * BINS // length
        if end is not None:
            last = (end - low) * BINS // length
        first = top if first > top else first
        last = first if last < first else top if last > top else last
        if size == 1:
            change[first] += 1
            change[last + 1] -= 1
        if is_error:
            errors.add(last)
    busy = []
    now = 0
    for step in change[:BINS]:
        now += step
        busy.append(now)
    return tuple(busy), tuple(sorted(errors))


@dataclass(frozen=True, slots=True)
class MapCell:
    """One cell of the minimap."""

    sign: str
    is_error: bool
    in_view: bool


def minimap(rhythm: Rhythm, axis: Axis | None, view: Axis | None, width: int) -> list[MapCell]:
    """The whole trace on ``width`` cells: how busy each moment was, errors over it, and what the window shows.

    Cost: O(BINS), whatever the size of the trace.
    """
    if axis is None or view is None or not rhythm.busy or width <= 0:
        return []
    most = max(rhythm.busy) or 1
    first, last = cell_at(axis, view.start, width), cell_at(axis, view.end, width)
    cells = []
    for column in range(width):
        low = column * BINS // width
        high = max((column + 1) * BINS // width, low + 1)
        top = max(rhythm.busy[low:high])
        at = bisect_left(rhythm.errors, low)
        is_error = at < len(rhythm.errors) and rhythm.errors[at] < high
        sign = "✗" if is_error else _HEIGHTS[(top * len(_HEIGHTS) - 1) // most] if top else " "
        cells.append(MapCell(sign, is_error, first <= column <= last))
    return cells


def cell_at(axis: Axis, moment: int, width: int) -> int:
    """The cell that a moment falls into, kept inside."""
    return min(max((moment - axis.start) * width // axis.length, 0), width - 1)


def next_in(places: Sequence[int], index: int, step: int) -> int | None:
    """The next or previous place in a list of indices, round its end; None where there is none."""
    if not len(places):
        return None
    at = bisect_right(places, index) if step > 0 else bisect_left(places, index) - 1
    return places[at % len(places)]


def next_failure(forest: Forest, index: int, step: int) -> int | None:
    """The next or previous span in error, round the end, one that passed an error on after the one it came from.

    From a span that is not in error the next one is the first below or after it. None where none is in error.
    """

    def place(span: int) -> tuple[int, int]:
        return span + forest.size[span], -span

    places = forest.failures
    if not places:
        return None
    here = bisect_left(places, place(index), key=place)
    if here < len(places) and places[here] == index:
        return places[(here + step) % len(places)]
    after = bisect_left(places, index + 1, key=lambda span: span + forest.size[span])
    return places[(after if step > 0 else after - 1) % len(places)]


def failure_is_round(forest: Forest, index: int, to: int, step: int) -> bool:
    """Whether what ``next_failure`` found lies beyond the last or before the first one.

    From a span that passed an error on, as the top one often does, the first one below it is no way round.
    """
    end = to + forest.size[to]
    if step > 0 and index < to < index + forest.size[index]:
        return False
    row = forest.rows[index]
    if row.status_code == 2 or row.error_type is not None:
        here, there = (index + forest.size[index], -index), (end, -to)
        return there <= here if step > 0 else there >= here
    return end <= index if step > 0 else end > index


def next_sibling(forest: Forest, index: int, step: int) -> int | None:
    """The next or previous span under the same parent; None at the end. Cost: O(depth)."""
    parent = forest.parent[index]
    if step > 0:
        after = index + forest.size[index]
        end = len(forest) if parent < 0 else parent + forest.size[parent]
        return after if after < end else None
    at = index - 1
    while at > parent and forest.parent[at] != parent:
        at = forest.parent[at]
    return at if at > parent and at >= 0 else None


@dataclass(slots=True)
class Trail:
    """Where the cursor jumped from, to go back and forth as in a browser."""

    past: list[str] = field(default_factory=list)
    """Span ids, the latest last."""
    future: list[str] = field(default_factory=list)

    def leave(self, span_id: str) -> None:
        """The cursor jumps away from a span; what was ahead is forgotten."""
        if not self.past or self.past[-1] != span_id:
            self.past.append(span_id)
        del self.past[:-200]
        self.future.clear()

    def back(self, here: str) -> str | None:
        """The span before; None at the beginning."""
        return self._step(self.past, self.future, here)

    def forth(self, here: str) -> str | None:
        """The span that ``back`` left."""
        return self._step(self.future, self.past, here)

    @staticmethod
    def _step(source: list[str], other: list[str], here: str) -> str | None:
        while source:
            span_id = source.pop()
            if span_id != here:
                other.append(here)
                return span_id
        return None
