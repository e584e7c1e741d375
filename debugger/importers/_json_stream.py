"""JSON values one after the other, however they are laid out: pretty-printed objects without commas, lines, arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ._lines import MAX_BYTES, MAX_DEPTH, TOO_LONG, depth_after, iter_lines
from ._otlp_slow import parse_lenient
from ._records import Note

_MAX_LINES = 1 << 24


def iter_values(blocks: Iterable[bytes], note: Note) -> Iterator[tuple[int, Any]]:
    """The values of a file with the line that each begins on. Never raises for what is in the blocks.

    What is nested or long beyond all sense is passed over up to the next object that begins on a line of its own. A
    value that is torn costs only itself where the next one begins on a line of its own, as the same kind of opening.
    """
    pending: list[bytes] = []
    start = depth = size = 0
    opening = b""
    lost = False
    for number, line in enumerate(iter_lines(blocks, note), 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if lost:
            # Only a line that can be nothing but the next value is looked at.
            if line.rstrip() != b"{":
                continue
            lost = False
        if pending and opening and line.rstrip() == opening:
            note(start, "ends in the middle", True)
            pending = []
        if not pending:
            if not line or line.isspace():
                continue
            start, depth, size = number, 0, 0
            bare = line.rstrip()
            # Printers give the outermost bracket a line of its own and indent everything inside.
            opening = bare if bare == b"{" else b""
        pending.append(line)
        depth += depth_after(line)
        size += len(line)
        if depth > MAX_DEPTH or size > MAX_BYTES:
            note(start, "nested too deeply" if depth > MAX_DEPTH else TOO_LONG, True)
            pending, lost = [], True
        elif depth <= 0 or len(pending) > _MAX_LINES:
            yield from _values(pending, start, note)
            pending = []
    if pending:
        yield from _values(pending, start, note)


def _values(lines: list[bytes], start: int, note: Note) -> Iterator[tuple[int, Any]]:
    for value in parse_lenient(b"\n".join(lines), start, note):
        yield start, value


def objects_in(value: Any, line: int, note: Note) -> Iterator[dict[str, Any]]:
    """The object, or those of a list; anything else is noted."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item
        else:
            note(line, "not a JSON object", True)
