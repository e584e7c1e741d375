"""The playhead: a position among the events of a trace, the state there, and what changed on the way to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from runtime.snapshot import Frame, Snapshot
from runtime.trace import TraceEvent

from ..replay.model import Anchor
from .kept_frames import KeptViews
from .snapshot_view import SnapshotView, snapshot_view
from .state_changes import StateChange, changes_of, other_frames
from .text import one_line, plural

MOST_FRAMES = 60
"""Frames of a state that are shown in full; a trace may have ten thousand, of which few run at a time."""

_SAID = {
    "run.start": "the run starts", "run.end": "the run ends", "agent.start": "{} starts", "agent.end": "{} ends",
    "generation.start": "{}: the handler begins", "generation.end": "{}: the handler ends",
    "model_turn.start": "{} is asked", "model_turn.end": "{} answers", "tool.start": "{} is called",
    "tool.end": "{} returns", "tool.attempt": "{} is tried", "memory.write": "{} writes to its memory",
    "value.taken": "{} takes a value", "span.start": "{} starts", "span.end": "{} ends", "log": "{} logs",
}  # fmt: skip
"""What an event says, with the name of its span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The events of a trace in order, as far as a playhead needs them."""

    trace_id: str
    span_ids: Sequence[str] = field(repr=False)
    """By position: the span that the event belongs to."""
    types: Sequence[str] = field(repr=False)
    times: Sequence[int] = field(repr=False)
    """Unix nanoseconds."""
    edges: bytes = field(repr=False)
    """By position: 1 for the start of a span, 2 for its end, 0 for what is in between."""

    def __len__(self) -> int:
        return len(self.span_ids)

    def cut_of(self, position: int) -> tuple[str, Anchor] | None:
        """The cut of a span at which a replay from a position starts: the last one that the events have come to.

        Between two of them, while calls run, it lies before the position. None before the first one.
        """
        if position + 1 < len(self) and self.edges[position + 1] == 1 and self.edges[position] != 2:
            return self.span_ids[position + 1], "before"
        for at in range(position, 0, -1):
            if self.edges[at]:
                return self.span_ids[at], "before" if self.edges[at] == 1 else "after"
        return None

    def at(self, moment: int) -> int:
        """The last event up to a moment, else the first one. Where clocks disagree, one near by."""
        return max(bisect_right(self.times, moment) - 1, 0)

    def again(self, before: Track, position: int | None) -> int | None:
        """Where an event of the same trace is now that it has gone on; one that is gone, where its time is.

        Cost: linear in the events up to it, in both.
        """
        if position is None:
            return None
        sought = before.span_ids[position], before.types[position]
        nth = sum(pair == sought for pair in zip(before.span_ids[:position], before.types, strict=False))
        found = (at for at, pair in enumerate(zip(self.span_ids, self.types, strict=True)) if pair == sought)
        return next(islice(found, nth, None), self.at(before.times[position]))

    def said(self, position: int, name: str) -> str:
        """What happens at a position, in words, with what the screen calls its span."""
        return _SAID.get(self.types[position], "{}").format(one_line(name))


def track_of(trace_id: str, events: Sequence[TraceEvent]) -> Track:
    """The track of ordered events."""
    return Track(
        trace_id=trace_id,
        span_ids=tuple([event.span_id for event in events]),
        types=tuple([event.type for event in events]),
        times=tuple([event.time_unix_nano for event in events]),
        edges=bytes([1 if event.opens else 2 if event.closes else 0 for event in events]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """The state at a position."""

    position: int
    snapshot: SnapshotView
    changes: tuple[StateChange, ...]
    since: int | None
    """The position that ``changes`` compares with; None for the state before anything had started."""
    summary: str
    """The state in a few words, for one line."""


class States:
    """The states of one trace, as views; what did not change since the last one is not made anew.

    Args:
        at: gives the state at a position; it is only read.
        has_state: whether anything had started at a position.
        source: what the trace was loaded from, to be shown.
    """

    def __init__(self, at: Callable[[int], Snapshot], has_state: Callable[[int], bool], source: str) -> None:
        self._at = at
        self._has_state = has_state
        self._source = source
        self._views = KeptViews()
        self._last: tuple[int, Snapshot, int] | None = None
        """The last state: its position, the state and how many journal entries it has."""

    def view(self, position: int, since: int | None, taken_unix_nano: int | None) -> StateView:
        """The view of a state.

        Args:
            position: of the state.
            since: of the state to compare with; None for the one before anything had started.
            taken_unix_nano: when the state was in the recording.

        Cost: one look at every frame; only those that are shown are worked out.
        """
        now, last = self._at(position), self._last
        before, entries = None, None
        if last is not None and last[0] == since:
            before, entries = last[1:]
        elif since is not None and self._has_state(since):
            before = self._at(since)
        others = other_frames(before, now)
        if entries is None:
            entries = now.entry_count()
        else:
            entries += sum(_entries_of(frame) - _entries_of(was) for was, frame in others)
        self._last = position, now, entries
        changes = changes_of(others)
        only = frames_to_show(now, changes)
        shown = snapshot_view(
            now, source=self._source, taken_unix_nano=taken_unix_nano, only=only, views=self._views.of
        )
        summary = _summary(shown, entries)
        return StateView(position=position, snapshot=shown, changes=changes, since=since, summary=summary)


def _entries_of(frame: Frame | None) -> int:
    """How many journal entries a frame has."""
    return 0 if frame is None else len(frame.journal.prompt) + len(frame.journal.tool) + len(frame.journal.value)


def frames_to_show(snapshot: Snapshot, changes: Sequence[StateChange]) -> set[str] | None:
    """Call ids of the frames to show: those that run, that changed, and the last ones; None where all are shown."""
    frames = snapshot.frames
    if len(frames) <= MOST_FRAMES:
        return None
    shown = {snapshot.root_id}
    running = [call_id for call_id, frame in frames.items() if frame.status == "running"]
    changed = [change.call_id for change in changes if change.call_id in frames]
    latest = list(reversed(frames))[:MOST_FRAMES]
    for call_id in (*reversed(running), *reversed(changed), *latest):
        above: list[str] = []
        at: str | None = call_id
        while at is not None and at not in shown:
            above.append(at)
            at = frames[at].parent_id
        if at is not None and len(shown) + len(above) <= MOST_FRAMES:
            shown.update(above)
    return shown


def _summary(shown: SnapshotView, entries: int) -> str:
    agents = [frame for frame in shown.frames if frame.call_id != "root"] or shown.frames
    running = [frame for frame in agents if frame.status == "running"]
    # Once nothing runs any more, the outermost agent is the one that came to an end.
    here = running[-1] if running else agents[0] if agents else None
    if here is None:
        return ""
    state = "running" if running else here.status
    memory = "" if here.memory is None else f" · memory: {plural(len(here.memory), 'key')}"
    journal = plural(entries, "journal entry", "journal entries")
    return f"● {one_line(here.agent_id)} {state} · {journal}{memory} · {shown.fidelity}"
