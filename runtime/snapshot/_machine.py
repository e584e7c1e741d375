"""The stack machine: trace events in, frames out. Made right for parallel agents: see ``_homes``."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..journal import AnyRequest, JournalKind
from ..messages import SERVED_FREE, Json, Outcome
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
    SpanStart,
    ToolAttempt,
    ToolEnd,
    ToolStart,
    ToolUsage,
    TraceEvent,
    ValueTaken,
)
from ._ancestry import Ancestry
from ._changes import (
    add_child,
    close,
    concluded,
    cut_off,
    end_generation,
    opened,
    record,
    spend,
    spend_on_tool,
    start_generation,
    start_run,
    write_memory,
)
from ._frame import MAX_DEPTH, ROOT_ID, Frame, Provenance, Snapshot
from ._homes import Homes
from ._ledger import Ledger
from ._reasons import parent_ended
from ._slot import Change, RootFacts, Shelf, Slot
from ._sums import Sums


class RestoreMachine(Homes):
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
        shelf = Shelf(log)
        super().__init__(ancestry, Slot(Frame(call_id=ROOT_ID, agent_id="", memory_start={}), None, None, shelf), shelf)
        self._run_span: str | None = None
        self._ended_first: set[str] = set()
        self._asked: dict[str, ModelTurnStart | ToolStart] = {}
        self._ledger = Ledger()
        self._sums = Sums()

    def feed(self, event: TraceEvent) -> None:
        """Take the next event. Never raises, whatever the events say."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def feed_all(self, events: Iterable[TraceEvent]) -> None:
        """Take the next events."""
        handler_of = _HANDLERS.get
        for event in events:
            handler = handler_of(type(event))
            if handler is not None:
                handler(self, event)

    @property
    def has_frame(self) -> bool:
        """True once there is something to restore; it stays so."""
        return self.facts.is_used or len(self._shelf.slots) > 1

    @property
    def facts(self) -> RootFacts:
        """What is known of the run now; the same object as long as that does not change."""
        return self._shelf.facts

    def frames(self, is_last: bool = False) -> tuple[str, dict[str, Frame]]:
        """The root's call id and all frames by call id, as they are now. Only where ``has_frame``.

        Args:
            is_last: no event is fed afterwards, so budgets may wait until someone looks at them.
        """
        shelf, root = self._shelf, self._root
        is_single = len(root.frame.children) == 1 and not self.facts.is_used
        first = shelf.slots[1] if len(shelf.slots) > 1 else None
        if first is not None and first.frame.parent_id != (parent_id := None if is_single else ROOT_ID):
            first.writable(shelf).parent_id = parent_id
        if is_last and not shelf.handed_out:
            self._ledger.hand_out()
            found = shelf.frames.copy()
            if self._sums.spends or self._sums.tool_spends:
                self._sums.keep([None if slot.up is None else slot.up.index for slot in shelf.slots])
                late = self._sums.of
                for index, frame in enumerate(found.values()):
                    frame.budget.wait_for(late, index)
        else:
            self.way_point()
            found = shelf.handed_out.copy()
        if is_single and first is not None:
            root = first
            del found[ROOT_ID]
        found[root.frame.call_id] = concluded(root.frame, found, self.facts)
        return root.frame.call_id, found

    def way_point(self) -> dict[str, Frame]:
        """The frames by call id that are new or changed since the last way point or snapshot, the run's among them."""
        self._ledger.hand_out()
        slots = self._shelf.slots

        def above(index: int) -> int | None:
            up = slots[index].up
            return None if up is None else up.index

        for index, own, total in self._sums.take(above):
            slots[index].writable(self._shelf).budget.add(own, total)
        return self._shelf.hand_out()

    def snapshot(
        self,
        provenance: Provenance,
        name: str = "latest",
        metadata: Mapping[str, Json] | None = None,
        is_last: bool = False,
    ) -> Snapshot:
        """The state after the last event that was fed. Only where ``has_frame``.

        Args:
            provenance: trace and cut.
            name: what the process id calls the cut, as in the seed.
            metadata: kept in the snapshot.
            is_last: no event is fed afterwards, so budgets may wait until someone looks at them.
        """
        root_id, frames = self.frames(is_last)
        now = time.time_ns() // 1_000_000
        return Snapshot(
            process_id=f"restore:{name}:{now}",
            timestamp=now,
            provenance=provenance,
            root_id=root_id,
            frames=frames,
            metadata=dict(metadata or {}),
        )

    # Runs, agents and other spans

    def _run_start(self, event: RunStart) -> None:
        self._add_run(event)
        if self._run_span is None:
            self._know_run(event.span_id)
            self._shelf.change(self._root, start_run, event.input, event.memory)
            if event.memory:
                self._use_root()

    def _run_end(self, event: RunEnd) -> None:
        if self._run_span is None:
            self._know_run(event.span_id)  # only the end was recorded
        if event.span_id == self._run_span:
            self._shelf.change(self._root, close, event.outcome)

    def _know_run(self, span: str) -> None:
        self._run_span = span
        self._shelf.facts = self.facts._replace(has_run=True)

    def _use_root(self) -> None:
        """Something is kept in the run's own frame."""
        if not self.facts.is_used:
            self._shelf.facts = self.facts._replace(is_used=True)

    def _agent_start(self, event: AgentStart) -> None:
        shelf, span, parent = self._shelf, event.span_id, event.parent_span_id
        reason: str | None = None
        up = None if parent is None else self._by_span.get(parent)
        if up is None:
            up, reason = self._place_above(event)
        above = up.frame if up.epoch == shelf.epoch else up.writable(shelf)
        call_id, parent_id, ended_first = self._call_id(up, event), above.call_id, span in self._ended_first
        above.children.append(call_id)
        if self._log is not None:
            self._log.append((parent_id, add_child, (event, call_id, parent_id, reason, ended_first)))
        slot = Slot(opened(event, call_id, parent_id, reason, ended_first), span, up, shelf)
        self._add_agent(span, slot)
        guard = up
        if not up.is_open:
            guard = slot.guard = up.open_at_or_above()
        if guard.below is None:
            guard.below = [slot]
        else:
            guard.below.append(slot)

    def _call_id(self, above: Slot, event: AgentStart) -> str:
        """The recorded call id, else the next one of that agent id under its parent."""
        new, old = self._shelf.frames, self._shelf.handed_out
        call_id = event.call_id
        if call_id is None or call_id in new or call_id in old:
            if above.seqs is None:
                above.seqs = {}
            agent_id = event.agent_id
            seq = above.seqs.get(agent_id, 0)
            base = above.frame.call_id
            if above.depth > MAX_DEPTH:
                # Ids that grow with the depth take quadratic memory; frames this deep are never written anyway.
                base = "~" + hashlib.sha256(base.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            call_id = f"{base}/agent:{agent_id}:{seq}"
            while call_id in new or call_id in old:
                seq += 1
                call_id = f"{base}/agent:{agent_id}:{seq}"
            above.seqs[agent_id] = seq + 1
        return call_id

    def _agent_end(self, event: AgentEnd) -> None:
        slot = self._of_agent(event.span_id)
        if slot is None:
            self._ended_first.add(event.span_id)
            return
        if slot.is_open:
            slot.is_open = False
            if slot.below is not None:
                self._cut_off(slot)
        elif not slot.is_orphan:
            return  # a second end changes nothing
        slot.is_orphan = False
        self._shelf.change(slot, close, event.outcome)

    def _cut_off(self, ended: Slot) -> None:
        """Every frame still open below an ended one has failed, unless its own end is still to come."""
        reason = parent_ended(ended.frame.agent_id)
        for slot in ended.cut_off_below():
            self._shelf.change(slot, cut_off, reason)

    # What happens inside agents

    def _generation_start(self, event: GenerationStart) -> None:
        slot = self._home(event)
        if slot is not None and slot is not self._root:
            self._shelf.change(slot, start_generation, event.generation)

    def _generation_end(self, event: GenerationEnd) -> None:
        slot = self._home(event)
        if slot is not None and slot is not self._root:
            self._shelf.change(slot, end_generation, event.generation, event.memory)

    def _memory_write(self, event: MemoryWrite) -> None:
        slot = self._home(event)
        if slot is not None:
            if slot is self._root:
                self._use_root()  # the function that run_with was given has a memory too
            self._shelf.change(slot, write_memory, event.key, event.value, event.deleted)

    def _call_start(self, event: ModelTurnStart | ToolStart) -> None:
        """Kept until the call ends, for producers that write hash and request only at the start."""
        self._add_span(event)
        if event.content_hash is not None or type(event) is ModelTurnStart:
            self._asked[event.span_id] = event

    def _model_turn_end(self, event: ModelTurnEnd) -> None:
        asked = self._asked.pop(event.span_id, None)
        slot = self._home(event)
        if slot is None:
            return
        request, content_hash = event.request, event.content_hash
        if type(asked) is ModelTurnStart:
            request = request or asked.request
            content_hash = content_hash or asked.content_hash
        self._record(slot, "prompt", content_hash, event, event.outcome, request)
        if event.served_by not in SERVED_FREE:
            usage = event.outcome.usage
            model, provider = (None, None) if request is None else (request.model, request.provider)
            self._sums.spends.append((slot.index, usage, model, provider))
            if self._log is not None:
                self._log.append((slot.frame.call_id, spend, (usage, model, provider)))

    def _tool_end(self, event: ToolEnd) -> None:
        asked = self._asked.pop(event.span_id, None)
        slot = self._home(event)
        if slot is None or event.attempts is not None:
            return
        content_hash = event.content_hash
        if content_hash is None and asked is not None:
            content_hash = asked.content_hash
        self._record(slot, "tool", content_hash, event, event.outcome, event.request)

    def _tool_attempt(self, event: ToolAttempt) -> None:
        """The function of a tool with middleware was reached: that is the entry, not what the middleware made of it."""
        slot = self._home(event)
        if slot is not None:
            self._record(slot, "tool", event.content_hash, event, event.outcome, event.request)

    def _tool_usage(self, event: ToolUsage) -> None:
        slot = self._home(event)
        if slot is not None:
            used = (event.name, event.quantity, event.unit, event.costs)
            self._sums.tool_spends.append((slot.index, *used))
            if self._log is not None:
                self._log.append((slot.frame.call_id, spend_on_tool, used))

    def _value_taken(self, event: ValueTaken) -> None:
        slot = self._home(event)
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
            self._use_root()
        frame = slot.frame if slot.epoch == self._shelf.epoch else slot.writable(self._shelf)
        record(frame, self._ledger, kind, content_hash, outcome, request, event.span_id)
        if self._log is not None:
            self._log.append((frame.call_id, record, (kind, content_hash, outcome, request, event.span_id)))


_HANDLERS: dict[type[TraceEvent], Callable[[RestoreMachine, Any], None]] = {
    RunStart: RestoreMachine._run_start,
    RunEnd: RestoreMachine._run_end,
    AgentStart: RestoreMachine._agent_start,
    AgentEnd: RestoreMachine._agent_end,
    GenerationStart: RestoreMachine._generation_start,
    GenerationEnd: RestoreMachine._generation_end,
    ModelTurnStart: RestoreMachine._call_start,
    ModelTurnEnd: RestoreMachine._model_turn_end,
    ToolStart: RestoreMachine._call_start,
    ToolEnd: RestoreMachine._tool_end,
    ToolAttempt: RestoreMachine._tool_attempt,
    MemoryWrite: RestoreMachine._memory_write,
    ValueTaken: RestoreMachine._value_taken,
    ToolUsage: RestoreMachine._tool_usage,
    SpanStart: RestoreMachine._add_span,
}
"""What takes the events of each type; the others change no frame."""
