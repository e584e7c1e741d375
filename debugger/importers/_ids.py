"""Trace and span ids: hex as OTLP/JSON demands, base64 as generic protobuf-to-JSON printers write them."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

_HEX_TRACE: Final = re.compile(r"[0-9a-f]{32}").fullmatch
_HEX_SPAN: Final = re.compile(r"[0-9a-f]{16}").fullmatch
NO_PARENT: Final = "0" * 16
"""Written by some producers for a root."""
_ODD: Final = re.compile(r"[^\x21-\x7e]")


def is_trace_id(text: str) -> bool:
    """True for 32 lower-case hex digits: the fast check of the common case."""
    return _HEX_TRACE(text) is not None


def is_span_id(text: str) -> bool:
    """True for 16 lower-case hex digits."""
    return _HEX_SPAN(text) is not None


def normal_id(text: object, size_bytes: int) -> tuple[str | None, bool]:
    """An id in lower-case hex, and whether it was well-formed.

    A text that is no id at all is kept as it is, so that its span is not lost; an empty one is None.
    """
    if not isinstance(text, str) or not text.strip():
        return None, not text
    digits = size_bytes * 2
    lower = text.lower()
    if len(text) == digits and re.fullmatch(r"[0-9a-f]+", lower):
        return lower, True
    if len(text) == -(-size_bytes // 3) * 4:
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) == size_bytes:
            return raw.hex(), True
    return _ODD.sub("?", text), False
