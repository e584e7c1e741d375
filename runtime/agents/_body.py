"""What a tool's function does to the frame around it.

A replay answers a tool without running its function. What the function did beside its result is therefore kept: the
memory that it wrote is written again, and the model turns, tools and values inside it are no answers for anyone else.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..messages import Json, ValueRequest

if TYPE_CHECKING:
    from ._context import Context

REQUEST = ValueRequest(name="tool.body")
"""The value under which it is recorded, in the span of the tool."""


@dataclass(slots=True)
class Body:
    """One run of a tool's function, while it lasts."""

    call_id: str
    """Of the tool call: calls made inside are numbered below it, so that the frame's numbers do not depend on it."""
    writes: list[list[Json]] = field(default_factory=list)
    """``[key, value]``, or ``[key]`` for a deletion."""
    spans: list[str] = field(default_factory=list)
    """Model turns and tool calls inside."""

    attempt: int = 0
    """Which run of the function within the call; middleware may start several."""
    child: tuple[str, str] | None = None
    """Of an agent offered as a tool: its id and the call id that was taken for it with the tool's own."""

    def take_child(self, agent_id: str) -> str | None:
        """The call id that waits for the agent, once; None where there is none."""
        if self.child is None or self.child[0] != agent_id:
            return None
        call_id, self.child = self.child[1], None
        return call_id

    def to_json(self) -> dict[str, Any] | None:
        """What is recorded; None where there is nothing to tell."""
        if not self.writes and not self.spans:
            return None
        return {"attempt": self.attempt, "writes": self.writes, "spans": self.spans}


bodies: ContextVar[tuple[Body, ...]] = ContextVar("retrospan_bodies", default=())
"""The tool functions of this frame that the code runs in, the outermost first."""


def note_write(write: list[Json]) -> None:
    """Memory was written."""
    for body in bodies.get():
        body.writes.append(write)


def note_call(span_id: str) -> None:
    """A model turn or a tool call began."""
    for body in bodies.get():
        body.spans.append(span_id)


def recorded_body(context: Context, tool_span_id: str, attempt: int) -> dict[str, Any] | None:
    """What that run of the function did, from the snapshot; None where nothing is recorded, or nothing useful."""
    if context.recorded_bodies is None:
        context.recorded_bodies = {}
        frame = context.run.recorded_frame(context.call_id)
        entry = frame.journal.value.get(REQUEST.content_hash) if frame else None
        for outcome in entry.outcomes if entry else ():
            if isinstance(outcome.output, dict) and outcome.span_id is not None:
                context.recorded_bodies[outcome.span_id, outcome.output.get("attempt")] = outcome.output
    return context.recorded_bodies.get((tool_span_id, attempt))
