"""OTLP protobuf: export requests one after the other, plain or each behind its length (4 bytes, big-endian).

Read by hand, field by field: what is cut off or not Unicode costs only itself, unknown fields cost nothing, and no
protobuf runtime is needed (docs/decisions). Source: opentelemetry-proto; Collector, file exporter.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Any, Final

from ._encode import float_of, to_text
from ._ids import NO_PARENT
from ._records import Batch, Context, Note, RawLog, RawSpan
from ._wire import BYTES, FIXED64, VARINT, WireError, fields, signed, varint

name: Final = "OTLP protobuf"

_MAX_DEPTH: Final = 100
_LENGTH: Final = Struct(">I").unpack_from
_double = Struct("<d").unpack
_quad = Struct("<Q").pack
_TEXT_CONTROLS: Final = frozenset((9, 10, 13))
_REQUEST_FIELD: Final = 0x0A
"""Field 1 of a request, of either kind: a list of what one resource sent."""
_INT64_MAX: Final = 2**63 - 1
_BATCH: Final = 1024
_ENOUGH: Final = 1 << 18
"""Bytes that are gathered before whole requests are looked for."""


def sniff(head: bytes) -> bool:
    """True for a request's first fields, bare or behind a length, and bytes that no text has."""
    if not any(byte < 32 and byte not in _TEXT_CONTROLS for byte in head[:4096]):
        return False
    return _starts_request(head) or (len(head) > 5 and _LENGTH(head)[0] > 1 and _starts_request(head[4:]))


def _starts_request(head: bytes) -> bool:
    if head[:1] != bytes((_REQUEST_FIELD,)):
        return False
    try:
        size, at = varint(head, 1)
        if size < 2 or at >= len(head):
            return False
        inner = head[at]
        _, below = varint(head, at + 1)
    except WireError:
        return False
    # A resource, or its spans where it has none; a resource begins with an attribute, which begins with its key.
    return inner in (0x0A, 0x12) and (below >= len(head) or inner == 0x12 or head[below] in (0x0A, 0x10))


def read(blocks: Iterable[bytes], note: Note) -> Iterator[Batch]:
    """The spans and log records of a file. Never raises for what is in the blocks."""
    buffer = bytearray()
    delimited: bool | None = None
    reader = _Reader(note)
    enough = _ENOUGH
    for block in blocks:
        buffer += block
        if len(buffer) < enough:  # blocks end at line feeds, of which binary data has many
            continue
        if delimited is None:
            delimited = buffer[0] != _REQUEST_FIELD
        try:
            yield from reader.requests(buffer, delimited)
        except WireError as fault:
            note(None, f"not OTLP protobuf from here on: {fault}", True)
            yield from reader.flush()
            return
        enough = len(buffer) + _ENOUGH
    if delimited is None:
        delimited = bool(buffer) and buffer[0] != _REQUEST_FIELD
    try:
        yield from reader.requests(buffer, delimited)
        if buffer:
            reader.rest(bytes(buffer), delimited)
    except WireError as fault:
        note(None, f"not OTLP protobuf from here on: {fault}", True)
    yield from reader.flush()


class _Reader:
    """Takes whole fields off the front of a buffer and turns them into records."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._spans: list[RawSpan] = []
        self._logs: list[RawLog] = []

    def requests(self, buffer: bytearray, delimited: bool) -> Iterator[Batch]:
        """What is whole in the buffer; it is taken off."""
        at = 0
        while (piece := (_framed if delimited else _field)(buffer, at)) is not None:
            start, end = piece
            data = bytes(buffer[start:end])
            if delimited:
                self._request(data)
            else:
                self._resource(data)
            at = end
            if len(self._spans) >= _BATCH:
                yield self._spans
                self._spans = []
        del buffer[:at]

    def rest(self, data: bytes, delimited: bool) -> None:
        """What can still be read of a request that ends in the middle."""
        self._note(None, "ends in the middle", True)
        try:
            body = data[4:] if delimited else data
            if delimited:
                self._request(body, cut=True)
            else:
                _, start = varint(body, 1)
                self._resource(body[start:], cut=True)
        except WireError:
            return

    def flush(self) -> Iterator[Batch]:
        """What has not been handed on yet."""
        yield self._spans
        if self._logs:
            yield self._logs

    def _request(self, data: bytes, cut: bool = False) -> None:
        try:
            for number, kind, value in fields(data, cut=cut):
                if number == 1 and kind == BYTES and isinstance(value, bytes):
                    self._resource(value, cut)
        except WireError as fault:
            if not cut:
                self._note(None, f"a request that {fault}", True)

    def _resource(self, data: bytes, cut: bool = False) -> None:
        """``ResourceSpans`` or ``ResourceLogs``: alike but for the records inside."""
        resource, schema = "{}", ""
        scopes: list[bytes] = []
        try:
            for number, kind, value in fields(data, cut=cut):
                if kind != BYTES or not isinstance(value, bytes):
                    continue
                if number == 1:
                    resource = _holder(value, {2: "droppedAttributesCount"}, attributes=1)
                elif number == 2:
                    scopes.append(value)
                elif number == 3:
                    schema = _text(value)
        except WireError as fault:
            if not cut:
                self._note(None, f"a resource's spans: {fault}", True)
        for scope in scopes:
            self._scope(scope, resource, schema, cut)

    def _scope(self, data: bytes, resource: str, resource_schema: str, cut: bool) -> None:
        scope, schema = "{}", ""
        records: list[bytes] = []
        try:
            for number, kind, value in fields(data):
                if kind != BYTES or not isinstance(value, bytes):
                    continue
                if number == 1:
                    scope = _holder(value, {1: "name", 2: "version", 4: "droppedAttributesCount"}, attributes=3)
                elif number == 2:
                    records.append(value)
                elif number == 3:
                    schema = _text(value)
        except WireError as fault:
            if not cut:
                self._note(None, f"a scope's spans: {fault}", True)
        schemas = {"resourceSchemaUrl": resource_schema, "schemaUrl": schema}
        extra = to_text(schemas) if schema or resource_schema else None
        context = Context(resource, scope, extra)
        for record in records:
            self._record(record, context)

    def _record(self, data: bytes, context: Context) -> None:
        try:
            if _is_log(data):
                self._logs.append(_log(data, context))
                return
            span = _span(data, context)
        except WireError as fault:
            self._note(None, f"a record that {fault}", True)
            return
        if span is None:
            self._note(None, "a record that is neither span nor log record", True)
        else:
            self._spans.append(span)


def _framed(buffer: bytearray, at: int) -> tuple[int, int] | None:
    """The place of the next request behind its length; None where it is not whole yet."""
    if len(buffer) < at + 4:
        return None
    size = _LENGTH(buffer, at)[0]
    end = at + 4 + size
    return (at + 4, end) if end <= len(buffer) else None


def _field(buffer: bytearray, at: int) -> tuple[int, int] | None:
    """The place of the next field of a request; None where it is not whole yet.

    Raises: WireError: something else is there.
    """
    if len(buffer) < at + 2:
        return None
    if buffer[at] != _REQUEST_FIELD:
        raise WireError("no request begins here")
    window = bytes(buffer[at + 1 : at + 11])
    if window[-1] >= 0x80 and len(window) < 10 and all(byte >= 0x80 for byte in window):
        return None
    size, width = varint(window, 0)
    start = at + 1 + width
    return (start, start + size) if start + size <= len(buffer) else None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _is_log(data: bytes) -> bool:
    """A log record begins with its time, or has only the time at which it was seen; a span begins with its trace."""
    first = data[0] if data else 0
    return first in (0x09, 0x10, 0x1A, 0x2A, 0x32, 0x59) and not (first == 0x2A and _has_trace_first(data))


def _has_trace_first(data: bytes) -> bool:
    return any(number in (1, 2) and kind == BYTES for number, kind, _ in fields(data))


def _any_value(data: bytes, depth: int = 0) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for number, kind, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            out = {"stringValue": _text(value)}
        elif number == 2 and kind == VARINT:
            out = {"boolValue": value != 0}
        elif number == 3 and kind == VARINT and isinstance(value, int):
            out = {"intValue": str(signed(value))}
        elif number == 4 and kind == FIXED64 and isinstance(value, int):
            out = {"doubleValue": float_of(_double(_quad(value))[0])}
        elif number in (5, 6) and isinstance(value, bytes):
            if depth > _MAX_DEPTH:
                return {"stringValue": "[nested too deeply]"}
            out = _list(value, depth) if number == 5 else {"kvlistValue": {"values": _pairs(value, 1, depth + 1)}}
        elif number == 7 and isinstance(value, bytes):
            out = {"bytesValue": base64.b64encode(value).decode()}
    return out


def _list(data: bytes, depth: int) -> dict[str, Any]:
    values = [_any_value(v, depth + 1) for n, _, v in fields(data) if n == 1 and isinstance(v, bytes)]
    return {"arrayValue": {"values": values}}


def _pair(data: bytes, depth: int = 0) -> dict[str, Any]:
    return _plain_pair(data) or _any_pair(data, depth)


def _plain_pair(data: bytes) -> dict[str, Any] | None:
    """A key and a text, in the order in which everybody writes them, without a generator: nearly all attributes."""
    size = len(data)
    if size < 6 or data[0] != 0x0A or data[1] >= 0x80 or size < (at := data[1] + 2) + 4 or data[at] != 0x12:
        return None
    key = data[2:at]
    inner, at = (data[at + 1], at + 2) if data[at + 1] < 0x80 else varint(data, at + 1)
    if at + inner != size or inner < 2 or data[at] != 0x0A:
        return None
    length, at = (data[at + 1], at + 2) if data[at + 1] < 0x80 else varint(data, at + 1)
    if at + length != size:
        return None
    return {"key": _text(key), "value": {"stringValue": _text(data[at:])}}


def _any_pair(data: bytes, depth: int) -> dict[str, Any]:
    key, value = "", {}
    for number, _, inner in fields(data):
        if isinstance(inner, bytes):
            if number == 1:
                key = _text(inner)
            elif number == 2:
                value = _any_value(inner, depth)
    return {"key": key, "value": value}


def _pairs(data: bytes, number: int, depth: int = 0) -> list[dict[str, Any]]:
    return [_pair(value, depth) for n, _, value in fields(data) if n == number and isinstance(value, bytes)]


def _holder(data: bytes, names: dict[int, str], attributes: int) -> str:
    """A resource or scope as OTLP/JSON text."""
    out: dict[str, Any] = {}
    pairs = []
    for number, _, value in fields(data):
        if number == attributes and isinstance(value, bytes):
            pairs.append(_pair(value))
        elif number in names:
            out[names[number]] = _text(value) if isinstance(value, bytes) else value
    return to_text(out | ({"attributes": pairs} if pairs else {}))


_EVENT: Final = {1: "timeUnixNano", 2: "name", 4: "droppedAttributesCount"}
_LINK: Final = {1: "traceId", 2: "spanId", 3: "traceState", 5: "droppedAttributesCount", 6: "flags"}
_SPAN_EXTRA: Final = {
    3: "traceState",
    10: "droppedAttributesCount",
    12: "droppedEventsCount",
    14: "droppedLinksCount",
    16: "flags",
}
_LOG_EXTRA: Final = {3: "severityText", 7: "droppedAttributesCount", 8: "flags"}


def _inner(data: bytes, names: dict[int, str], attributes: int) -> dict[str, Any]:
    """An event or a link."""
    out: dict[str, Any] = {}
    pairs = []
    for number, _, value in fields(data):
        if number == attributes and isinstance(value, bytes):
            pairs.append(_pair(value))
        elif (word := names.get(number)) is not None:
            if isinstance(value, bytes):
                out[word] = value.hex() if word in ("traceId", "spanId") else _text(value)
            else:
                out[word] = str(value) if word == "timeUnixNano" else value
    return out | ({"attributes": pairs} if pairs else {})


def _span(data: bytes, context: Context) -> RawSpan | None:
    known: dict[int, int | bytes] = {}
    attributes: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for number, _, value in fields(data):
        if isinstance(value, bytes):
            if number == 9:
                attributes.append(_pair(value))
                continue
            if number == 11:
                events.append(_inner(value, _EVENT, 3))
                continue
            if number == 13:
                links.append(_inner(value, _LINK, 4))
                continue
        known[number] = value
    trace_id, span_id = known.get(1), known.get(2)
    if not (isinstance(trace_id, bytes) and isinstance(span_id, bytes) and len(trace_id) == 16 and len(span_id) == 8):
        return None
    parent = known.get(4)
    parent_id = parent.hex() if isinstance(parent, bytes) and len(parent) == 8 else None
    code, message = _status(known.get(15))
    return RawSpan(
        trace_id.hex(),
        span_id.hex(),
        parent_id if parent_id != NO_PARENT else None,
        _string(known.get(5)),
        _small(known.get(6)),
        _time(known.get(7)),
        _time(known.get(8)),
        code,
        message,
        to_text(attributes),
        to_text(events) if events else None,
        to_text(links) if links else None,
        _extra(known, _SPAN_EXTRA),
        context,
    )


def _string(value: int | bytes | None) -> str:
    return _text(value) if isinstance(value, bytes) else ""


def _small(value: int | bytes | None) -> int:
    return value if isinstance(value, int) and value < 100 else 0


def _time(value: int | bytes | None) -> int | None:
    return value if isinstance(value, int) and 0 < value <= _INT64_MAX else None


def _status(value: int | bytes | None) -> tuple[int, str]:
    code, message = 0, ""
    for number, _, inner in fields(value) if isinstance(value, bytes) else ():
        if number == 2:
            message = _string(inner)
        elif number == 3:
            code = _small(inner)
    return code, message


def _extra(known: dict[int, int | bytes], names: dict[int, str]) -> str | None:
    told = {}
    for number, word in names.items():
        value = known.get(number)
        if value:
            told[word] = _text(value) if isinstance(value, bytes) else value
    return to_text(told) if told else None


def _log(data: bytes, context: Context) -> RawLog:
    known: dict[int, int | bytes] = {}
    attributes: list[dict[str, Any]] = []
    for number, _, value in fields(data):
        if number == 6 and isinstance(value, bytes):
            attributes.append(_pair(value))
        else:
            known[number] = value
    time = _time(known.get(1))
    body = known.get(5)
    event = _string(known.get(12)) or _event_name(attributes)
    return RawLog(
        _hex(known.get(9), 16),
        _hex(known.get(10), 8),
        event,
        time if time is not None else _time(known.get(11)),
        _small(known.get(2)),
        to_text(_any_value(body)) if isinstance(body, bytes) else None,
        to_text(attributes),
        _extra(known, _LOG_EXTRA),
        context,
    )


def _hex(value: int | bytes | None, size: int) -> str | None:
    return value.hex() if isinstance(value, bytes) and len(value) == size and any(value) else None


def _event_name(attributes: list[dict[str, Any]]) -> str:
    for pair in attributes:
        if pair["key"] == "event.name":
            value = pair["value"].get("stringValue")
            return value if isinstance(value, str) else ""
    return ""
