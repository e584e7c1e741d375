"""One line over a stretch of time that the mouse acts on: the minimap and the ruler are such lines."""

from __future__ import annotations

from textual import events
from textual.message import Message

from ...analysis.timeline import Axis
from .drawn import OneLine

_STILL = 1
"""Cells that a hand may tremble: what is drawn over more is a stretch."""


class TimeStrip(OneLine):
    """Turns cells into moments. A subclass says which time its cells show."""

    class OfStrip(Message):
        """Something at a moment."""

        def __init__(self, strip: TimeStrip, moment: int) -> None:
            super().__init__()
            self.strip = strip
            self.moment = moment

        @property
        def control(self) -> TimeStrip:
            """The strip."""
            return self.strip

    class Pointed(OfStrip):
        """A moment was clicked, or the mouse is held over it. Handler: ``on_time_strip_pointed``."""

    class Swept(OfStrip):
        """The mouse went over a stretch of time while it was held. Handler: ``on_time_strip_swept``."""

        def __init__(self, strip: TimeStrip, start: int, end: int) -> None:
            super().__init__(strip, start)
            self.end = end

    class Scrolled(OfStrip):
        """The wheel was turned: it zooms, or with ``pans`` moves. Handler: ``on_time_strip_scrolled``."""

        def __init__(self, strip: TimeStrip, moment: int, *, is_up: bool, pans: bool) -> None:
            super().__init__(strip, moment)
            self.is_up = is_up
            self.pans = pans

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pressed: int | None = None
        """The cell where the mouse was pressed; None while it is not held."""

    def time_cells(self) -> tuple[Axis | None, int, int]:
        """The time that is shown, the first cell that shows it, and how many do."""
        raise NotImplementedError

    def moment_at(self, x: int) -> int | None:
        """The moment that a cell shows, the nearest one where it shows none; None without times."""
        axis, left, width = self.time_cells()
        if axis is None or width <= 0:
            return None
        return axis.start + axis.length * min(max(x - left, 0), width) // width

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Hold on to the cell."""
        axis, left, width = self.time_cells()
        if axis is not None and left <= event.x < left + width:
            self._pressed = event.x
            self.capture_mouse()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go: a click, or a stretch."""
        pressed, self._pressed = self._pressed, None
        if pressed is None:
            return
        self.release_mouse()
        start, end = (self.moment_at(x) for x in sorted((pressed, event.x)))
        if start is None or end is None:
            return
        is_still = abs(event.x - pressed) <= _STILL
        self.post_message(self.Pointed(self, start) if is_still else self.Swept(self, start, end))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in; with shift to what was earlier."""
        self._scroll(event, is_up=True, pans=event.shift)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out; with shift to what comes later."""
        self._scroll(event, is_up=False, pans=event.shift)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """To what was earlier."""
        self._scroll(event, is_up=True, pans=True)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """To what comes later."""
        self._scroll(event, is_up=False, pans=True)

    def _scroll(self, event: events.MouseEvent, *, is_up: bool, pans: bool) -> None:
        event.stop()
        if (moment := self.moment_at(event.x)) is not None:
            self.post_message(self.Scrolled(self, moment, is_up=is_up, pans=pans))
