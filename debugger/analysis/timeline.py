"""Times as cells: the axis of a trace, the bar of a span and the ruler above them, in integer arithmetic.

Times are drawn as recorded. A span without times has no bar and never stretches the axis; one without an end is open to
the right; one that ends before it starts is a tick at its start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..store.rows import SpanRow
from .text import duration

BarKind: TypeAlias = Literal["span", "tick", "open", "none"]

_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Axis:
    """The known times of a trace; ``start <= end``, both in Unix nanoseconds."""

    start: int
    end: int
    zero: int
    """What the ruler calls 0: the start of the root."""

    @property
    def length(self) -> int:
        """Nanoseconds, at least 1."""
        return max(self.end - self.start, 1)


@dataclass(frozen=True, slots=True)
class Bar:
    """A span's bar within a row of cells."""

    kind: BarKind
    column: int
    """First cell."""
    text: str
    """The cells from there; empty for ``none``."""


NO_BAR = Bar("none", 0, "")


def axis_of(rows: Iterable[SpanRow], zero: int | None) -> Axis | None:
    """The axis over all known starts and ends; None when no span has a time."""
    starts = [t for row in rows if (t := row.start_unix_nano) is not None]
    ends = [t for row in rows if (t := row.end_unix_nano) is not None]
    if not starts and not ends:
        return None
    low = min(starts) if starts else min(ends)
    if ends:
        low = min(low, min(ends))
    high = max(max(starts, default=low), max(ends, default=low))
    return Axis(low, high, low if zero is None else zero)


def bar_of(start: int | None, end: int | None, axis: Axis | None, width: int) -> Bar:
    """The bar of an interval on ``width`` cells.

    Whole blocks with an eighth block at the end; what is shorter than a cell is as many eighths, at least one.
    """
    if axis is None or width <= 0 or (start is None and end is None):
        return NO_BAR
    at = start if start is not None else end
    assert at is not None
    unit = width * 8
    left = (at - axis.start) * unit // axis.length
    left = min(max(left, 0), unit - 1)
    column = left // 8
    if end is None:
        return Bar("open", column, "▒" * (width - column - 1) + "▶")
    right = (end - axis.start) * unit // axis.length
    if start is None or end <= start:
        return Bar("tick", column, "▏")
    right = min(max(right, left + 1), unit)
    if right - left < 8:
        return Bar("span", column, _EIGHTHS[max(right - left, 1)])
    # The left edge has halves only: blocks that fill a cell from the right come in no finer steps.
    head = "▐" if left % 8 >= 4 else "█"
    whole = right // 8 - column - 1
    return Bar("span", column, head + "█" * whole + _EIGHTHS[right % 8].strip())


def window(axis: Axis, start: int, end: int, *, margin: bool = False) -> Axis:
    """A part of the axis, kept inside it; with a margin a little of what lies around is seen too."""
    room = (end - start) // 20 if margin else 0
    low = min(max(start - room, axis.start), axis.end)
    high = max(min(end + room, axis.end), low)
    return Axis(low, max(high, min(low + 1, axis.end)), axis.zero)


def zoomed(axis: Axis, view: Axis, factor: float, middle: int | None) -> Axis:
    """A window that is ``factor`` times as long, with a moment in its middle as far as the ends allow."""
    length = max(round(view.length * factor), 10)
    if length >= axis.length:
        return axis
    at = view.start + view.length // 2 if middle is None else middle
    return panned(axis, Axis(at - length // 2, at - length // 2 + length, axis.zero), 0)


def zoomed_at(axis: Axis, view: Axis, factor: float, moment: int) -> Axis:
    """A window that is ``factor`` times as long, in which a moment stays where it is, as far as the ends allow."""
    length = max(round(view.length * factor), 10)
    if length >= axis.length:
        return axis
    start = moment - (moment - view.start) * length // view.length
    return panned(axis, Axis(start, start + length, axis.zero), 0)


def panned(axis: Axis, view: Axis, by: int) -> Axis:
    """The window moved, no further than the ends of the axis."""
    length = min(view.length, axis.length)
    start = min(max(view.start + by, axis.start), axis.end - length)
    return Axis(start, start + length, axis.zero)


def length_of(row: SpanRow) -> int | None:
    """How long a span took; None where that is not known."""
    start, end = row.start_unix_nano, row.end_unix_nano
    return None if start is None or end is None else end - start


def middle_of(row: SpanRow) -> int | None:
    """The middle of a span's time; None where no time is known."""
    start, end = row.start_unix_nano, row.end_unix_nano
    if start is None or end is None:
        return start if start is not None else end
    return (start + end) // 2


def took(row: SpanRow, axis: Axis | None) -> str:
    """How long the span took, as its row says it.

    An unfinished span says how long it has been open at least; a negative length is shown as it is.
    """
    start, end = row.start_unix_nano, row.end_unix_nano
    if start is None and end is None:
        return "no time"
    if start is None:
        return "no start"
    if end is not None:
        return duration(end - start)
    known = axis.end - start if axis else 0
    return f"≥ {duration(known)}" if known > 0 else "unfinished"


def ruler(axis: Axis | None, width: int) -> str:
    """A line of ``width`` cells with round times of the axis, such as ``0 s ──┬─ 1 s ──┬─ 2 s``."""
    if axis is None or width <= 0:
        return " " * max(width, 0)
    cells = ["─"] * width
    low = axis.start - axis.zero
    step = _round_step(axis, width)
    free = 0
    for at in range(-(-low // step) * step, low + axis.length + 1, step):
        column = (at - low) * width // axis.length
        label = f"┬ {_label(at, step)} "
        if column < free or column + len(label) > width:
            continue
        cells[column : column + len(label)] = label
        free = column + len(label)
    return "".join(cells)


def _round_step(axis: Axis, width: int) -> int:
    """The smallest 1, 2 or 5 times a power of ten whose labels do not run into each other."""
    low = axis.start - axis.zero
    unit = 1
    while True:
        for factor in (1, 2, 5):
            step = unit * factor
            room = step * width // axis.length
            if room > max(len(_label(low, step)), len(_label(low + axis.length, step))) + 3:
                return step
        unit *= 10


def _label(at: int, step: int) -> str:
    """A tick's time; as many decimals as the step needs, at most three."""
    at = at // step * step
    if at == 0:
        return "0"
    if abs(at) >= 60_000_000_000:
        return duration(at)
    for unit, name in ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")):
        if abs(at) >= unit and step * 1000 >= unit:
            return f"{at / unit:.3f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{at} ns"
