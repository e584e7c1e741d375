"""Why a cut cannot be restored: one class per reason, each naming the nearest cuts that work.

RestoreError
├── EmptyTraceError          no events at all
├── SeveralTracesError       more than one trace and none chosen
├── UnknownTraceError        the chosen trace is not there
├── UnknownSpanError         the span is not in the trace
├── SpanNotEndedError        ``after`` a span that has no end
├── SpanNotStartedError      ``before`` a span whose start was not recorded
├── NothingBeforeError       ``before`` the first event
├── NoFrameError             nothing to restore yet at the cut
└── PositionError            no such place on the timeline
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import RuntimeFault

Anchor: TypeAlias = Literal["before", "after"]
"""``before``: the span never happened; ``after``: the span is done."""


class Cut(NamedTuple):
    """A place on the timeline, named by a span."""

    span_id: str
    anchor: Anchor


class RestoreError(RuntimeFault):
    """The state at the wanted cut cannot be rebuilt."""

    def __init__(self, reason: str, nearest: tuple[Cut, ...] = ()) -> None:
        self.reason = reason
        self.nearest = nearest
        """Cuts that work, the one before the wanted place first; empty where none does."""
        if nearest:
            self.hint = "works: " + ", ".join(f"{cut.anchor} span {shown(cut.span_id)}" for cut in nearest)
        super().__init__(reason)

    def to_json(self) -> dict[str, Any]:
        """``{"type", "message", "nearest"}``."""
        nearest = [{"span_id": cut.span_id, "anchor": cut.anchor} for cut in self.nearest]
        return {"type": type(self).__name__, "message": self.reason, "nearest": nearest}


class EmptyTraceError(RestoreError):
    """There are no events to restore from."""

    def __init__(self) -> None:
        super().__init__("the trace is empty, so there is nothing to restore")


class SeveralTracesError(RestoreError):
    """The events belong to more than one trace and none was chosen."""

    def __init__(self, trace_ids: tuple[str, ...]) -> None:
        self.trace_ids = trace_ids
        super().__init__(f"the events belong to {len(trace_ids)} traces: {_listed(trace_ids)}")
        self.hint = "choose one with trace_id"


class UnknownTraceError(RestoreError):
    """The chosen trace is not among the events."""

    def __init__(self, trace_id: str, trace_ids: tuple[str, ...]) -> None:
        self.trace_id = trace_id
        self.trace_ids = trace_ids
        super().__init__(f"no event belongs to trace {shown(trace_id)}; there are: {_listed(trace_ids)}")


class UnknownSpanError(RestoreError):
    """The span is not in the trace."""

    def __init__(self, span_id: str, nearest: tuple[Cut, ...]) -> None:
        self.span_id = span_id
        super().__init__(f"span {shown(span_id)} is not in the trace", nearest)


class SpanNotEndedError(RestoreError):
    """The span has no end in the trace, so there is no ``after``."""

    def __init__(self, span_id: str, nearest: tuple[Cut, ...]) -> None:
        self.span_id = span_id
        super().__init__(f"span {shown(span_id)} has no end in the trace, so there is nothing after it", nearest)


class SpanNotStartedError(RestoreError):
    """The start of the span was not recorded, so its ``before`` has no place."""

    def __init__(self, span_id: str, nearest: tuple[Cut, ...]) -> None:
        self.span_id = span_id
        super().__init__(f"the start of span {shown(span_id)} is not in the trace, only its end", nearest)


class NothingBeforeError(RestoreError):
    """The span starts the trace."""

    def __init__(self, span_id: str, nearest: tuple[Cut, ...]) -> None:
        self.span_id = span_id
        super().__init__(f"span {shown(span_id)} starts the trace, so there is nothing before it", nearest)


class NoFrameError(RestoreError):
    """No agent had started at the cut."""

    def __init__(self, nearest: tuple[Cut, ...]) -> None:
        super().__init__("no agent had started at this point, so there is no frame to restore", nearest)


class PositionError(RestoreError):
    """No such place on the timeline."""

    def __init__(self, position: int, events: int, nearest: tuple[Cut, ...]) -> None:
        self.position = position
        self.events = events
        super().__init__(f"there is no event {position}; the timeline has the events 0 to {events - 1}", nearest)


def shown(text: str) -> str:
    """An id for a message: control characters escaped, never longer than a line."""
    return repr(text if len(text) <= 80 else text[:40] + "…" + text[-39:])


def _listed(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
    return ", ".join(shown(each) for each in ids[:8]) + more
