"""One small trace, written in each format by hand: the tests compare what the importers make of it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_760_000_000_000_000_000


@dataclass(frozen=True, kw_only=True)
class Made:
    """A span to write."""

    span_id: str
    name: str = "chat m"
    trace_id: str = TRACE
    parent: str | None = None
    start: int = START
    end: int | None = START + 5_000_000
    attributes: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    event: dict[str, Any] | None = None


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if value == value and abs(value) != float("inf") else str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    return {} if value is None else {"stringValue": value}


def pairs(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def otlp_span(made: Made) -> dict[str, Any]:
    out: dict[str, Any] = {
        "traceId": made.trace_id,
        "spanId": made.span_id,
        "name": made.name,
        "kind": 3,
        "startTimeUnixNano": str(made.start),
        "endTimeUnixNano": str(made.end or 0),
        "attributes": pairs(made.attributes),
        "status": {} if made.error is None else {"code": 2, "message": made.error},
    }
    out |= {"parentSpanId": made.parent} if made.parent else {}
    if made.event is not None:
        out["events"] = [{"name": "noted", "timeUnixNano": str(made.start), "attributes": pairs(made.event)}]
    return out


def otlp_json(spans: Sequence[Made]) -> bytes:
    resource = {"attributes": pairs({"service.name": "desk"})}
    return b"".join(
        json.dumps(
            {
                "resourceSpans": [
                    {"resource": resource, "scopeSpans": [{"scope": {"name": "made"}, "spans": [otlp_span(span)]}]}
                ]
            }
        ).encode()
        + b"\n"
        for span in spans
    )


def otlp_pretty(spans: Sequence[Made]) -> bytes:
    scoped = {"scope": {"name": "made"}, "spans": [otlp_span(span) for span in spans]}
    resource = {"attributes": pairs({"service.name": "desk"})}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}, indent=1).encode()


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def block(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def number_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def fixed(number: int, value: int) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<Q", value)


def proto_value(value: Any) -> bytes:
    if isinstance(value, bool):
        return number_field(2, value)
    if isinstance(value, int):
        return number_field(3, value)
    if isinstance(value, float):
        return _varint(4 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, list):
        return block(5, b"".join(block(1, proto_value(item)) for item in value))
    if isinstance(value, dict):
        return block(6, b"".join(block(1, proto_pair(key, item)) for key, item in value.items()))
    if isinstance(value, bytes):
        return block(7, value)
    return b"" if value is None else block(1, value.encode())


def proto_pair(key: str, value: Any) -> bytes:
    return block(1, key.encode()) + block(2, proto_value(value))


def proto_span(made: Made) -> bytes:
    out = block(1, bytes.fromhex(made.trace_id)) + block(2, bytes.fromhex(made.span_id))
    out += block(4, bytes.fromhex(made.parent)) if made.parent else b""
    out += block(5, made.name.encode()) + number_field(6, 3) + fixed(7, made.start) + fixed(8, made.end or 0)
    out += b"".join(block(9, proto_pair(key, value)) for key, value in made.attributes.items())
    if made.event is not None:
        inner = b"".join(block(3, proto_pair(key, value)) for key, value in made.event.items())
        out += block(11, fixed(1, made.start) + block(2, b"noted") + inner)
    return out + (block(15, block(2, made.error.encode()) + number_field(3, 2)) if made.error is not None else b"")


def proto_request(records: Sequence[bytes]) -> bytes:
    resource = block(1, block(1, proto_pair("service.name", "desk")))
    return block(1, resource + block(2, block(1, block(1, b"made")) + b"".join(block(2, r) for r in records)))


def otlp_proto(spans: Sequence[Made]) -> bytes:
    return b"".join(proto_request([proto_span(span)]) for span in spans)


def otlp_delimited(spans: Sequence[Made]) -> bytes:
    requests = [proto_request([proto_span(span)]) for span in spans]
    return b"".join(struct.pack(">I", len(request)) + request for request in requests)


def _iso(nano: int) -> str:
    moment = datetime.fromtimestamp(nano // 1_000_000_000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{nano % 1_000_000_000 // 1000:06d}Z"


def console(spans: Sequence[Made]) -> bytes:
    out = []
    for made in spans:
        event = {"name": "noted", "timestamp": _iso(made.start), "attributes": made.event}
        status = {"status_code": "UNSET"}
        if made.error is not None:
            status = {"status_code": "ERROR", "description": made.error}
        item = {
            "name": made.name,
            "context": {"trace_id": f"0x{made.trace_id}", "span_id": f"0x{made.span_id}", "trace_state": "[]"},
            "kind": "SpanKind.CLIENT",
            "parent_id": f"0x{made.parent}" if made.parent else None,
            "start_time": _iso(made.start),
            "end_time": None if made.end is None else _iso(made.end),
            "status": status,
            "attributes": made.attributes,
            "events": [] if made.event is None else [event],
            "links": [],
            "resource": {"attributes": {"service.name": "desk"}, "schema_url": ""},
        }
        out.append(json.dumps(item, indent=4))
    return "\n".join(out).encode() + b"\n"


def _tag(key: str, value: Any) -> dict[str, Any]:
    kind = {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")
    return {"key": key, "type": kind, "value": json.dumps(value) if isinstance(value, list | dict) else value}


def jaeger(spans: Sequence[Made]) -> bytes:
    out = []
    for made in spans:
        tags = [_tag(key, value) for key, value in made.attributes.items()]
        tags += [_tag("span.kind", "client"), _tag("otel.scope.name", "made")]
        if made.error is not None:
            tags += [_tag("error", True), _tag("otel.status_code", "ERROR")]
            tags += [_tag("otel.status_description", made.error)]
        fields = [_tag("event", "noted"), *(_tag(key, value) for key, value in (made.event or {}).items())]
        reference = {"refType": "CHILD_OF", "traceID": made.trace_id, "spanID": made.parent}
        out.append(
            {
                "traceID": made.trace_id,
                "spanID": made.span_id,
                "operationName": made.name,
                "references": [reference] if made.parent else [],
                "startTime": made.start // 1000,
                **({} if made.end is None else {"duration": (made.end - made.start) // 1000}),
                "tags": tags,
                "logs": [] if made.event is None else [{"timestamp": made.start // 1000, "fields": fields}],
                "processID": "p1",
            }
        )
    trace = {"traceID": spans[0].trace_id, "spans": out, "processes": {"p1": {"serviceName": "desk", "tags": []}}}
    return json.dumps({"data": [trace], "total": 0, "errors": None}).encode()


def zipkin(spans: Sequence[Made]) -> bytes:
    out = []
    for made in spans:
        tags = {key: value if isinstance(value, str) else json.dumps(value) for key, value in made.attributes.items()}
        tags |= {"otel.scope.name": "made"}
        if made.error is not None:
            tags |= {"error": made.error, "otel.status_code": "ERROR"}
        noted = {"timestamp": made.start // 1000, "value": json.dumps({"noted": made.event})}
        out.append(
            {
                "traceId": made.trace_id,
                "id": made.span_id,
                **({"parentId": made.parent} if made.parent else {}),
                "name": made.name,
                "kind": "CLIENT",
                "timestamp": made.start // 1000,
                **({} if made.end is None else {"duration": (made.end - made.start) // 1000}),
                "localEndpoint": {"serviceName": "desk"},
                "annotations": [] if made.event is None else [noted],
                "tags": tags,
            }
        )
    return json.dumps(out).encode()


WRITERS: dict[str, Callable[[Sequence[Made]], bytes]] = {
    "otlp_json": otlp_json,
    "otlp_pretty": otlp_pretty,
    "otlp_proto": otlp_proto,
    "otlp_delimited": otlp_delimited,
    "console": console,
    "jaeger": jaeger,
    "zipkin": zipkin,
}
