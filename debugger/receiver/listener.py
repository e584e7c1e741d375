"""A running receiver: doors, spool, ingest, and how they start and stop together."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..analysis.text import plural
from ..errors import NoGrpcError, ReceiverError
from .guard import Guard
from .http import HttpApp
from .http_server import GRACE_S, HttpServer, bind
from .ingest import Ingest
from .intake import Intake
from .spool import Adopted, Spool, adopt
from .status import Rate, State, Status

_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a receiver does."""

    library: Path
    """Folder of the library."""
    spool: Path
    """Its folder for the spool."""
    guard: Guard
    host: str = "127.0.0.1"
    http_port: int = 4318
    """0 for any."""
    grpc_port: int | None = 4317
    """None for no gRPC."""
    needs_grpc: bool = False
    """Whether a missing package is an error."""
    origins: frozenset[str] = field(default_factory=frozenset)


class Listener:
    """One receiver, for one run.

    Args:
        options: what it does.
        on_status: called in the loop at the start, about twice a second while something changes, and at the end.
    """

    def __init__(self, options: Options, on_status: Callable[[Status], None]) -> None:
        self._options = options
        self._on_status = on_status
        self._stop = asyncio.Event()
        self._state: State = "starting"
        self._rate = Rate()
        self._problem = ""
        self._note = ""
        self._http: str | None = None
        self._grpc: str | None = None
        self._intake: Intake | None = None
        self._ingest: Ingest | None = None

    def stop(self) -> None:
        """Take nothing new, finish what is here, and end. Asked again, it ends at once."""
        if self._stop.is_set():
            if self._ingest is not None:
                self._ingest.kill()
            # What was acknowledged is in the spool, and taken at the next start.
            os._exit(130)
        self._stop.set()

    async def run(self) -> None:
        """Receive until stopped.

        Raises: ReceiverError: it cannot be started, or its server failed.
        """
        options = self._options
        sockets = bind(options.host, options.http_port)
        try:
            adopted = adopt(options.spool)
            spool = Spool(options.spool)
        except OSError as fault:
            for door in sockets:
                door.close()
            raise ReceiverError(f"{options.spool}: the spool cannot be used ({fault.strerror or fault})") from fault
        self._note = _adopted_note(adopted)
        ingest = self._ingest = Ingest(
            options.library, lambda: asyncio.wrap_future(spool.close_files()), self._say_problem
        )
        intake = self._intake = Intake(spool, ingest.wake)
        self._http = _name(sockets[0])
        try:
            await ingest.start()  # before gRPC, which minds new processes
            grpc_stop = await self._open_grpc(intake)
            server = HttpServer(HttpApp(intake, options.guard), sockets)
            await self._serve(server, ingest, grpc_stop)
        finally:
            await asyncio.to_thread(spool.stop)
            await ingest.end()
            for door in sockets:
                door.close()
        self._show("stopped")

    async def _serve(self, server: HttpServer, ingest: Ingest, grpc_stop: Callable[[], Awaitable[None]]) -> None:
        serving = asyncio.create_task(server.run())
        taking = asyncio.create_task(ingest.run())
        showing = asyncio.create_task(self._keep_showing())
        self._show("listening")
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        self._show("stopping")
        server.stop()
        await asyncio.gather(serving, grpc_stop())
        ingest.finish()
        await taking
        for task in (showing, stopped):
            task.cancel()

    async def _open_grpc(self, intake: Intake) -> Callable[[], Awaitable[None]]:
        """Open the door for gRPC; what closes it again."""
        options = self._options

        async def nothing() -> None:
            return

        if options.grpc_port is None:
            return nothing
        try:
            from .grpc_server import GrpcServer
        except NoGrpcError as missing:
            if options.needs_grpc:
                raise
            self._note = "; ".join(filter(None, (self._note, f"no gRPC: {missing} ({missing.hint})")))
            return nothing
        door = GrpcServer(intake, options.guard)
        port = await door.start(options.host, options.grpc_port)
        self._grpc = f"{options.host}:{port}"
        return partial(door.stop, GRACE_S)

    def _say_problem(self, problem: str) -> None:
        self._problem = problem

    async def _keep_showing(self) -> None:
        last: Status | None = None
        while True:
            await asyncio.sleep(_LOOK_S)
            now = self.status()
            if now != last:
                last = now
                self._on_status(now)

    def _show(self, state: State) -> None:
        self._state = state
        self._on_status(self.status())

    def status(self) -> Status:
        """As it is now."""
        counts: dict[str, Any] = {}
        problem = self._problem
        if self._intake is not None:
            had = self._intake.counts
            names = ("requests", "spans", "logs", "rejected", "refused", "bytes")
            counts = {name: getattr(had, name) for name in names}
            problem = problem or had.problem
        return Status(
            state=self._state,
            http=self._http,
            grpc=self._grpc,
            library=str(self._options.library),
            in_library=0 if self._ingest is None else self._ingest.taken,
            set_aside=0 if self._ingest is None else self._ingest.set_aside,
            last_set_aside="" if self._ingest is None else self._ingest.last_set_aside,
            spans_per_second=self._rate.at(time.monotonic(), counts.get("spans", 0)),
            problem=problem,
            note=self._note,
            **counts,
        )


def _name(door: socket.socket) -> str:
    host, port = door.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _adopted_note(adopted: Adopted) -> str:
    if not adopted.files:
        return ""
    files = f"{plural(adopted.files, 'spool file')} of a receiver that was killed"
    torn = (
        f", without {plural(adopted.torn_bytes, 'byte')} that were not whole and not acknowledged"
        if adopted.torn_bytes
        else ""
    )
    return f"taken over: {files}{torn}"
