"""What a convention may ask of a span while it is loaded: single attributes, decoded one by one.

Loading must not decode the messages of every span. So the same questions are answered either from the raw text of the
few attributes that conventions ask for (``RawView``) or from a whole span (``SpanView``), and both give the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import Raw, Struct

from runtime.messages import CallKind
from runtime.trace import Span

from ..importers import integer


class View(Protocol):
    """One span, seen through its promoted attributes."""

    scope_name: str
    status_code: int

    def has(self, key: str) -> bool:
        """Whether the attribute is there."""

    def text(self, key: str) -> str | None:
        """The attribute where it is text."""

    def integer(self, key: str) -> int | None:
        """The attribute where it is a whole number (also written as a double)."""


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


_scalar = msgspec.json.Decoder(_Scalar).decode


class RawView:
    """Answers from raw attribute values; each is decoded when asked for."""

    __slots__ = ("_raw", "scope_name", "status_code")

    def __init__(self, raw: Mapping[str, Raw], scope_name: str, status_code: int) -> None:
        self._raw = raw
        self.scope_name = scope_name
        self.status_code = status_code

    def has(self, key: str) -> bool:
        """Whether the attribute is there."""
        return key in self._raw

    def _scalar(self, key: str) -> _Scalar | None:
        raw = self._raw.get(key)
        if raw is None:
            return None
        try:
            return _scalar(raw)
        except (msgspec.DecodeError, RecursionError):
            return None

    def text(self, key: str) -> str | None:
        """The attribute where it is text."""
        value = self._scalar(key)
        return value.stringValue if value is not None else None

    def integer(self, key: str) -> int | None:
        """The attribute where it is a whole number."""
        value = self._scalar(key)
        if value is None:
            return None
        if value.intValue is not None:
            return integer(value.intValue)
        return integer(value.doubleValue) if isinstance(value.doubleValue, float) else None


class SpanView:
    """Answers from the decoded attributes of a whole span."""

    __slots__ = ("_attributes", "scope_name", "status_code")

    def __init__(self, span: Span) -> None:
        self._attributes: Mapping[str, Any] = span.attributes
        self.scope_name = span.scope_name
        self.status_code = span.status_code

    def has(self, key: str) -> bool:
        """Whether the attribute is there."""
        return key in self._attributes

    def text(self, key: str) -> str | None:
        """The attribute where it is text."""
        value = self._attributes.get(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        """The attribute where it is a whole number."""
        value = self._attributes.get(key)
        return integer(value) if isinstance(value, int | float) else None
