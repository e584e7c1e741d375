"""The spool: requests on the disk, as they came, before anybody is told that they were received.

Requests that wait at the same time share one ``fsync``. A file that is written ends in ``.open`` and is locked by its
writer; closing it takes the ending away. What a dead process left open is adopted: whole requests stay, and the torn
rest, which was never acknowledged, is cut off. Formats: ``.otlp.pb`` holds requests behind their lengths (4 bytes,
big-endian), ``.otlp.jsonl`` one request a line.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, TypeAlias

from .otlp import Encoding

OPEN: Final = ".open"
_ENDINGS: Final[dict[Encoding, str]] = {"protobuf": ".otlp.pb", "json": ".otlp.jsonl"}
_MOST_AT_ONCE: Final = 1 << 26
"""Bytes that one commit takes at most."""
_LARGEST: Final = 1 << 24
"""Bytes after which a file is closed: the library takes whole files, and keeps what it does at once in bounds."""
_VECTORS: Final = 512
_BLOCK: Final = 1 << 20
_LENGTH_BYTES: Final = 4


class _Write(NamedTuple):
    encoding: Encoding
    data: bytes
    done: Future[None]


class _Close(NamedTuple):
    done: Future[int]
    is_last: bool


_Item: TypeAlias = _Write | _Close


class Spool:
    """The writing end, in a thread of its own. ``put`` and ``close_files`` may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._files: dict[Encoding, _File] = {}
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)
        folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def put(self, encoding: Encoding, data: bytes) -> Future[None]:
        """Append a request; the future is done when it is durable, or holds the OSError that kept it from being so."""
        done: Future[None] = Future()
        self._queue.put(_Write(encoding, data, done))
        return done

    def close_files(self) -> Future[int]:
        """Close the files that are open, so that they can be taken; the result says how many."""
        done: Future[int] = Future()
        self._queue.put(_Close(done, False))
        return done

    def stop(self) -> None:
        """Finish what was put, close the files, end the thread."""
        done: Future[int] = Future()
        self._queue.put(_Close(done, True))
        done.result()
        self._thread.join()

    def _run(self) -> None:
        waiting: _Item | None = None
        while True:
            item = waiting or self._queue.get()
            waiting = None
            if isinstance(item, _Close):
                self._close_all(item)
                if item.is_last:
                    return
                continue
            batch = [item]
            size = len(item.data)
            with suppress(Empty):
                while size < _MOST_AT_ONCE:
                    following = self._queue.get_nowait()
                    if isinstance(following, _Close):
                        waiting = following
                        break
                    batch.append(following)
                    size += len(following.data)
            self._commit(batch)

    def _commit(self, batch: Sequence[_Write]) -> None:
        for encoding in _ENDINGS:
            items = [item for item in batch if item.encoding == encoding]
            if not items:
                continue
            try:
                file = self._files.get(encoding)
                if file is None:
                    file = self._files[encoding] = _File.create(self._folder, encoding)
                file.append([item.data for item in items])
                if file.size >= _LARGEST:
                    self._files.pop(encoding).close()
            except OSError as fault:
                # After a failed fsync nobody knows what is on the disk: this file ends here, at what was durable.
                if (broken := self._files.pop(encoding, None)) is not None:
                    with suppress(OSError):
                        broken.close()
                for item in items:
                    item.done.set_exception(fault)
            else:
                for item in items:
                    item.done.set_result(None)

    def _close_all(self, item: _Close) -> None:
        closed = 0
        try:
            while self._files:
                _, file = self._files.popitem()
                file.close()
                closed += 1
        except OSError as fault:
            item.done.set_exception(fault)
        else:
            item.done.set_result(closed)


class _File:
    """One file that is being written."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd
        self.size = 0
        """Bytes that are durable."""

    @classmethod
    def create(cls, folder: Path, encoding: Encoding) -> _File:
        """A new file, locked before anybody can see it under a name that they would look at."""
        name = f"{time.time_ns():020d}-{os.getpid()}{_ENDINGS[encoding]}{OPEN}"
        new, path = folder / f".{name}.new", folder / name
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(path)
            sync_folder(folder)
        except OSError:
            os.close(fd)
            for left in (new, path):
                left.unlink(missing_ok=True)
            raise
        return cls(path, fd)

    def append(self, pieces: Sequence[bytes]) -> None:
        """Write and make durable, all or nothing. Raises OSError, with the file cut back to what was durable."""
        try:
            for first in range(0, len(pieces), _VECTORS):
                _write_all(self._fd, pieces[first : first + _VECTORS])
            os.fsync(self._fd)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self.size)
                os.lseek(self._fd, self.size, os.SEEK_SET)
            raise
        self.size += sum(map(len, pieces))

    def close(self) -> None:
        """Close the file and take the ending away; an empty one goes."""
        try:
            _publish(self._path, self.size)
        finally:
            os.close(self._fd)


def _write_all(fd: int, pieces: Sequence[bytes]) -> None:
    done = os.writev(fd, pieces)
    total = sum(map(len, pieces))
    if done < total:
        rest = memoryview(b"".join(pieces))
        while done < total:
            done += os.write(fd, rest[done:])


def _publish(path: Path, size: int) -> None:
    if size:
        path.rename(path.with_name(path.name.removesuffix(OPEN)))
    else:
        path.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Adopted(NamedTuple):
    """What was found of processes that died."""

    files: int
    torn_bytes: int
    """Bytes of requests that were not whole, and so never acknowledged."""


def adopt(folder: Path) -> Adopted:
    """Close the files that processes which are gone left open. Those of living ones stay. Raises OSError."""
    files = torn = 0
    for path in sorted(folder.glob(f"*{OPEN}")):
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # closed by its writer, or adopted by another receiver
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if not _is_still(fd, path):
                continue
            size = os.fstat(fd).st_size
            whole = _whole_lines(fd) if ".jsonl" in path.name else _whole_frames(fd, size)
            os.ftruncate(fd, whole)
            os.fsync(fd)
            _publish(path, whole)
            files += 1
            torn += size - whole
        finally:
            os.close(fd)
    return Adopted(files, torn)


def _is_still(fd: int, path: Path) -> bool:
    """Whether the name still means the file: it may have been closed between the opening and the lock."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(fd)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def _whole_frames(fd: int, size: int) -> int:
    """Where the last whole request ends. No request is empty: zeros are what a machine that lost power leaves."""
    at = 0
    while len(head := os.pread(fd, _LENGTH_BYTES, at)) == _LENGTH_BYTES:
        length = int.from_bytes(head, "big")
        if length == 0 or at + _LENGTH_BYTES + length > size:
            break
        at += _LENGTH_BYTES + length
    return at


def _whole_lines(fd: int) -> int:
    """Where the last line feed is."""
    at = whole = 0
    while block := os.pread(fd, _BLOCK, at):
        last = block.rfind(b"\n")
        if last >= 0:
            whole = at + last + 1
        at += len(block)
    return whole
