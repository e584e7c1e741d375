"""Several versions of one span -> one: the ended one wins, unfinished ones add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ._span import Span, SpanEvent


@dataclass(slots=True)
class _Unfinished:
    """What the unfinished versions of a span add up to so far; linear in the number of versions."""

    first: Span
    attributes: dict[str, Any]
    events: dict[str, SpanEvent] = field(default_factory=dict)

    def add(self, span: Span) -> None:
        self.attributes |= span.attributes
        for event in span.events:
            self.events.setdefault(repr(event), event)

    def whole(self) -> Span:
        return replace(self.first, attributes=self.attributes, events=tuple(self.events.values()))


def merge_versions(spans: Iterable[Span]) -> list[Span]:
    """One span per (trace id, span id), in the order in which each was first seen.

    A file that is still being written, or whose run was killed, holds a span as it was started and again with each
    point inside it. An ended version has everything and replaces them; without one, later attributes win and span
    events accumulate. Of several ended versions the last stays.
    """
    merged: dict[tuple[str, str], Span | _Unfinished] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        known = merged.get(key)
        if span.end_unix_nano is not None:
            merged[key] = span
        elif known is None:
            merged[key] = fresh = _Unfinished(span, {})
            fresh.add(span)
        elif isinstance(known, _Unfinished):
            known.add(span)
    return [span.whole() if isinstance(span, _Unfinished) else span for span in merged.values()]
