"""Which agent span an event lies in, found over parent span ids."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from ..trace import AgentStart, RunStart, TraceEvent


class Place(Enum):
    """Where a span lies that lies in no agent span."""

    OUTSIDE = "outside"
    """Its chain of parents is whole and holds no agent."""
    LOST = "lost"
    """Its chain of parents leads to a span that is not in the trace."""


Owner: TypeAlias = str | Place
"""The span id of the nearest enclosing agent, or why there is none."""


class Ancestry:
    """The parents of all spans of a trace, from the whole trace: a late end may name a parent too."""

    def __init__(self, events: Iterable[TraceEvent] = ()) -> None:
        """Look for the agents; the parents wait until someone asks, since most events find their frame without."""
        self._events = list(events)
        self.agents: set[str] = {event.span_id for event in self._events if type(event) is AgentStart}
        self._owners: dict[str, Owner] = {}

    @cached_property
    def runs(self) -> set[str]:
        """The spans of runs."""
        return {event.span_id for event in self._events if type(event) is RunStart}

    @cached_property
    def parents(self) -> dict[str, str | None]:
        """The parent of each span as its first start or end names it, else as a point inside it does."""
        parents: dict[str, str | None] = {}
        points: dict[str, str] = {}
        for event in self._events:
            span = event.span_id
            if span not in parents:
                if event.opens or event.closes:
                    parents[span] = event.parent_span_id
                elif event.parent_span_id is not None:
                    points.setdefault(span, event.parent_span_id)
        for span, parent in points.items():
            parents.setdefault(span, parent)
        return parents

    def owner(self, span_id: str) -> Owner:
        """The nearest agent span at or above the span. Amortised O(1), also for very deep chains; safe in cycles."""
        owners, agents = self._owners, self.agents
        found = owners.get(span_id)
        if found is not None:
            return found
        path = []
        span = span_id
        while True:
            known = owners.get(span)
            if known is not None:
                found = known
                break
            if span in agents:
                found = span
                break
            path.append(span)
            owners[span] = Place.OUTSIDE  # so that a cycle ends here
            parent = self._parent(span)
            if isinstance(parent, Place):
                found = parent
                break
            span = parent
        for each in path:
            owners[each] = found
        return found

    def above(self, agent_span_id: str) -> Owner:
        """The nearest agent span strictly above an agent span (itself, where it names itself as parent)."""
        parent = self._parent(agent_span_id)
        return parent if isinstance(parent, Place) else self.owner(parent)

    def _parent(self, span: str) -> str | Place:
        """The parent where it is in the trace. A run stands on its own when its parent is elsewhere."""
        if span not in self.parents:
            return Place.LOST
        parent = self.parents[span]
        if parent is None:
            return Place.OUTSIDE
        if parent not in self.parents:
            return Place.OUTSIDE if span in self.runs else Place.LOST
        return parent
