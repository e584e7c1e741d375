"""The HTTP server: uvicorn with llhttp's parser, on sockets that are bound here, patient with nobody."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Iterator
from typing import Any, Final, cast

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import PortInUseError, ReceiverError
from .http import HttpApp

_HEAD_S: Final = 10.0
"""How long a connection may be open, or a request begun, without its headers being whole."""
_HEAD_BYTES: Final = 64 << 10
_CONNECTIONS: Final = 1000
_IDLE_S: Final = 75
"""Longer than exporters pause between two exports, so that they rarely meet a connection that is just being closed."""
GRACE_S: Final = 10
"""How long requests that are being received may take when the receiver is stopped."""


class _Protocol(HttpToolsProtocol):
    """A connection whose requests have to begin in time, with headers of some sane size."""

    _timer: asyncio.TimerHandle | None = None
    _head = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
            if self._timer is None:
                self._expect_head()
        super().data_received(data)
        if self._in_head and self._head > _HEAD_BYTES:
            self._give_up()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head, self._head = True, 0

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(_HEAD_S, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()


class _Server(Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the listener's."""
        yield


class HttpServer:
    """Serves an application on bound sockets, until it is stopped."""

    def __init__(self, app: HttpApp, sockets: list[socket.socket]) -> None:
        # It has its own ideas of what to print; what users should know is in the status.
        logging.getLogger("uvicorn").propagate = False
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        config = Config(
            cast(Any, app),
            http=_Protocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = _Server(config)
        self._sockets = sockets

    async def run(self) -> None:
        """Serve until stopped; what is being received then is finished first."""
        await self._server.serve(sockets=self._sockets)

    def stop(self) -> None:
        """Take no new requests."""
        self._server.should_exit = True


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets for an address; for 127.0.0.1 also its IPv6 twin where there is one, since ``localhost`` means both.

    Args:
        host: an address, or a name.
        port: 0 for any.
    Raises: PortInUseError, ReceiverError.
    """
    first = _bound(host, port)
    if host not in ("127.0.0.1", "localhost"):
        return [first]
    try:
        return [first, _bound("::1", first.getsockname()[1])]
    except ReceiverError:
        return [first]  # there is no IPv6, or somebody else has this port of it


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
    except OSError as fault:
        raise ReceiverError(f"{host} is no address of this machine: {fault.strerror or fault}") from None
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(512)
    except OSError as fault:
        made.close()
        if fault.errno == errno.EADDRINUSE:
            raise PortInUseError("HTTP", host, port) from None
        raise ReceiverError(f"{host} port {port} cannot be opened: {(fault.strerror or str(fault)).lower()}") from None
    return made
