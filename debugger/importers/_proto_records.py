"""The messages of OTLP protobuf: resources, scopes, spans and log records, from their bytes.

Source: opentelemetry-proto, common, resource, trace and logs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import Any, Final, TypeAlias

from msgspec import Raw

from ._encode import to_text
from ._ids import NO_PARENT
from ._proto_values import any_value, check_pair, pair_json, text_of
from ._records import Context, RawLog, RawSpan
from ._wire import BYTES, FIXED64, VARINT, WireError, fields, varint

_INT64_MAX: Final = 2**63 - 1
_EVENT: Final = {1: "timeUnixNano", 2: "name", 4: "droppedAttributesCount"}
_LINK: Final = {1: "traceId", 2: "spanId", 3: "traceState", 5: "droppedAttributesCount", 6: "flags"}
_SPAN_EXTRA: Final = ("traceState", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount", "flags")
_LOG_EXTRA: Final = ("severityText", "droppedAttributesCount", "flags")
_EVENT_NAME: Final = b"\x0a\x0aevent.name"
_REMEMBERED: Final = 1024
_fixed64 = Struct("<Q").unpack_from
_fixed32 = Struct("<I").unpack_from

Known: TypeAlias = dict[int, int | bytes]
"""The fields of a message that are not repeated, by their numbers."""

_ATTRIBUTE, _SPAN_EVENT, _SPAN_LINK = 0x4A, 0x5A, 0x6A
_FLAGS: Final = b"\x85\x01"
_HEAD: Final = re.compile(rb"\x0a\x10(.{16})\x12\x08(.{8})(?:\x22\x08(.{8}))?\x2a([\x00-\x7f])", re.DOTALL).match
"""Trace, span and parent id, and the length of the name."""
_TIMES: Final = Struct("<BBBQBQ")
_times, _times_size = _TIMES.unpack_from, _TIMES.size
_WALK: Final = bytes(
    {**dict.fromkeys((0x0A, 0x12, 0x1A, 0x22, 0x2A, _ATTRIBUTE, _SPAN_EVENT, _SPAN_LINK, 0x7A), BYTES),
     **dict.fromkeys((0x39, 0x41), FIXED64), **dict.fromkeys((0x30, 0x50, 0x60, 0x70), VARINT)}.get(key, 255)
    for key in range(256)
)  # fmt: skip
"""Wire type by the first byte of a span's field, as the schema has it; 255 for all others."""


def is_log(data: bytes) -> bool:
    """A log record begins with its time, or has only the time at which it was seen; a span begins with its trace."""
    first = data[0] if data else 0
    return first in (0x09, 0x10, 0x1A, 0x2A, 0x32, 0x59) and not (first == 0x2A and _has_trace_first(data))


def _has_trace_first(data: bytes) -> bool:
    return any(number in (1, 2) and kind == BYTES for number, kind, _ in fields(data))


def holder(data: bytes, names: dict[int, str], attributes: int) -> str:
    """A resource or scope as OTLP/JSON text. Raises WireError."""
    out: dict[str, Any] = {}
    pairs = []
    for number, _, value in fields(data):
        if number == attributes and isinstance(value, bytes):
            pairs.append(Raw(pair_json(value)))
        elif number in names:
            out[names[number]] = text_of(value) if isinstance(value, bytes) else value
    return to_text(out | ({"attributes": pairs} if pairs else {}))


def is_good_span(data: bytes) -> bool:
    """Whether ``span`` would give one, without making it; False also where only that can tell."""
    known: Known = {}
    attributes: list[bytes] = []
    rest: list[bytes] = []
    if not _walk(data, known, attributes, rest, rest) or rest or not _has_ids(known):
        return False
    try:
        _status(known.get(15))
        for pair in attributes:
            check_pair(pair)
    except WireError:
        return False
    return True


def span(data: bytes, context: Context) -> RawSpan | None:
    """A span; None where its ids are none. Raises WireError."""
    known: Known = {}
    attributes: list[bytes] = []
    events: list[bytes] = []
    links: list[bytes] = []
    if not _walk(data, known, attributes, events, links):
        for kept in (known, attributes, events, links):
            kept.clear()
        _walk_any(data, known, attributes, events, links)
    if not _has_ids(known):
        return None
    parent = known.get(4)
    parent_id = parent.hex() if isinstance(parent, bytes) and len(parent) == 8 else NO_PARENT
    code, message = _status(known.get(15))
    return RawSpan(
        known[1].hex(),  # type: ignore[union-attr]
        known[2].hex(),  # type: ignore[union-attr]
        parent_id if parent_id != NO_PARENT else None,
        _string(known.get(5)),
        _small(known.get(6)),
        _time(known.get(7)),
        _time(known.get(8)),
        code,
        message,
        (b"[" + b",".join(map(pair_json, attributes)) + b"]").decode(),
        to_text([_inner(event, _EVENT, 3) for event in events]) if events else None,
        to_text([_inner(link, _LINK, 4) for link in links]) if links else None,
        _span_extra(known.get(3), known.get(10), known.get(12), known.get(14), known.get(16)),
        context,
    )


def log(data: bytes, context: Context) -> RawLog:
    """A log record. Raises WireError."""
    known: Known = {}
    attributes: list[bytes] = []
    for number, _, value in fields(data):
        if number == 6 and isinstance(value, bytes):
            attributes.append(value)
        else:
            known[number] = value
    time = _time(known.get(1))
    body = known.get(5)
    return RawLog(
        _hex(known.get(9), 16),
        _hex(known.get(10), 8),
        _string(known.get(12)) or _event_name(attributes),
        time if time is not None else _time(known.get(11)),
        _small(known.get(2)),
        to_text(any_value(body)) if isinstance(body, bytes) else None,
        to_text([Raw(pair_json(pair)) for pair in attributes]),
        _extra(_LOG_EXTRA, known.get(3), known.get(7), known.get(8)),
        context,
    )


def _inner(data: bytes, names: dict[int, str], attributes: int) -> dict[str, Any]:
    """An event or a link."""
    out: dict[str, Any] = {}
    pairs = []
    for number, _, value in fields(data):
        if number == attributes and isinstance(value, bytes):
            pairs.append(Raw(pair_json(value)))
        elif (word := names.get(number)) is not None:
            if isinstance(value, bytes):
                out[word] = value.hex() if word in ("traceId", "spanId") else text_of(value)
            else:
                out[word] = str(value) if word == "timeUnixNano" else value
    return out | ({"attributes": pairs} if pairs else {})


def _has_ids(known: Known) -> bool:
    trace_id, span_id = known.get(1), known.get(2)
    if not isinstance(trace_id, bytes) or not isinstance(span_id, bytes):
        return False
    return len(trace_id) == 16 and len(span_id) == 8


def _status(value: int | bytes | None) -> tuple[int, str]:
    code, message = 0, ""
    for number, _, inner in fields(value) if isinstance(value, bytes) else ():
        if number == 2:
            message = _string(inner)
        elif number == 3:
            code = _small(inner)
    return code, message


def _extra(names: tuple[str, ...], *values: int | bytes | None) -> str | None:
    told = {}
    for word, value in zip(names, values, strict=True):
        if value:
            told[word] = text_of(value) if isinstance(value, bytes) else value
    return to_text(told) if told else None


@lru_cache(_REMEMBERED)
def _span_extra(*values: int | bytes | None) -> str | None:
    """Trace state, flags and dropped counts: the same for nearly all spans."""
    return _extra(_SPAN_EXTRA, *values)


def _walk(data: bytes, known: Known, attributes: list[bytes], events: list[bytes], links: list[bytes]) -> bool:
    """The fields of a span that is written as the schema says, sorted; False as soon as it is not."""
    repeated = {_ATTRIBUTE: attributes.append, _SPAN_EVENT: events.append, _SPAN_LINK: links.append}
    end = len(data)
    try:
        at = _walk_head(data, known)
        while at < end:
            key = data[at]
            kind = _WALK[key]
            if kind == BYTES:
                size = data[at + 1]
                at += 2
                if size >= 0x80:
                    size, at = varint(data, at - 1)
                piece = data[at : at + size]
                at += size
                if key in repeated:
                    repeated[key](piece)
                else:
                    known[key >> 3] = piece
            elif kind == FIXED64:
                known[key >> 3] = _fixed64(data, at + 1)[0]
                at += 9
            elif kind == VARINT:
                known[key >> 3], at = varint(data, at + 1)
            elif data.startswith(_FLAGS, at):
                known[16] = _fixed32(data, at + 2)[0]
                at += 6
            else:
                return False
    except (IndexError, StructError, WireError):
        return False
    return at == end


def _walk_head(data: bytes, known: Known) -> int:
    """Ids, name, kind and times at one blow, where they come first and in order; the place behind them, else 0."""
    head = _HEAD(data)
    if head is None:
        return 0
    name = head.end()
    at = name + head[4][0]
    kind_tag, kind, start_tag, start, end_tag, end = _times(data, at)
    if kind_tag != 0x30 or kind >= 0x80 or start_tag != 0x39 or end_tag != 0x41:
        return 0
    known[1], known[2], known[5], known[6], known[7], known[8] = head[1], head[2], data[name:at], kind, start, end
    if head[3]:
        known[4] = head[3]
    return at + _times_size


def _walk_any(data: bytes, known: Known, attributes: list[bytes], events: list[bytes], links: list[bytes]) -> None:
    """The same for any span."""
    repeated = {9: attributes.append, 11: events.append, 13: links.append}
    for number, _, value in fields(data):
        if number in repeated and isinstance(value, bytes):
            repeated[number](value)
        else:
            known[number] = value


def _string(value: int | bytes | None) -> str:
    return text_of(value) if isinstance(value, bytes) else ""


def _small(value: int | bytes | None) -> int:
    return value if isinstance(value, int) and value < 100 else 0


def _time(value: int | bytes | None) -> int | None:
    return value if isinstance(value, int) and 0 < value <= _INT64_MAX else None


def _hex(value: int | bytes | None, size: int) -> str | None:
    return value.hex() if isinstance(value, bytes) and len(value) == size and any(value) else None


def _event_name(attributes: list[bytes]) -> str:
    for data in attributes:
        if not data.startswith(_EVENT_NAME):
            continue
        for number, _, value in fields(data):
            if number == 2 and isinstance(value, bytes):
                name = any_value(value).get("stringValue")
                return name if isinstance(name, str) else ""
    return ""
