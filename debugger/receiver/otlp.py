"""The words of OTLP: signals, encodings, and what a receiver answers. Source: OTLP specification 1.x."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal, TypeAlias

Signal: TypeAlias = Literal["traces", "logs", "metrics"]
Encoding: TypeAlias = Literal["protobuf", "json"]

PATHS: Final[Mapping[str, Signal]] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
SERVICES: Final[Mapping[str, Signal]] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}
CONTENT_TYPES: Final[Mapping[Encoding, str]] = {"protobuf": "application/x-protobuf", "json": "application/json"}
_REJECTED: Final[Mapping[Signal, str]] = {
    "traces": "rejectedSpans",
    "logs": "rejectedLogRecords",
    "metrics": "rejectedDataPoints",
}
_RETRY_INFO: Final = "type.googleapis.com/google.rpc.RetryInfo"


class Code(IntEnum):
    """gRPC status codes that are used here; they also stand in the bodies of errors over HTTP."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A request whose good part is durable."""

    rejected: int = 0
    """Records that are not kept."""
    message: str = ""
    """Why, where something was rejected."""

    def body(self, signal: Signal, encoding: Encoding) -> bytes:
        """The answer's body: empty success, or a partial one."""
        if encoding == "json":
            said: dict[str, str] = {}
            if self.rejected:
                said[_REJECTED[signal]] = str(self.rejected)  # an int64 is a text in JSON
            if self.message:
                said["errorMessage"] = self.message
            return json.dumps({"partialSuccess": said} if said else {}).encode()
        inner = _number(1, self.rejected) + _block(2, self.message.encode())
        return _block(1, inner)


class Refused(Exception):
    """A request of which nothing is kept.

    Args:
        status: of HTTP.
        code: of gRPC, also in the body.
        message: one sentence for the sender's log.
        retry_after_s: when to try again; None where trying again is of no use.
        headers: more headers for the answer over HTTP.
    """

    def __init__(
        self,
        status: int,
        code: Code,
        message: str,
        *,
        retry_after_s: int | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s
        self.headers = headers if retry_after_s is None else (*headers, ("retry-after", str(retry_after_s)))

    def body(self, encoding: Encoding) -> bytes:
        """A ``google.rpc.Status``."""
        if encoding == "json":
            return json.dumps({"code": int(self.code), "message": self.message}).encode()
        out = _number(1, self.code) + _block(2, self.message.encode())
        if self.retry_after_s is not None:
            delay = _block(1, _number(1, self.retry_after_s))
            out += _block(3, _block(1, _RETRY_INFO.encode()) + _block(2, delay))
        return out


def malformed(why: str) -> Refused:
    """The answer to what is no request."""
    return Refused(400, Code.INVALID_ARGUMENT, why)


def overloaded(why: str, retry_after_s: int = 1) -> Refused:
    """The answer where a later attempt may succeed."""
    return Refused(503, Code.UNAVAILABLE, why, retry_after_s=retry_after_s)


def too_large(limit: int) -> Refused:
    """The answer to a request beyond the limit, packed or unpacked."""
    return Refused(
        413, Code.INVALID_ARGUMENT, f"the request is larger than {limit >> 20} MiB; send fewer spans at a time"
    )


def _number(field: int, value: int) -> bytes:
    return bytes((field << 3,)) + _varint(value) if value else b""


def _block(field: int, value: bytes) -> bytes:
    return bytes((field << 3 | 2,)) + _varint(len(value)) + value if value else b""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
