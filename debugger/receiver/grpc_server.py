"""OTLP over gRPC. Messages are taken as bytes: the spool keeps them as they came.

Needs the extra ``grpc``. Source: OTLP specification, OTLP/gRPC.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from ..errors import NoGrpcError, PortInUseError
from .coming import Coming
from .guard import Guard
from .intake import Intake
from .otlp import SERVICES, Code, Refused, Signal, malformed, overloaded

# gRPC would print to the terminal, and get in the way of starting processes.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

try:
    import grpc
    import grpc.aio
except ImportError as missing:
    raise NoGrpcError from missing

AT_ONCE: Final = 64
"""Calls at once whose messages are read; more are told to come again, or take the place of slow ones."""
_CALLS: Final = 1000
"""Calls at once that are looked at, all in all."""
_WHOLE_S: Final = 60.0
"""How long a message may take."""
_LARGEST: Final = 8 << 20
"""Bytes of one message: twice of what receivers take by default. With the calls at once it bounds the memory, since
a message is read whole before the budget of all requests is asked: 64 messages of 32 MiB would be 2 GiB."""
_DETAILS: Final = "grpc-status-details-bin"


class GrpcServer:
    """Takes calls on one port, in the running loop."""

    def __init__(self, intake: Intake, guard: Guard) -> None:
        self._intake = intake
        self._guard = guard
        self._coming = Coming()
        self._running = 0
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", min(_LARGEST, intake.max_body)),
                # Without this a second receiver would quietly share the port.
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_permit_without_calls", 1),
            ),
            maximum_concurrent_rpcs=_CALLS,
        )
        for service, signal in SERVICES.items():
            # A stream of one message looks the same from outside, but lets the handler say when it is read.
            method = grpc.stream_unary_rpc_method_handler(self._export(signal))
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises PortInUseError."""
        bound = self._listen(host, port)
        if bound == 0:
            raise PortInUseError("gRPC", host, port)
        if host in ("127.0.0.1", "localhost"):
            self._listen("::1", bound)
        await self._server.start()
        return bound

    def _listen(self, host: str, port: int) -> int:
        name = f"[{host}]" if ":" in host and not host.startswith("[") else host
        try:
            return int(self._server.add_insecure_port(f"{name}:{port}"))
        except RuntimeError:
            return 0

    async def stop(self, grace_s: float) -> None:
        """Take no new calls; those that run may end."""
        await self._server.stop(grace_s)

    def _export(self, signal: Signal) -> Callable[[AsyncIterator[bytes], Any], Awaitable[bytes]]:
        async def export(messages: AsyncIterator[bytes], context: Any) -> bytes:
            self._running += 1
            try:
                told = {key.lower(): value for key, value in context.invocation_metadata() or ()}
                self._guard.check_token(told.get("authorization"))
                if self._running > AT_ONCE and not self._coming.make_room():
                    raise overloaded("too many calls at this moment; try again")
                request = await self._message(messages)
                with self._intake.lease() as lease:
                    lease.grow(len(request))
                    taken = await self._intake.take(signal, "protobuf", request, is_gzip=False, lease=lease)
                return taken.body(signal, "protobuf")
            except Refused as refused:
                self._intake.refused(refused)
                context.set_trailing_metadata(((_DETAILS, refused.body("protobuf")),))
                await context.abort(_STATUS[refused.code], refused.message)
                raise
            finally:
                self._running -= 1

        return export

    async def _message(self, messages: AsyncIterator[bytes]) -> bytes:
        try:
            async with self._coming.within(_WHOLE_S):
                return await anext(messages)
        except StopAsyncIteration:
            raise malformed("the call has no message") from None
        except TimeoutError:
            raise overloaded("the message did not come to its end in time") from None


_STATUS: Final = {code: status for code in Code for status in grpc.StatusCode if status.value[0] == code}
