"""The spans of OTLP protobuf, from their bytes, by a short way that nearly all of them can go.

Writers put fields in the order of their numbers: ids, name and times, then the attributes, then the few others. The
front is read by one pattern, attributes by their bytes (see ``_proto_values``), and what stands behind them is
remembered, since nearly all spans have the same. A span in another order goes field by field, with the same result.

Source: opentelemetry-proto, trace.
"""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple, TypeAlias

from ._encode import to_text
from ._ids import NO_PARENT
from ._proto_records import extra_text, holding, small, string, time_of
from ._proto_values import SHORT, check_long_pair, long_pair, pair_of, short_pair
from ._records import Context, RawSpan, Scalar
from ._wire import BYTES, FIXED64, VARINT, WireError, fields, varint

Value: TypeAlias = int | bytes | None

_EVENT: Final = {1: "timeUnixNano", 2: "name", 4: "droppedAttributesCount"}
_LINK: Final = {1: "traceId", 2: "spanId", 3: "traceState", 5: "droppedAttributesCount", 6: "flags"}
_EXTRA: Final = ("traceState", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount", "flags")
_ATTRIBUTE: Final = 0x4A
_BEHIND: Final = frozenset((10, 11, 12, 13, 14, 15, 16))
"""The numbers of the fields behind the attributes."""
_SHORT_TAIL: Final = 64
"""Bytes up to which what stands behind the attributes is remembered."""
_HEAD: Final = re.compile(rb"\x0a\x10(.{16})\x12\x08(.{8})(?:\x22\x08(.{8}))?\x2a([\x00-\x7f])", re.DOTALL).match
"""Trace, span and parent id, and the length of the name."""
_TIMES: Final = Struct("<BBBQBQ")
_times, _times_size = _TIMES.unpack_from, _TIMES.size
_fixed64 = Struct("<Q").unpack_from


class _Front(NamedTuple):
    """What stands before the attributes, by the names of the fields."""

    trace_id: Value = None
    span_id: Value = None
    trace_state: Value = None
    parent: Value = None
    name: Value = None
    kind: Value = None
    start: Value = None
    end: Value = None


class _Tail(NamedTuple):
    """What stands behind the attributes, as a span has it."""

    status_code: int
    status_message: str
    events: str | None
    links: str | None
    extra: str | None


def span(data: bytes, context: Context) -> RawSpan | None:
    """A span; None where its ids are none. Raises WireError."""
    try:
        front, at = _front(data)
        texts: list[bytes] = []
        values: dict[str, Scalar] = {}
        end = len(data)
        while at < end and data[at] == _ATTRIBUTE:
            size = data[at + 1]
            at += 2
            if size >= 0x80:
                size, at = varint(data, at - 1)
            stop = at + size
            if stop > end:
                raise WireError("ends in the middle")
            key, value, text = short_pair(data[at:stop]) if size <= SHORT else long_pair(data, at, stop)
            texts.append(text)
            values[key] = value
            at = stop
        tail = _tail(data[at:], front.trace_state)
    except (IndexError, StructError, WireError):
        tail = None
    return _in_any_order(data, context) if tail is None else _made(front, texts, values, tail, context)


def is_good_span(data: bytes) -> bool:
    """Whether ``span`` would give one, without making it; False also where only that can tell."""
    try:
        front, at = _front(data)
        end = len(data)
        while at < end and data[at] == _ATTRIBUTE:
            size = data[at + 1]
            at += 2
            if size >= 0x80:
                size, at = varint(data, at - 1)
            stop = at + size
            if stop > end:
                return False
            if size <= SHORT:
                short_pair(data[at:stop])
            else:
                check_long_pair(data, at, stop)
            at = stop
        return _tail(data[at:], front.trace_state) is not None and _has_ids(front)
    except (IndexError, StructError, WireError):
        return False


def _in_any_order(data: bytes, context: Context) -> RawSpan | None:
    known: dict[int, int | bytes] = {}
    repeated: dict[int, list[bytes]] = {9: [], 11: [], 13: []}
    for number, _, value in fields(data):
        if number in repeated and isinstance(value, bytes):
            repeated[number].append(value)
        else:
            known[number] = value
    front = _Front(*(known.get(number) for number in range(1, 9)))
    texts: list[bytes] = []
    values: dict[str, Scalar] = {}
    for pair in repeated[9]:
        key, value_of, text = pair_of(pair)
        texts.append(text)
        values[key] = value_of
    return _made(front, texts, values, _behind(known, repeated[11], repeated[13], front.trace_state), context)


def _made(
    front: _Front, texts: list[bytes], values: dict[str, Scalar], tail: _Tail, context: Context
) -> RawSpan | None:
    trace_id, span_id, _, parent, name, kind, start, end = front
    if not _has_ids(front):
        return None
    parent_id = parent.hex() if isinstance(parent, bytes) and len(parent) == 8 else NO_PARENT
    status_code, status_message, events, links, extra = tail
    return RawSpan(
        trace_id.hex(),  # type: ignore[union-attr]
        span_id.hex(),  # type: ignore[union-attr]
        parent_id if parent_id != NO_PARENT else None,
        string(name),
        small(kind),
        time_of(start),
        time_of(end),
        status_code,
        status_message,
        (b"[" + b",".join(texts) + b"]").decode(),
        events,
        links,
        extra,
        context,
        values,
    )


def _has_ids(front: _Front) -> bool:
    trace_id, span_id = front.trace_id, front.span_id
    if not isinstance(trace_id, bytes) or not isinstance(span_id, bytes):
        return False
    return len(trace_id) == 16 and len(span_id) == 8


def _front(data: bytes) -> tuple[_Front, int]:
    """What stands before the attributes, and where they begin. Raises IndexError, StructError, WireError."""
    head = _HEAD(data)
    if head is not None:
        trace_id, span_id, parent, size = head.groups()
        begin = head.end()
        at = begin + size[0]
        kind_tag, kind, start_tag, start, end_tag, end = _times(data, at)
        if kind_tag == 0x30 and kind < 0x80 and start_tag == 0x39 and end_tag == 0x41:
            name = data[begin:at]
            return _Front(trace_id, span_id, None, parent, name, kind, start, end), at + _times_size
    return _front_by_fields(data)


def _front_by_fields(data: bytes) -> tuple[_Front, int]:
    known: dict[int, int | bytes] = {}
    at, end = 0, len(data)
    while at < end and (key := data[at]) < _ATTRIBUTE:
        number, kind = key >> 3, key & 7
        if kind == BYTES:
            size, at = varint(data, at + 1)
            known[number] = data[at : at + size]
            at += size
        elif kind == FIXED64:
            known[number] = _fixed64(data, at + 1)[0]
            at += 9
        elif kind == VARINT:
            known[number], at = varint(data, at + 1)
        else:
            raise WireError("no field of a span")
    if at > end:
        raise WireError("ends in the middle")
    return _Front(*(known.get(number) for number in range(1, 9))), at


def _tail(data: bytes, trace_state: Value) -> _Tail | None:
    """What stands behind the attributes; None where there is something else. Raises WireError."""
    return (_remembered_tail if len(data) <= _SHORT_TAIL else _read_tail)(data, trace_state)


def _read_tail(data: bytes, trace_state: Value) -> _Tail | None:
    known: dict[int, int | bytes] = {}
    repeated: dict[int, list[bytes]] = {11: [], 13: []}
    for number, _, value in fields(data):
        if number in repeated and isinstance(value, bytes):
            repeated[number].append(value)
        elif number in _BEHIND:
            known[number] = value
        else:
            return None
    return _behind(known, repeated[11], repeated[13], trace_state)


_remembered_tail = lru_cache(1024)(_read_tail)


def _behind(known: dict[int, int | bytes], events: list[bytes], links: list[bytes], trace_state: Value) -> _Tail:
    code, message = _status(known.get(15))
    return _Tail(
        code,
        message,
        to_text([holding(event, _EVENT, 3) for event in events]) if events else None,
        to_text([holding(link, _LINK, 4) for link in links]) if links else None,
        extra_text(_EXTRA, trace_state, known.get(10), known.get(12), known.get(14), known.get(16)),
    )


def _status(value: Value) -> tuple[int, str]:
    code, message = 0, ""
    for number, _, inner in fields(value) if isinstance(value, bytes) else ():
        if number == 2:
            message = string(inner)
        elif number == 3:
            code = small(inner)
    return code, message
