"""OTLP/JSON: spans <-> export requests, one request per line.

Source: opentelemetry-proto 1.x, the JSON mapping of OTLP (ids as hex, 64-bit integers as text).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from ..messages import Json
from ._span import Span, SpanEvent, SpanLink

_AROUND = ("resource", "scope")


def encode_value(value: Json) -> dict[str, Any]:
    """A Python value as an OTLP AnyValue. None becomes the empty value."""
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            special = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
            return {"doubleValue": "NaN" if value != value else special.get(value, value)}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list() | tuple():
            return {"arrayValue": {"values": [encode_value(item) for item in value]}}
        case Mapping():
            return {"kvlistValue": {"values": encode_attributes(value)}}
    return {"stringValue": str(value)}


def encode_attributes(attributes: Mapping[str, Json]) -> list[dict[str, Any]]:
    """A mapping as an OTLP list of key and value."""
    return [{"key": key, "value": encode_value(value)} for key, value in attributes.items()]


def _float(value: float | str) -> float:
    """A number, also as text, as a float; one that is too large for that is infinite. Raises ValueError, TypeError."""
    try:
        return float(value)
    except OverflowError:  # of a whole number only: a text overflows without a word
        return inf if value > 0 else -inf  # type: ignore[operator]


def decode_value(value: Json) -> Json:
    """An OTLP AnyValue as a Python value; what is not one comes back as it is."""
    if not isinstance(value, Mapping) or not value:
        return None if isinstance(value, Mapping) else value
    kind, item = next(iter(value.items()))
    match kind:
        case "intValue" | "int_value":
            return int(item)
        case "doubleValue" | "double_value":
            return _float(item) if item is not None else None
        case "bytesValue" | "bytes_value":
            return base64.b64decode(item)
        case "arrayValue" | "array_value":
            return [decode_value(each) for each in (item or {}).get("values", [])]
        case "kvlistValue" | "kvlist_value":
            return decode_attributes((item or {}).get("values", []))
    return item


def decode_attributes(pairs: Iterable[Mapping[str, Any]]) -> dict[str, Json]:
    """An OTLP attribute list as a mapping; of a repeated key the last value stays."""
    return {str(pair["key"]): decode_value(pair.get("value")) for pair in pairs}


def encode_span(span: Span) -> dict[str, Any]:
    """The span as an OTLP/JSON object, without resource and scope."""
    out: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_span_id or "",
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_unix_nano or 0),
        "endTimeUnixNano": str(span.end_unix_nano or 0),
        "attributes": [
            *({"key": key, "value": encode_value(value)} for key, value in span.repeated),
            *encode_attributes(span.attributes),
        ],
        "status": {"code": span.status_code, "message": span.status_message} if span.status_code else {},
    }
    if span.events:
        out["events"] = [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_unix_nano),
                "attributes": encode_attributes(event.attributes),
                **event.extra,
            }
            for event in span.events
        ]
    if span.links:
        out["links"] = [
            {
                "traceId": link.trace_id,
                "spanId": link.span_id,
                "attributes": encode_attributes(link.attributes),
                **link.extra,
            }
            for link in span.links
        ]
    if span.extra:
        out |= {key: value for key, value in span.extra.items() if key not in out and not _is_around(key)}
    return out


def _is_around(key: str) -> bool:
    """Whether an extra field of a span stands at its resource or its scope."""
    return key == "schemaUrl" or any(key.startswith(of) and key[len(of) : len(of) + 1].isupper() for of in _AROUND)


def _around(span: Span, of: str) -> dict[str, Any]:
    """The extra fields of a span's resource or scope, without its schema's address."""
    found: dict[str, Any] = {}
    for key, value in span.extra.items():
        name = f"{key[len(of) : len(of) + 1].lower()}{key[len(of) + 1 :]}"
        if key.startswith(of) and _is_around(key) and name != "schemaUrl":
            found[name] = encode_attributes(value) if name == "attributes" and isinstance(value, Mapping) else value
    return found


def encode_request(spans: Iterable[Span]) -> str:
    """One export request as a line of OTLP/JSON, without the line break. All spans share the first one's resource."""
    spans = list(spans)
    first = spans[0]
    scope = {"name": first.scope_name, "version": first.scope_version, **_around(first, "scope")}
    scoped: dict[str, Any] = {"scope": scope, "spans": [encode_span(span) for span in spans]}
    resource = {"attributes": encode_attributes(first.resource), **_around(first, "resource")}
    group: dict[str, Any] = {"resource": resource, "scopeSpans": [scoped]}
    if schema := first.extra.get("schemaUrl"):
        scoped["schemaUrl"] = schema
    if schema := first.extra.get("resourceSchemaUrl"):
        group["schemaUrl"] = schema
    request = {"resourceSpans": [group]}
    return json.dumps(request, ensure_ascii=False, separators=(",", ":"))


def decode_request(request: Mapping[str, Any]) -> list[Span]:
    """The spans of one export request.

    Raises: KeyError, OverflowError, TypeError or ValueError where the object is no export request of spans.
    """
    out: list[Span] = []
    for group in request["resourceSpans"]:
        resource = decode_attributes((group.get("resource") or {}).get("attributes", []))
        for scoped in group.get("scopeSpans", []):
            scope = scoped.get("scope") or {}
            out.extend(_decode_span(data, resource, scope) for data in scoped.get("spans", []))
    return out


def _decode_span(data: Mapping[str, Any], resource: dict[str, Json], scope: Mapping[str, Any]) -> Span:
    status = data.get("status") or {}
    return Span(
        trace_id=data["traceId"],
        span_id=data["spanId"],
        parent_span_id=data.get("parentSpanId") or None,
        name=data.get("name", ""),
        kind=int(data.get("kind", 0)),
        start_unix_nano=int(data.get("startTimeUnixNano") or 0) or None,
        end_unix_nano=int(data.get("endTimeUnixNano") or 0) or None,
        status_code=int(status.get("code", 0)),
        status_message=status.get("message", ""),
        attributes=decode_attributes(data.get("attributes", [])),
        events=tuple(
            SpanEvent(
                name=event.get("name", ""),
                time_unix_nano=int(event.get("timeUnixNano") or 0),
                attributes=decode_attributes(event.get("attributes", [])),
            )
            for event in data.get("events", [])
        ),
        links=tuple(
            SpanLink(
                trace_id=link["traceId"],
                span_id=link["spanId"],
                attributes=decode_attributes(link.get("attributes", [])),
            )
            for link in data.get("links", [])
        ),
        resource=resource,
        scope_name=scope.get("name", ""),
        scope_version=scope.get("version", ""),
    )
