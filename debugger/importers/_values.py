"""OTLP/JSON values as Python values: AnyValue, key-value lists, events, links.

Lenient by intent: what has the wrong type becomes None or is left out here, while the text it came from stays in the
store. Source: opentelemetry-proto, common/v1/common.proto, and its JSON mapping.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

import msgspec

from runtime.messages import read_json
from runtime.trace import SpanEvent, SpanLink

from ._encode import float_of
from ._records import LogRecord

_MAX_DEPTH: Final = 100
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def load_text(text: str | None) -> Any:
    """The JSON value of a stored text; None where there is none or where it is nested beyond all sense.

    NaN, infinities and numbers that overflow are the words that stand there.
    """
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        try:
            return read_json(text)
        except (ValueError, RecursionError):
            return None


def integer(value: object) -> int | None:
    """An int64 written as number or text; None for anything else, also for what does not fit."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = int(value) if len(value) < 25 else None
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and _INT_MIN <= value <= _INT_MAX:
        return value
    return None


def any_value(value: object, depth: int = 0) -> Any:
    """An AnyValue object as a Python value; ``{}`` and everything malformed is None."""
    if not isinstance(value, dict) or not value:
        return None
    if depth > _MAX_DEPTH:
        return "[nested too deeply]"
    kind, inner = next(iter(value.items()))
    if kind == "stringValue":
        return inner if isinstance(inner, str) else None
    if kind == "boolValue":
        return inner if isinstance(inner, bool) else None
    if kind == "intValue":
        return integer(inner)
    if kind == "doubleValue":
        return _double(inner)
    if kind == "arrayValue":
        items = inner.get("values") if isinstance(inner, dict) else None
        return [any_value(item, depth + 1) for item in items] if isinstance(items, list) else []
    if kind == "kvlistValue":
        return key_values(inner.get("values") if isinstance(inner, dict) else None, depth + 1)
    if kind == "bytesValue":
        return _bytes(inner)
    return None


def _double(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = float_of(value)
    if isinstance(value, str):
        if value in _NOT_FINITE:
            return _NOT_FINITE[value]
        try:
            return float(value)
        except ValueError:
            return None
    return value if isinstance(value, float) else None


def _bytes(value: object) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None


def key_values(pairs: object, depth: int = 0) -> dict[str, Any]:
    """A list of key-value pairs as a dict; a repeated key keeps its last value."""
    if not isinstance(pairs, list):
        return {}
    return {
        pair["key"]: any_value(pair.get("value"), depth)
        for pair in pairs
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def earlier_values(pairs: object) -> tuple[tuple[str, Any], ...]:
    """The values that ``key_values`` leaves out, since a later pair has the same key."""
    if not isinstance(pairs, list):
        return ()
    keyed = [pair for pair in pairs if isinstance(pair, dict) and isinstance(pair.get("key"), str)]
    last = {pair["key"]: i for i, pair in enumerate(keyed)}
    if len(last) == len(keyed):
        return ()
    return tuple((pair["key"], any_value(pair.get("value"))) for i, pair in enumerate(keyed) if last[pair["key"]] != i)


_EVENT_PLACED: Final = frozenset(("name", "timeUnixNano", "attributes"))
_LINK_PLACED: Final = frozenset(("traceId", "spanId", "attributes"))


def span_events(items: object) -> tuple[SpanEvent, ...]:
    """The events of a span, in the order of the input."""
    if not isinstance(items, list):
        return ()
    return tuple(
        SpanEvent(
            name=item["name"] if isinstance(item.get("name"), str) else "",
            time_unix_nano=integer(item.get("timeUnixNano")) or 0,
            attributes=key_values(item.get("attributes")),
            extra={key: value for key, value in item.items() if key not in _EVENT_PLACED},
        )
        for item in items
        if isinstance(item, dict)
    )


def span_links(items: object) -> tuple[SpanLink, ...]:
    """The links of a span."""
    if not isinstance(items, list):
        return ()
    return tuple(
        SpanLink(
            trace_id=str(item.get("traceId", "")),
            span_id=str(item.get("spanId", "")),
            attributes=key_values(item.get("attributes")),
            extra={key: value for key, value in item.items() if key not in _LINK_PLACED and value not in ("", 0)},
        )
        for item in items
        if isinstance(item, dict)
    )


def log_record(
    event_name: str, time: int | None, severity: int, body: str | None, attributes: str, scope_name: str
) -> LogRecord:
    """A log record from its stored texts."""
    return LogRecord(
        event_name=event_name,
        time_unix_nano=time,
        severity=severity,
        body=any_value(load_text(body)),
        attributes=key_values(load_text(attributes)),
        scope_name=scope_name,
    )
