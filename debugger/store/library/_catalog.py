"""The library's SQLite file: what was loaded, what counts, what users say. Its write lock is the library's lock."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ...errors import LibraryError, NewerLibraryError, QueryCancelledError
from .._database import sql_text
from ..rows import IssueRow

_APPLICATION: Final = 0x52545350
"""SQLite's application id of a library: ``RTSP``."""
MIGRATIONS: Final[Sequence[str]] = ("library/catalog", "library/catalog_packs")
"""Query files that lead from one version of the schema to the next; the first makes it. Published ones never change."""
_WAIT_S: Final = 0.2
"""How long SQLite itself waits for a lock, before it is asked whether somebody has cancelled."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A published segment."""

    name: str
    position: int
    """Its place in the order of publication. Of two segments that have a trace the higher one counts."""
    live: int
    """How many traces in it count."""
    spans: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file that was loaded. Archives count as one file."""

    file_id: int
    kind: str
    """``file``, ``spool``, ``replay``, or ``stream`` for what came from standard input."""
    path: str
    """Absolute; the file keeps those below the library's folder relative to it, so that the folder can be moved."""
    size: int | None
    stamp: str | None
    """Its times on disk; a file with the same path, size and times is not read to know it again."""
    digest: str | None
    """SHA-256 of its content."""
    reader: str
    """Version of what read it."""
    position: int
    """Of the segment that it was published in."""
    is_whole: bool = True
    """Nothing of it has been removed since."""


class Catalog:
    """One connection. Used by one thread at a time, but not always the same one."""

    def __init__(self, path: Path, connection: sqlite3.Connection, is_writable: bool) -> None:
        self.path = path
        self.is_writable = is_writable
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> Catalog:
        """Open, make or migrate the file.

        Raises: LibraryError: it cannot be opened or is none; NewerLibraryError.
        """
        is_writable = _can_write(path)
        mode = "rwc" if is_writable else "ro"
        try:
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_WAIT_S,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as fault:
            raise LibraryError(f"{path.parent}: the library cannot be opened ({fault})") from fault
        catalog = cls(path, connection, is_writable)
        try:
            catalog._migrate()
        except BaseException:
            connection.close()
            raise
        return catalog

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _migrate(self) -> None:
        version, application = self._one("pragma user_version"), self._one("pragma application_id")
        if application not in (0, _APPLICATION) or (application == 0 and version != 0):
            raise LibraryError(f"{self.path}: not a library", hint="name another folder")
        if version > len(MIGRATIONS):
            raise NewerLibraryError(self.path.parent, version, len(MIGRATIONS))
        if version == len(MIGRATIONS):
            return
        if not self.is_writable:
            raise LibraryError(f"{self.path.parent}: there is no library, and none can be written here")
        with self.writing():
            version = self._one("pragma user_version")  # another process may have been faster
            if version == 0 and self._one("select count(*) from sqlite_master"):
                raise LibraryError(f"{self.path}: not a library", hint="name another folder")
            for name in MIGRATIONS[version:]:
                for statement in _statements(sql_text(name)):
                    self.execute(statement)
            self.execute(f"pragma application_id = {_APPLICATION}")
            self.execute(f"pragma user_version = {len(MIGRATIONS)}")

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement. Waits for a lock that another process holds for a moment.

        Raises: LibraryError: the file is damaged or cannot be written.
        """
        began = time.monotonic()
        while True:
            try:
                return self._connection.execute(statement, parameters).fetchall()
            except sqlite3.OperationalError as fault:
                if not _is_busy(fault) or time.monotonic() - began > _MOST_WAIT_S:
                    raise self._fault(fault) from fault
            except sqlite3.Error as fault:
                raise self._fault(fault) from fault

    def _one(self, statement: str) -> int:
        return int(self.execute(statement)[0][0])

    @contextmanager
    def writing(
        self, cancelled: Callable[[], bool] = lambda: False, on_wait: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Hold the library's lock; at the end all changes count at once, or none where something is raised.

        Args:
            cancelled: asked while another process holds the lock.
            on_wait: called once when it has to be waited for.

        Raises: QueryCancelledError: it was cancelled meanwhile; LibraryError.
        """
        self.need_writable()
        waited = False
        while True:
            try:
                self._connection.execute("begin immediate")
                break
            except sqlite3.OperationalError as fault:
                if not _is_busy(fault):
                    raise self._fault(fault) from fault
            if cancelled():
                raise QueryCancelledError("waiting for the library")
            if not waited:
                waited = True
                on_wait()
        try:
            yield
            self.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("rollback")
            raise

    def need_writable(self) -> None:
        """Raises LibraryError where the library cannot be written."""
        if not self.is_writable:
            raise LibraryError(f"{self.path.parent}: the library cannot be written", hint="name one with --library")

    def _fault(self, fault: sqlite3.Error) -> LibraryError:
        folder = self.path.parent
        if isinstance(fault, sqlite3.OperationalError):
            return LibraryError(f"{folder}: the library cannot be used ({fault})")
        return LibraryError(f"{self.path}: not a library, or a damaged one ({fault})")

    def data_version(self) -> int:
        """Another number whenever another connection has changed the file. Costs microseconds."""
        return self._one("pragma data_version")

    # What counts.

    def segments(self) -> list[Segment]:
        """The segments, newest first."""
        rows = self.execute("select name, position, live, spans, bytes from segment order by position desc")
        return [Segment(*row) for row in rows]

    def next_position(self) -> int:
        """The place of what is published next; only while the lock is held."""
        self.execute("update state set position = position + 1")
        return self.position()

    def position(self) -> int:
        """The place of what was published last."""
        return self._one("select position from state")

    def add_segment(self, segment: Segment) -> None:
        """From the end of the transaction on the segment counts."""
        row = (segment.name, segment.position, segment.live, segment.spans, segment.bytes)
        self.execute("insert into segment values (?, ?, ?, ?, ?)", row)

    def lower(self, name: str, traces: int) -> None:
        """Some traces of a segment count no longer; with the last one it goes."""
        self.execute("update segment set live = live - ? where name = ?", (traces, name))
        self.execute("delete from segment where name = ? and live <= 0", (name,))

    def drop_segment(self, name: str) -> None:
        """From the end of the transaction on the segment does not count."""
        self.execute("delete from segment where name = ?", (name,))

    # What was loaded.

    def files(self) -> list[LoadedFile]:
        """All files, in the order in which they were published; for spool files that were packed, the pack."""
        return self._files("where pack_id is null order by position, file_id")

    def files_of_size(self, size: int) -> list[LoadedFile]:
        """The files of a size."""
        return self._files("where size = ? order by file_id", size)

    def _files(self, which: str, *parameters: int) -> list[LoadedFile]:
        rows = self.execute(f"{_FILES} {which}", parameters)
        files = [LoadedFile(*row) for row in rows]
        return [replace(file, path=self._absolute(file.path)) for file in files]

    def _absolute(self, path: str) -> str:
        return path if path == "-" else str(self.path.parent.absolute() / path)

    def _relative(self, path: str) -> str:
        folder = self.path.parent.absolute()
        return str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else path

    def is_taken(self, spool_file: Path) -> bool:
        """Whether a spool file was taken."""
        which = "select 1 from file where path = ? and kind = 'spool'"
        return bool(self.execute(which, (self._relative(str(spool_file)),)))

    def add_file(self, file: LoadedFile) -> None:
        """The file is loaded."""
        path = self._relative(file.path)
        row = (file.file_id, file.kind, path, file.size, file.stamp, file.digest, file.reader, file.position)
        values = (*row, file.is_whole, time.time_ns())
        self.execute("insert into file values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null)", values)

    def pack(self, pack: LoadedFile, parts: Iterable[LoadedFile]) -> None:
        """One spool file stands for several from now on. What segments know of those stays true of their numbers."""
        self.add_file(pack)
        for part in parts:
            values = (pack.file_id, part.file_id, part.file_id)
            self.execute("update file set pack_id = ? where file_id = ? or pack_id = ?", values)

    def parts_of(self, packs: Iterable[int]) -> list[int]:
        """The numbers of the files that went into some packs."""
        found = (self.execute("select file_id from file where pack_id = ?", (pack,)) for pack in packs)
        return [row[0] for rows in found for row in rows]

    def forget_parts(self, packs: Iterable[int]) -> None:
        """No segment has anything of the files that went into some packs any more."""
        for pack in packs:
            self.execute("delete from file where pack_id = ?", (pack,))

    def is_packed(self, spool_file: Path) -> bool:
        """Whether another file stands for a spool file."""
        which = "select 1 from file where path = ? and pack_id is not null"
        return bool(self.execute(which, (self._relative(str(spool_file)),)))

    def last_file_id(self) -> int:
        """The highest id of a file that a load has read; 0 where there is none."""
        return max(self._one("select coalesce(max(file_id), 0) from file"), 0)

    def next_file_id(self) -> int:
        """A number below those of all loads, for a file that no load has read; only while the lock is held."""
        return min(self._one("select coalesce(min(file_id), 0) from file"), 0) - 1

    def update_file(self, file_id: int, reader: str) -> None:
        """The file was read again."""
        self.execute("update file set reader = ? where file_id = ?", (reader, file_id))

    def mark_reduced(self, file_ids: Iterable[int]) -> None:
        """Something of the files was removed: loading them again brings it back."""
        for file_id in file_ids:
            self.execute("update file set is_whole = 0 where file_id = ?", (file_id,))

    def live_traces(self) -> int:
        """How many traces count."""
        return self._one("select coalesce(sum(live), 0) from segment")

    def issues(self) -> list[IssueRow]:
        """What was odd, in the order of the loads."""
        rows = self.execute("select path, line, reason from issue order by issue_id")
        return [IssueRow(path=path, line=line, reason=reason) for path, line, reason in rows]

    def add_issues(self, issues: Iterable[IssueRow]) -> None:
        """Something was odd."""
        for row in issues:
            values = (row.path, row.line, row.reason)
            self.execute("insert into issue (path, line, reason) values (?, ?, ?)", values)

    def drop_issues(self, path: str) -> None:
        """What was odd about a file is so no more."""
        self.execute("delete from issue where path = ?", (path,))

    # What users say.

    def removed(self) -> dict[str, int]:
        """The removed traces, and up to which position they are."""
        return dict(self.execute("select trace_id, position from removed"))

    def add_removed(self, trace_ids: Iterable[str]) -> None:
        """Whatever is there of the traces by now does not count."""
        position = self.position()
        for trace_id in trace_ids:
            values = (trace_id, position, time.time_ns())
            self.execute("insert or replace into removed values (?, ?, ?)", values)


_FILES: Final = "select file_id, kind, path, size, stamp, digest, reader, position, is_whole from file"
_MOST_WAIT_S: Final = 60.0


def _statements(text: str) -> Iterator[str]:
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    yield from filter(None, map(str.strip, plain.split(";")))


def _is_busy(fault: sqlite3.OperationalError) -> bool:
    # The low byte is the primary code; extended ones only say more.
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _can_write(path: Path) -> bool:
    """Whether the file and its folder can be written: SQLite needs a journal beside it."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
