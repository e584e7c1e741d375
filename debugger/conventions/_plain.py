"""Attribute values as JSON: what a call holds is hashed, compared and written as JSON, and not all of them are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from typing import Any, Final

from runtime.trace import Span

from ..importers import LogRecord


def plain_span(span: Span) -> Span:
    """The span with values that are JSON; the same object where they are already."""
    attributes = plain(span.attributes)
    if attributes is span.attributes and not span.events:
        return span
    events = tuple(
        event if (kept := plain(event.attributes)) is event.attributes else replace(event, attributes=kept)
        for event in span.events
    )
    if attributes is span.attributes and all(a is b for a, b in zip(events, span.events, strict=True)):
        return span
    return replace(span, attributes=attributes, events=events)


def plain_logs(logs: Sequence[LogRecord]) -> Sequence[LogRecord]:
    """The log records with values that are JSON."""
    return [replace(log, body=plain(log.body), attributes=plain(log.attributes)) for log in logs]


def plain(value: Any) -> Any:
    """The value, or where it is no JSON a copy: NaN and infinities as the words for them, bytes as hex digits.

    Not recursive deeper than the importers are, which cut what is nested too deeply.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if isfinite(value) else _word(value)
    if kind is bytes:
        return value.hex()
    if isinstance(value, Mapping):
        if _PLAIN.issuperset(map(type, value.values())):
            return value  # most attributes: nothing of them is copied to see that
        items = {key: plain(each) for key, each in value.items()}
        return value if all(items[key] is each for key, each in value.items()) else items
    if isinstance(value, list | tuple):
        kept = [plain(each) for each in value]
        return value if all(a is b for a, b in zip(kept, value, strict=True)) else kept
    return value


_PLAIN: Final = frozenset((str, int, bool, type(None)))


def _word(value: float) -> str:
    """As JSON readers that let them through write them."""
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
