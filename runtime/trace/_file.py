"""A run as a file of OTLP/JSON lines: written while it runs, compacted when it ends, read back after a crash."""

from __future__ import annotations

import gzip
import json
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import TraceFormatError
from ..messages import JsonObject, Known
from ._builder import SpanBuilder
from ._events import TraceEvent
from ._merge import merge_versions
from ._otlp import decode_request, encode_request
from ._own import call_of_span, is_own_span
from ._points import events_of
from ._span import Span

logger = logging.getLogger(__name__)

_BEGINNING = '{"resourceSpans"'
"""How each line begins, also one that was cut off."""
_NO_REQUEST = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading a line raises that is no export request; an infinite number is no whole one."""


class TraceFileWriter:
    """A subscriber that writes each event of a run to a file as it happens.

    A span is written when it starts (without an end), again with each point inside it, and whole when it ends. Each
    write is one system call, so that what was written survives the death of the process. ``close`` leaves one line per
    span, if the file was empty at the start; while agents that were left behind still run, it waits for their ends.
    """

    def __init__(self, path: str | Path, *, resource: JsonObject, fsync: bool = False) -> None:
        self.path = Path(path)
        self._builder = SpanBuilder(resource)
        self._fsync = fsync
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        found = os.fstat(self._fd)
        # Only a regular file that is ours alone is compacted: not a pipe or a device, not one that others append to.
        self._compacts = stat.S_ISREG(found.st_mode) and found.st_size == 0
        self._is_closing = False
        self._is_torn = stat.S_ISREG(found.st_mode) and found.st_size > 0 and not _ends_whole(self.path)
        """The last line has no end: a process died while it wrote, or the disk was full."""

    def __call__(self, event: TraceEvent) -> None:
        """Write what the event adds. Raises OSError where the disk refuses."""
        span = self._builder.feed(event)
        if span is None or self._fd < 0:
            return
        line = encode_request([span])
        start = "\n" if self._is_torn else ""
        self._is_torn = True
        try:
            append_line(self._fd, start + line)
            self._is_torn = False
            if self._fsync:
                os.fsync(self._fd)
        except OSError as fault:
            self._compacts = False  # What is torn is read as it stands; the disk has no room for a second copy either.
            raise OSError(fault.errno, fault.strerror, str(self.path)) from fault
        if self._is_closing:
            self.close()

    def close(self) -> None:
        """Close the file, and drop the unfinished versions of spans that have ended."""
        self._is_closing = True
        if self._fd < 0 or not self._builder.all_ended:
            return
        os.close(self._fd)
        self._fd = -1
        if self._compacts:
            _compact(self.path.resolve())


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def append_line(fd: int, line: str) -> None:
    """Write the line with its break in one system call where the kernel takes it whole, else in as few as it needs."""
    data = memoryview(line.encode("utf-8", "replace") + b"\n")
    while data:
        data = data[os.write(fd, data) :]


def _compact(path: Path) -> None:
    """Rewrite the file with its ended spans only, by rename, so that a crash in the middle loses nothing."""
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as out, path.open(encoding="utf-8") as lines:
            for line in lines:
                ended = '"endTimeUnixNano":"0"' not in line
                if ended or any(span.end_unix_nano for span in decode_request(json.loads(line))):
                    out.write(line)
        Path(name).chmod(path.stat().st_mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_spans(path: str | Path) -> list[Span]:
    """All spans of an OTLP/JSON lines file (plain or gzip), several versions of a span merged.

    A line that was cut off by a crash or a full disk is left out; everything else counts.

    Raises:
        TraceFormatError: a line is no export request, and not because it was cut off.
        OSError: the file cannot be read.
    """
    path = Path(path)
    with path.open("rb") as head:
        opener = gzip.open if head.read(2) == b"\x1f\x8b" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
        return merge_versions(_decode_lines(path, lines))


def _decode_lines(path: Path, lines: Iterator[str]) -> Iterator[Span]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            spans = decode_request(json.loads(line))
        except _NO_REQUEST as fault:
            torn = isinstance(fault, json.JSONDecodeError) and _BEGINNING.startswith(line[: len(_BEGINNING)].rstrip())
            if torn or not line.endswith("\n"):
                logger.warning("%s, line %d was cut off and is left out", path, number)
                continue
            raise TraceFormatError(str(path), number, f"no OTLP/JSON export request of spans ({fault})") from fault
        yield from spans


def read_events(path: str | Path, trace_id: str | None = None) -> list[TraceEvent]:
    """The trace events of our own spans in an OTLP/JSON lines file.

    Works without the debugger, so that a run that was killed can be restored where it ran. Spans of other producers
    are left out here; the debugger's conventions read those.

    Args:
        path: the file, plain or gzip.
        trace_id: only this trace; None takes all.
    Raises: as ``read_spans``.
    """
    spans = [s for s in read_spans(path) if is_own_span(s) and trace_id in (None, s.trace_id)]
    known = Known()
    return events_of(call_of_span(span, known) for span in spans)
