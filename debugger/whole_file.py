"""Files that are written whole or not at all: under a name of their own first, which they leave when they are whole."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from .errors import UnwritableError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what shall be the file ``path``; it takes that place when the block ends.

    Where the block fails, nothing of it is left, and what stood there before stays. A device or a pipe is written to
    at once: it has no place to take. A block that removes the file means it: then nothing takes the place.

    Raises: UnwritableError: the system refuses the file, at the start, within the block or at the end.
    """
    target = Path(os.path.realpath(path)) if path.is_symlink() else path  # unlike resolve, not stopped by a loop
    aside = target.with_name(f".{target.name[:64]}.{os.getpid()}-{token_hex(4)}.part")
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # a rename would not ask
        aside.touch(exist_ok=False)
        try:
            yield aside
            if aside.exists():
                if target.exists():
                    shutil.copymode(target, aside)
                aside.replace(target)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as fault:
        if fault.filename not in (None, str(path), str(target), str(aside)):
            raise  # of another file
        raise UnwritableError(path, fault.strerror or str(fault)) from fault
