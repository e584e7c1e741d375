"""Jaeger JSON: answers of the query API, and what the UI downloads; traces with their spans and processes.

Times in microseconds; kind, status and scope among the tags. Source: Jaeger, ``model/json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ._encode import attributes_text, pairs_of, to_text, unicode_text
from ._ids import normal_id
from ._json_stream import iter_values, objects_in
from ._records import Batch, Context, Note, RawSpan
from ._tags import padded, placed
from ._times import LAST_NANO, stored_time
from ._values import integer

name: Final = "Jaeger JSON"
growth: Final = "whole"

_SNIFF: Final = re.compile(rb'"traceID"\s*:')
_PLACED: Final = frozenset(
    ("traceID", "spanID", "parentSpanID", "operationName", "references", "startTime", "duration", "tags", "logs")
) | {"processID", "process"}
_MAX_MICROS: Final = LAST_NANO // 1000


def sniff(head: bytes) -> bool:
    """True for ids as only Jaeger spells them."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") and _SNIFF.search(head) is not None


def read(blocks: Iterable[bytes], note: Note) -> Iterator[Batch]:
    """The spans of a file, one list per trace. Never raises for what is in the blocks."""
    for line, value in iter_values(blocks, note):
        for item in objects_in(value, line, note):
            data = item.get("data")
            for trace in objects_in(data if isinstance(data, list | dict) else item, line, note):
                yield list(_trace(trace, line, note))


def _trace(trace: dict[str, Any], line: int, note: Note) -> Iterator[RawSpan]:
    if isinstance(trace.get("spans"), list):
        spans: Any = trace["spans"]
    elif "spanID" in trace:
        spans = [trace]
    else:
        note(line, "no trace of Jaeger", True)
        return
    processes = trace.get("processes")
    processes = processes if isinstance(processes, dict) else {}
    resources: dict[str, str] = {}
    for item in objects_in(spans, line, note):
        process_id = str(item.get("processID"))
        process = item.get("process")
        if isinstance(process, dict):
            resource = _resource(process)
        else:
            if process_id not in resources:
                resources[process_id] = _resource(processes.get(process_id))
            resource = resources[process_id]
        span = _span(item, trace.get("traceID"), resource, line, note)
        if span is not None:
            yield span


def _resource(process: Any) -> str:
    if not isinstance(process, dict):
        return "{}"
    attributes = tags_of(process.get("tags"))
    if isinstance(process.get("serviceName"), str):
        attributes = {"service.name": process["serviceName"]} | attributes
    return to_text({"attributes": pairs_of(attributes)})


def tags_of(tags: Any) -> dict[str, Any]:
    """Tags as a mapping, with their values in the type that they name."""
    out: dict[str, Any] = {}
    for tag in tags if isinstance(tags, list) else []:
        if isinstance(tag, dict) and isinstance(tag.get("key"), str):
            out[tag["key"]] = _tag_value(tag.get("type"), tag.get("value"))
    return out


def _tag_value(kind: Any, value: Any) -> Any:
    if kind == "int64" and (number := integer(value)) is not None:
        return number
    if kind == "float64" and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    if kind == "bool" and value in ("true", "false"):
        return value == "true"
    return value


def _span(item: dict[str, Any], trace_id: Any, resource: str, line: int, note: Note) -> RawSpan | None:
    own = item.get("traceID", trace_id)
    ids = [_id(own, 16, line, note), _id(item.get("spanID"), 8, line, note)]
    if ids[0] is None or ids[1] is None:
        note(line, "a span without ids", True)
        return None
    parent, links = _references(item, ids[0], line, note)
    tags = placed(tags_of(item.get("tags")))
    start, duration = micros(item.get("startTime"), line, note), micros(item.get("duration"), line, note)
    extra = {key: value for key, value in item.items() if key not in _PLACED and value not in (None, "", [])}
    span_name = item.get("operationName")
    return RawSpan(
        ids[0],
        ids[1],
        parent,
        span_name if isinstance(span_name, str) else "",
        tags.kind,
        start or None,
        end_of(start, duration, line, note),
        tags.status_code,
        tags.status_message,
        attributes_text(tags.attributes),
        _events(item.get("logs"), line, note),
        links,
        to_text(extra) if extra else None,
        Context(resource, tags.scope),
    )


def _id(value: Any, size: int, line: int, note: Note) -> str | None:
    fixed, good = normal_id(padded(value, size * 2), size)
    if not good and fixed:
        note(line, f"{fixed[:40]!r} is no id of {size * 2} hex digits", False)
    return fixed


def micros(value: Any, line: int, note: Note) -> int | None:
    """Microseconds as nanoseconds."""
    if value is None:
        return None
    number = integer(value)
    if number is None or not 0 <= number <= _MAX_MICROS:
        note(line, "a time that is no count of microseconds", False)
        return None
    return number * 1000


def end_of(start: int | None, duration: int | None, line: int, note: Note) -> int | None:
    """When a span ended, in nanoseconds; None where that is not known."""
    return None if start is None or duration is None else stored_time(start + duration, line, note)


def _references(item: dict[str, Any], trace_id: str, line: int, note: Note) -> tuple[str | None, str | None]:
    """The parent, and everything else that is referred to as links."""
    parent = _id(item.get("parentSpanID"), 8, line, note)
    links = []
    references = item.get("references")
    for reference in references if isinstance(references, list) else []:
        if not isinstance(reference, dict):
            continue
        other = _id(reference.get("traceID"), 16, line, note) or ""
        span_id = _id(reference.get("spanID"), 8, line, note)
        if parent is None and reference.get("refType") == "CHILD_OF" and other in (trace_id, ""):
            parent = span_id
        elif span_id is not None and span_id != parent:
            links.append({"traceId": other, "spanId": span_id})
    return parent, to_text(links) if links else None


def _events(logs: Any, line: int, note: Note) -> str | None:
    out = []
    for log in logs if isinstance(logs, list) else []:
        if isinstance(log, dict):
            fields = tags_of(log.get("fields"))
            event = fields.pop("event", None)
            out.append(
                {
                    "name": unicode_text(event) if isinstance(event, str) else "",
                    "timeUnixNano": str(micros(log.get("timestamp"), line, note) or 0),
                    "attributes": pairs_of(fields),
                }
            )
    return to_text(out) if out else None
