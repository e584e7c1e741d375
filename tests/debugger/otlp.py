"""Small OTLP/JSON documents for the tests."""

from __future__ import annotations

import json
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
START = 1_760_000_000_000_000_000


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    def value(v: Any) -> dict[str, Any]:
        match v:
            case None:
                return {}
            case bool():
                return {"boolValue": v}
            case int():
                return {"intValue": str(v)}
            case float():
                return {"doubleValue": v}
            case list():
                return {"arrayValue": {"values": [value(item) for item in v]}}
            case dict():
                return {"kvlistValue": {"values": pairs(v)}}
        return {"stringValue": v}

    return [{"key": key, "value": value(v)} for key, v in attributes.items()]


def span(**fields: Any) -> dict[str, Any]:
    attributes = fields.pop("attributes", {})
    base = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "work",
        "kind": 1,
        "startTimeUnixNano": str(START),
        "endTimeUnixNano": str(START + 1000),
        "attributes": pairs(attributes) if isinstance(attributes, dict) else attributes,
        "status": {},
    }
    return {key: item for key, item in (base | fields).items() if item is not ...}


def request(*spans: dict[str, Any], service: str = "svc") -> dict[str, Any]:
    scoped = {"scope": {"name": "tests", "version": "1"}, "spans": list(spans)}
    resource = {"attributes": pairs({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}


def line(*spans: dict[str, Any], service: str = "svc") -> bytes:
    return json.dumps(request(*spans, service=service)).encode() + b"\n"
