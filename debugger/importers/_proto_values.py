"""Attributes and values of OTLP protobuf as OTLP/JSON text.

Nearly all attributes are a key and a text, or short and seen before: both are told by their bytes and never taken
apart. Whatever is written in another way goes field by field, with the same result.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from struct import Struct
from typing import Any, Final, TypeAlias

import msgspec

from ._encode import float_of
from ._records import Scalar
from ._values import any_value as plain_value
from ._wire import FIXED64, VARINT, fields, signed, varint

Pair: TypeAlias = tuple[str, Scalar, bytes]
"""Key, value where it is a scalar, and both as JSON."""

_MAX_DEPTH: Final = 100
SHORT: Final = 96
"""Bytes up to which an attribute is remembered: the name of a model comes again and again, a prompt hardly."""
_REMEMBERED: Final = 16_384
_LEAST: Final = 2
_KEY, _VALUE, _INT = 0x0A, 0x12, 0x18
"""The first bytes of a pair's key and value, and of a value that is a whole number."""
_INT_BEHIND_KEY: Final = 5
"""From the end of a short key to the number: the tags of key, value and number, and two lengths."""
_double = Struct("<d").unpack
_quad = Struct("<Q").pack
_encode = msgspec.json.Encoder().encode


def pair_json(data: bytes) -> bytes:
    """A ``KeyValue`` message as JSON. Raises WireError."""
    return (short_pair(data) if len(data) <= SHORT else long_pair(data, 0, len(data)))[2]


def pair_of(data: bytes) -> Pair:
    """A ``KeyValue`` message, field by field. Raises WireError."""
    pair = _pair(data)
    value = plain_value(pair["value"])
    return pair["key"], value if isinstance(value, str | int | float) else None, _encode(pair)


def long_pair(data: bytes, at: int, end: int) -> Pair:
    """The ``KeyValue`` message at a place. Raises IndexError, WireError."""
    text_at, key_end = _text_at(data, at, end)
    if text_at:
        try:
            key, head = _head(data[at + 2 : key_end])
            text = data[text_at:end].decode()
        except UnicodeDecodeError:
            pass
        else:
            return key, text, head + b'"stringValue":' + _encode(text) + b"}}"
    return pair_of(data[at:end])


def check_long_pair(data: bytes, at: int, end: int) -> None:
    """Find out whether ``long_pair`` gives something, without making it. Raises IndexError, WireError."""
    if not _text_at(data, at, end)[0]:
        _pair(data[at:end])


@lru_cache(_REMEMBERED)
def short_pair(data: bytes) -> Pair:
    """A ``KeyValue`` message of at most ``SHORT`` bytes. Raises WireError."""
    size = len(data)
    if size < _LEAST:
        return pair_of(data)
    int_at = data[1] + _INT_BEHIND_KEY
    # A key and a whole number, which is all of the value and ends with the message.
    if int_at < size and data[0] == _KEY and data[int_at - 3] == _VALUE and data[int_at - 1] == _INT:
        number, end = varint(data, int_at)
        if end == size and data[int_at - 2] == size - int_at + 1:
            try:
                key, head = _head(data[2 : int_at - 3])
            except UnicodeDecodeError:
                return pair_of(data)
            value = signed(number)
            return key, value, head + b'"intValue":"%d"}}' % value
    return long_pair(data, 0, size)


def _text_at(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the text of a key and a text begins, and where the key ends, if they are written in the shortest way."""
    if data[at] != _KEY or (size := data[at + 1]) >= 0x80:
        return 0, 0
    key_end = at + 2 + size
    frame = _frame(end - key_end)
    return (key_end + len(frame), key_end) if frame and data.startswith(frame, key_end) else (0, 0)


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
def _head(key: bytes) -> tuple[str, bytes]:
    text = key.decode()
    return text, b'{"key":' + _encode(text) + b',"value":{'


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
