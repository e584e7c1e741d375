"""A cursor for a slider: one pass over the events, then the state after any of them at once, both ways.

The pass keeps way points (all frames, shared as long as they do not change) and every change in between. The state
at a position is the way point before it, with the changes since then made again on copies of the frames that they
touch.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..trace import TraceEvent
from ._budget import UsageStats
from ._changes import add_child, concluded, opened, record, spend, spend_on_tool
from ._collector import collector_paused
from ._errors import Anchor, NoFrameError
from ._frame import ROOT_ID, Frame, Provenance, Snapshot
from ._ledger import Ledger
from ._machine import RestoreMachine
from ._slot import Change, RootFacts
from ._sums import totals
from ._timeline import Timeline

_WAY_POINTS = 200
"""About how many are kept: each costs copies of the frames that change next, and each saves changes to make again."""
_TABLES = 40
"""How many of them hold the whole table of frames; the others hold what changed since the one before."""
_CLOSEST = 512
"""Events between way points, at least."""


class _WayPoint(NamedTuple):
    """The frames after an event, the run's frame among them."""

    position: int
    is_table: bool
    """All frames, not only those that are new or changed since the way point before."""
    frames: dict[str, Frame]


class SnapshotCursor:
    """The states of a trace, by event position.

    Frames that are the same at two positions may be the same objects, and a snapshot shares them with the cursor: treat
    them as read-only, or copy.

    Cost: building it is one restore and the way points; ``at`` is O(frames) to copy one table, and one change for
    each event since the way point before.
    """

    def __init__(
        self,
        events: Iterable[TraceEvent],
        trace_id: str | None = None,
        tell: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Take the pass.

        Args:
            events: events of one trace, or of several with ``trace_id``; in any order.
            trace_id: the trace, where there are several.
            tell: told at each way point how many events are done; what it raises ends the pass.

        Raises:
            EmptyTraceError, SeveralTracesError, UnknownTraceError: no trace to take, or none that is chosen.
        """
        with collector_paused(keeps_result=True):
            self.timeline = Timeline(events, trace_id)
            """The events in order; a position is an index into its ``events``."""
            self._changes: list[Change] = []
            self._ends = array("q")
            """How many changes there were after each event."""
            self._way_points: list[_WayPoint] = []
            self._facts: list[tuple[int, RootFacts]] = []
            """What was known of the run from each position on."""
            self._first: int | None = None
            """The position from which on there is a frame."""
            self._pass(tell)

    def __len__(self) -> int:
        """How many events there are; positions go from 0 to one less."""
        return len(self.timeline.events)

    def position_of(self, span_id: str, anchor: Anchor) -> int:
        """The position of a cut, as in ``restore_snapshot``.

        Raises:
            UnknownSpanError, SpanNotStartedError, SpanNotEndedError, NothingBeforeError: there is no such cut.
        """
        return self.timeline.position_of(span_id, anchor)

    def has_state(self, position: int) -> bool:
        """True where ``at`` gives a state: from the first event on that made a frame."""
        return self._first is not None and self._first <= position < len(self)

    def at(self, position: int) -> Snapshot:
        """The state after the event at the position: what ``restore_snapshot(events, position=position)`` gives.

        Raises:
            PositionError: there is no such event.
            NoFrameError: nothing had started yet.
        """
        self.timeline.checked(position)
        if self._first is None or position < self._first:
            raise NoFrameError(self.timeline.nearest(position))
        with collector_paused():
            root_id, frames = self._frames(position)
        now = time.time_ns() // 1_000_000
        event = self.timeline.events[position]
        origin = Provenance(trace_id=self.timeline.trace_id, span_id=event.span_id, anchor="after", source="restore")
        return Snapshot(
            process_id=f"restore:latest:{now}", timestamp=now, provenance=origin, root_id=root_id, frames=frames
        )

    def _pass(self, tell: Callable[[int], None]) -> None:
        events, changes, ends = self.timeline.events, self._changes, self._ends
        machine = RestoreMachine(self.timeline.ancestry, changes)
        feed = machine.feed
        step = max(_CLOSEST, len(events) // _WAY_POINTS)
        between_tables = max(1, len(events) // (step * _TABLES))
        facts: RootFacts | None = None
        table: dict[str, Frame] = {}
        for i, event in enumerate(events):
            if i % step == 0:
                tell(i)
                changed = machine.way_point()
                table |= changed
                is_table = len(self._way_points) % between_tables == 0
                self._way_points.append(_WayPoint(i - 1, is_table, table.copy() if is_table else changed))
            feed(event)
            ends.append(len(changes))
            if machine.facts is not facts:
                facts = machine.facts
                self._facts.append((i, facts))
            if self._first is None and machine.has_frame:
                self._first = i

    def _way_point(self, position: int) -> tuple[int, dict[str, Frame]]:
        """The last way point before a position: its place, and a table of all its frames."""
        points = self._way_points
        last = base = bisect_right(points, position, key=_position_of) - 1
        while not points[base].is_table:
            base -= 1
        table = points[base].frames.copy()
        for point in points[base + 1 : last + 1]:
            table |= point.frames
        return points[last].position, table

    def _frames(self, position: int) -> tuple[str, dict[str, Frame]]:
        """The root's call id and all frames at a position."""
        start, table = self._way_point(position)
        first = self._ends[start] if start >= 0 else 0
        remade = _Remade(table)
        for change in self._changes[first : self._ends[position]]:
            remade.make(change)
        remade.settle()
        frames = remade.frames
        facts = self._facts[bisect_right(self._facts, position, key=_place_of) - 1][1]
        root = frames[ROOT_ID]
        is_single = len(root.children) == 1 and not facts.is_used
        if root.children:
            top = frames[root.children[0]]
            parent_id = None if is_single else ROOT_ID
            if top.parent_id != parent_id:
                top = remade.writable(top.call_id)
                top.parent_id = parent_id
            if is_single:
                del frames[ROOT_ID]
                root = top
        frames[root.call_id] = concluded(root, frames, facts)
        return root.call_id, frames


def _position_of(point: _WayPoint) -> int:
    return point.position


def _place_of(fact: tuple[int, RootFacts]) -> int:
    return fact[0]


class _Remade:
    """The frames of a way point with changes made again; the way point's own stay as they are."""

    def __init__(self, table: dict[str, Frame]) -> None:
        self.frames = table
        self._own: set[str] = set()
        self._ledger = Ledger()
        self._ledger.hand_out()  # the way point holds its entries
        self._spent: dict[str, UsageStats] = {}
        """What each frame itself spent since the way point."""

    def writable(self, call_id: str) -> Frame:
        """The frame, to be changed."""
        frame = self.frames[call_id]
        if call_id not in self._own:
            self._own.add(call_id)
            frame = self.frames[call_id] = frame.copy()
        return frame

    def make(self, change: Change) -> None:
        """Make one change again."""
        call_id, what, args = change
        frame = self.writable(call_id)
        if what is record:
            record(frame, self._ledger, *args)
        elif what is spend or what is spend_on_tool:
            stats = self._spent.get(call_id)
            if stats is None:
                stats = self._spent[call_id] = UsageStats()
            if what is spend:
                stats.add_model_call(*args)
            else:
                stats.add_tool_use(*args)
        else:
            what(frame, *args)
            if what is add_child:
                frame = opened(*args)
                self.frames[frame.call_id] = frame
                self._own.add(frame.call_id)

    def settle(self) -> None:
        """Put outcomes in order and add what was spent to the frames above: last, when all changes are made."""
        self._ledger.hand_out()
        for call_id, total in totals(self._spent, self._above):
            self.writable(call_id).budget.add(self._spent.get(call_id), total)

    def _above(self, call_id: str) -> str | None:
        return None if call_id == ROOT_ID else self.frames[call_id].parent_id or ROOT_ID
