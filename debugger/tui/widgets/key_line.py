"""The bottom line: what the keys do here, as many as fit, the most useful first."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.binding import Binding

from ...analysis.text import width_of
from ..keymap import display, remapped
from .drawn import Drawable, HasAscii, OneLine, Run


class KeyLine(OneLine):
    """Offers keys; a click on one does what the key does."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._offered: tuple[Binding, ...] = ()
        self._always: tuple[Binding, ...] = ()
        self._spots: list[tuple[int, int, str]] = []

    def offer(self, bindings: Iterable[Binding], always: Iterable[Binding]) -> None:
        """Show these keys, and at the right edge those that are there always."""
        keys = self.app.keys if isinstance(self.app, HasAscii) else {}
        self._offered = tuple(remapped(binding, keys) for binding in bindings)
        self._always = tuple(remapped(binding, keys) for binding in always)
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """More or fewer keys fit."""
        self._lay_out()

    def _lay_out(self) -> None:
        right: list[Drawable] = []
        for binding in self._always:
            right.extend(_pieces(binding))
        taken = sum(width_of(piece.text) for piece in right)
        offered, always = self._offered, self._always
        if taken > self.size.width // 2:
            # Where there is room for nothing else, the way to the help is what is needed.
            offered, always, right, taken = (*always, *offered), (), [], 0
        room = self.size.width - taken - 1
        left: list[Drawable] = [Run(" ")]
        at = 1
        self._spots = []
        for binding in offered:
            pieces = _pieces(binding)
            width = sum(width_of(piece.text) for piece in pieces)
            if at + width > room:
                break
            self._spots.append((at, at + width, binding.key.partition(",")[0]))
            left.extend(pieces)
            at += width
        start = self.size.width - taken
        for binding in always:
            width = sum(width_of(piece.text) for piece in _pieces(binding))
            self._spots.append((start, start + width, binding.key.partition(",")[0]))
            start += width
        self.pieces = tuple(left)
        self.right = tuple(right)

    async def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        for start, end, key in self._spots:
            if start <= event.x < end:
                self.app.simulate_key(key)
                return


def _pieces(binding: Binding) -> list[Drawable]:
    shown = display(binding.key.partition(",")[0])
    return [Run(shown, "key"), Run(f" {binding.description}  ", "dim")]
