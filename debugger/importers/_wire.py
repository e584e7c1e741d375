"""The protobuf wire format, read field by field. Source: protobuf, encoding."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, TypeAlias

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MAX_VARINT: Final = 10
_fixed64 = Struct("<Q").unpack_from
_fixed32 = Struct("<I").unpack_from

Field: TypeAlias = tuple[int, int, int | bytes]
"""Number, wire type, value: a whole number, or the bytes of text, bytes or an inner message."""


class WireError(ValueError):
    """The bytes are no message, or end in the middle of one."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and the place behind it.

    Raises: WireError: it does not end.
    """
    result = shift = 0
    for place in range(at, min(at + _MAX_VARINT, len(data))):
        byte = data[place]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, place + 1
        shift += 7
    raise WireError("a number does not end")


def fields(data: bytes, *, cut: bool = False) -> Iterator[Field]:
    """The fields of a message, in the order of the bytes.

    Args: cut: of an inner message that ends too early, give what is there before raising.
    Raises: WireError: after the good fields, where the bytes are no message or end too early.
    """
    at, end = 0, len(data)
    while at < end:
        key = data[at]
        at += 1
        if key >= 0x80:
            key, at = varint(data, at - 1)
        number, kind = key >> 3, key & 7
        if kind == BYTES:
            if at >= end:
                raise WireError("ends in the middle")
            size = data[at]
            at += 1
            if size >= 0x80:
                size, at = varint(data, at - 1)
            if at + size > end:
                if cut:
                    yield number, kind, data[at:]
                raise WireError("ends in the middle")
            yield number, kind, data[at : at + size]
            at += size
        elif kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value
        elif kind in (FIXED64, FIXED32):
            width = 8 if kind == FIXED64 else 4
            if at + width > end:
                raise WireError("ends in the middle")
            yield number, kind, (_fixed64 if kind == FIXED64 else _fixed32)(data, at)[0]
            at += width
        else:
            raise WireError(f"a field of an unknown wire type ({kind})")


def signed(value: int) -> int:
    """A varint as an int64."""
    return value - (1 << 64) if value >= 1 << 63 else value
