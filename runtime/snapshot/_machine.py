"""The stack machine: trace events in, frames out.

Made right for parallel agents: an event belongs to the frame of its nearest enclosing agent span. The stack of open
frames decides only where a parent is not recorded, and that is noted in the frame.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..journal import AnyRequest, JournalKind
from ..messages import Json, Outcome
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
    ToolAttempt,
    ToolEnd,
    ToolStart,
    TraceEvent,
    ValueTaken,
)
from ._ancestry import Ancestry, Place
from ._changes import (
    Change,
    OpenedAt,
    RootFacts,
    add_child,
    add_note,
    close,
    concluded,
    cut_off,
    end_generation,
    opened,
    record,
    spend,
    start_generation,
    start_run,
    write_memory,
)
from ._frame import MAX_DEPTH, ROOT_ID, Frame, Note, Provenance, Snapshot
from ._ledger import Ledger
from ._reasons import BEFORE_START, LOST_PARENT, NO_AGENT_OPEN, NO_PARENT, parent_ended
from ._slot import Shelf, Slot, Spend, add_up, sum_up

_FROM_JOURNAL = frozenset({"journal", "reused"})
"""Who may have answered a model turn without spending anything."""


_NEAR = 3
"""How many spans are looked at one by one, before the remembered ways through all spans are asked."""

_CLIMB = 10
"""How many agents that have not started yet are passed on the way up; it also ends cycles of parents."""


class RestoreMachine:
    """Feed it one trace's events in timeline order; ``snapshot`` gives the state after any of them.

    Snapshots of one machine share what did not change between them: treat them as read-only, or copy.
    Cost: O(1) amortised per event; a snapshot is O(frames) plus what changed since it was last asked.
    """

    def __init__(self, ancestry: Ancestry, log: list[Change] | None = None) -> None:
        """Start before the first event of the trace that the ancestry was made from.

        Args:
            ancestry: who lies in whom.
            log: takes every change of a frame, for a cursor.
        """
        self._log = log
        self._ancestry = ancestry
        self._parents = ancestry.parents
        self._shelf = Shelf()
        """A frame that was handed out is copied before it changes."""
        root = Frame(call_id=ROOT_ID, agent_id="", memory_start={})
        self._root = Slot(root, None, self._shelf)
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
        self._left_out: Note | None = None
        """The calls that no frame could be found for."""
        self._ledger = Ledger()
        self._spends: list[Spend] = []
        """Model calls since the last snapshot, once there was one."""
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
            ToolAttempt: self._tool_attempt,
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
        self._settle()
        tops = self._root.frame.children
        is_single = len(tops) == 1 and not self._root_is_used
        if tops and self._slots[1].frame.parent_id != (parent_id := None if is_single else ROOT_ID):
            self._slots[1].writable(self._shelf).parent_id = parent_id
        found = self._hand_out()
        root = self._slots[1] if is_single else self._root
        if is_single:
            del found[ROOT_ID]
        found[root.frame.call_id] = self._concluded(root)
        return root.frame.call_id, found

    def way_point(self) -> dict[str, Frame]:
        """All frames by call id, the run's too whether it is the root or not, as they are now."""
        self._settle()
        return self._hand_out()

    @property
    def root_facts(self) -> RootFacts:
        """What is known of the run now."""
        return RootFacts(self._root_is_used, self._run_span is not None, self._left_out)

    def _settle(self) -> None:
        self._ledger.hand_out()
        if not self._root.summed:
            self._sum_up()

    def _hand_out(self) -> dict[str, Frame]:
        found = self._shelf.frames.copy()
        self._shelf.epoch += 1
        return found

    def _sum_up(self) -> None:
        """A few calls since the last snapshot are cheaper to add than all frames are to sum."""
        spends = self._spends
        depths = [spend.slot.depth for spend in spends]
        if self._shelf.epoch and max(depths, default=0) <= MAX_DEPTH and sum(depths) < len(self._slots):
            add_up(spends, self._shelf)
        else:
            sum_up(reversed(self._slots), self._shelf)
        spends.clear()

    def _concluded(self, slot: Slot) -> Frame:
        """The root's frame, with what is only true of it as the root, and at this moment."""
        return concluded(slot.frame, self._shelf.frames, self.root_facts)

    def snapshot(
        self, provenance: Provenance, name: str = "latest", metadata: Mapping[str, Json] | None = None
    ) -> Snapshot:
        """The state after the last event that was fed. Only where ``has_frame``.

        Args:
            provenance: trace and cut.
            name: what the process id calls the cut, as in the seed.
            metadata: kept in the snapshot.
        """
        root_id, frames = self.frames()
        now = time.time_ns() // 1_000_000
        return Snapshot(
            process_id=f"restore:{name}:{now}",
            timestamp=now,
            provenance=provenance,
            root_id=root_id,
            frames=frames,
            metadata=dict(metadata or {}),
        )

    def _change(self, slot: Slot, change: Callable[..., None], *args: Any) -> None:
        """Change a frame, and note it down where someone wants to make the change again."""
        change(slot.frame if slot.epoch == self._shelf.epoch else slot.writable(self._shelf), *args)
        if self._log is not None:
            self._log.append((slot.frame.call_id, change, args))

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

    def _started_above(self, span: str) -> Slot | None:
        """The frame of the nearest agent above a span, where it lies near and has started, as nearly always."""
        parents, by_span = self._parents, self._by_span
        for _ in range(_NEAR):
            parent = parents.get(span)
            if parent is None:
                return None
            slot = by_span.get(parent)
            if slot is not None:
                return slot
            if parent in self._ancestry.agents:
                return None
            span = parent
        return None

    def _slot_of(self, event: TraceEvent) -> Slot | None:
        """The frame that an event belongs to: an agent's, the run's, or none where nothing tells."""
        span = event.span_id
        by_span = self._by_span
        slot = by_span.get(span)
        if slot is None:
            slot = self._started_above(span)
        if slot is None:
            slot, reason = self._found(event)
            if slot is None and reason is not None and self._ancestry.agents:
                count = 1 if self._left_out is None else self._left_out.times + 1
                first = span if self._left_out is None else self._left_out.span_id
                self._left_out = Note("missing", NO_AGENT_OPEN, first, count)
                return None
            slot = slot or self._root
            if reason is not None:
                self._change(slot, add_note, "inferred", reason, span)
        return slot

    def _found(self, event: TraceEvent) -> tuple[Slot | None, str | None]:
        """As ``_enclosing``, also for events that name no parent."""
        span = event.span_id
        if span not in self._parents:
            if event.parent_span_id is not None:
                return self._enclosing(event.parent_span_id)
            return self._top(), NO_PARENT
        if event.closes and self._parents[span] is None:
            top = self._top()
            return top, None if top is None else NO_PARENT
        return self._enclosing(span)

    # Runs and agents

    def _run_start(self, event: RunStart) -> None:
        if self._run_span is None:
            self._run_span = event.span_id
            self._change(self._root, start_run, event.input)

    def _run_end(self, event: RunEnd) -> None:
        if self._run_span is None:
            self._run_span = event.span_id  # only the end was recorded
        if event.span_id == self._run_span:
            self._change(self._root, close, event.outcome)

    def _agent_start(self, event: AgentStart) -> None:
        span, parent = event.span_id, event.parent_span_id
        reason: str | None = None
        if parent is None:
            up = self._top()
            reason = None if up is None else NO_PARENT
        else:
            up = self._by_span.get(parent) or self._started_above(parent)
            if up is None:
                up, reason = self._enclosing(parent)
        up = up or self._root
        shelf = self._shelf
        above = up.frame if up.epoch == shelf.epoch else up.writable(shelf)
        place = OpenedAt(self._call_id(up, event), above.call_id, reason, span in self._ended_first)
        above.children.append(place.call_id)
        if self._log is not None:
            self._log.append((above.call_id, add_child, (event, place)))
        slot = Slot(opened(event, place), up, shelf)
        self._slots.append(slot)
        self._stack.append(slot)
        self._by_span[span] = slot
        guard = slot.guard = up if up.is_open else up.open_at_or_above()
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
            base = above.frame.call_id
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
            guard = slot.guard
            if guard is not None and guard.open_below:
                guard.open_below.pop(slot, None)
            if slot.open_below:
                self._cut_off(slot)
        elif not slot.is_orphan:
            return  # a second end changes nothing
        slot.is_orphan = False
        self._change(slot, close, event.outcome)

    def _cut_off(self, ended: Slot) -> None:
        """Every frame still open below an ended one has failed, unless its own end is still to come."""
        reason = parent_ended(ended.frame.agent_id)
        for slot in ended.cut_off_below():
            self._change(slot, cut_off, reason)

    # What happens inside agents

    def _generation_start(self, event: GenerationStart) -> None:
        slot = self._slot_of(event)
        if slot is not None and slot is not self._root:
            self._change(slot, start_generation, event.generation)

    def _generation_end(self, event: GenerationEnd) -> None:
        slot = self._slot_of(event)
        if slot is not None and slot is not self._root:
            self._change(slot, end_generation, event.generation, event.memory)

    def _memory_write(self, event: MemoryWrite) -> None:
        slot = self._slot_of(event)
        if slot is not None and slot is not self._root:
            self._change(slot, write_memory, event.key, event.value, event.deleted)

    def _call_start(self, event: ModelTurnStart | ToolStart) -> None:
        """Kept until the call ends, for producers that write hash and request only at the start."""
        if event.content_hash is not None or type(event) is ModelTurnStart:
            self._asked[event.span_id] = event

    def _model_turn_end(self, event: ModelTurnEnd) -> None:
        asked = self._asked.pop(event.span_id, None)
        slot = self._slot_of(event)
        if slot is None:
            return
        request, content_hash = event.request, event.content_hash
        if type(asked) is ModelTurnStart:
            request = request or asked.request
            content_hash = content_hash or asked.content_hash
        outcome = event.outcome
        self._record(slot, "prompt", content_hash, event, outcome, request)
        if event.served_by not in _FROM_JOURNAL:
            model, provider = (None, None) if request is None else (request.model, request.provider)
            slot.spent().add_model_call(outcome.usage, model, provider)
            if self._shelf.epoch:
                self._spends.append(Spend(slot, outcome.usage, model, provider))
            if self._log is not None:
                self._log.append((slot.frame.call_id, spend, (outcome.usage, model, provider)))

    def _tool_end(self, event: ToolEnd) -> None:
        asked = self._asked.pop(event.span_id, None)
        slot = self._slot_of(event)
        if slot is None or event.attempts is not None:
            return
        content_hash = event.content_hash
        if content_hash is None and asked is not None:
            content_hash = asked.content_hash
        self._record(slot, "tool", content_hash, event, event.outcome, event.request)

    def _tool_attempt(self, event: ToolAttempt) -> None:
        """The function of a tool with middleware was reached: that is the entry, not what the middleware made of it."""
        slot = self._slot_of(event)
        if slot is not None:
            self._record(slot, "tool", event.content_hash, event, event.outcome, event.request)

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
            self._record(slot, "value", event.content_hash, event, outcome, None)

    def _record(
        self,
        slot: Slot,
        kind: JournalKind,
        content_hash: str | None,
        event: TraceEvent,
        outcome: Outcome,
        request: AnyRequest | None,
    ) -> None:
        if slot is self._root:
            self._root_is_used = True
        frame = slot.frame if slot.epoch == self._shelf.epoch else slot.writable(self._shelf)
        record(frame, self._ledger, kind, content_hash, outcome, request, event.span_id)
        if self._log is not None:
            self._log.append((frame.call_id, record, (kind, content_hash, outcome, request, event.span_id)))
