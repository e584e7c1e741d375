"""Opening input: files, folders, archives and standard input as named streams of blocks.

gzip, zip, zstd and UTF-16 are recognised by their first bytes, never by name. Nothing here knows a trace format.
"""

from __future__ import annotations

import codecs
import lzma
import os
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Final, TypeAlias

BLOCK_BYTES: Final = 1 << 20
_BINARY: Final = b"\0"
"""A byte that no text has."""
HEAD_BYTES: Final = 64 << 10
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
_ZSTD: Final = (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")
"""A frame, and one that is to be skipped (pzstd writes these)."""

_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
"""Byte-order marks; PowerShell redirects output in this form."""
_BOMB_BYTES: Final = 256 << 20
_BOMB_RATIO: Final = 500
"""What unpacks to more than that in both respects is no trace: text of agents shrinks a hundredfold at best."""
MOST_EMPTY: Final = 1_000
"""Empty gzip members or zstd frames that may follow each other; tools write one at the end or between two others."""
_SLICE_BYTES: Final = 64 << 10
_BAD_ZIP: Final = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError, ValueError,
    OverflowError,
)  # fmt: skip
"""What zipfile raises for damage, encryption and methods that it does not have."""
_STREAMS: Final = ("/dev/fd/", "/dev/stdin", "/dev/null", "/proc/self/fd/")
"""Names under which a shell hands over a pipe that is already open."""

PathNote: TypeAlias = Callable[[str, str], None]
"""``note(path, reason)``: a path that could not be read, or not to its end."""


Check: TypeAlias = Callable[[], None]
"""Called between two pieces of input, also where nothing comes of them; what it raises ends the reading."""


class Counter:
    """Bytes taken from the file itself, before any decompression: what progress is measured in."""

    def __init__(self, size: int | None, check: Check = lambda: None) -> None:
        self.size = size
        self.done = 0
        self.check = check


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of bytes with a name."""

    path: str
    """Display name; a member of an archive is ``archive!member``."""
    head: bytes
    """The first bytes, up to ``HEAD_BYTES``; also part of ``blocks``."""
    blocks: Iterator[bytes]
    counter: Counter = field(default_factory=lambda: Counter(None))
    is_named: bool = True
    """Named by the user, not found in a folder or archive."""
    lines_before: int = 0
    """Lines of the file that were handed on before these."""
    is_again: bool = False
    """The file was read before: what was noted about it then no longer holds."""
    has_more: Callable[[], bool] = lambda: False
    """Whether more of it was read before or is to come, so that nothing in it means nothing."""


def iter_sources(
    paths: Sequence[str | Path],
    note: PathNote,
    wanted: Callable[[str], bool] = lambda path: True,
    check: Check = lambda: None,
) -> Iterator[Source]:
    """Every stream under the paths, in order; folders recursively and sorted, hidden names left out.

    A source must be read before the next one is asked for. What cannot be opened is noted and passed over.

    Args:
        paths: files, folders, archives, or ``-``.
        note: told what could not be read.
        wanted: asked for each file, archives whole, before it is opened; where it says no the file is passed over.
        check: called for each file, and some megabytes apart while sources are opened and read.
    """
    for path, is_named in iter_files(paths, note):
        is_wanted = wanted(path)
        check()  # after it: who is asked knows then which file is left out, and that those before are whole
        if not is_wanted:
            continue
        if path == "-":
            yield from _from_stream("-", sys.stdin.buffer, Counter(None, check), True, note)
        else:
            yield from sources_of_file(Path(path), is_named, note, check)


def iter_files(paths: Sequence[str | Path], note: PathNote) -> Iterator[tuple[str, bool]]:
    """The files under the paths, in order, and whether each was named itself."""
    for path in paths:
        if str(path) != "-" and Path(path).is_dir():
            for file in _files_below(Path(path), note):
                yield str(file), False
        else:
            yield str(path), True


def _files_below(folder: Path, note: PathNote) -> Iterator[Path]:
    def unreadable(fault: OSError) -> None:
        note(str(fault.filename), fault.strerror or "cannot be read")

    for here, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(files):
            path = Path(here, name)
            if name.startswith("."):
                continue
            try:
                is_file = path.is_file()
            except OSError as fault:
                # A folder that lists its names but lets nobody in.
                note(str(path), (fault.strerror or str(fault)).lower())
                continue
            if is_file:
                yield path
            elif not os.path.lexists(path) or (path.is_symlink() and not path.exists()):
                note(str(path), "a link that leads nowhere")


def sources_of_file(path: Path, is_named: bool, note: PathNote, check: Check = lambda: None) -> Iterator[Source]:
    """The streams of one file: several of an archive, none where it cannot be opened, which is noted."""
    try:
        if (what := why_never_ending(path)) is not None:
            note(str(path), what)
            return
        with path.open("rb", buffering=BLOCK_BYTES) as stream:  # lines are found five times as fast as in small ones
            counter = Counter(os.fstat(stream.fileno()).st_size, check)
            yield from _from_stream(str(path), stream, counter, is_named, note)
    except FileNotFoundError:
        note(str(path), "no such file or folder")
    except OSError as fault:
        note(str(path), (fault.strerror or str(fault)).lower())


def why_never_ending(path: Path) -> str | None:
    """Why a path must not be opened: opening a pipe waits for its writer, without a word; a device has no end."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or str(path).startswith(_STREAMS):
        return None
    if stat.S_ISFIFO(mode):
        return "a named pipe is not opened; give it to standard input, and - as the file"
    return "no file but a socket or device"


def _from_stream(path: str, stream: IO[bytes], counter: Counter, is_named: bool, note: PathNote) -> Iterator[Source]:
    blocks = file_blocks(stream, counter)
    head, blocks = _peek(blocks)
    if head.startswith(_ZIP) and stream.seekable():
        yield from _from_zip(path, stream, counter, note)
        return
    head, blocks = _unpacked(head, blocks, _Bound(path, note, lambda: counter.done, counter.check))
    yield Source(path, head, blocks, counter, is_named)


@dataclass(frozen=True, slots=True)
class _Bound:
    """What packed input may become, and who is asked meanwhile."""

    path: str
    note: PathNote
    taken: Callable[[], int]
    """Bytes taken so far."""
    check: Check

    def watch(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The unpacked blocks, until it is clear that they were made to fill the memory."""
        size, due = 0, BLOCK_BYTES
        for block in blocks:
            size += len(block)
            if size > _BOMB_BYTES and size > self.taken() * _BOMB_RATIO:
                self.note(self.path, f"unpacks to more than {_BOMB_RATIO} times its size; not read on")
                return
            yield block
            if size >= due:
                due = size + BLOCK_BYTES
                self.check()


def _unpacked(head: bytes, blocks: Iterator[bytes], bound: _Bound) -> tuple[bytes, Iterator[bytes]]:
    """The content of a stream, out of gzip or zstd where it is in one, as UTF-8."""
    if head.startswith(_GZIP):
        head, blocks = _peek(bound.watch(_gunzip(blocks, bound.path, bound.note)))
    elif head.startswith(_ZSTD):
        head, blocks = _peek(bound.watch(_unzstd(blocks, bound.path, bound.note)))
    return _peek(_as_utf8(blocks)) if head.startswith(_UTF16) else (head, blocks)


def _as_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _from_zip(path: str, stream: IO[bytes], counter: Counter, note: PathNote) -> Iterator[Source]:
    try:
        with zipfile.ZipFile(stream) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield from _from_member(archive, info, f"{path}!{info.filename}", counter, note)
                    counter.done += info.compress_size
    except _BAD_ZIP as fault:
        note(path, f"a zip archive that cannot be read: {fault}")


def _from_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, counter: Counter, note: PathNote
) -> Iterator[Source]:
    try:
        with archive.open(info) as member:
            bound = _Bound(path, note, lambda: info.compress_size, counter.check)
            head, blocks = _unpacked(*_peek(bound.watch(_zip_blocks(member, path, note))), bound)
            if head.startswith(_ZIP):  # its list of members stands at its end, which is not at hand
                note(path, "a zip within a zip is not read")
                return
            yield Source(path, head, blocks, counter, False)
    except _BAD_ZIP as fault:
        note(path, f"cannot be read from the archive: {fault}")


def _zip_blocks(member: IO[bytes], path: str, note: PathNote) -> Iterator[bytes]:
    try:
        while block := member.read(BLOCK_BYTES):
            yield block
    except _BAD_ZIP as fault:
        note(path, f"damaged inside the archive: {fault}")


def compression_of(head: bytes) -> str | None:
    """What the first bytes of a file say that it is packed with; None for a plain one."""
    kinds = ((_GZIP, "gzip"), (_ZIP, "zip"), (_ZSTD, "zstd"))
    return next((name for mark, name in kinds if head.startswith(mark)), None)


def file_blocks(stream: IO[bytes], counter: Counter) -> Iterator[bytes]:
    """The bytes of a file, line by line where lines are of any sane length: then nobody has to cut them again."""
    read = stream.readline
    due = counter.done + BLOCK_BYTES
    while block := read(BLOCK_BYTES):
        counter.done += len(block)
        yield block
        if counter.done >= due:
            due = counter.done + BLOCK_BYTES
            counter.check()
        if _BINARY in block:  # line feeds mean nothing there, and are many
            read = stream.read


def _peek(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The head of a stream, and the stream with its head put back."""
    first: list[bytes] = []
    size = 0
    for block in blocks:
        first.append(block)
        size += len(block)
        if size >= HEAD_BYTES:
            break
    return b"".join(first)[:HEAD_BYTES], chain(first, blocks)


def _sliced(blocks: Iterable[bytes]) -> Iterator[memoryview | bytes]:
    """The blocks in pieces: at the end of each member, however small, all that was given with it is copied."""
    for block in blocks:
        view = memoryview(block)
        for at in range(0, len(view), _SLICE_BYTES):
            yield view[at : at + _SLICE_BYTES]


class _Empty:
    """Counts members without content: they cost time, and no bound on what is unpacked sees them."""

    def __init__(self, path: str, kind: str, note: PathNote) -> None:
        self.in_a_row = 0
        self._path = path
        self._kind = kind
        self._note = note

    def are_too_many(self) -> bool:
        """A member has ended; where it was one empty one too many, that is noted."""
        self.in_a_row += 1
        if self.in_a_row <= MOST_EMPTY:
            return False
        self._note(self._path, f"more than {MOST_EMPTY:,} empty {self._kind} in a row; not read on")
        return True


def _gunzip(blocks: Iterable[bytes], path: str, note: PathNote) -> Iterator[bytes]:
    """The content of all members; damage or an early end is noted after what could be read."""
    inflate = zlib.decompressobj(wbits=31)
    at_member_start = False
    empty = _Empty(path, "gzip members", note)
    for data in _sliced(blocks):
        while data:
            if at_member_start:
                if data[:1] != _GZIP[:1]:
                    if bytes(data).strip(b"\x00"):
                        note(path, "something follows the gzip data")
                    return
                inflate = zlib.decompressobj(wbits=31)
                at_member_start = False
            try:
                out = inflate.decompress(data, BLOCK_BYTES)
            except zlib.error:
                with suppress(zlib.error):
                    yield inflate.flush()
                note(path, "damaged gzip data")
                return
            if out:
                empty.in_a_row = -1  # the end of this member makes it none
                yield out
            data = inflate.unconsumed_tail
            if inflate.eof:
                data, at_member_start = inflate.unused_data, True
                if empty.are_too_many():
                    return
    if not at_member_start:
        while out := inflate.flush():
            yield out
        note(path, "gzip data that ends in the middle")


def _unzstd(blocks: Iterable[bytes], path: str, note: PathNote) -> Iterator[bytes]:
    """The content of all frames; damage or an early end is noted after what could be read."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    frame = zstd.ZstdDecompressor()
    is_inside = False
    empty = _Empty(path, "zstd frames", note)
    for data in _sliced(blocks):
        while data:
            try:
                out = frame.decompress(data, BLOCK_BYTES)
                while out:
                    empty.in_a_row = -1
                    yield out
                    out = b"" if frame.eof or frame.needs_input else frame.decompress(b"", BLOCK_BYTES)
            except zstd.ZstdError:
                note(path, "damaged zstd data" if is_inside else "something follows the zstd data")
                return
            is_inside, data = True, b""
            if frame.eof:
                is_inside, data, frame = False, frame.unused_data, zstd.ZstdDecompressor()
                if empty.are_too_many():
                    return
    if is_inside:
        note(path, "zstd data that ends in the middle")
