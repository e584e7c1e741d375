"""The bar of a span as pieces: the bar itself, the gap before it, what of it lies outside the window."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.text import cut, duration
from ...analysis.timeline import Axis, Bar, bar_of
from ...store.rows import SpanRow
from .drawn import Drawable, Run

_GAP = 3
"""Cells of a gap that is worth drawing."""


def bar_pieces(
    span: SpanRow, view: Axis | None, width: int, style: str, gap: int, critical: Sequence[tuple[int, int]] | None
) -> list[Drawable]:
    """What a row shows beside the span's name.

    Args:
        span: whose bar it is.
        view: the window of time.
        width: cells that there are.
        style: how the bar looks.
        gap: nanoseconds before the start in which nothing beside the span ran.
        critical: the span's own stretches of the critical path; None while the path is not shown.
    """
    start, end = span.start_unix_nano, span.end_unix_nano
    known = start if start is not None else end
    if view is None or known is None:
        return [Run(cut("no time recorded", width), "dim")]
    last = known if end is None else max(end, known)
    if (last < view.start and end is not None) or width <= 0:
        return [Run(cut("◂", width), "dim")]
    if known > view.end:
        return [Run(" " * (width - 1)), Run("▸", "dim")]
    bar = bar_of(start, end, view, width)
    pieces = _gap_pieces(known, gap, view, bar, width)
    if critical is None:
        pieces.append(Run(bar.text, style))
    else:
        pieces.extend(_critical_pieces(bar, view, width, style, critical))
    return pieces


def _gap_pieces(start: int, gap: int, view: Axis, bar: Bar, width: int) -> list[Drawable]:
    """Up to the bar: empty cells, then the gap, with its length in words where they fit."""
    first = min(max(start - gap - view.start, 0) * width // view.length, bar.column)
    cells = bar.column - first
    if not gap or cells < _GAP:
        return [Run(" " * bar.column)]
    said = f" {duration(gap)} "
    if len(said) + 2 > cells:
        return [Run(" " * first), Run("┄" * cells, "dim")]
    left = (cells - len(said)) // 2
    return [Run(" " * first), Run("┄" * left + said + "┄" * (cells - left - len(said)), "dim")]


def _critical_pieces(
    bar: Bar, view: Axis, width: int, style: str, critical: Sequence[tuple[int, int]]
) -> list[Drawable]:
    """The bar in which only the stretches that decided are solid."""
    solid = [False] * len(bar.text)
    for start, end in critical:
        if end < view.start or start > view.end:
            continue
        low = (start - view.start) * width // view.length - bar.column
        high = -(-(end - view.start) * width // view.length) - bar.column
        for cell in range(max(low, 0), min(max(high, low + 1), len(solid))):
            solid[cell] = True
    pieces: list[Drawable] = []
    for cell, is_solid in enumerate(solid):
        pieces.append(Run(bar.text[cell], style) if is_solid else Run("░" if bar.text[cell] == "█" else "·", "dim"))
    return pieces
