"""Two traces side by side, a line for each call, drawn by line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...analysis.compare import ComparedCall, Comparison, label_of
from ...analysis.compare_view import parts_text, row_head
from ...analysis.rhythm import next_in
from ...analysis.text import duration, fit, width_of
from .drawn import Drawable, Drawn, Run, key_for

_READING = "Reading both traces…"
_TOOK = 9
_PARTS, _MOST_PARTS = 24, 40
_WIDE = 70
"""Cells from which on there is room for what differs."""
_TIMES = 100
"""Cells from which on there is room for how long each call took; below, the lower pane tells it."""


class CompareList(Drawn):
    """The aligned calls, all of them or only those that differ."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._all: tuple[ComparedCall, ...] = ()
        self.rows: tuple[ComparedCall, ...] = ()
        self.only = False
        """Only calls that differ are shown."""
        self._differing: tuple[int, ...] = ()
        """Rows that differ, but for those in which nothing differs except what follows from others."""
        self.sides: tuple[tuple[str, str], tuple[str, str]] = (("", ""), ("", ""))
        """What the traces are called, and when they began."""
        self.empty_text = _READING

    def show(self, comparison: Comparison) -> None:
        """Show a comparison, with the cursor on its first difference."""
        self._all = comparison.rows
        self.empty_text = "Neither trace has a call."
        self._arrange(None)

    def clear(self) -> None:
        """Show nothing while the traces are read."""
        self._all = ()
        self._arrange(None)
        self.empty_text = _READING

    def toggle_only(self) -> None:
        """Show only what differs, or everything again; the cursor stays on its call."""
        self.only = not self.only
        self._arrange(self.selected)

    def _arrange(self, kept: ComparedCall | None) -> None:
        self.rows = tuple([row for row in self._all if row.status != "same"]) if self.only else self._all
        self._differing = tuple([i for i, row in enumerate(self.rows) if row.status != "same" and not row.only_follows])
        if self.only and self._all:
            self.empty_text = f"Nothing differs; {key_for(self, 'compare.only')} shows all calls."
        place = next((i for i, row in enumerate(self.rows) if row is kept), None)
        first = self._differing[0] if self._differing else 0
        self.redraw(len(self.rows), first if place is None else place)

    @property
    def selected(self) -> ComparedCall | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    @property
    def position(self) -> str:
        """``difference 2 of 5``."""
        if not self._differing:
            return ""
        here = sum(place <= self.cursor for place in self._differing)
        return f"difference {here} of {len(self._differing):,}"

    def to_difference(self, step: int) -> bool:
        """Go to the next or previous difference, round the end; False where there is none."""
        place = next_in(self._differing, self.cursor, step)
        if place is None:
            return False
        self.cursor = place
        return True

    def _widths(self, width: int) -> tuple[int, int, int]:
        """Cells of a name, of a time, and of what differs; 0 where that is left out."""
        parts = min(max(_PARTS, width // 4), _MOST_PARTS) if width >= _WIDE else 0
        took = _TOOK if width >= _TIMES else 0
        return max((width - parts - 2 * took - 8) // 2, 8), took, parts

    def header_pieces(self) -> tuple[Drawable, ...]:
        """Column names."""
        half, room, parts = self._widths(max(self.scrollable_content_region.width - 1, 0))
        took = fit("took", room, right=True)
        texts = [f"{side}: {name}" for side, (name, _) in zip(("left", "right"), self.sides, strict=True)]
        dated = [f"{text}  {began}" for text, (_, began) in zip(texts, self.sides, strict=True)]
        has_room = max(map(width_of, dated)) <= half
        left, right = (fit(text, half) for text in (dated if has_room else texts))
        out = [Run(f"   {left}{took}   ", "dim"), Run(f"{right}{took}", "dim")]
        return (*out, Run("  differs in", "dim")) if parts else tuple(out)

    def row_key(self, row: int) -> Hashable:
        """Rows never change while they are shown."""
        return id(self.rows[row])

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """Sign, the call on the left, the call on the right, what differs."""
        shown = self.rows[row]
        half, took, parts = self._widths(width)
        sign, glyph, name = row_head(shown)
        step = "  " if parts and half > 36 else " "
        out: list[Drawable] = [sign]
        for call in (shown.left, shown.right):
            # Each side has its own name: another model may stand for the one on the left.
            text = f"{step * min(shown.depth, 12)}{glyph.text}{label_of(call)}" if call else ""
            out.append(Run(fit(text, half), "dim" if shown.status == "same" else name.style))
            out.append(Run(fit(duration(call.duration_ns) if call else "", took, right=True) + "   ", "dim"))
        return (*out, Run(fit(parts_text(shown), parts), sign.style)) if parts else out

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """Said while nothing is there."""
        return (Run(f" {self.empty_text}", "dim"),) if y == 0 else ()
