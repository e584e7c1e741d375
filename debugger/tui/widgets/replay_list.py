"""The calls of a replay as they happen, each beside the recorded call that answered it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from ...analysis.document import Piece
from ...analysis.replay_view import NO_ANSWER, ReplayRow, replay_row, row_pieces
from ...analysis.text import fit
from ...analysis.tree import name_of
from ...replay.model import ReplayCall
from ...store.rows import SpanRow
from .drawn import Drawable, Drawn, Run

_STATUS = 12


class ReplayList(Drawn):
    """Follows the newest call while the cursor is on the last row."""

    def __init__(self, recorded: Mapping[str, SpanRow], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._recorded = recorded
        self.calls: dict[str, ReplayCall] = {}
        """By call id, in the order in which they started."""
        self._shown: list[ReplayRow] = []
        self._place: dict[str, int] = {}
        self._nearest: dict[str, str] = {}
        self.empty_text = "Starting the agent…"
        self._has_ended = False
        self._left_out: Sequence[SpanRow] = ()

    def add(self, calls: Iterable[ReplayCall]) -> None:
        """Calls that started or ended. Cost: of these calls only, and one page drawn."""
        follows = self.cursor >= len(self._shown) - 1
        for call in calls:
            self.calls[call.call_id] = call
            row = replay_row(call, self._recorded, self._nearest.get(call.call_id))
            place = self._place.setdefault(call.call_id, len(self._shown))
            if place < len(self._shown):
                self._shown[place] = row
            else:
                self._shown.append(row)
        self.redraw(len(self._shown), len(self._shown) - 1 if follows else None)

    def show_nearest(self, call_id: str, span_id: str) -> None:
        """Put the recorded call that comes nearest beside one that missed."""
        self._nearest[call_id] = span_id
        if call_id in self.calls:
            self.add((self.calls[call_id],))

    def go_to_first(self, statuses: frozenset[str]) -> None:
        """Put the cursor on the first call with one of these statuses, else on the first call."""
        self.cursor = next((i for i, row in enumerate(self._shown) if row.status in statuses), 0)

    def end(self, left_out: Sequence[SpanRow] = ()) -> None:
        """Nothing comes any more: a call that runs still will have no answer, and recorded ones were not come to."""
        self._has_ended = True
        self._left_out = left_out if self._shown else ()
        self.redraw(len(self._shown) + len(self._left_out))

    def header_pieces(self) -> tuple[Drawable, ...]:
        """Column names."""
        width = max(self.scrollable_content_region.width - 1, 0)
        half = self._half(width)
        left = fit("recorded", half)
        return (Run(f" {left}  ", "dim"), Run(fit("replay", half) + "  ", "dim"), Run("answered by", "dim"))

    def _half(self, width: int) -> int:
        return max((width - _STATUS - 4) // 2, 8)

    def row_key(self, row: int) -> Hashable:
        """The call as it is now."""
        if row >= len(self._shown):
            return self._left_out[row - len(self._shown)]
        return self._shown[row], self._has_ended

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """Recorded call, replayed call, status."""
        half = self._half(width)
        if row >= len(self._shown):
            span = self._left_out[row - len(self._shown)]
            recorded = f"{'◆' if span.kind == 'llm' else '▲'} {name_of(span)}"
            return (Run(f"{fit(recorded, half)}  {fit('', half)}  {fit('not reached', _STATUS)}", "dim"),)
        shown = self._shown[row]
        name, status = row_pieces(shown)
        runs = shown.status == "running"
        recorded = f"{name.text[:2]}{shown.recorded}" if shown.recorded else "" if runs else "(not recorded)"
        if runs and self._has_ended:
            status = Piece(f"- {NO_ANSWER}", "dim")
        return (
            Run(fit(recorded, half) + "  ", name.style if shown.origin_span_id else "dim"),
            Run(fit(name.text, half) + "  ", name.style),
            Run(fit(status.text, _STATUS), status.style),
        )

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """Said before the first call."""
        return (Run(f" {self.empty_text}", "dim"),) if y == 0 else ()
