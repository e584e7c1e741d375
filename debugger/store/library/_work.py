"""A segment under construction: its folder, its number, and how it becomes a file that is never changed again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import duckdb

from ...errors import LibraryError
from ...scratch import ALIVE, is_abandoned, lock
from .._database import BulkDatabase, connect, library_fault, sql_text
from ._packed import pack_list
from ._place import Place

ID_BITS: Final = 36
"""Rows, sources, contexts and files of one load are numbered from ``number << ID_BITS`` on, so ids are unique."""
_WORK: Final = "work-"
_KEPT_IDS: Final = 50_000
"""Traces of a segment whose ids are kept in memory, some 4 MB."""


class Workshop:
    """What is kept from one segment to the next by who builds many: for a few spans it is most of the time."""

    def __init__(self) -> None:
        self.engine = connect(":memory:")
        """Builds one segment after the other."""
        self._ids: dict[str, frozenset[str]] = {}

    def ids(self, segment: str) -> frozenset[str] | None:
        """The traces of a segment, which never change; None where they are not kept."""
        return self._ids.get(segment)

    def keep_ids(self, segment: str, ids: frozenset[str]) -> None:
        """Remember the traces of a segment, if there are not too many of them."""
        if len(ids) <= _KEPT_IDS:
            self._ids[segment] = ids

    def forget_all_but(self, segments: Iterable[str]) -> None:
        """Forget what is no longer needed."""
        self._ids = {name: self._ids[name] for name in segments if name in self._ids}

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


class Work:
    """The folder in which one load builds its segment. Gone with the process, at the latest with the next load."""

    def __init__(self, place: Place, folder: Path, number: int, alive: IO[bytes], workshop: Workshop | None) -> None:
        self._place = place
        self._folder = folder
        self._alive = alive
        self.number = number
        self.first_id = number << ID_BITS
        self.name = f"{number:08d}.duckdb"
        engine = workshop.engine if workshop is not None else None
        self.ids: frozenset[str] = frozenset()
        """The traces of the finished segment."""
        self.database = BulkDatabase.file(folder / self.name, "schema", "library/building", engine=engine)

    @classmethod
    def begin(cls, place: Place, last_file_id: Callable[[], int], workshop: Workshop | None = None) -> Work:
        """Make a folder with a number that no other load has or had. Raises LibraryError.

        Args:
            place: of the library.
            last_file_id: the highest id of a file in the catalog. The segment of its load may be gone.
            workshop: of who builds one segment after the other.
        """
        number = 0
        try:
            while True:
                number = max(number, _last_number(place.segments), last_file_id() >> ID_BITS) + 1
                folder = place.segments / f"{_WORK}{number:08d}"
                try:
                    folder.mkdir()
                    alive = (folder / ALIVE).open("wb")
                except (FileExistsError, FileNotFoundError):
                    continue  # another load took the number, or took the folder for an abandoned one
                if not lock(alive):
                    alive.close()
                    continue
                if max(_last_number(place.segments, but=_WORK), last_file_id() >> ID_BITS) >= number:
                    # While the number was chosen, another load took it, published its segment and cleared its folder.
                    alive.close()
                    shutil.rmtree(folder, ignore_errors=True)
                    continue
                try:
                    return cls(place, folder, number, alive, workshop)
                except BaseException:
                    alive.close()
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
        except OSError as fault:
            raise LibraryError.from_system(place.segments, fault) from fault
        except duckdb.Error as fault:
            raise library_fault(place.folder, fault) from fault

    def copy(self, trace_ids: Sequence[str]) -> int:
        """Copy traces from the segment that is attached; how many spans they have."""
        before = self.database.query("library/rows")[0][0]
        self.database.append("wanted", ((trace_id,) for trace_id in trace_ids))
        self.database.run("library/copy")
        return int(self.database.query("library/rows")[0][0] - before)

    def attach(self, path: Path) -> None:
        """An older segment, as ``old``."""
        self.database.attach(path, "old")

    def detach(self) -> None:
        """Done with the older segment."""
        self.database.detach("old")

    def publish(self) -> tuple[int, int, int]:
        """Finish the segment and put it, safe on the disk, among the others. Nothing counts before the catalog says so.

        Returns: its traces, spans and bytes.
        """
        database = self.database
        database.run("library/finish")
        database.execute(f"create table summary as {sql_text('trace_list')}")
        self.ids = pack_list(database)
        spans = database.query("library/rows")[0][0]
        # Closing writes what is still in the log as well, but is silent when the disk is full.
        database.execute("force checkpoint")
        database.close()
        source, target = self._folder / self.name, self._place.segments / self.name
        sync(source)
        source.rename(target)
        sync(self._place.segments)
        return len(self.ids), spans, target.stat().st_size

    def discard(self) -> None:
        """Take the folder away. A segment that was put among the others and does not count is left to ``clean``."""
        with suppress(duckdb.Error):  # a full disk is told already, by what made the segment useless
            self.database.close()
        self._alive.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def clean(place: Place, counted: set[str]) -> None:
    """Delete what processes that died left behind, and segments that no longer count. Only while the lock is held.

    Readers that have a deleted segment open go on reading it. Where the system forbids deleting open files, it is tried
    again next time.
    """
    for path in place.segments.iterdir():
        with suppress(OSError):
            if path.name.startswith(_WORK):
                if is_abandoned(path):
                    shutil.rmtree(path, ignore_errors=True)
            elif path.name not in counted:
                path.unlink()


def _last_number(segments: Path, but: str | None = None) -> int:
    names = [path.name for path in segments.iterdir() if but is None or not path.name.startswith(but)]
    numbers = [name.removeprefix(_WORK).partition(".")[0] for name in names]
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    if sys.platform == "win32" and path.is_dir():
        return
    fd = os.open(path, os.O_RDONLY if sys.platform != "win32" else os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
