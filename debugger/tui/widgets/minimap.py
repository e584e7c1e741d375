"""The minimap: the whole trace on one line. A click shows the time around it, a stretch drawn over it just that."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events

from ...analysis.rhythm import Rhythm, cell_at, minimap
from ...analysis.timeline import Axis
from .drawn import Drawable, Run
from .time_strip import TimeStrip


class Minimap(TimeStrip):
    """How busy each moment was, errors over it, the window in view and the playhead.

    Cost of drawing: O(cells), whatever the size of the trace.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rhythm = Rhythm()
        self._axis: Axis | None = None
        self._view: Axis | None = None
        self._marks: dict[str, int] = {}

    def show(self, rhythm: Rhythm, axis: Axis | None, view: Axis | None, marks: dict[str, int] | None = None) -> None:
        """Show a trace and the window.

        Args:
            rhythm: of the trace.
            axis: all its time.
            view: the window in view.
            marks: moments by the sign that marks them, such as the playhead.
        """
        before = self._rhythm, self._axis, self._view, self._marks
        self._rhythm, self._axis, self._view, self._marks = rhythm, axis, view, marks or {}
        if rhythm is not before[0] or (axis, view, self._marks) != before[1:]:
            self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Other cells, other moments."""
        self._draw()

    def _draw(self) -> None:
        width = max(self.size.width - 2, 0)
        is_whole = self._view == self._axis
        marked = {cell_at(self._axis, at, width): sign for sign, at in self._marks.items() if self._axis and width}
        cells = minimap(self._rhythm, self._axis, self._view, width)
        edges = {} if is_whole else _edges([cell.in_view for cell in cells])
        pieces: list[Drawable] = [_end("▕", edges.get(-1))]
        for column, cell in enumerate(cells):
            if column in marked:
                pieces.append(Run(marked[column], "playhead"))
            elif column in edges:
                pieces.append(Run(edges[column], "error" if cell.is_error else "strong"))
            elif cell.is_error:
                pieces.append(Run(cell.sign, "error"))
            elif is_whole or cell.in_view:
                pieces.append(Run(cell.sign, "llm" if is_whole else "window"))
            else:
                pieces.append(Run(cell.sign, "dim"))
        if len(pieces) > 1:
            pieces.append(_end("▏", edges.get(len(cells))))
        self.pieces = tuple(pieces) if len(pieces) > 1 else ()

    def time_cells(self) -> tuple[Axis | None, int, int]:
        """All of the trace, between the two ends."""
        return self._axis, 1, self.size.width - 2


def _edges(in_view: Sequence[bool]) -> dict[int, str]:
    """Brackets by cell, beside the window: its colour alone would say nothing where there is none."""
    if True not in in_view:
        return {}
    first = in_view.index(True)
    return {first - 1: "[", first + in_view[first:].count(True): "]"}


def _end(line: str, bracket: str | None) -> Run:
    return Run(line, "line") if bracket is None else Run(bracket, "strong")
