"""What the Python SDK's console exporters print: pretty-printed spans (and log records), one object after the other.

Ids with ``0x``, times in ISO form, attributes as a plain object; the scope's name is not printed.
Source: opentelemetry-sdk, ``ReadableSpan.to_json`` and ``ReadableLogRecord.to_json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ._encode import any_value_of, attributes_text, pairs_of, to_text, unicode_text
from ._ids import normal_id
from ._json_stream import iter_values, objects_in
from ._records import Batch, Context, Note, RawLog, RawSpan
from ._times import stored_time

name: Final = "console JSON of the Python SDK"
growth: Final = "values"

_SNIFF: Final = re.compile(rb'"(?:trace|span)_id"\s*:\s*"0x[0-9a-f]')
_KINDS: Final = {
    f"SpanKind.{word}": number
    for number, word in enumerate(("INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"), 1)
}
_STATUS: Final = {"UNSET": 0, "OK": 1, "ERROR": 2}
_PLACED: Final = frozenset(
    ("name", "context", "kind", "parent_id", "start_time", "end_time", "status", "attributes", "events", "links")
) | {"resource", "instrumentation_scope", "instrumentation_info"}
_LOG_PLACED: Final = frozenset(
    ("body", "severity_number", "attributes", "timestamp", "observed_timestamp", "trace_id", "span_id", "resource")
) | {"event_name"}
_BATCH: Final = 512
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?$")


def sniff(head: bytes) -> bool:
    """True for ids as only this exporter prints them."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") and _SNIFF.search(head) is not None


def read(blocks: Iterable[bytes], note: Note) -> Iterator[Batch]:
    """The spans and log records of a file. Never raises for what is in the blocks."""
    spans: list[RawSpan] = []
    logs: list[RawLog] = []
    for line, value in iter_values(blocks, note):
        for item in objects_in(value, line, note):
            if isinstance(item.get("context"), dict):
                if (span := _span(item, line, note)) is not None:
                    spans.append(span)
            elif "severity_number" in item or "body" in item:
                logs.append(_log(item, line, note))
            else:
                note(line, "no span that a console exporter prints", True)
        if len(spans) >= _BATCH:
            yield spans
            spans = []
    yield spans
    if logs:
        yield logs


def _span(item: dict[str, Any], line: int, note: Note) -> RawSpan | None:
    context = item["context"]
    trace_id, span_id = _id(context.get("trace_id"), 16, line, note), _id(context.get("span_id"), 8, line, note)
    if trace_id is None or span_id is None:
        note(line, "a span without ids", True)
        return None
    status = item.get("status") if isinstance(item.get("status"), dict) else {}
    assert isinstance(status, dict)
    extra = {key: value for key, value in item.items() if key not in _PLACED}
    if (state := context.get("trace_state")) not in (None, "", "[]"):
        extra["traceState"] = state
    message = status.get("description")
    span_name = item.get("name")
    return RawSpan(
        trace_id,
        span_id,
        _id(item.get("parent_id"), 8, line, note),
        span_name if isinstance(span_name, str) else "",
        _KINDS.get(str(item.get("kind")), 0),
        iso_nano(item.get("start_time"), line, note),
        iso_nano(item.get("end_time"), line, note),
        _STATUS.get(str(status.get("status_code")), 0),
        message if isinstance(message, str) else "",
        attributes_text(_mapping(item.get("attributes"))),
        _events(item.get("events"), line, note),
        _links(item.get("links"), line, note),
        to_text(extra) if extra else None,
        _context(item),
    )


def _context(item: Mapping[str, Any]) -> Context:
    resource = _mapping(item.get("resource"))
    scope = _mapping(item.get("instrumentation_scope") or item.get("instrumentation_info"))
    told = {"name": scope.get("name"), "version": scope.get("version")}
    attributes = pairs_of(_mapping(resource.get("attributes")))
    return Context(
        to_text({"attributes": attributes}),
        to_text({key: unicode_text(str(value)) for key, value in told.items() if value}),
        to_text({"resourceSchemaUrl": str(resource["schema_url"])}) if resource.get("schema_url") else None,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _id(value: Any, size: int, line: int, note: Note) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    fixed, good = normal_id(value.removeprefix("0x"), size)
    if not good and fixed:
        note(line, f"{value[:40]!r} is no id of {size * 2} hex digits", False)
    return fixed


def iso_nano(value: Any, line: int, note: Note) -> int | None:
    """Nanoseconds of an ISO time; without a zone it is UTC, as the SDK prints it."""
    if value is None or value == "":
        return None
    match = _TIME.match(value) if isinstance(value, str) else None
    if match is not None:
        whole, fraction, zone = match.groups()
        try:
            moment = datetime.fromisoformat(whole + (zone or "Z"))
        except ValueError:
            moment = None
        if moment is not None:
            seconds = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
            return stored_time(seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0")), line, note)
    note(line, "a time that is no ISO time", False)
    return None


def _events(items: Any, line: int, note: Note) -> str | None:
    if not isinstance(items, list) or not items:
        return None
    out = [
        {
            "name": unicode_text(str(item.get("name", ""))),
            "timeUnixNano": str(iso_nano(item.get("timestamp"), line, note) or 0),
            "attributes": pairs_of(_mapping(item.get("attributes"))),
        }
        for item in items
        if isinstance(item, dict)
    ]
    return to_text(out)


def _links(items: Any, line: int, note: Note) -> str | None:
    if not isinstance(items, list) or not items:
        return None
    out = []
    for item in items:
        if isinstance(item, dict):
            context = _mapping(item.get("context"))
            ids = {
                "traceId": _id(context.get("trace_id"), 16, line, note) or "",
                "spanId": _id(context.get("span_id"), 8, line, note) or "",
            }
            out.append(ids | {"attributes": pairs_of(_mapping(item.get("attributes")))})
    return to_text(out)


def _log(item: dict[str, Any], line: int, note: Note) -> RawLog:
    attributes = _mapping(item.get("attributes"))
    event = item.get("event_name") or attributes.get("event.name")
    time = iso_nano(item.get("timestamp"), line, note)
    seen = iso_nano(item.get("observed_timestamp"), line, note)
    severity = item.get("severity_number")
    extra = {key: value for key, value in item.items() if key not in _LOG_PLACED and value is not None}
    trace_id, span_id = _id(item.get("trace_id"), 16, line, note), _id(item.get("span_id"), 8, line, note)
    return RawLog(
        trace_id if trace_id is None or trace_id.strip("0") else None,
        span_id if span_id is None or span_id.strip("0") else None,
        event if isinstance(event, str) else "",
        time if time is not None else seen,
        severity if type(severity) is int and 0 <= severity < 100 else 0,
        to_text(any_value_of(item.get("body"))),
        attributes_text(attributes),
        to_text(extra) if extra else None,
        _context(item),
    )
