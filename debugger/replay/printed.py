"""What a program printed, kept in bounded memory: its beginning and its end."""

from __future__ import annotations

from typing import Final

MOST_BYTES: Final = 256 << 10
"""Kept of the beginning, and again of the end: the rest of a flood says no more than these."""


class Printed:
    """The output of one program, added as it comes.

    Args:
        most: bytes to keep of the beginning, and as many of the end.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        """The next piece."""
        room = self._most - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        over = len(self._tail) - self._most
        if over > 0:
            self._left_out += over
            del self._tail[:over]

    def lines(self) -> tuple[str, ...]:
        """Line by line; a line of its own says how much is missing where something is."""
        self._cut()
        if not self._left_out:
            return _lines_of(self._head + self._tail)
        return (*_lines_of(self._head), f"[{self._left_out:,} bytes left out here]", *_lines_of(self._tail))


def _lines_of(data: bytearray) -> tuple[str, ...]:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(text.removesuffix("\n").split("\n")) if text else ()
