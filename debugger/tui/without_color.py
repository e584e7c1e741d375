"""``NO_COLOR``: no colour reaches the terminal, where Textual's own filter would send greys.

What only a colour said is said by a text style then: see ``:nocolor`` in the style sheet.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


class WithoutColor(LineFilter):
    """Keeps bold, reverse, underline and the like, and takes all colours away."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without their colours; cost: one look at each."""
        return [
            Segment(text, None if style is None else style.without_color, control) for text, style, control in segments
        ]
