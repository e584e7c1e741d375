"""What a convention may ask of a span while it is loaded: single attributes, decoded one by one.

Loading must not decode the messages of every span. So the same questions are answered either from the raw text of the
few attributes that conventions ask for (through ``ScalarReader``) or from a whole span, and both give the same.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from runtime.messages import CallKind
from runtime.trace import Span

from ..importers import any_value, integer

Scalar: TypeAlias = str | bool | int | float | None


class View(NamedTuple):
    """What ``recognises`` and ``promote`` may look at."""

    attributes: Mapping[str, Any]
    """Decoded attributes: at least the scalar ones among ``PROMOTED_KEYS``, or all of a whole span."""
    scope_name: str
    status_code: int
    name: str = ""
    """The span's name."""

    @classmethod
    def of(cls, span: Span) -> View:
        """The view of a whole span."""
        return cls(span.attributes, span.scope_name, span.status_code, span.name)


def text(value: Any) -> str | None:
    """The value where it is text that says something."""
    return value if type(value) is str and value else None


def whole(value: Any) -> int | None:
    """The value where it is a whole number, also written as a double."""
    if value is None or type(value) is int:
        return value
    return integer(value) if type(value) is float else None


def count(value: Any) -> int | None:
    """The value where it is a whole number, also as text: Zipkin and some producers write every value as text."""
    if type(value) is str:
        return int(value) if value.isascii() and value.isdigit() and len(value) < _MAX_DIGITS else None
    return whole(value)


_MAX_DIGITS: Final = 19


class Promoted(NamedTuple):
    """What the store keeps in columns of its own; the same values as in the whole call."""

    kind: CallKind = "other"
    convention: str | None = None
    error_type: str | None = None
    agent_name: str | None = None
    provider: str | None = None
    model: str | None = None
    tool_name: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_nano_usd: int | None = None
    run_id: str | None = None
    start_seq: int | None = None
    origin_trace_id: str | None = None


class _Scalar(Struct, gc=False):
    """The scalar kinds of an AnyValue; the others stay absent."""

    stringValue: str | None = None
    intValue: int | str | None = None
    doubleValue: float | str | None = None
    boolValue: bool | None = None


class _Pair(Struct, gc=False):
    key: str
    value: Raw = Raw(b"{}")


_decode_scalar = msgspec.json.Decoder(_Scalar).decode
_decode_pairs = msgspec.json.Decoder(list[_Pair]).decode
_MEMO_BYTES: Final = 80
_MEMO_ENTRIES: Final = 20_000


class _Memo(dict[bytes, Scalar]):
    """Raw values and what they are, of the short ones: models, operations and counts repeat endlessly."""

    def __missing__(self, data: bytes) -> Scalar:
        value = _scalar(data)
        if len(data) <= _MEMO_BYTES:
            if len(self) >= _MEMO_ENTRIES:
                self.clear()
            self[data] = value
        return value


class ScalarReader:
    """Takes the attributes that somebody asks for out of the text of all.

    Args: keys: the attributes that are asked for.
    """

    def __init__(self, keys: Container[str]) -> None:
        self._keys = keys
        self._memo = _Memo()

    def read(self, attributes: str) -> dict[str, Scalar]:
        """The values by key; one that is no text, number or truth value is None.

        Raises: msgspec.DecodeError, RecursionError: the text is no list of keys and values.
        """
        keys, memo = self._keys, self._memo
        return {pair.key: memo[bytes(pair.value)] for pair in _decode_pairs(attributes) if pair.key in keys}


def _scalar(data: bytes) -> Scalar:
    try:
        value = _decode_scalar(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if value.stringValue is not None:
        return value.stringValue
    if value.intValue is not None:
        return integer(value.intValue)
    return value.boolValue if value.doubleValue is None else any_value({"doubleValue": value.doubleValue})
