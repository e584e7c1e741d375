"""Taking the spool: what cannot be brought in is found, request by request, and set aside, so that it stops nothing.

A taking that fails is tried again in halves: of its files, then of the requests of one file, for which the file itself
is split. A split counts in the moment in which the whole file goes, and until then its parts do not; so whenever the
process dies, each request is in the spool, in the library or set aside, and none in two that count.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb

from ...errors import DebuggerError, LibraryError, QueryCancelledError
from .._database import is_full
from ..rows import IssueRow
from ._catalog import Catalog
from ._load import LibrarySummary
from ._pack import ENDINGS, is_pack
from ._place import Place
from ._work import Work, sync

MOST_LOADS: Final = 64
"""Loads after which a taking ends, some seconds of work: what came since is not to wait for all that is odd."""
_SIDES: Final = ("-a", "-b")
"""What the name of a part ends in, before the ending. No receiver gives such a name."""
_PART: Final = re.compile(r"(-[ab])$")
_NEW: Final = ".part-new"
_LENGTH_BYTES: Final = 4
_LONGEST_REASON: Final = 300
_CLOCK_DIGITS: Final = 20
"""A receiver's names begin with the time, in Unix nanoseconds."""


def waiting_in(place: Place, catalog: Catalog) -> tuple[list[Path], list[Path]]:
    """The closed spool files that are not in the library yet, oldest first: whole ones, and parts of split ones."""
    closed = [path for path in place.spool.iterdir() if path.name.endswith(ENDINGS) and not is_pack(path)]
    names = {path.name for path in closed}
    counting = (path for path in closed if names.isdisjoint(_wholes_of(path.name)))
    waiting = sorted(path for path in counting if not catalog.is_taken(path))
    parts = [path for path in waiting if any(_wholes_of(path.name))]
    return [path for path in waiting if path not in parts], parts


def _wholes_of(name: str) -> Iterator[str]:
    """The names of the files that a part was split from, the nearest first; none for a file that is whole."""
    stem, ending = _named(name)
    while _PART.search(stem):
        stem = stem[:-2]
        yield stem + ending


def _named(name: str) -> tuple[str, str]:
    ending = next(ending for ending in ENDINGS if name.endswith(ending))
    return name.removesuffix(ending), ending


@dataclass(frozen=True, slots=True)
class Taking:
    """One taking of the spool.

    Args:
        place: of the library.
        catalog: of the library.
        load: brings some spool files in, all or none.
        cancelled: asked between two loads.
    """

    place: Place
    catalog: Catalog
    load: Callable[[Sequence[Path]], LibrarySummary]
    cancelled: Callable[[], bool]

    def run(self, *batches: list[Path]) -> LibrarySummary:
        """Bring files in, batch by batch, and set aside what cannot be.

        Raises: whatever ``load`` raises that does not come from what is in the files, if nothing was done before.
        """
        found: LibrarySummary | None = None
        stack = [batch for batch in reversed(batches) if batch] or [[]]
        for _ in range(MOST_LOADS):
            if not stack or (found and self.cancelled()):
                break
            batch = stack.pop()
            try:
                more = self._try(batch, stack)
            except Exception:
                if found is None:
                    raise
                stack.append(batch)  # what was done is told first; the next taking says what is in the way
                break
            if more is not None:
                found = more if found is None else _together(found, more)
        return replace(found or self.load([]), waiting=sum(map(len, stack)))

    def _try(self, batch: list[Path], stack: list[list[Path]]) -> LibrarySummary | None:
        """Bring one batch in, or put smaller ones on the stack, or set aside the one request that it is."""
        # Another process may have split one, or set it aside.
        there = [path for path in batch if path.exists()]
        try:
            return self.load(there)
        except Exception as fault:
            if not there or not is_of_content(fault):
                raise
            return self._without(there, fault, stack)

    def _without(self, batch: list[Path], fault: Exception, stack: list[list[Path]]) -> LibrarySummary | None:
        """After a failure: smaller batches to try, or one request less."""
        pieces = [batch[: len(batch) // 2], batch[len(batch) // 2 :]] if len(batch) > 1 else self._split(batch[0])
        if pieces:
            stack.extend(reversed(pieces))
            return None
        # Where nothing at all can be written now, the request is not what is wrong.
        Work.begin(self.place, self.catalog.last_file_id).discard()
        row = self._set_aside(batch[0], fault)
        return replace(self.load([]), set_aside=(row,))

    def _split(self, path: Path) -> list[list[Path]]:
        """Make two files of one, about equally large; nothing where it holds one request only."""
        content = path.read_bytes()
        at = _middle(content, is_lines=path.name.endswith(".jsonl"))
        if not at:
            return []
        stem, ending = _named(path.name)
        for left in self.place.spool.glob(f".{stem}*{_NEW}"):
            # Of a process that died here. One that lives is refused its rename, and tries again.
            left.unlink(missing_ok=True)
        parts = [path.with_name(f"{stem}{side}{ending}") for side in _SIDES]
        for part, piece in zip(parts, (content[:at], content[at:]), strict=True):
            new = part.with_name(f".{part.name}.{os.getpid()}{_NEW}")
            with new.open("wb") as out:
                out.write(piece)
                out.flush()
                os.fsync(out.fileno())
            new.rename(part)
        sync(self.place.spool)
        path.unlink(missing_ok=True)
        sync(self.place.spool)
        return [[part] for part in parts]

    def _set_aside(self, path: Path, fault: Exception) -> IssueRow:
        """Move a file with one request out of the spool, after the library says so: dying in between repeats it."""
        target = self.place.set_aside / _name_aside(path)
        target.parent.mkdir(exist_ok=True)
        reason = f"a received request that could not be brought in is set aside here: {_why(fault)}"
        row = IssueRow(path=str(target), line=None, reason=reason)
        with self.catalog.writing():
            self.catalog.drop_issues(row.path)
            self.catalog.add_issues([row])
        # Equal names mean equal bytes, so what is there already loses nothing.
        path.rename(target)
        sync(target.parent)
        sync(self.place.spool)
        return row


def is_of_content(fault: Exception) -> bool:
    """Whether a load failed for what was to be loaded: not for the disk, a lock or a missing right."""
    at: BaseException | None = fault
    while isinstance(at, Exception):
        if isinstance(at, OSError | sqlite3.Error | LibraryError | QueryCancelledError | duckdb.IOException):
            return False
        # DuckDB calls it a lack of memory when there is no room on the disk for what does not fit into it.
        if is_full(at) or "max_temp_directory_size" in str(at):
            return False
        at = at.__cause__
    return True


def _middle(content: bytes, *, is_lines: bool) -> int:
    """Where the request begins that is nearest to the middle; 0 where there is one only."""
    half = len(content) // 2
    if is_lines:
        before, after = content.rfind(b"\n", 0, half) + 1, content.find(b"\n", half) + 1
        starts = [at for at in (before, after) if 0 < at < len(content)]
    else:
        starts, at = [], 0
        while at < len(content):
            at += _LENGTH_BYTES + int.from_bytes(content[at : at + _LENGTH_BYTES], "big")
            if at < len(content):
                starts.append(at)
    return min(starts, key=lambda start: abs(start - half), default=0)


def _name_aside(path: Path) -> str:
    """By the time of its receipt, and its content."""
    stem, ending = _named(path.name)
    clock = stem[:_CLOCK_DIGITS]
    when = datetime.fromtimestamp(int(clock) // 10**9, UTC) if clock.isdecimal() else datetime.now(UTC)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return f"{when:%Y-%m-%dT%H%M%SZ}-{digest}{ending}"


def _why(fault: Exception) -> str:
    said = " ".join(str(fault).split())
    why = said if isinstance(fault, DebuggerError) else f"{type(fault).__name__}: {said}"
    return why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]}…"


def _together(one: LibrarySummary, two: LibrarySummary) -> LibrarySummary:
    """Two loads as one."""
    return replace(
        two,
        spans=one.spans + two.spans,
        logs=one.logs + two.logs,
        issues=one.issues + two.issues,
        skipped=one.skipped + two.skipped,
        unrecognised=one.unrecognised + two.unrecognised,
        seconds=one.seconds + two.seconds,
        was_cancelled=one.was_cancelled or two.was_cancelled,
        new_traces=one.new_traces + two.new_traces,
        copied=one.copied + two.copied,
        set_aside=one.set_aside + two.set_aside,
    )
