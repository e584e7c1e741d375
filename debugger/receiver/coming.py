"""The requests that are coming in, and the patience each may ask for: slow senders must not keep out all others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

PATIENCE_S: Final = 1.0
"""How long a request may take to come in where others have no room: the one that began first gives up its own then."""


class Coming:
    """The requests of one door. For its loop only."""

    def __init__(self) -> None:
        self._began: dict[asyncio.Timeout, float] = {}
        """Oldest first."""

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[asyncio.Timeout]:
        """For as long as a request may take; shorter where its room is needed. Raises TimeoutError."""
        async with asyncio.timeout(seconds) as patience:
            self._began[patience] = asyncio.get_running_loop().time()
            try:
                yield patience
            finally:
                self._began.pop(patience, None)

    def make_room(self, but: asyncio.Timeout | None = None) -> bool:
        """End the request that has been coming in for longest, if it had its time; whether there was one.

        Args: but: the one that needs the room.
        """
        now = asyncio.get_running_loop().time()
        for patience, began in self._began.items():
            if patience is but:
                continue
            if now - began < PATIENCE_S:
                return False
            del self._began[patience]
            patience.reschedule(now)
            return True
        return False
