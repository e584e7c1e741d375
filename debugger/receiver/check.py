"""What a request holds, by the importers that will read it from the spool: so what is said here is what will load."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw

from ..analysis.text import plural
from ..importers import WireError, is_logs, otlp_json, otlp_proto
from .otlp import Encoding, Signal, malformed, too_large

_STEP: Final = 1 << 20
_SLICE: Final = 64 << 10
"""Bytes given to zlib together: it copies what of them lies behind the end of a member."""
MOST_MEMBERS: Final = 1_000
"""Members of a gzip body; senders make one. Empty ones would cost time that no limit of bytes sees."""
_KEYS: Final = frozenset(
    ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics")
)
_METRICS_ARE_NOT_KEPT: Final = "Retrospan keeps traces and logs; metrics are not kept"
_LENGTH_BYTES: Final = 4
_object = msgspec.json.Decoder(dict[str, Raw]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A request that is worth keeping, or is empty."""

    data: bytes
    """As it goes to the spool: with its length before it, or as one line; empty where there is nothing to keep."""
    spans: int = 0
    logs: int = 0
    rejected: int = 0
    message: str = ""
    """Why records are rejected; empty where none are."""


def inflate(body: bytes, limit: int, grow: Callable[[int], None]) -> bytes:
    """The content of a gzip body.

    Args:
        body: one or more gzip members.
        limit: bytes that the content may have.
        grow: told of each step's bytes before they are kept; may raise.
    Raises: Refused: no gzip, cut off, of too many members, or beyond the limit.
    """
    out: list[bytes] = []
    size = members = at = 0
    view = memoryview(body)
    try:
        while at < len(view):
            members += 1
            if members > MOST_MEMBERS:
                raise malformed(f"the gzip data has more than {MOST_MEMBERS:,} members")
            unpack = zlib.decompressobj(wbits=31)
            while at < len(view) and not unpack.eof:
                data: memoryview | bytes = view[at : at + _SLICE]
                at += len(data)
                while data and not unpack.eof:
                    piece = unpack.decompress(data, _STEP)
                    data = unpack.unconsumed_tail
                    size += len(piece)
                    if size > limit:
                        raise too_large(limit)
                    grow(len(piece))
                    out.append(piece)
            if not unpack.eof:
                raise malformed("the gzip data ends in the middle")
            at -= len(unpack.unused_data)
    except zlib.error:
        raise malformed("the content is no gzip data, as its content encoding says") from None
    return b"".join(out)


def check(signal: Signal, encoding: Encoding, body: bytes) -> Checked:
    """Look into a request.

    Raises: Refused: it is no export request.
    Cost: decodes all of it; in a thread where it is large.
    """
    return _json(signal, body) if encoding == "json" else _protobuf(signal, body)


def _protobuf(signal: Signal, body: bytes) -> Checked:
    if signal == "metrics":
        try:
            return Checked(data=b"", rejected=otlp_proto.data_points(body), message=_METRICS_ARE_NOT_KEPT)
        except WireError as fault:
            raise malformed(f"no OTLP protobuf: {fault}") from None
    try:
        found = otlp_proto.survey(body)
    except WireError as fault:
        raise malformed(f"no OTLP protobuf: {fault}") from None
    return _checked(len(body).to_bytes(_LENGTH_BYTES, "big") + body, found.spans, found.logs, found.lost)


def _json(signal: Signal, body: bytes) -> Checked:
    # Line feeds in JSON stand between its tokens only; in the spool a request is one line.
    line = body.removeprefix(b"\xef\xbb\xbf").translate(_ONE_LINE).strip()
    try:
        keys = _object(line).keys()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        keys = None
    if signal == "metrics":
        return Checked(data=b"", rejected=_json_points(line), message=_METRICS_ARE_NOT_KEPT)
    if keys is not None and not keys:
        return Checked(data=b"")
    lost: list[str] = []
    spans = logs = 0
    for batch in otlp_json.read([line], lambda _, reason, skipped: lost.append(reason) if skipped else None):
        if is_logs(batch):
            logs += len(batch)
        else:
            spans += len(batch)
    if not spans and not logs and not (keys and keys & _KEYS):
        raise malformed("no OTLP/JSON export request" if keys else "the body is not JSON")
    return _checked(line + b"\n", spans, logs, lost)


_ONE_LINE: Final = bytes(32 if byte in b"\r\n" else byte for byte in range(256))


def _checked(data: bytes, spans: int, logs: int, lost: list[str]) -> Checked:
    records = plural(spans + logs + len(lost), "record")
    message = f"{len(lost)} of {records} cannot be read: {lost[0]}" if lost else ""
    return Checked(
        data=data if spans or logs else b"", spans=spans, logs=logs, rejected=len(lost), message=message
    )  # fmt: skip


class _Points(msgspec.Struct):
    dataPoints: list[Raw] = []


class _Metric(msgspec.Struct):
    gauge: _Points | None = None
    sum: _Points | None = None
    histogram: _Points | None = None
    exponentialHistogram: _Points | None = None
    summary: _Points | None = None


class _ScopeMetrics(msgspec.Struct):
    metrics: list[_Metric] = []


class _ResourceMetrics(msgspec.Struct):
    scopeMetrics: list[_ScopeMetrics] = []


class _MetricsRequest(msgspec.Struct):
    resourceMetrics: list[_ResourceMetrics] = []


_metrics = msgspec.json.Decoder(_MetricsRequest).decode


def _json_points(line: bytes) -> int:
    try:
        request = _metrics(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise malformed("no OTLP/JSON export request for metrics") from None
    metrics = (m for r in request.resourceMetrics for s in r.scopeMetrics for m in s.metrics)
    kinds = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
    found: list[_Points | None] = [getattr(metric, kind) for metric in metrics for kind in kinds]
    return sum(len(points.dataPoints) for points in found if points is not None)
