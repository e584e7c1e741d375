"""Following files that still grow: a thread that looks at them, and loads what is new into a store."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import Final

from ..importers import Follower, Following
from ..store import Store
from ..store.rows import IssueRow, LoadProgress

LOOK_S: Final = 0.4
"""How often the files are looked at."""
_SHARE: Final = 4
"""What a look costs is a share of the time at most: after a long one the next comes later."""

_log = logging.getLogger(__name__)


class FileFollower:
    """Loads some files, and goes on with what is added to them.

    Args:
        store: takes what is read.
        follower: knows the files and how far they were read.
    """

    def __init__(self, store: Store, follower: Follower) -> None:
        self._store = store
        self._follower = follower
        self._reading = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None
        self._now = follower.following(is_on=False)

    @property
    def now(self) -> Following:
        """How it stands. Cheap."""
        return self._now

    def load(self, on_progress: Callable[[LoadProgress], None], cancelled: Callable[[], bool]) -> None:
        """Read what there is, and go on from there, unless it was cancelled."""
        with self._reading:
            summary = self._store.load_new(self._follower, on_progress=on_progress, cancelled=cancelled)
            self._now = self._follower.following(is_on=False)
        if not summary.was_cancelled:
            self.switch(True)

    def switch(self, wanted: bool) -> None:
        """Go on looking, or look no more."""
        if not wanted:
            self._stopped.set()
            if self._thread is not None:
                self._thread.join()
                self._thread = None
            self._now = replace(self._now, is_on=False)
        elif self._now.files and (self._thread is None or not self._thread.is_alive()):
            self._stopped.clear()
            self._now = replace(self._now, is_on=True, problem="")
            self._thread = Thread(target=self._run, name="follow", daemon=True)
            self._thread.start()

    def look(self) -> None:
        """Load what is new, once."""
        with self._reading:
            if self._follower.has_news():
                self._store.load_new(self._follower, cancelled=self._stopped.is_set)
                self._now = self._follower.following(is_on=self._now.is_on)

    def issues(self) -> list[IssueRow]:
        """What is held back and no longer waited for."""
        now = self._now
        if now.is_on:
            return []
        return [
            IssueRow(path=path, line=line or None, reason="ends in the middle" if line else "empty")
            for path, line in now.waiting
        ]

    def _run(self) -> None:
        wait = LOOK_S
        while not self._stopped.wait(wait):
            began = time.monotonic()
            try:
                self.look()
            except Exception as fault:  # noqa: BLE001  a thread's border: said on the screen, with its traceback in the log
                _log.exception("following ended")
                self._now = replace(self._now, is_on=False, problem=f"following ended: {fault}")
                return
            wait = max(LOOK_S, (time.monotonic() - began) * _SHARE)
