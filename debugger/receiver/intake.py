"""The one road of a request, whichever door it came in by: within bounds, looked into, made durable, counted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol

from .check import Checked, check, inflate
from .otlp import Accepted, Encoding, Refused, Signal, overloaded

MAX_BODY: Final = 32 << 20
"""Bytes of one request, packed or unpacked. A Collector takes 20 MiB; an SDK sends 512 spans at a time."""
IN_FLIGHT: Final = 96 << 20
"""Bytes of all requests that are received or wait for the disk; beyond it senders are told to come again."""
_AT_ONCE: Final = 1 << 14
"""Bytes up to which a request is looked into in the loop itself: a thread would cost more."""
_DISK_RETRY_S: Final = 5


class Sink(Protocol):
    """Where requests become durable."""

    def put(self, encoding: Encoding, data: bytes) -> Future[None]:
        """Take a request; the future is done when it is durable, or holds the OSError that kept it from being so."""


@dataclass(slots=True)
class Counts:
    """What happened since the start. Changed in the loop's thread only."""

    requests: int = 0
    """Acknowledged ones."""
    spans: int = 0
    logs: int = 0
    rejected: int = 0
    """Records of acknowledged requests that are not kept, with their senders told."""
    refused: int = 0
    """Requests of which nothing is kept, with their senders told."""
    bytes: int = 0
    """Written to the spool."""
    problem: str = ""
    """The last thing that the user should know of."""


class Lease:
    """Bytes that one request holds of the budget. As a context manager it gives them back.

    A request that is gone takes nothing more: what a thread still does for it ends there.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._held = 0
        self._is_over = False
        self._lock = threading.Lock()

    def grow(self, size: int) -> None:
        """Hold more. From any thread. Raises Refused where there is no room, or the request is gone."""
        with self._lock:
            if self._is_over:
                raise overloaded("the request is gone")
            self._budget.take(size)
            self._held += size

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._is_over = True
            self._budget.give_back(self._held)
            self._held = 0


class Budget:
    """Bytes in flight, over all requests."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Raises Refused where so much is not left."""
        with self._lock:
            if size <= self._left:
                self._left -= size
                return
        raise overloaded("too much is being received at this moment; try again")

    def give_back(self, size: int) -> None:
        """There is room again."""
        with self._lock:
            self._left += size


class Intake:
    """Takes requests for one receiver. Its methods belong to the loop.

    Args:
        sink: the spool.
        on_stored: called in the loop after something became durable.
        max_body: bytes of one request.
        in_flight: bytes of all requests at once.
    """

    def __init__(
        self, sink: Sink, on_stored: Callable[[], None], *, max_body: int = MAX_BODY, in_flight: int = IN_FLIGHT
    ) -> None:
        self.max_body = max_body
        self.counts = Counts()
        self._sink = sink
        self._on_stored = on_stored
        self._budget = Budget(in_flight)

    def lease(self) -> Lease:
        """Room for one request."""
        return Lease(self._budget)

    async def take(self, signal: Signal, encoding: Encoding, body: bytes, *, is_gzip: bool, lease: Lease) -> Accepted:
        """Look into a request and make it durable.

        Args:
            signal: what the sender says it sends.
            encoding: of the body.
            body: as received; its bytes are in the lease already.
            is_gzip: whether it has to be unpacked.
            lease: holds what the request takes.
        Raises: Refused: nothing of it is kept.
        """

        def look() -> Checked:
            content = inflate(body, self.max_body, lease.grow) if is_gzip else body
            return check(signal, encoding, content)

        checked = look() if len(body) <= _AT_ONCE and not is_gzip else await asyncio.to_thread(look)
        if checked.data:
            await self._store(encoding, checked.data)
        counts = self.counts
        counts.requests += 1
        counts.problem = ""
        counts.spans += checked.spans
        counts.logs += checked.logs
        counts.rejected += checked.rejected
        counts.bytes += len(checked.data)
        if checked.data:
            self._on_stored()
        return Accepted(rejected=checked.rejected, message=checked.message)

    def refused(self, refused: Refused) -> None:
        """Count a refusal."""
        self.counts.refused += 1
        if refused.status >= 500:
            self.counts.problem = refused.message

    async def _store(self, encoding: Encoding, data: bytes) -> None:
        stored = asyncio.wrap_future(self._sink.put(encoding, data))
        try:
            # A sender that goes away must not stop what others wait for.
            await asyncio.shield(stored)
        except OSError as fault:
            why = (fault.strerror or str(fault)).lower()
            raise overloaded(f"the spool cannot be written: {why}", _DISK_RETRY_S) from None
