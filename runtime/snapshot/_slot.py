"""A frame while events still change it, and how it becomes a frame of a snapshot."""

from __future__ import annotations

from ..journal import Journal, JournalEntry
from ..messages import ErrorInfo, Json, JsonObject
from ._budget import Budget, UsageStats
from ._frame import Frame, Level, Note, Status


class Slot:
    """A frame under construction. Parts that many frames never need are made when first needed."""

    __slots__ = (
        "agent_id", "aggregate", "call_id", "children", "depth", "error", "generation", "guard", "input", "is_open",
        "is_orphan", "memory", "memory_start", "notes", "open_below", "output", "own", "prompt", "published",
        "seqs", "status", "summed", "tool", "up", "value",
    )  # fmt: skip

    def __init__(self, call_id: str, agent_id: str, up: Slot | None, given: Json, memory: JsonObject | None) -> None:
        self.call_id = call_id
        self.agent_id = agent_id
        self.up = up
        self.depth: int = 0 if up is None else up.depth + 1
        self.children: list[Slot] = []
        self.memory: dict[str, Json] = dict(memory) if memory else {}
        self.memory_start = self.memory.copy()
        self.prompt: dict[str, JournalEntry] = {}
        self.tool: dict[str, JournalEntry] = {}
        self.value: dict[str, JournalEntry] = {}
        self.status: Status = "running"
        self.output: Json = None
        self.error: ErrorInfo | None = None
        self.input = given
        self.generation = 0
        self.is_open = True
        """On the stack: not ended, and not cut off by the end of a frame above."""
        self.is_orphan = False
        """Cut off by the end of a frame above; its own end may still correct that."""
        self.guard: Slot | None = up
        """While open: the frame whose end would cut this one off. Then: a way to the nearest open frame above."""
        self.own: UsageStats | None = None
        self.aggregate: UsageStats | None = None
        """None where nothing was spent."""
        self.summed = True
        """``aggregate`` is right. Where it is not, it is not right in any frame above either."""
        self.seqs: dict[str, int] | None = None
        """Next sequence number per agent id."""
        self.open_below: dict[Slot, None] | None = None
        """The open frames that the end of this one would cut off, without those below them."""
        self.notes: dict[tuple[Level, str], Note] | None = None
        self.published: Frame | None = None
        """The frame of the last snapshot, while it is still right."""

    def note(self, level: Level, what: str, span_id: str | None) -> None:
        """Remember why the frame is not exact; equal reasons are counted."""
        self.published = None
        if self.notes is None:
            self.notes = {}
        known = self.notes.get((level, what))
        if known is None:
            self.notes[level, what] = Note(level, what, span_id)
        else:
            self.notes[level, what] = Note(level, what, known.span_id, known.count + 1)

    def spent(self) -> UsageStats:
        """The frame's own sums, to add to."""
        self.published = None
        above: Slot | None = self
        while above is not None and above.summed:
            above.summed = False
            above.published = None
            above = above.up
        if self.own is None:
            self.own = UsageStats()
        return self.own

    def sum_up(self) -> None:
        """Sum own and children's aggregates; the children's must be right."""
        if self.summed:
            return
        self.summed = True
        parts = [child.aggregate for child in self.children if child.aggregate is not None]
        if self.own is not None or parts:
            self.aggregate = self.own.copy() if self.own is not None else UsageStats()
            for part in parts:
                self.aggregate.merge(part)

    def publish(self, parent_id: str | None, more: tuple[Note, ...] = ()) -> Frame:
        """The frame as it is now. What did not change since the last snapshot is shared with it, never with events."""
        if self.published is not None and self.published.parent_id == parent_id:
            return self.published
        own, aggregate = self.own, self.aggregate
        self.published = Frame(
            call_id=self.call_id,
            agent_id=self.agent_id,
            parent_id=parent_id,
            children=[child.call_id for child in self.children],
            memory=self.memory.copy(),
            memory_start=self.memory_start.copy(),
            journal=Journal(self.prompt.copy(), self.tool.copy(), self.value.copy()),
            status=self.status,
            output=self.output,
            error=self.error,
            budget=Budget(UsageStats() if own is None else own.copy(), aggregate or UsageStats()),
            input=self.input,
            generation=self.generation,
            fidelity=[*(self.notes or {}).values(), *more],
        )
        return self.published
