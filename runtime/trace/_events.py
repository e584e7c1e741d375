"""Trace events: the points on a run's timeline, and the only input of restore.

Starts and ends of calls, and what happens inside them. Live runs emit them; recorded ones are made from calls
(``events_of``), so restore cannot tell the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..messages import ErrorInfo, Json, JsonObject, Outcome, Request, ToolRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """What all events share."""

    type: ClassVar[str] = ""
    """The event's type, one of ``EVENTS``."""
    opens: ClassVar[bool] = False
    """True for the start of a span: it can be the target of ``before``."""
    closes: ClassVar[bool] = False
    """True for the end of a span: it can be the target of ``after``."""

    time_unix_nano: int
    seq: int | None = None
    """Place in the emitter's own order, from 0; None where the producer gives none."""
    run_id: str | None = None
    """The emitter. Within one emitter ``seq`` wins over the clock."""
    trace_id: str
    span_id: str
    """The span that starts or ends, or in which the point lies."""
    parent_span_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart(TraceEvent):
    """``run_with`` was called; its frame has the call id ``root``."""

    type: ClassVar[str] = "run.start"
    opens: ClassVar[bool] = True
    name: str
    input: Json = None
    memory: JsonObject | None = None
    """Memory at the start; None where there was none, or it is not recorded."""
    entry_point: str | None = None
    entry_digest: str | None = None
    origin: JsonObject | None = None
    """For a replay: ``{"trace_id", "span_id", "anchor"}`` of what it replays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd(TraceEvent):
    """``run_with`` returned, failed or was cancelled."""

    type: ClassVar[str] = "run.end"
    closes: ClassVar[bool] = True
    outcome: Outcome
    replay_ended: str | None = None
    """Of a run with a recording to answer it: ``done``, ``past_cut``, ``diverged``, ``failed`` or ``cancelled``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart(TraceEvent):
    """An agent was called: a frame opens."""

    type: ClassVar[str] = "agent.start"
    opens: ClassVar[bool] = True
    agent_id: str
    call_id: str | None = None
    """None where the producer has no call ids: restore then counts."""
    input: Json = None
    memory: JsonObject | None = None
    """Memory at the start; None where not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd(TraceEvent):
    """An agent returned, failed or was cancelled: its frame closes."""

    type: ClassVar[str] = "agent.end"
    closes: ClassVar[bool] = True
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationStart(TraceEvent):
    """One pass of an agent's handler begins. ``span_id`` is the agent's span."""

    type: ClassVar[str] = "generation.start"
    generation: int
    input: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationEnd(TraceEvent):
    """A pass of the handler ended; ``memory`` is the whole memory at that moment and replaces what was known."""

    type: ClassVar[str] = "generation.end"
    generation: int
    memory: JsonObject | None = None
    reason: str = "return"
    """``return``, ``error`` or ``reborn``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurnStart(TraceEvent):
    """A model was asked."""

    type: ClassVar[str] = "model_turn.start"
    opens: ClassVar[bool] = True
    call_id: str | None = None
    content_hash: str | None = None
    request: Request | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurnEnd(TraceEvent):
    """A model answered, failed or was cancelled: an entry of the prompt journal."""

    type: ClassVar[str] = "model_turn.end"
    closes: ClassVar[bool] = True
    content_hash: str | None
    """The journal's key; None where the request was not recorded, so nothing can be keyed."""
    outcome: Outcome
    request: Request | None = None
    served_by: str | None = None
    """In replays: who answered. Journal hits cost nothing and are left out of the live budget."""
    origin_span_id: str | None = None
    """In replays: the recorded span that answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart(TraceEvent):
    """A tool was called."""

    type: ClassVar[str] = "tool.start"
    opens: ClassVar[bool] = True
    request: ToolRequest
    call_id: str | None = None
    content_hash: str | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd(TraceEvent):
    """A tool returned, failed or was cancelled: an entry of the tool journal."""

    type: ClassVar[str] = "tool.end"
    closes: ClassVar[bool] = True
    content_hash: str | None
    request: ToolRequest
    outcome: Outcome
    attempts: int | None = None
    """Middleware stood around the function, and reached it this often: the attempts are the journal's entries, and
    ``outcome`` is what the caller got. None without middleware: ``outcome`` is the entry."""
    served_by: str | None = None
    origin_span_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAttempt(TraceEvent):
    """The function of a tool with middleware was reached: the entry of the tool journal.

    ``span_id`` is the tool's span.
    """

    type: ClassVar[str] = "tool.attempt"
    content_hash: str
    request: ToolRequest
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWrite(TraceEvent):
    """An agent wrote its memory. ``span_id`` is the agent's span."""

    type: ClassVar[str] = "memory.write"
    key: str
    value: Json = None
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTaken(TraceEvent):
    """An agent took the time, a random number or an id from the runtime. ``span_id`` is the agent's or run's span."""

    type: ClassVar[str] = "value.taken"
    name: str
    content_hash: str
    value: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUsage(TraceEvent):
    """A tool reported what it used up. ``span_id`` is the span it was reported in: the tool's, or the agent's."""

    type: ClassVar[str] = "tool.usage"
    name: str
    quantity: int = 0
    """In ``unit``, such as pages or seconds."""
    unit: str | None = None
    costs: dict[str, int] = field(default_factory=dict)
    """By unit of money; ``nano_usd`` is billionths of a US dollar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStart(TraceEvent):
    """A span that is none of the above starts; it carries ancestry and can be a cut."""

    type: ClassVar[str] = "span.start"
    opens: ClassVar[bool] = True
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEnd(TraceEvent):
    """A span that is none of the above ends."""

    type: ClassVar[str] = "span.end"
    closes: ClassVar[bool] = True
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log(TraceEvent):
    """A log line inside a span."""

    type: ClassVar[str] = "log"
    level: str = "info"
    message: str = ""
    data: JsonObject = field(default_factory=dict)


EVENT_TYPES: tuple[type[TraceEvent], ...] = (
    RunStart, RunEnd, AgentStart, AgentEnd, GenerationStart, GenerationEnd, ModelTurnStart, ModelTurnEnd,
    ToolStart, ToolEnd, ToolAttempt, MemoryWrite, ValueTaken, ToolUsage, SpanStart, SpanEnd, Log,
)  # fmt: skip
"""All events."""

EVENTS: frozenset[str] = frozenset(kind.type for kind in EVENT_TYPES)
"""The types of all events, the words that ``subscribe`` takes beside ``*``."""
