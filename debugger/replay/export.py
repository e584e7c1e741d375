"""A trace as a file of its own, for keeping beside a test: one trace, its spans whole, redacted where wanted.

Log records of the trace become events of their spans, since an OTLP file of spans has no other place for them; the
conventions read both alike. What restore and replay match by (ids, content hashes, call ids) is never redacted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from runtime.messages import Json
from runtime.trace import Span, SpanEvent, encode_request

from ..importers import LogRecord
from ..whole_file import whole_file
from .redact import Redaction

_KEPT: Final = frozenset(
    (
        "retrospan.content_hash",
        "retrospan.call_id",
        "retrospan.run_id",
        "retrospan.entry_point",
        "retrospan.entry_digest",
    )
)


def export_trace(
    path: Path, spans: Sequence[Span], logs: Mapping[str, Sequence[LogRecord]], redaction: Redaction
) -> int:
    """Write the spans of a trace, one line each; how many texts were redacted.

    Raises: UnwritableError.
    """
    count = 0
    with whole_file(path) as unfinished, unfinished.open("w", encoding="utf-8", errors="replace") as file:
        for span in spans:
            events = span.events + tuple(map(_event, logs.get(span.span_id, ())))
            whole = replace(span, events=events)
            shown = redacted(whole, redaction)
            count += shown != whole
            file.write(encode_request([shown]) + "\n")
    return count


def _event(record: LogRecord) -> SpanEvent:
    body = record.body if isinstance(record.body, Mapping) else {} if record.body is None else {"body": record.body}
    attributes = {**body, **record.attributes}
    return SpanEvent(name=record.event_name, time_unix_nano=record.time_unix_nano or 0, attributes=attributes)


def redacted(span: Span, redaction: Redaction) -> Span:
    """The span with every text redacted, in JSON texts as well, but not what it is matched by."""
    if not redaction.rules:
        return span

    def attributes(given: Mapping[str, Json]) -> dict[str, Json]:
        return _attributes(given, redaction)

    return replace(
        span,
        name=redaction.text(span.name),
        status_message=redaction.text(span.status_message),
        attributes=attributes(span.attributes),
        events=tuple(
            replace(
                event,
                name=redaction.text(event.name),
                attributes=attributes(event.attributes),
                extra=attributes(event.extra),
            )
            for event in span.events
        ),
        links=tuple(
            replace(link, attributes=attributes(link.attributes), extra=attributes(link.extra)) for link in span.links
        ),
        resource=attributes(span.resource),
        scope_name=redaction.text(span.scope_name),
        extra=attributes(span.extra),
    )


def _attributes(attributes: Mapping[str, Json], redaction: Redaction) -> dict[str, Json]:
    """In their old order, which a reader may know."""
    out: dict[str, Json] = {}
    for key, value in attributes.items():
        if key in _KEPT:
            out[key] = value
        else:
            out.update(redaction.json({key: value}))
    return out
