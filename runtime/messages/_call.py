"""A call: what a span means. Every convention, ours and foreign, ends in this one shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ._json import Json, JsonObject
from ._message import Message
from ._outcome import ErrorInfo, Usage
from ._request import Request, ToolDefinition, ToolRequest

CallKind: TypeAlias = Literal["agent", "llm", "tool", "retriever", "embedding", "chain", "other"]

SERVED_FREE: Final = frozenset({"journal", "reused", "supplied"})
"""Who may have answered a call without spending anything: the values of ``Call.served_by`` that mean so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened inside a call: a generation, a memory write, a value taken, a log line."""

    type: str
    """One of the point types of ``runtime.trace.EVENTS``, such as ``generation.end`` or ``memory.write``."""
    time_unix_nano: int
    seq: int | None
    data: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A span with its meaning. None means that the producer did not record it; nothing is guessed."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    kind: CallKind
    name: str
    """The span's name."""
    start_unix_nano: int | None
    """None where the span has no start time (0 in OTLP)."""
    end_unix_nano: int | None
    """None = unfinished."""
    convention: str | None = None
    """The convention that recognised the span (``retrospan``, ``genai``, …); None for ``other``."""

    agent_name: str | None = None
    provider: str | None = None
    model: str | None = None
    """The requested model, or the answering one where only that was recorded."""
    response_model: str | None = None
    conversation_id: str | None = None
    input_messages: tuple[Message, ...] | None = None
    """System text first, as a message of role ``system``."""
    output_messages: tuple[Message, ...] | None = None
    tool_definitions: tuple[ToolDefinition, ...] | None = None
    output_schema: JsonObject | None = None
    parameters: JsonObject = field(default_factory=dict)
    api: str | None = None
    """As of ``Request``."""
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: Json = None
    result: Json = None
    """The tool's result or the agent's output; see ``has_result``."""
    has_result: bool = False
    """Tells a recorded null from a result that was not recorded."""
    usage: Usage = field(default_factory=Usage)
    finish_reasons: tuple[str, ...] | None = None
    error: ErrorInfo | None = None
    aborted: bool = False

    input: Json = None
    """The agent's input, where recorded."""
    call_id: str | None = None
    content_hash: str | None = None
    """The hash that the recording brings with it; it stays the key even where ours would differ."""
    start_seq: int | None = None
    end_seq: int | None = None
    run_id: str | None = None
    """The emitter: within one run the emitted sequence wins over the clock."""
    entry_point: str | None = None
    """``file.py:name`` or ``module:name`` of the function that ``run_with`` was given; only on a run's own span."""
    entry_digest: str | None = None
    """SHA-256 (hex) of the source file that the entry point named when it was recorded."""
    attempts: int | None = None
    """Of a tool with middleware: how often its function was reached; each time is a mark."""
    memory_start: JsonObject | None = None
    served_by: str | None = None
    """Only in replays: ``journal``, ``reused``, ``live`` or ``supplied``."""
    origin_trace_id: str | None = None
    """Only on the run of a replay: the trace that it replays."""
    origin_span_id: str | None = None
    """Only in replays: the recorded span that answered; on the run, the span of the cut."""
    origin_anchor: str | None = None
    edits: tuple[JsonObject, ...] = ()
    """Only on the run of a fork: what was changed, each ``{"path", "value", "was"}``."""
    replay_ended: str | None = None
    """Only on the run of a replay: how it ended; see ``RunEnd``."""
    lost: str | None = None
    """Why the recorded outcome cannot answer again (cut off, not JSON); None when it can."""
    inferred: tuple[str, ...] = ()
    """What does not stand on the call's own span but was taken from another one of its trace; one reason each."""
    marks: tuple[Mark, ...] = ()
    _request: Request | ToolRequest | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def is_replayed(self) -> bool:
        """Nobody was asked: the answer came out of a journal, or from the user. What it cost was paid before."""
        return self.served_by in SERVED_FREE

    @property
    def spent_nano_usd(self) -> int | None:
        """What the call itself cost; None where that is not known. ``usage`` says what its answer cost when made."""
        return 0 if self.is_replayed and self.usage.cost_nano_usd is not None else self.usage.cost_nano_usd

    @property
    def saved_nano_usd(self) -> int | None:
        """What its answer cost when it was made, where the call had it for nothing."""
        return self.usage.cost_nano_usd if self.is_replayed else None

    @property
    def duration_ns(self) -> int | None:
        """End minus start, negative where the clock ran backwards; None if unfinished or untimed."""
        if self.start_unix_nano is None or self.end_unix_nano is None:
            return None
        return self.end_unix_nano - self.start_unix_nano

    def request(self) -> Request:
        """The model turn that this llm call asked for. Made once, as is its hash."""
        if not isinstance(self._request, Request):
            request = Request(
                messages=self.input_messages or (),
                tools=self.tool_definitions,
                output_schema=self.output_schema,
                model=self.model,
                provider=self.provider,
                parameters=self.parameters,
                api=self.api,
            )
            object.__setattr__(self, "_request", request)
        assert isinstance(self._request, Request)
        return self._request

    def tool_request(self) -> ToolRequest:
        """The tool call that this tool span carried out. Made once, as is its hash."""
        if not isinstance(self._request, ToolRequest):
            request = ToolRequest(name=self.tool_name or self.name, arguments=self.arguments)
            object.__setattr__(self, "_request", request)
        assert isinstance(self._request, ToolRequest)
        return self._request
