"""Bodies over HTTP: requests that come whole, in chunks or packed, and answers of our own."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Final

MOST_BYTES: Final = 64 << 20
"""Of a request's body, as it comes and unpacked."""

_WINDOW: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyError(Exception):
    """A body that cannot be unpacked; ``status`` is the HTTP status that says why."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"HTTP {status}")


def unpacked(body: bytes, packing: str, most: int) -> bytes:
    """The body without its packing.

    Args:
        body: as it was sent.
        packing: the content encoding.
        most: bytes that it may have: a small body may unpack to a huge one.

    Raises: BodyError: 415 another packing, 413 too large, 400 damaged.
    """
    window = _WINDOW.get(packing)
    if window is None:
        raise BodyError(415)
    unpacker = zlib.decompressobj(window)
    try:
        out = unpacker.decompress(body, most + 1)
    except zlib.error:
        raise BodyError(400) from None
    if len(out) > most:
        raise BodyError(413)
    if not unpacker.eof:
        raise BodyError(400)
    return out


class Bodies(BaseHTTPRequestHandler):
    """What of a handler reads and writes bodies."""

    def _body(self) -> bytes | None:
        """The whole body, unpacked; None, and the answer given, where it cannot be taken."""
        body = self._sent()
        packing = self.headers.get("Content-Encoding", "identity").strip().lower()
        if body is None or packing == "identity":
            return body
        try:
            return unpacked(body, packing, MOST_BYTES)
        except BodyError as fault:
            self._refuse_body(fault.status)
            return None

    def _sent(self) -> bytes | None:
        """The body as it came."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunks()
        try:
            size = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            size = -1
        if not 0 <= size <= MOST_BYTES:
            self._refuse_body(413 if size > 0 else 400)
            return None
        body = self.rfile.read(size)
        if len(body) == size:
            return body
        self.close_connection = True  # the client has gone in the middle
        return None

    def _chunks(self) -> bytes | None:
        out = bytearray()
        while True:
            try:
                size = int(self.rfile.readline(64).partition(b";")[0], 16)
            except ValueError:
                size = -1
            if not 0 <= size <= MOST_BYTES - len(out):
                self._refuse_body(400 if size < 0 else 413)
                return None
            out += self.rfile.read(size)
            self.rfile.readline(64)
            if size == 0:
                return bytes(out)

    def _refuse_body(self, status: int) -> None:
        self.close_connection = True
        whats = {413: f"is larger than {MOST_BYTES >> 20} MB", 415: "may be packed with gzip or deflate only"}
        what = whats.get(status, "cannot be read")
        error = {"message": f"retrospan: the body {what}", "type": "invalid_request_error"}
        self._send(status, "application/json", json.dumps({"error": error}).encode())

    def _send(self, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
