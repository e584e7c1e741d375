"""Temporary folders that go with the process that made them: each holds a file that is locked while that lives."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from stat import S_ISDIR
from types import TracebackType
from typing import IO, Final

if sys.platform != "win32":
    import fcntl

ALIVE: Final = "alive"
"""The file that is locked."""
_BEING_MADE_S: Final = 60.0
"""A folder without its lock file is younger than this, or abandoned."""
_PREFIX: Final = "retrospan-scratch-"
"""Only folders of this name are ever looked at: what a user calls ``retrospan-…`` in there is the user's."""


class ScratchFolder:
    """A temporary folder that the next process removes where its own one was killed.

    Raises: OSError: the system has no place for it.
    """

    def __init__(self) -> None:
        _remove_abandoned()
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        """Where it is."""
        self._alive = (self.path / ALIVE).open("wb")
        lock(self._alive)

    def __enter__(self) -> ScratchFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove it with all that it holds."""
        self._alive.close()
        self._folder.cleanup()


def process_scratch() -> Path:
    """The one scratch folder that lasts as long as this process. Raises OSError."""
    if not _of_process().path.is_dir():  # Some systems clear away what has lain there for days.
        _of_process().remove()
        _of_process.cache_clear()
    return _of_process().path


@cache
def _of_process() -> ScratchFolder:
    folder = ScratchFolder()
    atexit.register(folder.remove)
    return folder


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            is_ours = sys.platform == "win32" or found.st_uid == os.getuid()
            # A younger one may be between being made and being locked.
            if not S_ISDIR(found.st_mode) or not is_ours or time.time() - found.st_mtime < _BEING_MADE_S:
                continue
            if not (folder / ALIVE).exists():
                folder.rmdir()  # Its maker came no further, or the system cleared the lock file away; then this fails.
            elif is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def is_abandoned(folder: Path) -> bool:
    """Whether the process that made a folder lives no more. Raises OSError: it cannot be looked at."""
    try:
        alive = (folder / ALIVE).open("rb+")
    except FileNotFoundError:
        return time.time() - folder.stat().st_mtime > _BEING_MADE_S
    with alive:
        return lock(alive)


def lock(stream: IO[bytes]) -> bool:
    """Lock a file for as long as it is open; False where another process has it."""
    if sys.platform == "win32":
        return True  # a file that is open cannot be deleted there, which is lock enough
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
