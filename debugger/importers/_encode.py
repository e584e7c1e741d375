"""Plain values -> the OTLP/JSON texts that the store keeps, for formats that are not OTLP/JSON themselves."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_MAX_DEPTH: Final = 100
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_LONE: Final = re.compile("[\ud800-\udfff]")


def to_text(value: Any) -> str:
    """JSON text of a value whose texts are Unicode."""
    return msgspec.json.encode(value).decode()


def any_value_of(value: Any, depth: int = 0) -> dict[str, Any]:
    """A plain value as an AnyValue object; None is the empty one."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"stringValue": unicode_text(value)}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if _INT_MIN <= value <= _INT_MAX else {"doubleValue": float_of(value)}
    if isinstance(value, float):
        return {"doubleValue": float_of(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if depth > _MAX_DEPTH:
        return {"stringValue": "[nested too deeply]"}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": pairs_of(value, depth + 1)}}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [any_value_of(item, depth + 1) for item in value]}}
    return {"stringValue": unicode_text(str(value))}


def float_of(value: float) -> float | str:
    """A number, or the text by which OTLP/JSON writes what JSON has no number for."""
    try:
        value = float(value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def pairs_of(values: Mapping[Any, Any], depth: int = 0) -> list[dict[str, Any]]:
    """A mapping as a list of key-value pairs."""
    return [{"key": unicode_text(str(key)), "value": any_value_of(item, depth)} for key, item in values.items()]


def attributes_text(values: Mapping[Any, Any]) -> str:
    """A mapping as the OTLP/JSON text of attributes."""
    return to_text(pairs_of(values))


def unicode_text(value: str) -> str:
    """The text with lone surrogates replaced."""
    return value if value.isascii() else _LONE.sub("\ufffd", value)
