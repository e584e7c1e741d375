"""Attributes and values of OTLP protobuf as OTLP/JSON text.

Nearly all attributes are a key and a text, or short and seen before: both are told by their bytes and never taken
apart. Whatever is written in another way goes field by field, with the same result.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from struct import Struct
from typing import Any, Final

import msgspec

from ._encode import float_of
from ._wire import FIXED64, VARINT, fields, signed

_MAX_DEPTH: Final = 100
_SHORT: Final = 96
"""Bytes up to which an attribute is remembered: the name of a model comes again and again, a prompt hardly."""
_REMEMBERED: Final = 8192
_double = Struct("<d").unpack
_quad = Struct("<Q").pack
_encode = msgspec.json.Encoder().encode


def pair_json(data: bytes) -> bytes:
    """A ``KeyValue`` message as JSON. Raises WireError."""
    return _short_pair(data) if len(data) <= _SHORT else _pair_json(data)


def check_pair(data: bytes) -> None:
    """Find out whether ``pair_json`` gives something, without making what is long. Raises WireError."""
    if len(data) <= _SHORT:
        _short_pair(data)
    elif not _text_at(data):
        _pair(data)


def _pair_json(data: bytes) -> bytes:
    at = _text_at(data)
    if at:
        try:
            return _head(data[2 : 2 + data[1]]) + _encode(data[at:].decode()) + b"}}"
        except UnicodeDecodeError:
            pass
    return _encode(_pair(data))


_short_pair = lru_cache(_REMEMBERED)(_pair_json)


def _text_at(data: bytes) -> int:
    """Where the text of a key and a text begins, if they are written in the shortest way; else 0."""
    if len(data) < 2 or data[0] != 0x0A or data[1] >= 0x80:
        return 0
    key_end = 2 + data[1]
    frame = _frame(len(data) - key_end)
    return key_end + len(frame) if frame and data.startswith(frame, key_end) else 0


@lru_cache(1 << 16)
def _frame(size: int) -> bytes:
    """What stands before a text that ends a value of this size, tags and lengths included; nothing if none can."""
    for width in range(1, 6):  # of the text's own length
        for outer in (width, width + 1):  # of the length around both
            text = size - 2 - width - outer
            if text < 0:
                continue
            frame = b"\x12" + _varint(1 + width + text) + b"\x0a" + _varint(text)
            if len(frame) == 2 + width + outer:
                return frame
    return b""


@lru_cache(_REMEMBERED)
def _head(key: bytes) -> bytes:
    return b'{"key":' + _encode(key.decode()) + b',"value":{"stringValue":'


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text_of(value: bytes) -> str:
    """Text; what is not Unicode becomes U+FFFD."""
    return value.decode("utf-8", "replace")


def any_value(data: bytes, depth: int = 0) -> dict[str, Any]:
    """An ``AnyValue`` message as an object. Raises WireError."""
    out: dict[str, Any] = {}
    for number, kind, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            out = {"stringValue": text_of(value)}
        elif number == 2 and kind == VARINT:
            out = {"boolValue": value != 0}
        elif number == 3 and kind == VARINT and isinstance(value, int):
            out = {"intValue": str(signed(value))}
        elif number == 4 and kind == FIXED64 and isinstance(value, int):
            out = {"doubleValue": float_of(_double(_quad(value))[0])}
        elif number in (5, 6) and isinstance(value, bytes):
            if depth > _MAX_DEPTH:
                return {"stringValue": "[nested too deeply]"}
            out = _list(value, depth) if number == 5 else {"kvlistValue": {"values": _pairs(value, depth + 1)}}
        elif number == 7 and isinstance(value, bytes):
            out = {"bytesValue": base64.b64encode(value).decode()}
    return out


def _list(data: bytes, depth: int) -> dict[str, Any]:
    values = [any_value(v, depth + 1) for n, _, v in fields(data) if n == 1 and isinstance(v, bytes)]
    return {"arrayValue": {"values": values}}


def _pairs(data: bytes, depth: int) -> list[dict[str, Any]]:
    return [_pair(value, depth) for n, _, value in fields(data) if n == 1 and isinstance(value, bytes)]


def _pair(data: bytes, depth: int = 0) -> dict[str, Any]:
    key, value = "", {}
    for number, _, inner in fields(data):
        if isinstance(inner, bytes):
            if number == 1:
                key = text_of(inner)
            elif number == 2:
                value = any_value(inner, depth)
    return {"key": key, "value": value}
