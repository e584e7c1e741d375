"""Conventions: one module per family of attribute names, from spans to calls.

A convention is a module with the members of ``Convention``; adding one is adding a file and a line in ``CONVENTIONS``.
Several may apply to one span: the first in the table wins. A foreign name is translated here and nowhere else.
"""

from __future__ import annotations

from typing import Final

from runtime.messages import Call, ErrorInfo
from runtime.trace import Span

from . import genai, rejelly, retrospan
from ._base import Convention
from ._view import Promoted, ScalarReader, View, text

CONVENTIONS: Final[tuple[Convention, ...]] = (retrospan, rejelly, genai)
"""In the order in which they are asked: our own spans also carry GenAI attributes, so they come first."""

PROMOTED_KEYS: Final = frozenset().union(*(convention.keys for convention in CONVENTIONS)) | {"error.type"}
"""All attributes that any convention looks at while a span is loaded."""

VERSION: Final = ",".join(f"{convention.name}:{convention.version}" for convention in CONVENTIONS)
"""Changes when any convention would read a span in another way."""


def _convention_of(view: View) -> Convention | None:
    for convention in CONVENTIONS:  # a plain loop: this runs once per span of a load
        if convention.recognises(view):
            return convention
    return None


def promote(view: View) -> Promoted:
    """The narrow facts of a span, for the store's columns."""
    convention = _convention_of(view)
    return (
        Promoted(error_type=text(view.attributes.get("error.type"))) if convention is None else convention.promote(view)
    )


def call_of(span: Span) -> Call:
    """The call that a span is; kind ``other`` and no convention where none recognises it."""
    convention = _convention_of(View.of(span))
    if convention is not None:
        return convention.call(span)
    return Call(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        kind="other",
        name=span.name,
        start_unix_nano=span.start_unix_nano,
        end_unix_nano=span.end_unix_nano,
        error=_error_of(span),
    )


def _error_of(span: Span) -> ErrorInfo | None:
    """The error by what every OpenTelemetry span has: status, ``error.type``, an exception event."""
    kind = text(span.attributes.get("error.type"))
    if span.status_code != 2 and kind is None:
        return None
    exception = next((e.attributes for e in reversed(span.events) if e.name == "exception"), {})
    named = kind or text(exception.get("exception.type")) or "error"
    return ErrorInfo(named, span.status_message or text(exception.get("exception.message")) or "")


__all__ = [
    "CONVENTIONS",
    "PROMOTED_KEYS",
    "VERSION",
    "Convention",
    "Promoted",
    "ScalarReader",
    "View",
    "call_of",
    "promote",
]
