"""The ruler above the bars: round times, and the playhead, which the mouse moves here."""

from __future__ import annotations

from textual import events

from ...analysis.rhythm import cell_at
from ...analysis.text import fit
from ...analysis.timeline import Axis, ruler
from .drawn import Drawable, Run
from .time_strip import TimeStrip


class Ruler(TimeStrip):
    """The heads of the timeline's columns, and over its bars the times of the window in view."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._view: Axis | None = None
        self._columns = (0, 0, 0)

    def show(self, view: Axis | None, columns: tuple[int, int, int], playhead: int | None) -> None:
        """Show a window of time.

        Args:
            view: the window.
            columns: cells of names, lengths and bars, as the timeline draws them.
            playhead: the moment that is marked, if there is one.
        """
        self._view, self._columns = view, columns
        name, took_cells, bars = columns
        line = ruler(view, bars)
        pieces: list[Drawable] = [
            Run(" " + fit("call", name), "dim"),
            Run(fit("took", took_cells, right=True), "dim"),
            Run("  "),
        ]
        if view is None or playhead is None or not view.start <= playhead <= view.end or not bars:
            self.pieces = (*pieces, Run(line, "dim"))
            return
        cell = cell_at(view, playhead, bars)
        self.pieces = (*pieces, Run(line[:cell], "dim"), Run("┃", "playhead"), Run(line[cell + 1 :], "dim"))

    def time_cells(self) -> tuple[Axis | None, int, int]:
        """The bars' window."""
        name, took_cells, bars = self._columns
        return self._view, name + took_cells + 3, bars

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The playhead follows the mouse while it is held."""
        if self._pressed is not None and (moment := self.moment_at(event.x)) is not None:
            self.post_message(self.Pointed(self, moment))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Leave the playhead where it is let go; a stretch means nothing here."""
        event.prevent_default()
        if self._pressed is not None:
            self._pressed = None
            self.release_mouse()
            if (moment := self.moment_at(event.x)) is not None:
                self.post_message(self.Pointed(self, moment))
