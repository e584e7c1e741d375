"""Files that still grow: what is new in them since they were last looked at, and whole.

A last line without its end is held back and handed on once it is there, so it is neither reported nor read twice. What
means something only as a whole (an array, a binary file, events that belong together) is read again from the start when
the file has changed; the store knows spans that it has. Nothing here waits or runs by itself: somebody asks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias

from ._formats import format_of
from ._lines import MAX_BYTES, depth_after, too_long
from ._source import (
    HEAD_BYTES,
    Check,
    Counter,
    PathNote,
    Source,
    compression_of,
    file_blocks,
    iter_files,
    sources_of_file,
)
from ._unknown import is_text

MOST_FILES: Final = 500
"""Files that are looked at again and again; a bigger folder is read once."""
MOST_BYTES: Final = 64 << 20
"""A file that has to be read as a whole is read again up to this size."""
_MARK_BYTES: Final = 256
"""Bytes at the start and before the place that was reached, by which a file is known again."""

_Mode: TypeAlias = Literal["new", "lines", "values", "whole", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """How following stands."""

    is_on: bool
    files: int
    """Files that are looked at."""
    waiting: tuple[tuple[str, int], ...] = ()
    """Path and first line of what is held back, since its end is not there yet; 0 for an empty file."""
    not_followed: tuple[tuple[str, str], ...] = ()
    """Path and reason."""
    problem: str = ""
    """Why following ended by itself."""


class Follower:
    """The files under some paths, read as they grow. One thread at a time.

    Args:
        paths: files and folders; of folders also what is new in them.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._paths = list(paths)
        self._tails: dict[str, _Tail] = {}
        self._too_many: tuple[tuple[str, str], ...] = ()
        self._noted: set[tuple[str, str]] = set()

    def has_news(self) -> bool:
        """Whether a file is new or has changed. Cost: one look at each path."""
        return any(tail.has_changed() for tail in self._found(lambda path, reason: None))

    def sources(self, note: PathNote, check: Check = lambda: None) -> Iterator[Source]:
        """What is new; everything at first. Each source must be read before the next one is asked for.

        Args:
            note: told what could not be read.
            check: called some megabytes apart while sources are opened and read.
        """

        def once(path: str, reason: str) -> None:
            if (path, reason) not in self._noted:
                self._noted.add((path, reason))
                note(path, reason)

        for tail in self._found(once):
            if tail.has_changed():
                yield from tail.sources(once, check)
        if self._too_many:
            self._tails.clear()

    def following(self, *, is_on: bool, problem: str = "") -> Following:
        """How it stands after the last reading."""
        tails = self._tails.values()
        return Following(
            is_on=is_on,
            files=sum(tail.is_followed for tail in tails),
            waiting=tuple((tail.path, tail.waits_at) for tail in tails if tail.waits_at is not None),
            not_followed=(*self._too_many, *((tail.path, tail.why) for tail in tails if tail.why)),
            problem=problem,
        )

    def _found(self, note: PathNote) -> list[_Tail]:
        if not self._too_many:
            for path, is_named in iter_files(self._paths, note):
                if path not in self._tails:
                    self._tails[path] = _Tail(path, is_named)
            if len(self._tails) > MOST_FILES:
                paths = ", ".join(map(str, self._paths))
                self._too_many = ((paths, f"more than {MOST_FILES} files are not looked at again and again"),)
        return list(self._tails.values())


class _Tail:
    """One file: how it grows, and how far it was read."""

    def __init__(self, path: str, is_named: bool) -> None:
        self.path = path
        self.mode: _Mode = "new"
        self.why = ""
        """Why it is not followed; empty for a file that is no trace either."""
        self.waits_at: int | None = None
        self._is_named = is_named
        self._stat: tuple[int, int, int] | None = None
        self._restart()

    def _restart(self) -> None:
        self.mode, self._done, self._lines, self._head = "new", 0, 0, b""
        self._is_other = False
        self._inode = -1
        self._marks = (b"", b"")
        self.waits_at = None

    @property
    def is_followed(self) -> bool:
        """Whether it is a trace, or empty still, and is looked at again."""
        return self.mode != "never" and not self._is_other

    def has_changed(self) -> bool:
        """Whether there is something to read; a file that is gone may come back."""
        if self.mode == "never":
            return False
        now = self._look()
        return self._stat is None or (now is not None and now != self._stat)

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = Path(self.path).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns if stat.S_ISREG(found.st_mode) else -1

    def sources(self, note: PathNote, check: Check) -> Iterator[Source]:
        """What is new in it."""
        is_first, self._stat = self._stat is None, self._look()
        if self._stat is None or self._stat[2] < 0:
            self.mode = "never"  # What is no file can be read only once, or not at all.
        # Its kind may show only now, and what was said of it may no longer be true.
        is_again = self.mode == "whole"
        if self.mode != "never":
            try:
                yield from self._opened(note, check, is_first, is_again)
            except OSError as fault:
                note(self.path, (fault.strerror or str(fault)).lower())
                return
        if self.mode == "whole" or (self.mode == "never" and is_first):
            for source in sources_of_file(Path(self.path), self._is_named, note, check):
                yield replace(source, is_again=is_again)

    def _opened(self, note: PathNote, check: Check, is_first: bool, is_again: bool) -> Iterator[Source]:
        """Settle how it grows, and read what is new where it grows piece by piece."""
        with Path(self.path).open("rb") as stream:
            if is_again:
                self._restart()
            elif not is_first and self._is_another(stream):
                note(self.path, "was replaced or cut off while it was followed; read from its start again")
                self._restart()
            if self.mode == "new":
                self._settle_mode(stream)
            if self.mode in ("lines", "values"):
                yield replace(self._source(stream, note, check), is_again=is_again)

    def _is_another(self, stream: IO[bytes]) -> bool:
        """Whether it is not the file that was read so far, or no longer begins with what was read."""
        found = os.fstat(stream.fileno())
        if found.st_size < self._done or self._inode not in (-1, found.st_ino):
            return True
        first, last = self._marks
        stream.seek(0)
        is_other = stream.read(len(first)) != first
        stream.seek(self._done - len(last))
        return is_other or stream.read(len(last)) != last

    def _settle_mode(self, stream: IO[bytes]) -> None:
        """Find out how the file grows, as soon as its first bytes tell."""
        found = os.fstat(stream.fileno())
        self._inode = found.st_ino
        stream.seek(0)
        head = self._head = stream.read(HEAD_BYTES)
        if not head:
            self.waits_at = 0
            return
        if packed := compression_of(head):
            self.mode, self.why = "never", f"compressed ({packed}); only plain files are followed"
            return
        form = format_of(head)
        if form is None:
            self._is_other = True
            self.mode = "whole" if is_text(head) else "never"
        elif form.growth == "values":
            self.mode = "values" if head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{" else "whole"
        elif form.growth == "lines":
            self._settle_lines(stream)
        else:
            self.mode = "whole"
        if self.mode == "whole" and found.st_size > MOST_BYTES:
            self.mode = "never"
            self.why = f"more than {MOST_BYTES >> 20} MB of a format that is only read as a whole"

    def _settle_lines(self, stream: IO[bytes]) -> None:
        """Lines are only read one by one where the first one stands for itself."""
        stream.seek(0)
        line = b""
        while not line.strip() and (line := stream.readline(MAX_BYTES + 1)):
            pass
        is_whole = len(line) > MAX_BYTES or depth_after(line) <= 0
        if not is_whole and not line.endswith(b"\n"):
            self.waits_at = 1
        else:
            self.mode = "lines" if is_whole else "whole"

    def _source(self, stream: IO[bytes], note: PathNote, check: Check) -> Source:
        counter = Counter(os.fstat(stream.fileno()).st_size, check)
        counter.done = self._done
        stream.seek(self._done)
        blocks = self._whole(file_blocks(stream, counter), stream, note)
        before = self._lines
        return Source(
            self.path, self._head, blocks, counter, self._is_named, before,
            has_more=lambda: before > 0 or self.waits_at is not None,
        )  # fmt: skip

    def _whole(self, blocks: Iterator[bytes], stream: IO[bytes], note: PathNote) -> Iterator[bytes]:
        """The lines (and values, where those count) that have an end, and a last one that is whole without it."""
        self.waits_at = None
        held: list[bytes] = []
        line: list[bytes] = []
        depth = size = 0
        for block in blocks:
            line.append(block)
            size += len(block)
            if size > MAX_BYTES:
                line.clear()
            if not block.endswith(b"\n"):
                continue
            if size > MAX_BYTES:
                yield from self._handed(held)
                yield from self._passed(size, note)
                held, depth, size = [], 0, 0
                continue
            size = 0
            text = block if len(line) == 1 else b"".join(line)
            line.clear()
            if self.mode == "values":
                if text.rstrip() == b"{":  # What was open before it was torn, and nothing will end it.
                    yield from self._handed(held)
                    held, depth = [], 0
                depth = max(depth, 0) + depth_after(text)
            held.append(text)
            if depth <= 0:
                yield from self._handed(held)
                held = []
        rest = b"".join(line)
        if rest.lstrip()[:1] in (b"{", b"[", b"}", b"]") and depth + depth_after(rest) <= 0:
            held.append(rest)
            yield from self._handed(held)
        elif size > MAX_BYTES or rest.strip() or b"".join(held).strip():
            self.waits_at = self._lines + 1
        self._remember(stream)

    def _handed(self, held: list[bytes]) -> Iterator[bytes]:
        for text in held:
            yield text
            # Only now has the importer come back for more.
            self._done += len(text)
            self._lines += text.count(b"\n")

    def _passed(self, size: int, note: PathNote) -> Iterator[bytes]:
        """An empty line in place of one that is too long."""
        note(self.path, f"line {self._lines + 1:,}: {too_long(size)}")
        yield b"\n"
        self._done += size
        self._lines += 1

    def _remember(self, stream: IO[bytes]) -> None:
        size = min(_MARK_BYTES, self._done)
        stream.seek(0)
        first = stream.read(size)
        stream.seek(self._done - size)
        self._marks = (first, stream.read(size))
