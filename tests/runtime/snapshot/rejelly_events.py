"""Trace events of the original (rejelly) as ours, for the comparison with its recorded behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.messages import ErrorInfo, Outcome, ToolRequest
from runtime.trace import (
    AgentEnd,
    AgentStart,
    GenerationEnd,
    ModelTurnEnd,
    ModelTurnStart,
    RunEnd,
    RunStart,
    SpanEnd,
    SpanStart,
    ToolEnd,
    TraceEvent,
)

SCHEMA_VERSION = 1


class ForeignVersionError(Exception):
    """Events of another schema version; the original refuses them."""


def events_of_rejelly(raw: list[dict[str, Any]]) -> list[TraceEvent]:
    """The events in their given order, which also breaks ties, as in the original."""
    for event in raw:
        version = event.get("schemaVersion")
        if type(version) is not int or version != SCHEMA_VERSION:
            raise ForeignVersionError(version)
    out: list[TraceEvent] = []
    for event in raw:
        trace = event.get("trace") or {}
        span = trace.get("spanId")
        if not span:
            continue
        common = {
            "time_unix_nano": int(float(event["timestamp"]) * 1_000_000),
            "trace_id": trace.get("traceId", ""),
            "span_id": span,
            "parent_span_id": trace.get("parentSpanId") or None,
        }
        for made in _made(event, common):
            out.append(made(seq=len(out)))
    return out


def _made(event: dict[str, Any], common: dict[str, Any]) -> Iterator[Any]:  # noqa: C901 - one branch per type
    kind = event["type"]

    def of(cls: type[TraceEvent], **fields: Any) -> Any:
        return lambda seq: cls(**(common | fields), seq=seq)

    if kind == "agent:start":
        yield of(AgentStart, agent_id=event.get("agentId") or "unknown", input=event.get("props"))
    elif kind == "agent:end":
        yield of(AgentEnd, outcome=_outcome(event, event.get("result")))
    elif kind == "runWith:start":
        yield of(RunStart, name="run", input=event.get("props"))
    elif kind == "runWith:end":
        yield of(RunEnd, outcome=_outcome(event, event.get("result")))
    elif kind == "generation:end":
        yield of(GenerationEnd, generation=event.get("generationId", 0), memory=event.get("memory"))
        yield of(SpanEnd)
    elif kind == "turn:start":
        yield of(ModelTurnStart)
    elif kind == "turn:end":
        lost = None if "message" in event else "no message"
        yield of(
            ModelTurnEnd, content_hash=event.get("contentHash"), outcome=_outcome(event, event.get("message"), lost)
        )
    elif kind == "tools:execute:end":
        results = event.get("toolResults")
        for i, result in enumerate(results if isinstance(results, list) else []):
            yield of(
                ToolEnd,
                span_id=f"{common['span_id']}/{i}",
                parent_span_id=common["span_id"],
                content_hash=result.get("contentHash"),
                request=ToolRequest(name=result.get("toolName", ""), arguments=result.get("input")),
                outcome=_outcome(result, result.get("output")),
            )
        yield of(SpanEnd)
    elif kind.endswith(":start"):
        yield of(SpanStart, name=kind)
    elif kind.endswith(":end"):
        yield of(SpanEnd)


def _outcome(event: dict[str, Any], output: Any, lost: str | None = None) -> Outcome:
    if event.get("success"):
        return Outcome(status="ok", output=output, lost=lost)
    error = event.get("error") or {}
    return Outcome(
        status="error",
        error=ErrorInfo(str(error.get("name", "Error")), str(error.get("message", "")))
        if isinstance(error, dict)
        else None,
        lost=lost,
    )
