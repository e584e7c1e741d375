"""How faithful a trace is to what ran: exact, inferred or missing, per frame and for the whole; computed only here.

The reasons are those that restore notes in its frames. Traces of other frameworks do not record the memory of their
agents: there the conversation of the last model call stands in for it, which is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runtime.messages import (
    Call,
    Json,
    Message,
    Request,
    ToolCallPart,
    ToolRequest,
    json_safe,
    message_to_json,
    part_from_json,
)
from runtime.snapshot import Frame, Level, Note, RestoreError, Snapshot, restore_snapshot
from runtime.trace import TraceEvent

from .text import plural

NO_FRAME: Final = "no state can be restored"
CONVERSATION: Final = "the memory is not recorded; the conversation of the last model call stands in for it"
OF_AGENTS: Final = ("agent", "llm", "tool")
"""A trace with no call of these kinds has no state, and nobody misses it."""
_OWN: Final = frozenset(("retrospan", "rejelly"))
"""Conventions that record memory; where it is missing there, it is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFidelity:
    """One frame and why it is not exact."""

    call_id: str
    agent_id: str
    level: Level
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """A trace at its end, and its frames."""

    level: Level
    frames: tuple[FrameFidelity, ...]
    problem: str | None = None
    """Why there is no frame at all."""

    def to_json(self) -> dict[str, Any]:
        """As ``show --json`` gives it."""
        frames = [
            {
                "call_id": frame.call_id,
                "agent_name": frame.agent_id or None,
                "level": frame.level,
                "reasons": [
                    {"level": note.level, "what": note.what, "span_id": note.span_id, "times": note.times}
                    for note in frame.notes
                ],
            }
            for frame in self.frames
        ]
        return {"level": self.level, "problem": self.problem, "frames": frames}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Each reason once, the worst first, with the number of its places."""
        times: dict[tuple[Level, str], int] = {}
        for frame in self.frames:
            for note in frame.notes:
                times[note.level, note.what] = times.get((note.level, note.what), 0) + note.times
        ordered = sorted(times.items(), key=lambda item: item[0][0] != "missing")
        told = tuple(what if n == 1 else f"{what} ({plural(n, 'time')})" for (_, what), n in ordered)
        return told if self.problem is None else (self.problem, *told)


def level_of(events: Callable[[], Sequence[TraceEvent]], calls: Sequence[Call], trace_id: str) -> Level | None:
    """The fidelity of a trace at its end in a word; None where nothing of an agent is in it. Cost: one restore."""
    if not any(call.kind in OF_AGENTS for call in calls):
        return None
    return trace_fidelity(events(), calls, trace_id).level


def trace_fidelity(events: Sequence[TraceEvent], calls: Sequence[Call], trace_id: str) -> Fidelity:
    """The fidelity of a trace at its end. Cost: one restore."""
    try:
        snapshot = restore_snapshot(events, trace_id=trace_id)
    except RestoreError as fault:
        return Fidelity(level="missing", frames=(), problem=f"{NO_FRAME}: {fault}")
    return fidelity_of(with_conversation(snapshot, is_own=records_memory(calls)))


def fidelity_of(snapshot: Snapshot) -> Fidelity:
    """The fidelity of a snapshot."""
    frames = tuple(
        FrameFidelity(
            call_id=frame.call_id,
            agent_id=frame.agent_id,
            level=frame.fidelity_level,
            notes=tuple(frame.fidelity),
        )
        for _, frame in snapshot.walk()
    )
    return Fidelity(level=snapshot.fidelity_level, frames=frames)


def records_memory(calls: Sequence[Call]) -> bool:
    """Whether a trace is of a producer that records the memory of its agents. Cost: looks at every call."""
    return any(call.convention in _OWN for call in calls)


def with_conversation(snapshot: Snapshot, *, is_own: bool) -> Snapshot:
    """The snapshot of a foreign trace with the conversation at the cut as memory, in frames that record none.

    The conversation is what the frame's last model call was given and gave back, and the results of its tools.
    The snapshot given stays as it is; one of our own runs (``records_memory``) is handed back unchanged.
    """
    if is_own:
        return snapshot
    changed: dict[str, Frame] = {}
    for call_id, frame in snapshot.frames.items():
        lost = [i for i, note in enumerate(frame.fidelity) if note.level == "missing" and "memory" in note.what]
        made_for_trace = call_id == snapshot.root_id and not frame.agent_id
        if frame.memory or not (lost or made_for_trace):
            continue
        messages = _conversation(frame)
        if messages:
            copy = changed[call_id] = frame.copy()
            copy.memory = {"messages": messages}
            for place in lost:
                copy.fidelity[place] = Note("inferred", CONVERSATION, frame.fidelity[place].span_id)
            if not lost:
                copy.note("inferred", CONVERSATION, None)
    if not changed:
        return snapshot
    return Snapshot(
        process_id=snapshot.process_id,
        timestamp=snapshot.timestamp,
        provenance=snapshot.provenance,
        root_id=snapshot.root_id,
        frames=snapshot.frames | changed,
        version=snapshot.version,
        metadata=snapshot.metadata,
    )


def _conversation(frame: Frame) -> list[Json]:
    """The messages of the frame's last model call, its answer, and the results that its tools gave since."""
    turns = [
        (outcome.start_unix_nano or 0, entry.request, outcome)
        for entry in frame.journal.prompt.values()
        for outcome in entry.outcomes
        if isinstance(entry.request, Request) and entry.request.messages
    ]
    if not turns:
        return []
    began, request, outcome = max(turns, key=lambda turn: turn[0])
    messages = [message_to_json(message) for message in request.messages]
    if isinstance(outcome.output, dict) and isinstance(outcome.output.get("parts"), list):
        messages.append(outcome.output)
        results = [_result(frame, part_from_json(part), began) for part in outcome.output["parts"]]
        messages += [result for result in results if result is not None]
    return messages


def _result(frame: Frame, part: Any, since: int) -> dict[str, Any] | None:
    if not isinstance(part, ToolCallPart):
        return None
    entry = frame.journal.tool.get(ToolRequest(name=part.name, arguments=json_safe(part.arguments)[0]).content_hash)
    found = [o for o in entry.outcomes if o.status == "ok" and (o.start_unix_nano or 0) >= since] if entry else []
    if not found:
        return None
    response = {"type": "tool_call_response", "id": part.id, "response": found[-1].output}
    return message_to_json(Message("tool", (part_from_json(response),)))
