"""OTLP/JSON: export requests as the Collector's file exporter and the SDKs write them.

One request a line is the fast road: a typed decode that leaves the wide parts as raw text. Everything else (indented
documents, several objects in a row, arrays, snake_case names, unknown fields, bad UTF-8) takes the slow road of that
one line and ends in the same records. Source: opentelemetry-proto, JSON mapping; Collector, file exporter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from ._ids import NO_PARENT, is_span_id, is_trace_id, normal_id
from ._lines import MAX_BYTES, MAX_DEPTH, TOO_LONG, depth_after, iter_lines
from ._otlp_slow import REQUEST_START, bad_id, parse_lenient, records_of
from ._records import Batch, Context, Note, RawSpan
from ._times import LAST_NANO

name: Final = "OTLP/JSON"
growth: Final = "lines"
_EMPTY: Final = Raw(b"")
_MARKS: Final = (b'"resourceSpans"', b'"resource_spans"', b'"resourceLogs"', b'"resource_logs"', b'"resourceMetrics"')
_TORN: Final = (b'{"resourceSpans"', b'{"resourceLogs"')
_FAILED: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


_Nano: TypeAlias = Annotated[int, Meta(ge=0, le=LAST_NANO)] | None
_Enum: TypeAlias = Annotated[int, Meta(ge=0, lt=100)]
"""A kind or a status; another number sends its line down the slow road, where it is told."""


class _Status(Struct, forbid_unknown_fields=True, gc=False):
    code: _Enum = 0
    message: str = ""


class _Span(Struct, forbid_unknown_fields=True, gc=False):
    """The fields of a span; an unknown one sends its line down the slow road, where it is kept."""

    traceId: str = ""
    spanId: str = ""
    parentSpanId: str | None = None
    name: str = ""
    kind: _Enum = 0
    startTimeUnixNano: _Nano = 0
    endTimeUnixNano: _Nano = 0
    attributes: Raw = _EMPTY
    events: Raw = _EMPTY
    links: Raw = _EMPTY
    status: _Status | None = None
    flags: int = 0
    traceState: str = ""
    droppedAttributesCount: int = 0
    droppedEventsCount: int = 0
    droppedLinksCount: int = 0


class _ScopeSpans(Struct, forbid_unknown_fields=True, gc=False):
    spans: list[_Span] = []
    scope: Raw = _EMPTY
    schemaUrl: str = ""


class _ResourceSpans(Struct, forbid_unknown_fields=True, gc=False):
    scopeSpans: list[_ScopeSpans] = []
    resource: Raw = _EMPTY
    schemaUrl: str = ""


class _Request(Struct, forbid_unknown_fields=True, gc=False):
    resourceSpans: list[_ResourceSpans] | UnsetType = UNSET


# Not strict: 64-bit integers are texts in OTLP/JSON, and plain numbers from some writers.
_decode = msgspec.json.Decoder(_Request, strict=False).decode


def sniff(head: bytes) -> bool:
    """True when the first bytes hold the outermost key of an export request."""
    return any(mark in head for mark in _MARKS) or (b'"batches"' in head and b'"scopeSpans"' in head)


def read(blocks: Iterable[bytes], note: Note) -> Iterator[Batch]:
    """The spans and log records of a file, one list per request. Never raises for what is in the blocks.

    Args:
        blocks: the bytes of the file, cut anywhere.
        note: takes what is odd; lines count from 1.
    """
    pending: list[bytes] = []
    start = depth = size = 0
    lost = False
    for number, line in enumerate(iter_lines(blocks, note), 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if lost and not _is_request_start(line):
            continue
        lost = False
        if pending and _is_whole_request(line):
            note(start, "ends in the middle", True)
            pending = []
        if pending:
            pending.append(line)
            depth += depth_after(line)
            size += len(line)
        elif not line or line.isspace():
            continue
        else:
            try:
                yield _convert(_decode(line), number, note)
                continue
            except _FAILED:
                start, depth = number, depth_after(line) if line.lstrip()[:1] in (b"{", b"[") else 0
                pending, size = [line], len(line)
        if depth > MAX_DEPTH or size > MAX_BYTES:
            note(start, "nested too deeply" if depth > MAX_DEPTH else TOO_LONG, True)
            pending, lost = [], True
        elif depth <= 0 or (len(pending) == 1 and _is_torn(line)):
            yield from _value(b"\n".join(pending), start, note)
            pending = []
    if pending:
        yield from _value(b"\n".join(pending), start, note)


def _is_request_start(line: bytes) -> bool:
    return line[:1] == b"{" and any(mark in line[:64] for mark in _MARKS)


def _is_whole_request(line: bytes) -> bool:
    """True for a complete request on a line of its own: what stood before it was cut off."""
    return _is_request_start(line) and depth_after(line) <= 0


def _is_torn(line: bytes) -> bool:
    """True where a second request begins in the middle of a line: a writer was killed and another one went on."""
    return any(line.find(mark, 1) > 0 for mark in _TORN) and line.rstrip()[-1:] == b"}"


def _value(data: bytes, line: int, note: Note) -> Iterator[Batch]:
    """One JSON value, or several in a row, by whichever road works."""
    try:
        yield _convert(_decode(data), line, note)
    except _FAILED:
        for value in parse_lenient(data, line, note, REQUEST_START):
            spans, logs = records_of(value, line, note)
            yield spans
            if logs:
                yield logs


def _convert(request: _Request, line: int, note: Note) -> list[RawSpan]:
    if request.resourceSpans is UNSET:
        note(line, "no OTLP request", True)
        return []
    out: list[RawSpan] = []
    for resource_spans in request.resourceSpans:
        resource = str(resource_spans.resource, "utf-8") or "{}"
        for scope_spans in resource_spans.scopeSpans:
            extra = None
            if resource_spans.schemaUrl or scope_spans.schemaUrl:
                extra = json.dumps({"resourceSchemaUrl": resource_spans.schemaUrl, "schemaUrl": scope_spans.schemaUrl})
            context = Context(resource, str(scope_spans.scope, "utf-8") or "{}", extra)
            for span in scope_spans.spans:
                if (raw := _raw_span(span, context, line, note)) is not None:
                    out.append(raw)
    return out


def _raw_span(span: _Span, context: Context, line: int, note: Note) -> RawSpan | None:
    trace_id: str | None = span.traceId
    span_id: str | None = span.spanId
    parent = span.parentSpanId or None
    if not (is_trace_id(span.traceId) and is_span_id(span.spanId) and (parent is None or is_span_id(parent))):
        trace_id, span_id, parent = _mended_ids(span, line, note)
    if trace_id is None or span_id is None:
        note(line, "a span without ids", True)
        return None
    status = span.status
    return RawSpan(
        trace_id,
        span_id,
        parent if parent != NO_PARENT else None,
        span.name,
        span.kind,
        span.startTimeUnixNano or None,
        span.endTimeUnixNano or None,
        0 if status is None else status.code,
        "" if status is None else status.message,
        str(span.attributes, "utf-8") or "[]",
        str(span.events, "utf-8") or None,
        str(span.links, "utf-8") or None,
        _extra(
            span.flags,
            span.traceState,
            span.droppedAttributesCount,
            span.droppedEventsCount,
            span.droppedLinksCount,
        ),
        context,
    )


def _mended_ids(span: _Span, line: int, note: Note) -> tuple[str | None, str | None, str | None]:
    out = []
    for value, size in ((span.traceId, 16), (span.spanId, 8), (span.parentSpanId, 8)):
        fixed, good = normal_id(value, size)
        if not good and fixed:
            note(line, bad_id(fixed, size), False)
        out.append(fixed)
    return out[0], out[1], out[2]


@lru_cache(maxsize=1024)
def _extra(flags: int, trace_state: str, attributes: int, events: int, links: int) -> str | None:
    """Trace state, flags and dropped counts, where they say anything; the same for nearly all spans of a file."""
    fields: dict[str, int | str] = {
        "flags": flags,
        "traceState": trace_state,
        "droppedAttributesCount": attributes,
        "droppedEventsCount": events,
        "droppedLinksCount": links,
    }
    told = {key: value for key, value in fields.items() if value}
    return json.dumps(told) if told else None
