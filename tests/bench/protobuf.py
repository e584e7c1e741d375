"""The generated spans as OTLP protobuf requests, by OpenTelemetry's own messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from .generate import lines


def _pair(into: KeyValue, pair: dict[str, Any]) -> None:
    into.key = pair["key"]
    value = pair["value"]
    if "intValue" in value:
        into.value.int_value = int(value["intValue"])
    else:
        into.value.string_value = value["stringValue"]


def _span(into: Span, span: dict[str, Any]) -> None:
    into.trace_id, into.span_id = bytes.fromhex(span["traceId"]), bytes.fromhex(span["spanId"])
    into.parent_span_id = bytes.fromhex(span["parentSpanId"])
    into.name, into.kind, into.flags = span["name"], span["kind"], span["flags"]
    into.start_time_unix_nano, into.end_time_unix_nano = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    into.status.code, into.status.message = span["status"].get("code", 0), span["status"].get("message", "")
    for pair in span["attributes"]:
        _pair(into.attributes.add(), pair)


def requests(spans: int, seed: int = 7) -> Iterator[bytes]:
    """Export requests of 100 spans, as an exporter puts them on the wire."""
    for line in lines(spans, seed):
        request = ExportTraceServiceRequest()
        for resource in json.loads(line)["resourceSpans"]:
            into = request.resource_spans.add()
            for pair in resource["resource"].get("attributes", ()):
                _pair(into.resource.attributes.add(), pair)
            for scope in resource["scopeSpans"]:
                below = into.scope_spans.add()
                below.scope.name = scope.get("scope", {}).get("name", "")
                for span in scope["spans"]:
                    _span(below.spans.add(), span)
        yield request.SerializeToString()
