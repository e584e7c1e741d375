"""Moving through a trace: jumps to calls of a kind, siblings, back and forth, and the window of time.

The part of the timeline that knows where to go; what is drawn and folded is in ``timeline``.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from textual import events
from textual.message import Message

from ...analysis.rhythm import Rhythm, Trail, failure_is_round, next_failure, next_in, next_sibling
from ...analysis.timeline import Axis, middle_of, panned, window, zoomed, zoomed_at
from ...analysis.tree import Forest, build_forest
from ...store.rows import SpanRow
from .drawn import Drawn, key_for

WHEEL = 0.1
"""The part of the window that one turn of the wheel moves it by."""


class TimelineMoves(Drawn):
    """Where the cursor of a timeline can go.

    Cost of a jump: a look-up, and in a deep tree a walk up from the span.
    """

    class Said(Message, namespace="timeline"):
        """Why a key could do nothing, for the user. Handler: ``on_timeline_said``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Zoomed(Message, namespace="timeline"):
        """Another window of time is shown. Handler: ``on_timeline_zoomed``."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.forest: Forest = build_forest(())
        self.axis: Axis | None = None
        self.view: Axis | None = None
        """The window of time that the bars show; ``axis`` is the whole trace."""
        self.rhythm = Rhythm()
        self.row_indices: array[int] = array("i")
        """The rows: indices of the forest."""
        self._trail = Trail()

    # What the timeline itself does.

    def place(self, index: int) -> None:
        """Put the cursor on a span, opening what hides it."""
        raise NotImplementedError

    def set_view(self, view: Axis | None) -> None:
        """Show another window of time."""
        raise NotImplementedError

    @property
    def index(self) -> int:
        """The forest index under the cursor; 0 where there are no spans."""
        return self.row_indices[self.cursor] if self.cursor < len(self.row_indices) else 0

    @property
    def selected(self) -> SpanRow | None:
        """The span under the cursor."""
        return self.forest.rows[self.index] if len(self.forest) else None

    def go_to(self, index: int) -> None:
        """Jump to a span, opening what hides it; where a filter hides it, all is shown again."""
        if (span := self.selected) is not None and index != self.index:
            self._trail.leave(span.span_id)
        self.place(index)

    def action_parent(self) -> None:
        """Go to the parent, or say why there is none."""
        span = self.selected
        if span is None:
            return
        above = self.forest.parent[self.index]
        if above >= 0:
            self.go_to(above)
        elif span.parent_span_id and self.forest.find(span.parent_span_id) is None:
            self.post_message(self.Said(f"Its parent {span.parent_span_id} is not in this trace."))
        else:
            self.post_message(self.Said("This span is at the top level."))

    # Jumps.

    def jump(self, places: Sequence[int], step: int, what: str, *, stay: bool = False) -> bool:
        """Go to the next or previous of some spans, round the end, which is said; False when there is none.

        Args:
            places: indices of the spans, ascending.
            step: 1 or -1.
            what: what one of them is called.
            stay: the cursor stays where it is on one of them already.
        """
        to = next_in(places, self.index - stay, step)
        if to is not None:
            is_round = (to < self.index) if step > 0 else (to > self.index)
            self._land(to, what, len(places), step, is_round=is_round, is_same=to == self.index and not stay)
        return to is not None

    def _land(self, to: int, what: str, total: int, step: int, *, is_round: bool, is_same: bool) -> None:
        """Go to a span, and say where the jump went round the end or could lead nowhere else."""
        if is_same:
            self.post_message(self.Said(f"This is the only {what}."))
        elif is_round:
            side, end = ("after", "first") if step > 0 else ("before", "last")
            self.post_message(self.Said(f"No {what} comes {side} this: on from the {end} of {total:,}."))
        self.go_to(to)

    def action_jump_kind(self, kind: str, step: int) -> None:
        """Go to the next or previous call of a kind, or span in error."""
        what = {"error": "span in error", "llm": "model call", "tool": "tool call"}.get(kind, kind)
        if kind == "error":
            to = next_failure(self.forest, self.index, step)
            if to is not None:
                is_round = failure_is_round(self.forest, self.index, to, step)
                total = len(self.forest.failures)
                self._land(to, what, total, step, is_round=is_round, is_same=to == self.index)
            is_there = to is not None
        else:
            is_there = self.jump(self.rhythm.kinds.get(kind, ()), step, what)
        if not is_there:
            words = f"There is no {what} in this trace."
            if kind == "error":
                search = key_for(self, "trace.search")
                words += f" A failure that only its text tells is found by words: {search} error, for instance."
            self.post_message(self.Said(words))

    def action_sibling(self, step: int) -> None:
        """Go to the next or previous span under the same parent."""
        to = next_sibling(self.forest, self.index, step) if len(self.forest) else None
        if to is None:
            side = "after" if step > 0 else "before"
            self.post_message(self.Said(f"No span under the same parent comes {side} this one."))
        else:
            self.go_to(to)

    def action_same(self, step: int) -> None:
        """Go to the next or previous span of the same name."""
        span = self.selected
        places = self.rhythm.names.get(span.name, ()) if span is not None else ()
        if len(places) < 2:
            self.post_message(self.Said("No other span has this name."))
        else:
            self.jump(places, step, "span of this name")

    def action_history(self, step: int) -> None:
        """Back to where the cursor jumped from, or forth again."""
        span = self.selected
        if span is None:
            return
        span_id = self._trail.back(span.span_id) if step < 0 else self._trail.forth(span.span_id)
        at = self.forest.find(span_id) if span_id is not None else None
        if at is None:
            self.post_message(
                self.Said(
                    "There is nothing to go back to."
                    if step < 0
                    else f"Nothing was left by {key_for(self, 'timeline.undo')}."
                )
            )
        else:
            self.place(at)

    def action_slowest(self) -> None:
        """Go to the slowest model call; from there to the next slowest."""
        order = self.rhythm.slowest
        if not order:
            self.post_message(self.Said("There is no model call with an end in this trace."))
            return
        place = (order.index(self.index) + 1) % len(order) if self.index in order else 0
        self.go_to(order[place])
        total = len(self.rhythm.kinds.get("llm", ()))
        self.post_message(self.Said(f"Number {place + 1:,} of {total:,} model calls, the slowest first."))

    # Time.

    def action_zoom(self, factor: float) -> None:
        """Show less or more time around the span under the cursor; 0 shows all."""
        if self.axis is None or self.view is None:
            return
        if not factor:
            self.set_view(self.axis)
        else:
            span = self.selected
            middle = None if span is None else middle_of(span)
            self.set_view(zoomed(self.axis, self.view, factor, middle))
        self.post_message(self.Zoomed())

    def action_zoom_to_span(self) -> None:
        """Show just the time of the span under the cursor."""
        span = self.selected
        if self.axis is None or span is None or span.start_unix_nano is None:
            return
        end = span.end_unix_nano if span.end_unix_nano is not None else self.axis.end
        self.set_view(window(self.axis, span.start_unix_nano, max(end, span.start_unix_nano + 1), margin=True))
        self.post_message(self.Zoomed())

    def point_at(self, moment: int) -> None:
        """Show the time around a moment; where all is in view, a quarter of it."""
        if self.axis is not None and self.view is not None:
            factor = 0.25 if self.view == self.axis else 1
            self.set_view(zoomed(self.axis, self.view, factor, moment))
            self.post_message(self.Zoomed())

    def sweep(self, start: int, end: int) -> None:
        """Show just a stretch of time."""
        if self.axis is not None:
            self.set_view(window(self.axis, start, max(end, start + 1)))
            self.post_message(self.Zoomed())

    def zoom_at(self, moment: int, *, is_in: bool) -> None:
        """Show less or more time; the moment stays where it is on the screen."""
        if self.axis is not None and self.view is not None:
            self.set_view(zoomed_at(self.axis, self.view, 0.5 if is_in else 2, moment))
            self.post_message(self.Zoomed())

    def moment_at(self, x: int) -> int | None:
        """The moment that a cell shows; None where it shows none."""
        raise NotImplementedError

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """With ctrl zoom in, with shift to what was earlier; alone it scrolls the rows."""
        self._turn_wheel(event, is_up=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """With ctrl zoom out, with shift to what comes later; alone it scrolls the rows."""
        self._turn_wheel(event, is_up=False)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """To what was earlier."""
        self.action_pan(-WHEEL)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """To what comes later."""
        self.action_pan(WHEEL)

    def _turn_wheel(self, event: events.MouseEvent, *, is_up: bool) -> None:
        moment = self.moment_at(event.x) if event.ctrl else None
        if moment is not None:
            self.zoom_at(moment, is_in=is_up)
        elif event.shift:
            self.action_pan(-WHEEL if is_up else WHEEL)
        else:
            return
        event.stop()
        event.prevent_default()

    def action_pan(self, share: float) -> None:
        """Show earlier or later time."""
        if self.axis is None or self.view is None:
            return
        by = round(self.view.length * share)
        self.set_view(panned(self.axis, self.view, by))
        self.post_message(self.Zoomed())
