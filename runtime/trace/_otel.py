"""OpenTelemetry as one subscriber of a run, and a span exporter that writes OTLP/JSON lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from . import _keys as keys
from ._builder import SCOPE, _links
from ._events import ModelTurnStart, TraceEvent
from ._file import append_line
from ._otlp import encode_request
from ._own import POINTS, VITAL, Attributes, end_attributes, error_of, point_attributes, span_name, start_attributes
from ._span import Span, SpanEvent, SpanLink

if TYPE_CHECKING:
    from opentelemetry.context import Context


class OtelBridge:
    """Makes an OpenTelemetry span for each span of a run. The provider's spans give the ids where it records."""

    def __init__(self, provider: otel.TracerProvider | None = None) -> None:
        self._provider = provider or otel.get_tracer_provider()
        self._tracer = self._provider.get_tracer(*SCOPE)
        self._open: dict[str, otel.Span] = {}
        self._given: dict[str, tuple[Attributes, int]] = {}
        """Of each open span its attributes and how many points it has got."""

    def begin(self, event: TraceEvent) -> tuple[str, str] | None:
        """Start the span of a start event; its trace id and span id, or None where nothing is recorded."""
        if _records_nothing(self._provider):
            # A model turn's attributes hold all of its conversation: nobody would look at what takes so long to write.
            return None
        parent = self._open.get(event.parent_span_id or "")
        attributes = start_attributes(event)
        context: Context | None = otel.set_span_in_context(parent) if parent is not None else None
        span = self._tracer.start_span(
            span_name(event),
            context=context,
            kind=otel.SpanKind.CLIENT if isinstance(event, ModelTurnStart) else otel.SpanKind.INTERNAL,
            attributes=attributes,
            links=[_otel_link(link) for link in _links(event)],
            start_time=event.time_unix_nano,
        )
        if not span.is_recording():
            return None
        ids = span.get_span_context()
        span_id = otel.format_span_id(ids.span_id)
        self._open[span_id] = span
        self._given[span_id] = attributes, 0
        return otel.format_trace_id(ids.trace_id), span_id

    def __call__(self, event: TraceEvent) -> None:
        """Points and ends; starts came through ``begin``."""
        span = self._open.get(event.span_id)
        if span is None or event.opens:
            return
        if event.closes:
            del self._open[event.span_id]
            started, points = self._given.pop(event.span_id)
            ended = end_attributes(event)
            # The limit of an SDK drops the oldest keys, so those without which nothing can be read come once more.
            vital = {key: started[key] for key in VITAL if key in started}
            counts = [len(started | ended), points, len(started.get(keys.CALL_ID, ""))]
            span.set_attributes(ended | vital | {keys.WRITTEN: counts})
            if error := error_of(event):
                span.set_status(otel.Status(otel.StatusCode.ERROR, error.message))
            span.end(end_time=event.time_unix_nano)
        elif event.type in POINTS:
            attributes, points = self._given[event.span_id]
            self._given[event.span_id] = attributes, points + 1
            span.add_event(keys.MARK_PREFIX + event.type, point_attributes(event), event.time_unix_nano)


def _records_nothing(provider: otel.TracerProvider) -> bool:
    """Whether no SDK is set up; the one that stands for a provider to come may have got it since."""
    if isinstance(provider, otel.ProxyTracerProvider):
        provider = otel.get_tracer_provider()
    return isinstance(provider, otel.ProxyTracerProvider | otel.NoOpTracerProvider)


def _otel_link(link: SpanLink) -> otel.Link:
    context = otel.SpanContext(int(link.trace_id, 16), int(link.span_id, 16), is_remote=True)
    return otel.Link(context, dict(link.attributes))


class OtlpJsonFileExporter(SpanExporter):
    """Writes each batch of finished spans as one line of OTLP/JSON, appended to a file.

    For any TracerProvider, with spans of any instrumentation; the file opens in Retrospan and in other tools that
    read what the OpenTelemetry Collector's file exporter writes.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append the spans; FAILURE where the file cannot be written."""
        groups: dict[tuple[int, str], list[Span]] = {}
        for span in map(_from_readable, spans):
            groups.setdefault((id(span.resource), span.scope_name), []).append(span)
        lines = "\n".join(encode_request(group) for group in groups.values())
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                append_line(fd, lines)
            finally:
                os.close(fd)
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS


def _from_readable(span: ReadableSpan) -> Span:
    context: Any = span.get_span_context()
    scope = span.instrumentation_scope
    return Span(
        trace_id=otel.format_trace_id(context.trace_id),
        span_id=otel.format_span_id(context.span_id),
        parent_span_id=otel.format_span_id(span.parent.span_id) if span.parent else None,
        name=span.name,
        kind=span.kind.value + 1,  # OTLP counts from 1, since 0 is "unspecified"
        start_unix_nano=span.start_time,
        end_unix_nano=span.end_time,
        status_code=_STATUS[span.status.status_code],
        status_message=span.status.description or "",
        attributes=dict(span.attributes or {}),
        events=tuple(
            SpanEvent(name=e.name, time_unix_nano=e.timestamp, attributes=dict(e.attributes or {})) for e in span.events
        ),
        links=tuple(
            SpanLink(
                trace_id=otel.format_trace_id(link.context.trace_id),
                span_id=otel.format_span_id(link.context.span_id),
                attributes=dict(link.attributes or {}),
            )
            for link in span.links
        ),
        resource=span.resource.attributes,
        scope_name=scope.name if scope else "",
        scope_version=(scope.version or "") if scope else "",
    )


_STATUS = {otel.StatusCode.UNSET: 0, otel.StatusCode.OK: 1, otel.StatusCode.ERROR: 2}
