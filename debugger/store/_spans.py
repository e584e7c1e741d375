"""Stored rows <-> whole spans, and the merging of several versions of a span."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import msgspec

from runtime.trace import Span

from ..importers import earlier_values, key_values, load_text, span_events, span_links

BODY_COLUMNS: Final = 17
"""Of ``span_bodies``."""
_KNOWN: Final = 64
_Texts: TypeAlias = tuple[str | None, ...]


class KnownContexts:
    """The texts of some contexts by number. A number means the same for ever, in the segments of a library as well."""

    def __init__(self) -> None:
        self._known: dict[int, _Texts] = {}

    def of(self, context_id: int, ask: Callable[[], list[_Texts]]) -> _Texts:
        """The texts of a context; none where it is not there: a library has just given it another number."""
        known = self._known.get(context_id)
        if known is None:
            if not (found := ask()):
                return ()
            if len(self._known) >= _KNOWN:
                self._known.clear()
            known = self._known[context_id] = found[0]
        return known


class SpanReader:
    """Rows of ``span_bodies`` as whole spans. Neighbours have the same resource and scope, which are decoded once."""

    def __init__(self) -> None:
        self._texts: tuple[str | None, ...] = ()
        self._context: tuple[dict[str, Any], str, str, dict[str, Any]] = ({}, "", "", {})

    def read(self, row: Sequence[Any]) -> Span:
        """The span of a row."""
        (_, trace_id, span_id, parent, name, kind, start, end, status, message) = row[:10]
        attributes, events, links, extra, *texts = row[10:]
        if self._texts != (*texts,):
            self._texts, self._context = (*texts,), _context(*texts)
        resource, scope_name, scope_version, context_extra = self._context
        pairs = load_text(attributes)
        values = key_values(pairs)
        is_each_once = isinstance(pairs, list) and len(pairs) == len(values)
        return Span(
            trace_id=trace_id,
            span_id=span_id,
            parent_span_id=parent,
            name=name,
            kind=kind,
            start_unix_nano=start,
            end_unix_nano=end,
            status_code=status,
            status_message=message,
            attributes=values,
            repeated=() if is_each_once else earlier_values(pairs),
            events=span_events(load_text(events)),
            links=span_links(load_text(links)),
            resource=resource,
            scope_name=scope_name,
            scope_version=scope_version,
            extra=_object(extra) | context_extra,
        )


def _context(
    resource: str | None, scope: str | None, extra: str | None
) -> tuple[dict[str, Any], str, str, dict[str, Any]]:
    fields, named = load_text(resource), load_text(scope)
    attributes = key_values(fields.get("attributes")) if isinstance(fields, dict) else {}
    more = _object(extra) | _rest(fields, "resource") | _rest(named, "scope")
    return attributes, text_field(named, "name"), text_field(named, "version"), more


def span_from_row(row: Sequence[Any]) -> Span:
    """A row of ``span_bodies`` as a whole span."""
    return SpanReader().read(row)


_PLACED: Final = {"resource": frozenset(("attributes",)), "scope": frozenset(("name", "version", "attributes"))}


def _rest(fields: object, of: str) -> dict[str, Any]:
    """What a resource or scope holds beside what has a place in a span, under names that say where it is from."""
    if not isinstance(fields, dict):
        return {}
    rest = {key: value for key, value in fields.items() if key not in _PLACED[of] and value not in ("", 0, None, [])}
    if of == "scope" and (attributes := key_values(fields.get("attributes"))):
        rest["attributes"] = attributes
    return {f"{of}{key[:1].upper()}{key[1:]}": value for key, value in rest.items()}


def _object(text: str | None) -> dict[str, Any]:
    value = load_text(text)
    return value if isinstance(value, dict) else {}


def text_field(fields: object, key: str) -> str:
    """A text of an object; empty where it is absent or no text."""
    value = fields.get(key) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else ""


def identity(span: Span) -> str:
    """A text that two versions of a span share when they say the same, however their files wrote it down."""
    # repr, because NaN is not equal to itself.
    fields = [getattr(span, name) for name in span.__slots__ if name not in ("attributes", "resource", "extra")]
    ordered = [sorted(mapping.items()) for mapping in (span.attributes, span.resource)]
    return repr((fields, ordered))


def is_printed(span: Span, whole: Span) -> bool:
    """Whether a span is another one as a console exporter prints it: without its scope, times to the microsecond.

    Its times are rounded, so they may lie up to a microsecond on either side.
    """
    if span.scope_name or not whole.scope_name:
        return False
    times, known = _times(span), _times(whole)
    if any(time is not None and time % 1000 for time in times) or len(times) != len(known):
        return False
    near = all(
        (a is None) == (b is None) and abs((a or 0) - (b or 0)) <= 1000 for a, b in zip(times, known, strict=True)
    )
    return near and identity(_timeless(span)) == identity(_timeless(whole))


def _times(span: Span) -> list[int | None]:
    return [span.start_unix_nano, span.end_unix_nano, *(event.time_unix_nano for event in span.events)]


def _timeless(span: Span) -> Span:
    events = tuple(replace(event, time_unix_nano=0, extra={}) for event in span.events)
    links = tuple(replace(link, extra={}) for link in span.links)
    bare = replace(span, scope_name="", scope_version="", events=events, links=links)
    return replace(bare, start_unix_nano=None, end_unix_nano=None)


def merge_unfinished(rows: Sequence[Sequence[Any]]) -> tuple[str, str | None]:
    """Attributes and events of several unfinished versions, in the order of input: later attributes win, events add up.

    Returns: the two texts of the merged row.
    """
    attributes: dict[str, Any] = {}
    events: dict[str, Any] = {}
    for row in sorted(rows, key=lambda row: row[0]):
        for pair in load_text(row[10]) or ():
            if isinstance(pair, dict):
                attributes[str(pair.get("key"))] = pair
        for event in load_text(row[11]) or ():
            events.setdefault(json.dumps(event, sort_keys=True), event)
    merged = msgspec.json.encode(list(attributes.values())).decode()
    return merged, msgspec.json.encode(list(events.values())).decode() if events else None
