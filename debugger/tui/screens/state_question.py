"""Questions for a state of a trace, and their answers. The worker that finds it knows the trace as it is then."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...analysis.document import Document
from ...analysis.playhead import StateView, Track
from ...replay.model import Anchor
from ...store.rows import TraceRow


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of a span, and what the screen calls the span."""

    span_id: str
    anchor: Anchor
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateQuestion:
    """Which state to show."""

    position: int | None = None
    """The event; None where a cut, a span or a moment says which."""
    by: int = 0
    """How many events on from there."""
    cut: Cut | None = None
    span_id: str | None = None
    """Take the start of this span."""
    moment: int | None = None
    """Take the last event up to this moment."""
    since: int | None = None
    """Where the last state that was shown, or the marked one, is."""
    is_marked: bool = False
    """``since`` is the mark."""
    seen: Track | None = field(default=None, repr=False)
    """The events that the positions count; None for those of the trace as it is now."""

    def counted_in(self, track: Track) -> StateQuestion:
        """The same question of a trace that has gone on: events keep their name, not their number."""
        if self.seen is None or self.seen is track:
            return replace(self, seen=track)
        position, since = (track.again(self.seen, at) for at in (self.position, self.since))
        return replace(self, position=position, since=since, seen=track)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAnswer:
    """A state, and what can be done from it."""

    row: TraceRow
    """The trace as it was when its events were read."""
    track: Track
    state: StateView
    cut: Cut | None
    document: Document = field(repr=False)
