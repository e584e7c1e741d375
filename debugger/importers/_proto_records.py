"""The messages of OTLP protobuf but for spans: resources, scopes, events, links and log records, from their bytes.

Source: opentelemetry-proto, common, resource, trace and logs.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from ._encode import to_text
from ._proto_values import any_value, pair_json, text_of
from ._records import Context, RawLog
from ._times import LAST_NANO
from ._wire import BYTES, fields

_LOG_EXTRA: Final = ("severityText", "droppedAttributesCount", "flags")
_EVENT_NAME: Final = b"\x0a\x0aevent.name"


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


def log(data: bytes, context: Context) -> RawLog:
    """A log record. Raises WireError."""
    known: dict[int, int | bytes] = {}
    attributes: list[bytes] = []
    for number, _, value in fields(data):
        if number == 6 and isinstance(value, bytes):
            attributes.append(value)
        else:
            known[number] = value
    time = time_of(known.get(1))
    body = known.get(5)
    return RawLog(
        _hex(known.get(9), 16),
        _hex(known.get(10), 8),
        string(known.get(12)) or _event_name(attributes),
        time if time is not None else time_of(known.get(11)),
        small(known.get(2)),
        to_text(any_value(body)) if isinstance(body, bytes) else None,
        to_text([Raw(pair_json(pair)) for pair in attributes]),
        extra_text(_LOG_EXTRA, known.get(3), known.get(7), known.get(8)),
        context,
    )


def holding(data: bytes, names: dict[int, str], attributes: int) -> dict[str, Any]:
    """An event or a link, as an object. Raises WireError."""
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


def extra_text(names: tuple[str, ...], *values: int | bytes | None) -> str | None:
    """What says something of values that have no place of their own, as the text of an object."""
    told = {}
    for word, value in zip(names, values, strict=True):
        if value:
            told[word] = text_of(value) if isinstance(value, bytes) else value
    return to_text(told) if told else None


def string(value: int | bytes | None) -> str:
    """A field that is text; empty where it is none."""
    return text_of(value) if isinstance(value, bytes) else ""


def small(value: int | bytes | None) -> int:
    """A field that is one of few numbers; 0 where it is none of them."""
    return value if isinstance(value, int) and value < 100 else 0


def time_of(value: int | bytes | None) -> int | None:
    """A field that is a time; None where it is none."""
    return value if isinstance(value, int) and 0 < value <= LAST_NANO else None


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
