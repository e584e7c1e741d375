"""The events of one trace in order, and the cuts that they allow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter

from ..trace import TraceEvent
from ._ancestry import Ancestry
from ._errors import (
    Anchor,
    Cut,
    EmptyTraceError,
    NothingBeforeError,
    PositionError,
    RestoreError,
    SeveralTracesError,
    SpanNotEndedError,
    SpanNotStartedError,
    UnknownSpanError,
    UnknownTraceError,
)
from ._machine import RestoreMachine
from ._order import ClockIssue, order_events

_trace_of = attrgetter("trace_id")


class Timeline:
    """One trace's events in order. A cut is the position of the last event that it includes."""

    def __init__(self, events: Iterable[TraceEvent], trace_id: str | None = None) -> None:
        """Choose the trace and order its events.

        Raises:
            EmptyTraceError, SeveralTracesError, UnknownTraceError: no trace to take, or none that is chosen.
        """
        chosen = _of_trace(events, trace_id)
        self.events: Sequence[TraceEvent]
        self.clock_issues: tuple[ClockIssue, ...]
        self.events, self.clock_issues = order_events(chosen)
        self.trace_id = self.events[0].trace_id

    @cached_property
    def ancestry(self) -> Ancestry:
        """Who lies in whom."""
        return Ancestry(self.events)

    def position_of(self, span_id: str, anchor: Anchor) -> int:
        """The cut before the first start or after the first end of the span.

        Raises:
            UnknownSpanError, SpanNotStartedError, SpanNotEndedError, NothingBeforeError: there is no such cut.
        """
        if anchor not in ("before", "after"):
            raise ValueError(f"anchor must be 'before' or 'after', not {anchor!r}")
        other: int | None = None
        before = anchor == "before"
        for i, event in enumerate(self.events):
            if event.span_id != span_id:
                continue
            if event.opens if before else event.closes:
                if before and i == 0:
                    raise NothingBeforeError(span_id, self.nearest(0))
                return i - 1 if before else i
            if other is None and (event.opens or event.closes):
                other = i
        raise self.missing(span_id, anchor, other)

    def missing(self, span_id: str, anchor: Anchor, other: int | None) -> RestoreError:
        """Why the span has no such anchor; ``other`` is the position of its other end."""
        if other is None:
            return UnknownSpanError(span_id, self.nearest(len(self.events) - 1))
        kind = SpanNotStartedError if anchor == "before" else SpanNotEndedError
        return kind(span_id, self.nearest(other))

    def checked(self, position: int) -> int:
        """The position, which must be that of an event.

        Raises:
            PositionError: it is not.
        """
        if not 0 <= position < len(self.events):
            raise PositionError(position, len(self.events), self.nearest(position))
        return position

    def nearest(self, position: int) -> tuple[Cut, ...]:
        """The last working cut at or before the position, and the first one after it."""
        positions, cuts = self._working
        below = bisect_right(positions, position)
        found = [cuts[below - 1]] if below else []
        above = bisect_left(positions, position + 1, lo=below)
        if above < len(cuts):
            found.append(cuts[above])
        return tuple(found)

    def cuts(self) -> Iterator[tuple[Cut, int, int | None]]:
        """Both cuts of every span in timeline order: the cut, where the span is, and the cut's position.

        The position is None where there is no such cut, -1 before the first event.
        """
        starts, ends = self._anchors
        for i, event in enumerate(self.events):
            span = event.span_id
            if event.opens and starts.get(span) == i:
                yield Cut(span, "before"), i, i - 1
                if span not in ends:
                    yield Cut(span, "after"), i, None
            elif event.closes and ends.get(span) == i:
                if span not in starts:
                    yield Cut(span, "before"), i, None
                yield Cut(span, "after"), i, i

    @cached_property
    def _anchors(self) -> tuple[dict[str, int], dict[str, int]]:
        """Where each span first starts, and first ends."""
        starts: dict[str, int] = {}
        ends: dict[str, int] = {}
        for i, event in enumerate(self.events):
            if event.opens:
                starts.setdefault(event.span_id, i)
            elif event.closes:
                ends.setdefault(event.span_id, i)
        return starts, ends

    @cached_property
    def _working(self) -> tuple[list[int], list[Cut]]:
        """The cuts that can be restored, by position."""
        first = self._first_frame()
        working = [(at, cut) for cut, _, at in self.cuts() if at is not None and first is not None and at >= first]
        return [at for at, _ in working], [cut for _, cut in working]

    def _first_frame(self) -> int | None:
        """From which event on there is a frame to restore; it never goes away again."""
        machine = RestoreMachine(self.ancestry)
        for i, event in enumerate(self.events):
            machine.feed(event)
            if machine.has_frame:
                return i
        return None


def _of_trace(events: Iterable[TraceEvent], trace_id: str | None) -> list[TraceEvent]:
    chosen = list(events)
    if not chosen:
        raise EmptyTraceError
    ids = tuple(dict.fromkeys(map(_trace_of, chosen)))
    if len(ids) == 1 and trace_id in (None, ids[0]):
        return chosen
    if trace_id is None:
        raise SeveralTracesError(ids)
    if trace_id not in ids:
        raise UnknownTraceError(trace_id, ids)
    return [event for event in chosen if event.trace_id == trace_id]
