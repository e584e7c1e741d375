"""Which frame an event belongs to: that of its nearest enclosing agent span.

The stack of open frames decides only where a parent is not recorded, and that is noted in the frame.
"""

from __future__ import annotations

from ..trace import AgentStart, RunStart, TraceEvent
from ._ancestry import Ancestry, Place
from ._changes import add_note
from ._frame import Note
from ._reasons import BEFORE_START, LOST_PARENT, NO_AGENT_OPEN, NO_PARENT
from ._slot import Shelf, Slot

_CLIMB = 10
"""How many agents that have not started yet are passed on the way up; it also ends cycles of parents."""


class Homes:
    """The part of the machine that knows the frames of all spans that have started, and the stack of open frames.

    A span that starts takes the frame of its parent, as nearly always that is known by then. Everything else (a parent
    that starts later, or never, a span that is several things) is asked of the ancestry, which knows the whole trace.
    """

    def __init__(self, ancestry: Ancestry, root: Slot, shelf: Shelf) -> None:
        self._ancestry = ancestry
        self._agents = ancestry.agents
        self._root = root
        self._shelf = shelf
        self._by_span: dict[str, Slot] = {}
        """Agent spans, and the spans in them as far as they can be told from their starts."""
        self._takes_spans = True
        self._stack: list[Slot] = []
        """Open frames; closed ones are taken off when they come to the top."""

    def _add_span(self, event: TraceEvent) -> None:
        """A span that is no agent's has started."""
        facts = self._shelf.facts
        if not (self._agents or facts.is_used or facts.has_run):
            # A foreign trace without any agent, and perhaps without calls: one frame is made for all of it.
            self._shelf.facts = facts._replace(is_used=True)
        parent = event.parent_span_id
        if parent is not None and self._takes_spans:
            home = self._by_span.get(parent)
            if home is not None:
                span = event.span_id
                if span not in self._agents:
                    self._by_span.setdefault(span, home)

    def _add_run(self, event: RunStart) -> None:
        """A run has started; without a parent it stands on its own."""
        span = event.span_id
        if event.parent_span_id is None and span not in self._agents and self._takes_spans:
            self._by_span.setdefault(span, self._root)

    def _add_agent(self, span: str, slot: Slot) -> None:
        """An agent's frame opened."""
        by_span = self._by_span
        if span in by_span and self._takes_spans:
            # The same span again: from here on its spans belong to the new frame, so only the ancestry can tell.
            self._takes_spans = False
            for inner in [inner for inner, known in by_span.items() if inner != known.span]:
                del by_span[inner]
        by_span[span] = slot
        self._stack.append(slot)

    def _of_agent(self, span: str) -> Slot | None:
        """The frame of an agent's span that has started."""
        slot = self._by_span.get(span)
        return slot if slot is not None and slot.span == span else None

    def _place_above(self, event: AgentStart) -> tuple[Slot, str | None]:
        """The frame in which an agent was called, and why that is not sure."""
        parent = event.parent_span_id
        if parent is None:
            top = self._top()
            return (self._root, None) if top is None else (top, NO_PARENT)
        slot, reason = self._enclosing(parent)
        return slot or self._root, reason

    def _home(self, event: TraceEvent) -> Slot | None:
        """The frame that an event belongs to: an agent's, the run's, or none where nothing tells."""
        slot = self._by_span.get(event.span_id)
        return slot if slot is not None else self._looked_up(event)

    def _looked_up(self, event: TraceEvent) -> Slot | None:
        span = event.span_id
        slot, reason = self._found(event)
        if slot is None and reason is not None and self._agents:
            known = self._shelf.facts.left_out
            first, count = (span, 1) if known is None else (known.span_id, known.times + 1)
            left_out = Note("missing", NO_AGENT_OPEN, first, count)
            self._shelf.facts = self._shelf.facts._replace(left_out=left_out)
            return None
        slot = slot or self._root
        if reason is not None:
            self._shelf.change(slot, add_note, "inferred", reason, span)
        return slot

    def _top(self) -> Slot | None:
        """The open frame that started last."""
        stack = self._stack
        while stack and not stack[-1].is_open:
            stack.pop()
        return stack[-1] if stack else None

    def _enclosing(self, span_id: str) -> tuple[Slot | None, str | None]:
        """The frame of the nearest agent at or above a span, and why that is inferred; no frame: outside or lost."""
        owner = self._ancestry.owner(span_id)
        reason: str | None = None
        for _ in range(_CLIMB):
            if owner is Place.OUTSIDE:
                return None, reason
            if owner is Place.LOST:
                return self._top(), LOST_PARENT
            assert isinstance(owner, str)
            slot = self._by_span.get(owner)
            if slot is not None:
                return slot, reason
            reason = BEFORE_START
            owner = self._ancestry.above(owner)
        return None, reason

    def _found(self, event: TraceEvent) -> tuple[Slot | None, str | None]:
        """As ``_enclosing``, also for events that name no parent."""
        span = event.span_id
        parents = self._ancestry.parents
        if span not in parents:
            if event.parent_span_id is not None:
                return self._enclosing(event.parent_span_id)
            return self._top(), NO_PARENT
        if event.closes and parents[span] is None:
            top = self._top()
            return top, None if top is None else NO_PARENT
        return self._enclosing(span)
