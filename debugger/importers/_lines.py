"""From blocks of bytes to lines, and the bracket counter that tells where a JSON value over several lines ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ._records import Note

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|"')
MAX_DEPTH: Final = 100_000
"""No decoder here reads half as deep: input that opens more brackets is given up instead of being collected."""
MAX_BYTES: Final = 256 << 20
"""Of one line, and of one value over several: what is longer is passed over instead of being collected."""
TOO_LONG: Final = f"a value of more than {MAX_BYTES >> 20} MiB; passed over"


def iter_lines(blocks: Iterable[bytes], note: Note) -> Iterator[bytes]:
    """Lines; their line feed or carriage return may still be there, JSON takes it for white space.

    An empty one stands for each that is longer than ``MAX_BYTES``, which is noted and never held.
    """
    carry: list[bytes] = []
    number = 1
    size = 0
    for block in blocks:
        if not size and 0 <= block.find(b"\n") == len(block) - 1:
            yield block
            number += 1
            continue
        first, *rest = block.split(b"\n")
        carry.append(first)
        size += len(first)
        if size > MAX_BYTES:
            carry.clear()
        if rest:
            yield _whole_line(carry, size, number, note)
            yield from rest[:-1]
            number += len(rest)
            carry, size = [rest[-1]], len(rest[-1])
    if size:
        yield _whole_line(carry, size, number, note)


def too_long(size: int) -> str:
    """What is said of a line that is passed over."""
    return f"a line of {size / 1e6:,.0f} MB, and {MAX_BYTES >> 20} MiB are read at most; passed over"


def _whole_line(pieces: list[bytes], size: int, number: int, note: Note) -> bytes:
    if size > MAX_BYTES:
        note(number, too_long(size), True)
        return b""
    return b"".join(pieces)


def depth_after(line: bytes) -> int:
    """How many brackets a piece of JSON leaves open; a string cut by the end of the line counts as one more.

    Counting ends above ``MAX_DEPTH``.
    """
    depth = 0
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
            if depth > MAX_DEPTH:
                return depth
        elif token in (b"}", b"]"):
            depth -= 1
        elif token == b'"':
            return depth + 1
    return depth
