"""OTLP protobuf: export requests one after the other, plain or each behind its length (4 bytes, big-endian).

Read by hand, field by field: what is cut off or not Unicode costs only itself, unknown fields cost nothing, and no
protobuf runtime is needed (docs/decisions). Source: opentelemetry-proto; Collector, file exporter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from ._encode import to_text
from ._lines import MAX_BYTES
from ._proto_records import holder, is_log, log
from ._proto_spans import is_good_span, span
from ._proto_values import text_of
from ._records import Batch, Context, Note, RawLog, RawSpan, is_logs
from ._times import stored_time
from ._wire import BYTES, WireError, fields, varint

name: Final = "OTLP protobuf"
growth: Final = "whole"

_LENGTH: Final = Struct(">I").unpack_from
_TEXT_CONTROLS: Final = frozenset((9, 10, 13))
_REQUEST_FIELD: Final = 0x0A
"""Field 1 of a request, of either kind: a list of what one resource sent."""
_EMPTY: Final = {False: re.compile(rb"(?:\x0a\x00)+"), True: re.compile(rb"(?:\x00{4})+")}
"""Runs of requests that hold nothing, bare or behind a length: skipped at once, however many there are."""
_METRIC_KINDS: Final = (5, 7, 9, 10, 11)
"""Gauge, sum, the two histograms, summary."""
_NO_CONTEXT: Final = Context()
_BATCH: Final = 256
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


class Survey(NamedTuple):
    """What reading a request would give."""

    spans: int
    logs: int
    lost: list[str]
    """A reason for each record that cannot be read."""


def survey(request: bytes) -> Survey:
    """Look through an export request for spans or log records, without making records where it can be told so.

    Raises: WireError: it is not put together as a request, down to its records.
    """
    spans = logs = 0
    lost: list[str] = []
    reader = _Reader(lambda _, reason, skipped: lost.append(reason) if skipped else None)
    for resource in _inner(request, 1):
        for number, held in _messages(resource):
            if number == 1:
                holder(held, {}, attributes=1)
            elif number == 2:
                spans += _survey_scope(held, reader)
    for batch in reader.flush():
        if is_logs(batch):
            logs += len(batch)
        else:
            spans += len(batch)
    return Survey(spans, logs, lost)


def _survey_scope(scope: bytes, reader: _Reader) -> int:
    """How many good spans a scope holds; the reader gets all other records."""
    spans = 0
    for number, held in _messages(scope):
        if number == 2:
            if is_good_span(held):
                spans += 1
            else:
                reader.record(held, _NO_CONTEXT)
        elif number == 1:
            holder(held, {}, attributes=3)
    return spans


def data_points(request: bytes) -> int:
    """How many points of measurement an export request for metrics holds. Raises WireError."""
    metrics = (m for r in _inner(request, 1) for s in _inner(r, 2) for m in _inner(s, 2))
    return sum(
        1 for metric in metrics for kind in _METRIC_KINDS for data in _inner(metric, kind) for _ in _inner(data, 1)
    )


def _messages(message: bytes) -> Iterator[tuple[int, bytes]]:
    return ((number, value) for number, _, value in fields(message) if isinstance(value, bytes))


def _inner(message: bytes, wanted: int) -> Iterator[bytes]:
    return (value for number, value in _messages(message) if number == wanted)


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
            if start == end and (run := _EMPTY[delimited].match(buffer, at)) is not None:
                at = run.end()
                del run  # a match holds on to the buffer, which is cut below
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
                    resource = holder(value, {2: "droppedAttributesCount"}, attributes=1)
                elif number == 2:
                    scopes.append(value)
                elif number == 3:
                    schema = text_of(value)
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
                    scope = holder(value, {1: "name", 2: "version", 4: "droppedAttributesCount"}, attributes=3)
                elif number == 2:
                    records.append(value)
                elif number == 3:
                    schema = text_of(value)
        except WireError as fault:
            if not cut:
                self._note(None, f"a scope's spans: {fault}", True)
        schemas = {"resourceSchemaUrl": resource_schema, "schemaUrl": schema}
        extra = to_text(schemas) if schema or resource_schema else None
        context = Context(resource, scope, extra)
        for record in records:
            self.record(record, context)

    def record(self, data: bytes, context: Context) -> None:
        """A span or log record."""
        try:
            if is_log(data):
                record = log(data, context)
                self._logs.append(record)
                if record.time_unix_nano is None:
                    self._say_times(data, (1, 11))
                return
            found = span(data, context)
        except WireError as fault:
            self._note(None, f"a record that {fault}", True)
            return
        if found is None:
            self._note(None, "a record that is neither span nor log record", True)
            return
        self._spans.append(found)
        if found.start_unix_nano is None or found.end_unix_nano is None:
            self._say_times(data, (7, 8))

    def _say_times(self, data: bytes, numbers: tuple[int, int]) -> None:
        """Note the times of a record that were left out."""
        for number, _, value in fields(data):
            if number in numbers and isinstance(value, int):
                stored_time(value, None, self._note)


def _framed(buffer: bytearray, at: int) -> tuple[int, int] | None:
    """The place of the next request behind its length; None where it is not whole yet.

    Raises: WireError: it is larger than what is read at once.
    """
    if len(buffer) < at + 4:
        return None
    size = _LENGTH(buffer, at)[0]
    if size > MAX_BYTES:
        raise WireError(f"a request of {size / 1e6:,.0f} MB, and {MAX_BYTES >> 20} MiB are read at most")
    end = at + 4 + size
    return (at + 4, end) if end <= len(buffer) else None


def _field(buffer: bytearray, at: int) -> tuple[int, int] | None:
    """The place of the next field of a request; None where it is not whole yet.

    Raises: WireError: something else is there, or more than is read at once.
    """
    if len(buffer) < at + 2:
        return None
    if buffer[at] != _REQUEST_FIELD:
        raise WireError("no request begins here")
    window = bytes(buffer[at + 1 : at + 11])
    if window[-1] >= 0x80 and len(window) < 10 and all(byte >= 0x80 for byte in window):
        return None
    size, width = varint(window, 0)
    if size > MAX_BYTES:
        raise WireError(f"a part of {size / 1e6:,.0f} MB, and {MAX_BYTES >> 20} MiB are read at most")
    start = at + 1 + width
    return (start, start + size) if start + size <= len(buffer) else None
