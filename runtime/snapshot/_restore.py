"""Restore: a snapshot of the state that a trace's agents had at a cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..messages import Json
from ..trace import TraceEvent
from ._collector import collector_paused
from ._errors import Anchor, NoFrameError, NothingBeforeError, RestoreError
from ._frame import Provenance, Snapshot
from ._machine import RestoreMachine
from ._reasons import LOST_PARENT
from ._timeline import Timeline


def restore_snapshot(
    events: Iterable[TraceEvent],
    span_id: str | None = None,
    anchor: Anchor = "after",
    *,
    trace_id: str | None = None,
    position: int | None = None,
    metadata: Mapping[str, Json] | None = None,
) -> Snapshot:
    """The state before or after a span, or at the end of the trace.

    The snapshot shares no dict or list that changes with the events; payloads themselves are frozen and shared.

    Args:
        events: events of one trace, or of several with ``trace_id``; in any order.
        span_id: the span of the cut; without it the last event is the cut.
        anchor: ``after`` = with the end of the span; ``before`` = as if the span never happened.
        trace_id: the trace, where there are several.
        position: the cut as a place on the ordered timeline instead: the last event included, from 0.
        metadata: kept in the snapshot.

    Raises:
        RestoreError: one class per reason, with the nearest cuts that work; see ``runtime.snapshot``.
        ValueError: both a span and a position, or an unknown anchor.

    Cost: O(n log n) for the order, then linear.
    """
    if span_id and position is not None:
        raise ValueError("give either span_id or position, not both")
    with collector_paused(keeps_result=True):
        timeline = Timeline(events, trace_id)
        if position is not None:
            cut = timeline.checked(position)
        elif span_id:
            cut = timeline.position_of(span_id, anchor)
        else:
            cut = len(timeline.events) - 1
        machine = RestoreMachine(timeline.ancestry)
        machine.feed_all(timeline.events[: cut + 1])
        if not machine.has_frame:
            raise NoFrameError(timeline.nearest(cut))
        last = span_id or timeline.events[cut].span_id
        origin = _origin(timeline, last, anchor)
        snapshot = machine.snapshot(origin, span_id or "latest", metadata, is_last=True)
        return _with_lost_parent(snapshot, timeline, span_id) if anchor == "before" else snapshot


def restore_every(
    events: Iterable[TraceEvent], trace_id: str | None = None
) -> Iterator[tuple[str, Anchor, Snapshot | RestoreError]]:
    """Both cuts of every span, in timeline order: what ``restore_snapshot`` gives for it, or why it cannot.

    Frames that did not change from one cut to the next are the same objects, so treat them as read-only.

    Raises:
        RestoreError: no trace to take, or several and none chosen.

    Cost: one pass over the events, and O(frames) per cut.
    """
    timeline = Timeline(events, trace_id)
    machine = RestoreMachine(timeline.ancestry)
    fed = 0
    for cut, place, position in timeline.cuts():
        if position is None:
            yield cut.span_id, cut.anchor, timeline.missing(cut.span_id, cut.anchor, place)
            continue
        machine.feed_all(timeline.events[fed : position + 1])
        fed = max(fed, position + 1)
        if position < 0:
            yield cut.span_id, cut.anchor, NothingBeforeError(cut.span_id, timeline.nearest(0))
        elif not machine.has_frame:
            yield cut.span_id, cut.anchor, NoFrameError(timeline.nearest(position))
        else:
            snapshot = machine.snapshot(_origin(timeline, *cut), cut.span_id)
            if cut.anchor == "before":
                snapshot = _with_lost_parent(snapshot, timeline, cut.span_id)
            yield cut.span_id, cut.anchor, snapshot


def _with_lost_parent(snapshot: Snapshot, timeline: Timeline, span_id: str | None) -> Snapshot:
    """Says so where the parent of the cut's own span is missing: only its time tells where ``before`` lies."""
    parents = timeline.ancestry.parents
    parent = parents.get(span_id) if span_id else None
    if parent is None or parent in parents:
        return snapshot
    root = snapshot.root.copy()
    root.note("inferred", LOST_PARENT, span_id)
    snapshot.frames = {**snapshot.frames, root.call_id: root}
    return snapshot


def _origin(timeline: Timeline, span_id: str, anchor: Anchor) -> Provenance:
    return Provenance(trace_id=timeline.trace_id, span_id=span_id, anchor=anchor, source="restore")
