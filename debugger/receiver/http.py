"""OTLP over HTTP, as an ASGI application. Source: OTLP specification, OTLP/HTTP; Fetch standard, CORS."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from .coming import Coming
from .guard import Guard
from .intake import Intake, Lease
from .otlp import CONTENT_TYPES, PATHS, Code, Encoding, Refused, Signal, malformed, overloaded, too_large

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Headers: TypeAlias = tuple[tuple[str, str], ...]

SILENCE_S: Final = 15.0
"""How long a sender may pause in the middle of a body."""
WHOLE_S: Final = 60.0
"""How long a body may take."""
MAX_REQUESTS: Final = 256
_DRAIN_FACTOR: Final = 4
"""A body beyond the limit is read on, up to so many times the limit: else its sender sees a reset and no answer."""
_METHODS: Final = "POST, OPTIONS"
_PATHS_TEXT: Final = "OTLP is received at POST /v1/traces and /v1/logs"


class _GoneError(Exception):
    """The sender hung up before the request was whole."""


class HttpApp:
    """Answers requests for one receiver."""

    def __init__(self, intake: Intake, guard: Guard) -> None:
        self._intake = intake
        self._guard = guard
        self._running = 0
        self._coming = Coming()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        encoding = _encoding(headers) or "json"
        more: Headers = ()
        extra: Headers = ()
        self._running += 1
        try:
            self._guard.check_host(headers.get("host"))
            self._guard.check_origin(headers.get("origin"))
            more = _cors(headers)
            if scope["method"] == "OPTIONS":
                await _send(send, 204, b"", (("allow", _METHODS), *more, *_preflight(headers)))
                return
            if self._running > MAX_REQUESTS and not self._coming.make_room():
                raise overloaded("too many requests at this moment; try again")
            status, body = 200, await self._take(scope, headers, receive)
        except _GoneError:
            return
        except Refused as refused:
            self._intake.refused(refused)
            status, body, extra = refused.status, refused.body(encoding), refused.headers
        finally:
            self._running -= 1
        close = (("connection", "close"),) if status in (408, 413) else ()
        await _send(send, status, body, (("content-type", CONTENT_TYPES[encoding]), *extra, *more, *close))

    async def _take(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> bytes:
        signal = _signal(scope)
        self._guard.check_token(headers.get("authorization"))
        encoding = _encoding(headers)
        if encoding is None:
            wanted = " or ".join(CONTENT_TYPES.values())
            raise Refused(415, Code.INVALID_ARGUMENT, f"the content type has to be {wanted}")
        packing = headers.get("content-encoding", "identity").strip().lower()
        if packing not in ("identity", "gzip", ""):
            raise Refused(
                415,
                Code.INVALID_ARGUMENT,
                "the content encoding has to be gzip, or none",
                headers=(("accept-encoding", "gzip"),),
            )
        with self._intake.lease() as lease:
            body = await self._body(headers, receive, lease)
            accepted = await self._intake.take(signal, encoding, body, is_gzip=packing == "gzip", lease=lease)
        return accepted.body(signal, encoding)

    async def _body(self, headers: Mapping[str, str], receive: Receive, lease: Lease) -> bytes:
        """The body, within bounds of size and time. Raises Refused, _GoneError."""
        limit = self._intake.max_body
        told = headers.get("content-length", "")
        if told.isdecimal() and int(told) > limit and ("expect" in headers or int(told) > limit * _DRAIN_FACTOR):
            raise too_large(limit)
        chunks: list[bytes] = []
        size = 0
        refused: Refused | None = None
        try:
            async with self._coming.within(WHOLE_S) as patience:
                more = True
                while more:
                    message = await asyncio.wait_for(receive(), SILENCE_S)
                    if message["type"] != "http.request":
                        raise _GoneError
                    chunk, more = message.get("body", b""), message.get("more_body", False)
                    size += len(chunk)
                    if size > limit:
                        refused = too_large(limit)
                    elif refused is None:
                        try:
                            lease.grow(len(chunk))
                        except Refused as fault:
                            refused = fault
                            self._coming.make_room(patience)
                    if refused is None:
                        chunks.append(chunk)
                        continue
                    chunks.clear()
                    if size > limit * _DRAIN_FACTOR:
                        raise refused
        except TimeoutError:
            raise Refused(408, Code.INVALID_ARGUMENT, "the request did not come to its end in time") from None
        if refused is not None:
            raise refused
        return b"".join(chunks)


def _signal(scope: Scope) -> Signal:
    signal = PATHS.get(scope["path"])
    if signal is None:
        raise Refused(404, Code.NOT_FOUND, _PATHS_TEXT)
    if scope["method"] != "POST":
        raise Refused(405, Code.UNIMPLEMENTED, _PATHS_TEXT, headers=(("allow", _METHODS),))
    if scope["http_version"] == "1.1" and not any(name == b"host" for name, _ in scope["headers"]):
        raise malformed("the Host header is missing")
    return signal


def _encoding(headers: Mapping[str, str]) -> Encoding | None:
    said = headers.get("content-type", "").partition(";")[0].strip().lower()
    return next((encoding for encoding, name in CONTENT_TYPES.items() if name == said), None)


def _cors(headers: Mapping[str, str]) -> Headers:
    """The page may read the answer; only for origins that passed the guard."""
    origin = headers.get("origin")
    return (("vary", "Origin"),) if origin is None else (("access-control-allow-origin", origin), ("vary", "Origin"))


def _preflight(headers: Mapping[str, str]) -> Headers:
    """What a page that may send may send."""
    if "origin" not in headers:
        return ()
    wanted = headers.get("access-control-request-headers", "")
    names = [name.strip() for name in wanted.split(",") if name.strip().replace("-", "").replace("_", "").isalnum()]
    out: Headers = (
        ("access-control-allow-methods", _METHODS),
        ("access-control-allow-headers", ", ".join(names) or "content-type, content-encoding, authorization"),
        ("access-control-max-age", "600"),
    )
    if headers.get("access-control-request-private-network") == "true":
        out += (("access-control-allow-private-network", "true"),)
    return out


async def _send(send: Send, status: int, body: bytes, headers: Headers) -> None:
    told = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    if status != 204:
        told.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
