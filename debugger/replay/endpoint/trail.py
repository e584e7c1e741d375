"""The trace that a program leaves at the endpoint: its run, model turns and tool calls, as our own spans."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.messages import ErrorInfo, Json, Outcome, Request, ToolRequest, json_safe
from runtime.trace import (
    Emitter,
    ModelTurnEnd,
    ModelTurnStart,
    RunEnd,
    RunStart,
    ToolEnd,
    ToolStart,
    TraceEvent,
    TraceFileWriter,
)

from ..redact import Redaction


class Trail:
    """Writes one run. Safe to use from several threads; what the disk refuses is kept as ``fault`` and goes no further.

    Args:
        path: the file; None writes nothing.
        name: of the run.
        input: what the run was given, shown with it.
        origin: of a replay: trace, span and anchor.
        redaction: applied to everything written but the content hashes.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        name: str,
        input: Json,
        origin: dict[str, Json] | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self.trace_id = secrets.token_hex(16)
        self.root_id = secrets.token_hex(8)
        self.fault: str | None = None
        self._redaction = redaction or Redaction()
        self._emitter = Emitter(secrets.token_hex(8))
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._writer: TraceFileWriter | None = None
        if path is not None:
            self._writer = TraceFileWriter(path, resource={"service.name": name, "telemetry.sdk.language": "python"})
        # A command's words may hold keys.
        self._emit(RunStart, self.root_id, None, name=name, input=self._redaction.json(input), origin=origin)

    def hide(self, secrets: Collection[str]) -> None:
        """From now on these go out of everything that is written, whatever the rules are."""
        with self._lock:
            known = self._redaction.values
            if not known or not set(known).issuperset(secrets):
                values = sorted({*known, *secrets}, key=lambda each: (-len(each), each))
                self._redaction = replace(self._redaction, values=tuple(values))

    def without_secrets(self, error: ErrorInfo) -> ErrorInfo:
        """An error as it is written."""
        return ErrorInfo(self._redaction.text(error.type), self._redaction.text(error.message))

    def call_id(self, kind: str, name: str) -> str:
        """The next call id of that kind and name."""
        key = f"{kind}:{name.replace('/', '_').replace(':', '_')}"
        with self._lock:
            number = self._numbers[key] = self._numbers.get(key, -1) + 1
        return f"root/{key}:{number}"

    def model_started(self, call_id: str, request: Request, content_hash: str) -> str:
        """A model was asked; the span's id."""
        span_id = secrets.token_hex(8)
        shown = self._redaction.request(request)
        self._emit(ModelTurnStart, span_id, None, call_id=call_id, content_hash=content_hash, request=shown)
        return span_id

    def model_ended(
        self, span_id: str, content_hash: str, outcome: Outcome, served_by: str, origin_span_id: str | None = None
    ) -> None:
        """It answered or failed."""
        fields = {"content_hash": content_hash, "served_by": served_by, "origin_span_id": origin_span_id}
        self._emit(ModelTurnEnd, span_id, None, outcome=self._redacted(outcome), **fields)

    def tool_started(self, call_id: str, request: ToolRequest, tool_call_id: str | None, start: int | None) -> str:
        """A tool was called, now or at the given time; the span's id."""
        span_id = secrets.token_hex(8)
        fields = {"call_id": call_id, "content_hash": request.content_hash, "tool_call_id": tool_call_id}
        self._emit(ToolStart, span_id, start, request=self._redaction.request(request), **fields)
        return span_id

    def tool_ended(
        self,
        span_id: str,
        request: ToolRequest,
        outcome: Outcome,
        served_by: str | None,
        origin_span_id: str | None = None,
    ) -> None:
        """It returned or failed."""
        fields = {"content_hash": request.content_hash, "served_by": served_by, "origin_span_id": origin_span_id}
        shown = self._redaction.request(request)
        self._emit(ToolEnd, span_id, None, request=shown, outcome=self._redacted(outcome), **fields)

    def close(self, outcome: Outcome, replay_ended: str | None = None) -> None:
        """The run has ended; of a replay, how."""
        self._emit(RunEnd, self.root_id, None, outcome=self._redacted(outcome), replay_ended=replay_ended)
        if self._writer is not None:
            try:
                self._writer.close()
            except OSError as fault:
                self.fault = self.fault or fault.strerror or type(fault).__name__

    def _redacted(self, outcome: Outcome) -> Outcome:
        error = outcome.error and self.without_secrets(outcome.error)
        return replace(outcome, output=self._redaction.json(json_safe(outcome.output)[0]), error=error)

    def _emit(self, kind: type[TraceEvent], span_id: str, at: int | None, **fields: Any) -> None:
        with self._emitter.lock:
            now, seq = self._emitter.stamp()
            event = kind(
                time_unix_nano=now if at is None else at,
                seq=seq,
                run_id=self._emitter.run_id,
                trace_id=self.trace_id,
                span_id=span_id,
                parent_span_id=None if span_id == self.root_id else self.root_id,
                **fields,
            )
            self._emitter.events.append(event)
            if self._writer is None or self.fault is not None:
                return
            try:
                self._writer(event)
            except OSError as fault:
                self.fault = fault.strerror or type(fault).__name__


def now() -> int:
    """Unix nanoseconds."""
    return time.time_ns()
