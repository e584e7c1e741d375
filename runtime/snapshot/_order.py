"""The order of trace events.

Time in nanoseconds; within one emitter the emitted sequence wins over the clock; ties by that sequence, else by
structure (a parent starts before and ends after its child, a point lies within its span), else by input order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import attrgetter, le, lt

from ..trace import TraceEvent

_time = attrgetter("time_unix_nano")
_seq = attrgetter("seq")
_run = attrgetter("run_id")


@dataclass(frozen=True, slots=True)
class ClockIssue:
    """The clock of an emitter ran backwards; its sequence decided the order instead."""

    run_id: str
    span_id: str
    """The span of the first event that is stamped earlier than one before it."""
    count: int
    worst_ns: int


def order_events(events: Iterable[TraceEvent]) -> tuple[list[TraceEvent], tuple[ClockIssue, ...]]:
    """The events of one trace in timeline order, and what was wrong with the clocks.

    An event that an emitter stamped earlier than an event before it is placed with that earlier event, so that
    other emitters' events keep their place around it.
    Cost: O(n log n), O(n) where they are in order already.
    """
    items = list(events)
    issues: tuple[ClockIssue, ...] = ()
    times: list[int] = list(map(_time, items))
    if _emitters_agree(items, times):
        if all(map(lt, times, islice(times, 1, None))):
            return items, issues  # every event at its own time, and in order already
        items.sort(key=_time)
        times.sort()
    else:
        items, effective, issues = _by_sequence(items)
        order = sorted(range(len(items)), key=effective.__getitem__)
        items = [items[i] for i in order]
        times = [effective[i] for i in order]
    if len(set(times)) < len(times):
        _settle_ties(items, times)
    return items, issues


def _emitters_agree(items: list[TraceEvent], times: list[int]) -> bool:
    """True when each emitter's events come in by sequence and with a clock that does not run backwards."""
    runs = set(map(_run, items))
    if runs <= {None}:
        return True
    seqs = list(map(_seq, items))
    if len(runs) == 1 and None not in seqs:
        return all(map(le, seqs, islice(seqs, 1, None))) and all(map(le, times, islice(times, 1, None)))
    last: dict[str, tuple[int, int]] = {}
    for event, seq, time in zip(items, seqs, times, strict=True):
        run = event.run_id
        if run is None or seq is None:
            continue
        before = last.get(run)
        if before is not None and (seq < before[0] or time < before[1]):
            return False
        last[run] = (seq, time)
    return True


def _by_sequence(items: list[TraceEvent]) -> tuple[list[TraceEvent], list[int], tuple[ClockIssue, ...]]:
    """Each emitter's events by sequence (in the places that its events held), with times that never run backwards."""
    places: dict[str, list[int]] = {}
    for i, event in enumerate(items):
        if event.run_id is not None and event.seq is not None:
            places.setdefault(event.run_id, []).append(i)
    out = list(items)
    times = [event.time_unix_nano for event in items]
    issues = []
    for run, indexes in places.items():
        ordered = sorted((items[i] for i in indexes), key=lambda event: (event.seq, event.time_unix_nano))
        latest, count, worst, first = ordered[0].time_unix_nano, 0, 0, ""
        for i, event in zip(indexes, ordered, strict=True):
            back = latest - event.time_unix_nano
            if back > 0:
                count, worst, first = count + 1, max(worst, back), first or event.span_id
            latest = max(latest, event.time_unix_nano)
            out[i], times[i] = event, latest
        if count:
            issues.append(ClockIssue(run, first, count, worst))
    return out, times, tuple(issues)


def _settle_ties(items: list[TraceEvent], times: list[int]) -> None:
    """Put each group of equal times in order, in place."""
    structure: _Structure | None = None
    start, total = 0, len(items)
    while start < total:
        end = start + 1
        while end < total and times[end] == times[start]:
            end += 1
        if end - start > 1:
            group = items[start:end]
            if not _one_sequence(group):
                structure = structure or _Structure(items)
                items[start:end] = structure.arranged(group)
        start = end


def _one_sequence(group: list[TraceEvent]) -> bool:
    """True when one emitter's sequence already decides the whole group."""
    run, before = group[0].run_id, -1
    for event in group:
        if event.run_id != run or event.seq is None or event.seq <= before:
            return False
        before = event.seq
    return True


class _Structure:
    """Which span lies in which, to put events of equal time in order."""

    def __init__(self, items: list[TraceEvent]) -> None:
        self._parents: dict[str, str | None] = {}
        self._started: set[str] = set()
        self._ended: set[str] = set()
        for event in items:
            if event.opens or event.closes:
                self._parents.setdefault(event.span_id, event.parent_span_id)
                (self._started if event.opens else self._ended).add(event.span_id)
        self._start_above: dict[str, str | None] = {}
        self._end_above: dict[str, str | None] = {}

    def arranged(self, group: list[TraceEvent]) -> list[TraceEvent]:
        """The group in an order that keeps sequences and structure, near its given order.

        Contradictions (spans that contain each other, say) are cut at the earliest event.
        """
        later = self._constraints(group)
        if all(i < j for i, targets in enumerate(later) for j in targets):
            return group
        waits = [0] * len(group)
        for targets in later:
            for j in targets:
                waits[j] += 1
        ready = [i for i, count in enumerate(waits) if count == 0]
        done = [False] * len(group)
        out: list[TraceEvent] = []
        lowest = 0
        while len(out) < len(group):
            if ready:
                i = heapq.heappop(ready)
            else:
                while done[lowest]:
                    lowest += 1
                i = lowest
            if done[i]:
                continue
            done[i] = True
            out.append(group[i])
            for j in later[i]:
                waits[j] -= 1
                if waits[j] == 0 and not done[j]:
                    heapq.heappush(ready, j)
        return out

    def _constraints(self, group: list[TraceEvent]) -> list[list[int]]:
        """For each event of the group, those that must come later."""
        starts: dict[str, int] = {}
        ends: dict[str, int] = {}
        sequences: dict[str | None, list[int]] = {}
        for i, event in enumerate(group):
            if event.opens:
                starts.setdefault(event.span_id, i)
            elif event.closes:
                ends.setdefault(event.span_id, i)
            if event.seq is not None:
                sequences.setdefault(event.run_id, []).append(i)
        later: list[list[int]] = [[] for _ in group]

        def add(first: int | None, second: int | None) -> None:
            if first is None or second is None or first == second:
                return
            a, b = group[first], group[second]
            if a.seq is None or b.seq is None or a.run_id != b.run_id:
                later[first].append(second)

        for i, event in enumerate(group):
            add(self._bound(event, event.opens, starts, self._started, self._start_above), i)
            add(i, self._bound(event, event.closes, ends, self._ended, self._end_above))
        for indexes in sequences.values():
            indexes.sort(key=lambda i: group[i].seq or 0)
            for first, second in pairwise(indexes):
                later[first].append(second)
        return later

    def _bound(
        self, event: TraceEvent, is_edge: bool, places: dict[str, int], having: set[str], memo: dict[str, str | None]
    ) -> int | None:
        """Where in the group the start (or end) is that the event lies within: its own span's, else the one above."""
        own = None if is_edge else places.get(event.span_id)
        if own is not None or not places:
            return own
        above = self._above(event.span_id, having, memo)
        return None if above is None else places.get(above)

    def _above(self, span: str, having: set[str], memo: dict[str, str | None]) -> str | None:
        """The nearest span above that has such an event. Each span is visited once, also over many questions."""
        path = []
        found: str | None = None
        while True:
            if span in memo:
                found = memo[span]
                break
            memo[span] = None  # so that a cycle ends here
            path.append(span)
            parent = self._parents.get(span)
            if parent is None or parent in having:
                found = parent
                break
            span = parent
        for each in path:
            memo[each] = found
        return found
