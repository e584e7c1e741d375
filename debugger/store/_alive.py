"""Folders that go with the process that made them: each holds a file that is locked while the process lives."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import IO, Final

if sys.platform != "win32":
    import fcntl

ALIVE: Final = "alive"
"""The file that is locked."""
_BEING_MADE_S: Final = 60.0
"""A folder without its lock file is younger than this, or abandoned."""


class ScratchFolder:
    """A temporary folder that the next one of its kind removes where its own process was killed.

    Args: prefix: of its name, by which its kind is known.
    Raises: OSError: the system has no place for it.
    """

    def __init__(self, prefix: str) -> None:
        _remove_abandoned(prefix)
        self._folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        """Where it is."""
        self._alive = (self.path / ALIVE).open("wb")
        lock(self._alive)

    def remove(self) -> None:
        """Remove it with all that it holds."""
        self._alive.close()
        self._folder.cleanup()


def _remove_abandoned(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            found = folder.lstat()
            is_ours = sys.platform == "win32" or found.st_uid == os.getuid()
            if S_ISDIR(found.st_mode) and is_ours and is_abandoned(folder):
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
