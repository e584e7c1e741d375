"""The stack machine: trace events in, frames out.

Made right for parallel agents: an event belongs to the frame of its nearest enclosing agent span. The stack of open
frames decides only where a parent is not recorded, and that is noted in the frame.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from ..journal import AnyRequest, JournalEntry
from ..messages import ErrorInfo, Outcome
from ..trace import (
    AgentEnd,
    AgentStart,
    GenerationEnd,
    GenerationStart,
    MemoryWrite,
    ModelTurnEnd,
    ModelTurnStart,
    RunEnd,
    RunStart,
    ToolEnd,
    ToolStart,
    TraceEvent,
    ValueTaken,
)
from ._ancestry import Ancestry, Place
from ._frame import MAX_DEPTH, ROOT_ID, Frame, Note
from ._slot import Slot

_FROM_JOURNAL = frozenset({"journal", "reused"})
"""Who may have answered a model turn without spending anything."""

LOST_PARENT = "the parent span is not in the trace; placed by time"
NO_PARENT = "no parent span is recorded; placed by time"
BEFORE_START = "stamped before the start of its agent; placed in the frame above"
ENDED_FIRST = "its end is stamped before its start, so the end was not used"
CALL_ID_TAKEN = "its recorded call id was taken already, so another was counted"
NO_MEMORY = "the memory at the start is not recorded"
NO_HASH = "the request is not recorded, so the answer has no key in the journal"
NO_ANSWER = "the answer is not recorded"
NO_AGENT_OPEN = "the parent span is not in the trace and no agent was open; left out"
NO_RUN = "the run itself is not recorded; its status is that of its agents"


class RestoreMachine:
    """Feed it one trace's events in timeline order; ``frames`` gives the state after any of them.

    Snapshots of one machine share what did not change between them: treat them as read-only, or copy.
    Cost: O(1) amortised per event; ``frames`` is O(frames) plus what changed since it was last asked.
    """

    def __init__(self, ancestry: Ancestry) -> None:
        """Start before the first event of the trace that the ancestry was made from."""
        self._ancestry = ancestry
        self._root = Slot(ROOT_ID, "", None, None, {})
        self._root_is_used = False
        self._run_span: str | None = None
        self._slots: list[Slot] = [self._root]
        """All frames in the order of their starts, so that parents come before children."""
        self._stack: list[Slot] = []
        """Open frames; closed ones are taken off when they come to the top."""
        self._by_span: dict[str, Slot] = {}
        self._call_ids: set[str] = {ROOT_ID}
        self._ended_first: set[str] = set()
        self._asked: dict[str, ModelTurnStart | ToolStart] = {}
        self._handed_out = False
        self._fresh: set[int] = set()
        """Ids of the journal entries that no snapshot holds yet, once there was a snapshot."""
        self._handlers: dict[type[TraceEvent], Callable[[Any], None]] = {
            RunStart: self._run_start,
            RunEnd: self._run_end,
            AgentStart: self._agent_start,
            AgentEnd: self._agent_end,
            GenerationStart: self._generation_start,
            GenerationEnd: self._generation_end,
            ModelTurnStart: self._call_start,
            ModelTurnEnd: self._model_turn_end,
            ToolStart: self._call_start,
            ToolEnd: self._tool_end,
            MemoryWrite: self._memory_write,
            ValueTaken: self._value_taken,
        }

    def feed(self, event: TraceEvent) -> None:
        """Take the next event. Never raises, whatever the events say."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def feed_all(self, events: Iterable[TraceEvent]) -> None:
        """Take the next events."""
        handlers = self._handlers
        for event in events:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)

    @property
    def has_frame(self) -> bool:
        """True once there is something to restore; it stays so."""
        return self._root_is_used or len(self._slots) > 1

    def frames(self) -> tuple[str, dict[str, Frame]]:
        """The root's call id and all frames by call id, as they are now. Only where ``has_frame``."""
        self._handed_out = True
        self._fresh.clear()
        for slot in reversed(self._slots):
            if not slot.summed:
                slot.sum_up()
        root = self._root
        tops = root.children
        if len(tops) == 1 and not self._root_is_used:
            left_out = tuple((root.notes or {}).values())
            found = {tops[0].call_id: tops[0].publish(None, left_out)}
            rest = self._slots[2:]
        else:
            found = {ROOT_ID: root.publish(None, self._derive_run())}
            rest = self._slots[1:]
        for slot in rest:
            assert slot.up is not None
            found[slot.call_id] = slot.publish(slot.up.call_id)
        return next(iter(found)), found

    def _derive_run(self) -> tuple[Note, ...]:
        """Without a recorded run, its frame runs as long as one of its agents does."""
        if self._run_span is not None:
            return ()
        root = self._root
        status = "running" if any(top.status == "running" for top in root.children) else "completed"
        if root.status != status:
            root.status = "running" if status == "running" else "completed"
            root.published = None
        return (Note("inferred", NO_RUN),)

    # Where an event belongs

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
        for _ in range(MAX_DEPTH):  # a snapshot holds no more levels, and so cycles end
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

    def _slot_of(self, event: TraceEvent) -> Slot | None:
        """The frame that an event belongs to: an agent's, the run's, or none where nothing tells."""
        span = event.span_id
        slot = self._by_span.get(span)
        if slot is not None:
            return slot
        reason: str | None
        if span in self._ancestry.parents:
            if event.closes and self._ancestry.parents[span] is None:
                slot = self._top()
                reason = None if slot is None else NO_PARENT
            else:
                slot, reason = self._enclosing(span)
        elif event.parent_span_id is not None:
            slot, reason = self._enclosing(event.parent_span_id)
        else:
            slot, reason = self._top(), NO_PARENT
        if slot is not None:
            if reason is not None:
                slot.note("inferred", reason, span)
            return slot
        if reason in (LOST_PARENT, NO_PARENT) and self._ancestry.agents:
            self._root.note("missing", NO_AGENT_OPEN, span)
            if self._root.children:
                self._root.children[0].published = None  # a single agent shows the note
            return None
        if reason is not None:
            self._root.note("inferred", reason, span)
        return self._root

    # Runs and agents

    def _run_start(self, event: RunStart) -> None:
        if self._run_span is None:
            self._run_span = event.span_id
            self._root.input = event.input
            self._root.published = None

    def _run_end(self, event: RunEnd) -> None:
        if self._run_span is None:
            self._run_span = event.span_id  # only the end was recorded
        if event.span_id == self._run_span:
            _close(self._root, event.outcome)

    def _agent_start(self, event: AgentStart) -> None:
        up: Slot | None
        reason: str | None
        if event.parent_span_id is None:
            up = self._top()
            reason = None if up is None else NO_PARENT
        else:
            up, reason = self._enclosing(event.parent_span_id)
        above = up or self._root
        call_id = self._call_id(above, event)
        slot = Slot(call_id, event.agent_id, above, event.input, event.memory)
        if reason is not None:
            slot.note("inferred", reason, event.span_id)
        if event.call_id is not None and event.call_id != call_id:
            slot.note("inferred", CALL_ID_TAKEN, event.span_id)
        if event.memory is None and event.run_id is None:
            slot.note("missing", NO_MEMORY, event.span_id)
        if event.span_id in self._ended_first:
            slot.note("inferred", ENDED_FIRST, event.span_id)
        above.children.append(slot)
        above.published = None
        self._slots.append(slot)
        self._stack.append(slot)
        self._by_span[event.span_id] = slot
        guard = slot.guard = _open_at_or_above(above)
        if guard.open_below is None:
            guard.open_below = {}
        guard.open_below[slot] = None

    def _call_id(self, above: Slot, event: AgentStart) -> str:
        """The recorded call id, else the next one of that agent id under its parent."""
        taken = self._call_ids
        call_id = event.call_id
        if call_id is None or call_id in taken:
            if above.seqs is None:
                above.seqs = {}
            agent_id = event.agent_id
            seq = above.seqs.get(agent_id, 0)
            base = above.call_id
            if above.depth > MAX_DEPTH:
                # Ids that grow with the depth take quadratic memory; frames this deep are never written anyway.
                base = "~" + hashlib.sha256(base.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            call_id = f"{base}/agent:{agent_id}:{seq}"
            while call_id in taken:
                seq += 1
                call_id = f"{base}/agent:{agent_id}:{seq}"
            above.seqs[agent_id] = seq + 1
        taken.add(call_id)
        return call_id

    def _agent_end(self, event: AgentEnd) -> None:
        slot = self._by_span.get(event.span_id)
        if slot is None:
            self._ended_first.add(event.span_id)
            return
        if slot.is_open:
            slot.is_open = False
            if slot.guard is not None and slot.guard.open_below:
                slot.guard.open_below.pop(slot, None)
            self._cut_off(slot)
        elif not slot.is_orphan:
            return  # a second end changes nothing
        slot.is_orphan = False
        _close(slot, event.outcome)

    def _cut_off(self, ended: Slot) -> None:
        """Every frame still open below an ended one has failed, unless its own end is still to come."""
        reason = ErrorInfo("ParentEnded", f"the agent {ended.agent_id!r} above it ended first")
        pending = [ended]
        while pending:
            slot = pending.pop()
            if slot is not ended:
                slot.is_open = False
                slot.is_orphan = True
                slot.status = "failed"
                slot.error = reason
                slot.published = None
            if slot.open_below:
                pending.extend(slot.open_below)
                slot.open_below = None

    # What happens inside agents

    def _generation_start(self, event: GenerationStart) -> None:
        slot = self._slot_of(event)
        if slot is not None and slot is not self._root:
            slot.generation = event.generation
            slot.published = None

    def _generation_end(self, event: GenerationEnd) -> None:
        slot = self._slot_of(event)
        if slot is not None and slot is not self._root:
            slot.generation = event.generation
            if event.memory is not None:
                slot.memory = dict(event.memory)
            slot.published = None

    def _memory_write(self, event: MemoryWrite) -> None:
        slot = self._slot_of(event)
        if slot is not None and slot is not self._root:
            if event.deleted:
                slot.memory.pop(event.key, None)
            else:
                slot.memory[event.key] = event.value
            slot.published = None

    def _call_start(self, event: ModelTurnStart | ToolStart) -> None:
        """Kept until the call ends, for producers that write the request only at the start."""
        self._asked[event.span_id] = event

    def _model_turn_end(self, event: ModelTurnEnd) -> None:
        slot = self._slot_of(event)
        asked = self._asked.pop(event.span_id, None)
        if slot is None:
            return
        request, content_hash = event.request, event.content_hash
        if type(asked) is ModelTurnStart:
            request = request or asked.request
            content_hash = content_hash or asked.content_hash
        self._record(slot, slot.prompt, content_hash, event, event.outcome, request)
        if event.served_by not in _FROM_JOURNAL:
            model, provider = (None, None) if request is None else (request.model, request.provider)
            slot.spent().add_model_call(event.outcome.usage, model, provider)

    def _tool_end(self, event: ToolEnd) -> None:
        slot = self._slot_of(event)
        asked = self._asked.pop(event.span_id, None)
        if slot is None:
            return
        content_hash = event.content_hash
        if content_hash is None and asked is not None:
            content_hash = asked.content_hash
        self._record(slot, slot.tool, content_hash, event, event.outcome, event.request)

    def _value_taken(self, event: ValueTaken) -> None:
        slot = self._slot_of(event)
        if slot is not None:
            outcome = Outcome(
                status="ok",
                output=event.value,
                trace_id=event.trace_id,
                span_id=event.span_id,
                start_unix_nano=event.time_unix_nano,
            )
            self._record(slot, slot.value, event.content_hash, event, outcome, None)

    def _record(
        self,
        slot: Slot,
        entries: dict[str, JournalEntry],
        content_hash: str | None,
        event: TraceEvent,
        outcome: Outcome,
        request: AnyRequest | None,
    ) -> None:
        slot.published = None
        if slot is self._root:
            self._root_is_used = True
        if outcome.lost is not None:
            slot.note("missing", NO_ANSWER, event.span_id)
        if not content_hash:
            slot.note("missing", NO_HASH, event.span_id)
            return
        entry = entries.get(content_hash)
        if entry is None:
            entry = entries[content_hash] = JournalEntry(content_hash, [outcome], request)
        else:
            if self._handed_out and id(entry) not in self._fresh:
                # The snapshots made so far hold the entry.
                entry = entries[content_hash] = JournalEntry(content_hash, list(entry.outcomes), entry.request)
            entry.add(outcome)
            if entry.request is None:
                entry.request = request
        if self._handed_out:
            self._fresh.add(id(entry))


def _close(slot: Slot, outcome: Outcome) -> None:
    slot.published = None
    slot.output = outcome.output
    if outcome.status == "ok":
        slot.status, slot.error = "completed", None
        return
    slot.status = "failed"
    slot.error = outcome.error or (
        ErrorInfo("Cancelled", "cancelled") if outcome.status == "aborted" else ErrorInfo("Error", "")
    )


def _open_at_or_above(slot: Slot) -> Slot:
    """The nearest open frame; the run's counts as open. Closed frames never open again, so ways are shortened."""
    path = []
    while not slot.is_open:
        path.append(slot)
        assert slot.guard is not None
        slot = slot.guard
    for each in path:
        each.guard = slot
    return slot
