"""Which files a library knows already, by path and times or by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ...conventions import VERSION
from ...importers import iter_files
from ..rows import LoadProgress
from ._catalog import Catalog, LoadedFile

READER: Final = f"files:1,{VERSION}"
"""Version of everything that turns bytes into rows."""
_BLOCK: Final = 1 << 20


@dataclass(slots=True)
class _Fresh:
    """A file of this load."""

    path: str
    kind: str
    size: int | None
    stamp: str | None
    digest: Future[str | None] | None


class Scan:
    """The files of one load: which are new, and the digests of those, reckoned beside the load in a thread.

    Paths are absolute: the library outlives the folder that it was filled from.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        kind: str = "file",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._catalog = catalog
        self.kind = kind
        self._cancelled = cancelled
        self.first_id = 0
        """Added to the number of each file; may be set after the first look at them."""
        self._pool = ThreadPoolExecutor(1, "retrospan-digest")
        self._asked: dict[str, int | None] = {}
        self._fresh: list[_Fresh] = []
        self.known: list[str] = []
        self.last: int | None = None
        """The file that is being read."""

    def any_new(self, paths: Sequence[str | Path]) -> bool:
        """Whether there is anything to read: a file that is new, or one that cannot be opened."""
        # All are asked, so that the total is known.
        return any([self.wanted(path) is not None for path, _ in iter_files(paths, lambda path, reason: None)])

    def ids(self) -> set[int]:
        """Of the new files."""
        return set(range(self.first_id + 1, self.first_id + 1 + len(self._fresh)))

    def path_of(self, file_id: int) -> str:
        """The path of a file of this load."""
        return self._fresh[file_id - self.first_id - 1].path

    def overall(self, progress: LoadProgress) -> LoadProgress:
        """How far the whole load is, when it is so far with the file that is being read."""
        sizes = [file.size for file in self._fresh]
        before = sum(size or 0 for size in sizes[: (self.last or 0) - self.first_id - 1])
        total = None if None in sizes else sum(size or 0 for size in sizes)
        return replace(progress, bytes_done=before + progress.bytes_done, bytes_total=total)

    def wanted(self, path: str) -> int | None:
        """The id of a file that is to be read; None for one that the library holds."""
        if path not in self._asked:
            self._asked[path] = self._number(path)
        number = self._asked[path]
        self.last = None if number is None else self.first_id + number
        return self.last

    def _number(self, path: str) -> int | None:
        size, stamp, digest = None, None, None
        if path != "-":
            try:
                size, stamp = _seen(Path(path))
            except OSError:
                pass  # whoever reads it says what is wrong with it
            else:
                # A spool file has a name of its own, and is never changed.
                digest = self._digest_of_known(Path(path), size, stamp) if self.kind != "spool" else None
                if digest is None and self.kind != "spool":
                    self.known.append(path)
                    return None
        kind = "stream" if path == "-" else self.kind
        self._fresh.append(_Fresh(path, kind, size, stamp, digest))
        return len(self._fresh)

    def _digest_of_known(self, path: Path, size: int, stamp: str) -> Future[str | None] | None:
        """None where the library holds the file as it is, else its digest to come."""
        alike = [file for file in self._catalog.files_of_size(size) if file.reader == READER and file.is_whole]
        if any(file.path == str(path) and file.stamp == stamp for file in alike):
            return None
        future = self._pool.submit(_digest, path, self._cancelled)
        digests = {file.digest for file in alike if file.digest is not None}
        # Only a file that is as large as a known one has to be read to know that it is another.
        return None if digests and future.result() in digests else future

    def files(self, position: int, read: set[int]) -> list[LoadedFile]:
        """Those of the new files that were read to their end, with their digests."""
        out = []
        for file_id, file in enumerate(self._fresh, self.first_id + 1):
            if file_id not in read:
                continue
            digest = file.digest.result() if file.digest is not None else None
            stamp = file.stamp
            if digest is not None and _seen_or_none(Path(file.path)) != (file.size, file.stamp):
                digest, stamp = None, None  # it changed while it was read: nobody knows which bytes these were
            out.append(LoadedFile(file_id, file.kind, file.path, file.size, stamp, digest, READER, position))
        return out

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _seen(path: Path) -> tuple[int, str]:
    status = path.stat()
    return status.st_size, f"{status.st_mtime_ns}/{status.st_ctime_ns}"


def _seen_or_none(path: Path) -> tuple[int, str] | None:
    try:
        return _seen(path)
    except OSError:
        return None


def is_there(file: LoadedFile) -> bool:
    """Whether a file is where it was, and as large. Does not read it."""
    seen = _seen_or_none(Path(file.path))
    return seen is not None and seen[0] == file.size


def holds_still(file: LoadedFile) -> bool:
    """Whether a file is still what was loaded."""
    if file.kind == "spool":
        return is_there(file)
    if file.digest is None:
        return False
    seen = _seen_or_none(Path(file.path))
    if seen is None or seen[0] != file.size:
        return False
    return seen[1] == file.stamp or _digest(Path(file.path), lambda: False) == file.digest


def _digest(path: Path, cancelled: Callable[[], bool]) -> str | None:
    """SHA-256 of a file; None where it cannot be read."""
    digest = hashlib.sha256()
    if not path.is_file():  # a pipe can be read once only, and not by two
        return None
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                if cancelled():
                    return None
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()
