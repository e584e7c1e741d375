"""Trace events -> spans: folds what a run emits into span versions."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..messages import JsonObject
from . import _keys as keys
from ._events import ModelTurnStart, RunStart, TraceEvent
from ._own import POINTS, Attributes, end_attributes, error_of, point_attributes, span_name, start_attributes
from ._span import Span, SpanEvent, SpanLink

SCOPE = ("retrospan.runtime", "0.1.0")


@dataclass(slots=True)
class _Open:
    start: TraceEvent
    attributes: Attributes
    points: list[SpanEvent] = field(default_factory=list)
    links: tuple[SpanLink, ...] = ()


class SpanBuilder:
    """Gives the span version that each event adds. Keeps only the spans that are open."""

    def __init__(self, resource: JsonObject) -> None:
        self._resource = resource
        self._open: dict[str, _Open] = {}

    @property
    def all_ended(self) -> bool:
        """True when no span is open."""
        return not self._open

    def feed(self, event: TraceEvent) -> Span | None:
        """The started span, the ended span, or an unfinished version that holds just the new point.

        None for a point of a span that is not open (it ended before, which the span's final version cannot show).
        """
        if event.opens:
            opened = _Open(event, start_attributes(event), links=_links(event))
            self._open[event.span_id] = opened
            return self._span(opened, (), None)
        if event.closes:
            closed = self._open.pop(event.span_id, None)
            if closed is None:
                return None
            closed.attributes |= end_attributes(event)
            return self._span(closed, tuple(closed.points), event)
        around = self._open.get(event.span_id)
        if around is None or event.type not in POINTS:
            return None
        point = SpanEvent(
            name=keys.MARK_PREFIX + event.type,
            time_unix_nano=event.time_unix_nano,
            attributes=point_attributes(event),
        )
        around.points.append(point)
        return self._span(around, (point,), None)

    def _span(self, opened: _Open, points: tuple[SpanEvent, ...], end: TraceEvent | None) -> Span:
        start = opened.start
        error = error_of(end) if end else None
        return Span(
            trace_id=start.trace_id,
            span_id=start.span_id,
            parent_span_id=start.parent_span_id,
            name=span_name(start),
            kind=3 if isinstance(start, ModelTurnStart) else 1,
            start_unix_nano=start.time_unix_nano,
            end_unix_nano=end.time_unix_nano if end else None,
            status_code=2 if error else 0,
            status_message=error.message if error else "",
            attributes=dict(opened.attributes),
            events=points,
            links=opened.links,
            resource=self._resource,
            scope_name=SCOPE[0],
            scope_version=SCOPE[1],
        )


def _links(event: TraceEvent) -> tuple[SpanLink, ...]:
    """A replay's run links to the recorded span that it starts from."""
    if isinstance(event, RunStart) and event.origin and event.origin.get("span_id"):
        origin = event.origin
        return (
            SpanLink(
                trace_id=str(origin["trace_id"]),
                span_id=str(origin["span_id"]),
                attributes={"retrospan.link": "origin"},
            ),
        )
    return ()
