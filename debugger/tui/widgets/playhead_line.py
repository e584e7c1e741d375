"""The playhead: where in the events of the trace the shown state is, as a slider that keys and the mouse move."""

from __future__ import annotations

from textual import events
from textual.message import Message

from ...analysis.text import fit
from .drawn import Drawable, OneLine, Run

_SLIDER = 24


class PlayheadLine(OneLine):
    """``◀ event 23 of 61 ▶ ━━━●────  chat answers · the state in a few words``."""

    class Moved(Message, namespace="playhead"):
        """The mouse moved it. Handler: ``on_playhead_moved``."""

        def __init__(self, position: int) -> None:
            super().__init__()
            self.position = position

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._position = 0
        self._total = 0
        self._mark: int | None = None
        self._forth = 0
        self._slider = 0
        self._is_held = False

    def show(self, position: int, total: int, mark: int | None, said: str, summary: str) -> None:
        """Show a position.

        Args:
            position: of the event, from 0.
            total: how many events there are.
            mark: the marked position, if there is one.
            said: what happens at the event.
            summary: the state there; empty while it is not known.
        """
        self._position, self._total, self._mark = position, total, mark
        place = f" event {position + 1:,} of {total:,} "
        width = len(f" event {total:,} of {total:,} ")
        pieces: list[Drawable] = [
            Run(" "),
            Run("◀", "key"),
            Run(fit(place, width), "strong"),
            Run("▶", "key"),
            Run(" "),
        ]
        self._forth = 2 + width
        self._slider = self._forth + 2
        pieces.extend(self._slider_pieces())
        pieces.append(Run(f"  {said}", "strong"))
        if summary:
            pieces.append(Run(f"  {summary}", "dim"))
        self.pieces = tuple(pieces)

    def _slider_pieces(self) -> list[Drawable]:
        at = self._cell(self._position)
        cells = ["━"] * at + ["●"] + ["─"] * (_SLIDER - at - 1)
        if self._mark is not None and (flag := self._cell(self._mark)) != at:
            cells[flag] = "⚑"
        return [Run("".join(cells[:at]), "key"), Run(cells[at], "playhead"), Run("".join(cells[at + 1 :]), "line")]

    def _cell(self, position: int) -> int:
        return position * (_SLIDER - 1) // max(self._total - 1, 1)

    def _go(self, position: int) -> None:
        if self._total:
            self.post_message(self.Moved(min(max(position, 0), self._total - 1)))

    def _go_to_cell(self, x: int) -> None:
        cell = min(max(x - self._slider, 0), _SLIDER - 1)
        self._go(round(cell * (self._total - 1) / (_SLIDER - 1)))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The arrows step, the slider goes where it is pressed and follows the mouse."""
        if event.x == 1:
            self._go(self._position - 1)
        elif event.x == self._forth:
            self._go(self._position + 1)
        elif self._slider <= event.x < self._slider + _SLIDER:
            self._is_held = True
            self.capture_mouse()
            self._go_to_cell(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while it is held."""
        if self._is_held:
            self._go_to_cell(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go."""
        if self._is_held:
            self._is_held = False
            self.release_mouse()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """One event back."""
        event.stop()
        self._go(self._position - 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """One event forth."""
        event.stop()
        self._go(self._position + 1)
