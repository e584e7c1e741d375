"""Row types: what the store hands out. Frozen, plain, and all that ``analysis`` knows of a trace.

Rows that come by the hundred thousand are structs, which are made some forty times faster than frozen dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Struct

from runtime.messages import CallKind


class TraceRow(Struct, frozen=True, array_like=True, gc=False):
    """One line of the trace list. A segment of a library keeps its rows written out, as arrays."""

    trace_id: str
    name: str
    """Name of the earliest root span, else of the earliest span."""
    service: str | None
    start_unix_nano: int | None
    duration_ns: int | None
    """Latest known time minus earliest; None without times."""
    spans: int
    llm_calls: int
    tool_calls: int
    agents: int
    errors: int
    """Spans in error."""
    unfinished: int
    """Spans without an end."""
    input_tokens: int | None
    output_tokens: int | None
    cost_nano_usd: int | None
    origin_trace_id: str | None
    """For a replay: the trace that it replays."""
    source: str
    """Display name of the file it was loaded from."""


class SpanRow(Struct, frozen=True, gc=False):
    """One span as the tree and the timeline need it: narrow, no message bodies."""

    seq: int
    """Order of input; unique within the store."""
    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: CallKind
    convention: str | None
    start_unix_nano: int | None
    end_unix_nano: int | None
    """None = unfinished."""
    status_code: int
    status_message: str
    """May be empty although the span failed."""
    error_type: str | None
    agent_name: str | None
    provider: str | None
    model: str | None
    tool_name: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano_usd: int | None
    run_id: str | None
    """The emitter; within it ``start_seq`` orders ties of the clock."""
    start_seq: int | None

    @property
    def has_error(self) -> bool:
        """The span's status is error, or it names an error type."""
        return self.status_code == 2 or self.error_type is not None


NumbersBy: TypeAlias = Literal["model", "tool", "agent"]
"""What calls are put together by."""


class NumbersRow(Struct, frozen=True):
    """Numbers over all calls of one model, tool or agent."""

    name: str | None
    """None where the calls name none."""
    calls: int
    errors: int
    percentiles: tuple[int, ...] | None
    """Of the time taken in nanoseconds: p50, p90, p95, p99; None where no call has an end."""
    longest_ns: int | None
    total_ns: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano_usd: int | None
    spread: tuple[tuple[int | None, int], ...]
    """How many calls took at most so many nanoseconds, and more than the ones before; None for all longer ones."""


SearchPart: TypeAlias = list[tuple[str, int, int]]
"""Spans that a search looked at: trace id, ``seq``, and a number whose bit ``i`` is set where text ``i`` is held."""


class IssueRow(Struct, frozen=True):
    """Something odd in an input: listed, never fatal."""

    path: str
    line: int | None
    """1-based line where there are lines."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """How far a load has come."""

    path: str
    bytes_done: int
    """Of the file; for a load into a library, of all its files."""
    bytes_total: int | None
    spans: int
    is_finishing: bool = False
    """All is read; versions of spans are merged and the result is made safe."""
