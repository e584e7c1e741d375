"""From blocks of bytes to lines, and the bracket counter that tells where a JSON value over several lines ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|"')
MAX_DEPTH: Final = 100_000
"""No decoder here reads half as deep: input that opens more brackets is given up instead of being collected."""


def iter_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines; their line feed or carriage return may still be there, JSON takes it for white space."""
    carry: list[bytes] = []
    for block in blocks:
        if not carry and 0 <= block.find(b"\n") == len(block) - 1:
            yield block
            continue
        first, *rest = block.split(b"\n")
        carry.append(first)
        if rest:
            yield b"".join(carry)
            yield from rest[:-1]
            carry = [rest[-1]]
    if last := b"".join(carry):
        yield last


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
