"""Zipkin v2 JSON: arrays of spans whose tags are all text; times in microseconds.

Source: Zipkin API v2; OpenTelemetry specification, transformation to Zipkin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ._encode import attributes_text, pairs_of, to_text, unicode_text
from ._ids import normal_id
from ._json_stream import iter_values, objects_in
from ._records import Batch, Context, Note, RawSpan
from ._tags import padded, placed
from .jaeger_json import end_of, micros

name: Final = "Zipkin JSON"
growth: Final = "whole"

_ID: Final = re.compile(rb'"traceId"\s*:\s*"[0-9a-fA-F]{1,32}"')
_OWN: Final = re.compile(rb'"(?:localEndpoint|remoteEndpoint|annotations|parentId|duration|timestamp)"\s*:')
_NOT_OWN: Final = re.compile(rb'"(?:spanId|startTimeUnixNano|resource_?[Ss]pans)"\s*:')
_PLACED: Final = frozenset(
    ("traceId", "id", "parentId", "name", "timestamp", "duration", "kind", "annotations", "tags", "localEndpoint")
)


def sniff(head: bytes) -> bool:
    """True for spans that have their id under ``id`` and one of Zipkin's own fields."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return (
        first in (b"{", b"[")
        and _ID.search(head) is not None
        and _OWN.search(head) is not None
        and _NOT_OWN.search(head) is None
    )


def read(blocks: Iterable[bytes], note: Note) -> Iterator[Batch]:
    """The spans of a file. Never raises for what is in the blocks."""
    for line, value in iter_values(blocks, note):
        spans = []
        for item in _flattened(value, line, note):
            if (span := _span(item, line, note)) is not None:
                spans.append(span)
        yield spans


def _flattened(value: Any, line: int, note: Note) -> Iterator[dict[str, Any]]:
    """The spans of an array, or of the array of arrays that a search gives."""
    for item in value if isinstance(value, list) else [value]:
        yield from objects_in(item, line, note)


def _span(item: dict[str, Any], line: int, note: Note) -> RawSpan | None:
    ids = []
    for key, size in (("traceId", 16), ("id", 8), ("parentId", 8)):
        fixed, good = normal_id(padded(item.get(key), size * 2), size)
        if not good and fixed:
            note(line, f"{fixed[:40]!r} is no id of {size * 2} hex digits", False)
        ids.append(fixed)
    if ids[0] is None or ids[1] is None:
        note(line, "a span without ids", True)
        return None
    given = item.get("tags")
    kind = item.get("kind")
    tags = placed(given if isinstance(given, dict) else {}, kind if isinstance(kind, str) else "internal")
    start, duration = micros(item.get("timestamp"), line, note), micros(item.get("duration"), line, note)
    extra = {key: value for key, value in item.items() if key not in _PLACED and value not in (None, "", [])}
    span_name = item.get("name")
    return RawSpan(
        ids[0],
        ids[1],
        ids[2],
        span_name if isinstance(span_name, str) else "",
        tags.kind,
        start or None,
        end_of(start, duration, line, note),
        tags.status_code,
        tags.status_message,
        attributes_text(tags.attributes),
        _events(item.get("annotations"), line, note),
        None,
        to_text(extra) if extra else None,
        Context(_resource(item.get("localEndpoint")), tags.scope),
    )


def _resource(endpoint: Any) -> str:
    if not isinstance(endpoint, dict):
        return "{}"
    rest = {f"zipkin.localEndpoint.{key}": value for key, value in endpoint.items() if key != "serviceName"}
    named = {"service.name": endpoint["serviceName"]} if isinstance(endpoint.get("serviceName"), str) else {}
    return to_text({"attributes": pairs_of(named | rest)})


def _events(annotations: Any, line: int, note: Note) -> str | None:
    out = []
    for item in annotations if isinstance(annotations, list) else []:
        if isinstance(item, dict):
            event, attributes = _event(item.get("value"))
            time = micros(item.get("timestamp"), line, note) or 0
            out.append({"name": event, "timeUnixNano": str(time), "attributes": pairs_of(attributes)})
    return to_text(out) if out else None


def _event(value: Any) -> tuple[str, dict[str, Any]]:
    """An annotation's text; OpenTelemetry's exporters write ``{"name": {attributes}}`` into it."""
    text = value if isinstance(value, str) else ""
    if text.startswith("{"):
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict) and len(parsed) == 1:
            event, attributes = next(iter(parsed.items()))
            if isinstance(attributes, dict):
                return unicode_text(event), attributes
    return unicode_text(text), {}
