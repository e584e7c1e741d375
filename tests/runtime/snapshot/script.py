"""A short way to write a trace down: every call adds one event, one nanosecond later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.messages import ErrorInfo, Outcome, Request, ToolRequest, Usage
from runtime.trace import (
    AgentEnd,
    AgentStart,
    GenerationEnd,
    MemoryWrite,
    ModelTurnEnd,
    RunEnd,
    RunStart,
    SpanEnd,
    SpanStart,
    ToolEnd,
    TraceEvent,
    ValueTaken,
)

BOOM = ErrorInfo("ValueError", "boom")


class Script:
    """Events in the order of the calls. ``parents`` are remembered, so ends and points need none."""

    def __init__(self, trace_id: str = "t1", start: int = 1, run_id: str | None = None) -> None:
        self.events: list[TraceEvent] = []
        self.trace_id = trace_id
        self.now = start
        self.run_id = run_id
        self.parents: dict[str, str | None] = {}

    def __iter__(self) -> Iterator[TraceEvent]:
        return iter(self.events)

    def add(self, kind: type[TraceEvent], span: str, **fields: Any) -> Script:
        at = fields.pop("at", self.now)
        self.now = max(self.now, at) + 1
        parent = fields.pop("parent", self.parents.get(span))
        self.parents.setdefault(span, parent)
        seq = len(self.events) if self.run_id else None
        self.events.append(
            kind(
                time_unix_nano=at,
                trace_id=self.trace_id,
                span_id=span,
                parent_span_id=parent,
                **({"seq": seq, "run_id": self.run_id} | fields),
            )
        )
        return self

    def run(self, span: str = "run", **fields: Any) -> Script:
        return self.add(RunStart, span, **({"name": "main"} | fields))

    def run_end(self, span: str = "run", output: Any = None) -> Script:
        return self.add(RunEnd, span, outcome=Outcome(status="ok", output=output))

    def agent(self, span: str, parent: str | None = None, name: str | None = None, **fields: Any) -> Script:
        return self.add(AgentStart, span, parent=parent, agent_id=name or span, **fields)

    def end(self, span: str, output: Any = None, **fields: Any) -> Script:
        return self.add(AgentEnd, span, outcome=Outcome(status="ok", output=output), **fields)

    def fail(self, span: str, **fields: Any) -> Script:
        return self.add(AgentEnd, span, outcome=Outcome(status="error", error=BOOM), **fields)

    def span(self, span: str, parent: str | None = None, **fields: Any) -> Script:
        return self.add(SpanStart, span, parent=parent, name=span, **fields)

    def span_end(self, span: str, **fields: Any) -> Script:
        return self.add(SpanEnd, span, **fields)

    def turn(self, span: str, parent: str | None, key: str | None, output: Any = "hi", **fields: Any) -> Script:
        outcome = fields.pop("outcome", None) or ok(
            output, span, fields.pop("usage", None), fields.pop("started", None)
        )
        request = fields.pop("request", Request(messages=(), model="m", provider="p"))
        return self.add(ModelTurnEnd, span, parent=parent, content_hash=key, outcome=outcome, request=request, **fields)

    def tool(self, span: str, parent: str | None, key: str | None, output: Any = "done", **fields: Any) -> Script:
        outcome = fields.pop("outcome", None) or ok(output, span, None, fields.pop("started", None))
        request = ToolRequest(name="look", arguments={})
        return self.add(ToolEnd, span, parent=parent, content_hash=key, outcome=outcome, request=request, **fields)

    def memory(self, span: str, **values: Any) -> Script:
        return self.add(GenerationEnd, span, generation=0, memory=values)

    def write(self, span: str, key: str, value: Any = None, deleted: bool = False) -> Script:
        return self.add(MemoryWrite, span, key=key, value=value, deleted=deleted)

    def value(self, span: str, key: str, value: Any) -> Script:
        return self.add(ValueTaken, span, name="now", content_hash=key, value=value)


def ok(output: Any, span: str | None = None, usage: Usage | None = None, started: int | None = None) -> Outcome:
    return Outcome(status="ok", output=output, span_id=span, usage=usage or Usage(), start_unix_nano=started)
