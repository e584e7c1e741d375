"""Two texts as one, with what was removed and added marked: lines first, then the words of the lines that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final, Literal, TypeAlias

from runtime.messages import Json

from ..replay.model import Difference
from .document import Line, Piece, Style, json_source, told, told_lines
from .text import plural

Change: TypeAlias = Literal["same", "removed", "added"]
Changes: TypeAlias = list[tuple[Change, str]]

_WORDS = re.compile(r"\s+|\d+(?:\.\d+)*(?:[eE][+-]?\d+)?(?!\w)|\w+|[^\w\s]")
"""Words of a diff. A number is one, with its fraction and exponent: 4.5 becomes 9.0, not 4 a 9 and 5 a 0."""

_MOST: Final = 4_000
"""Beyond this many words or lines that differ a comparison of each with each takes seconds."""

_KEPT: Final = 12
"""Words of unchanged text that stay around a change."""

_ALIKE: Final = 0.2
"""The part of the shorter side from which on common words are more than chance; below it, marks would only litter."""

_ONE_LINE: Final = 80
"""Characters of JSON up to which it stands on one line."""


def word_diff(before: str, after: str) -> Changes:
    """The two texts as one sequence of same, removed and added runs. Joining same and removed gives ``before``."""
    changes: Changes = []
    for is_same, was, now in _blocks(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        if is_same:
            changes.append(("same", was))
        else:
            changes += _words(was, now)
    return list(_joined(changes))


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, str, str]]:
    """Runs of parts that are the same in both, and what stands between them on each side."""
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    yield True, "".join(old[:start]), "".join(new[:start])
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if len(left) + len(right) > _MOST:
        yield False, "".join(left), "".join(right)
    else:
        for tag, a0, a1, b0, b1 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            yield tag == "equal", "".join(left[a0:a1]), "".join(right[b0:b1])
    yield True, "".join(old[len(old) - end :]), "".join(new[len(new) - end :])


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many parts both begin with."""
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _words(before: str, after: str) -> Changes:
    changes: Changes = []
    for is_same, was, now in _blocks(_WORDS.findall(before), _WORDS.findall(after)):
        changes += [("same", was)] if is_same else [("removed", was), ("added", now)]
    shared = sum(_letters(text) for change, text in changes if change == "same")
    if shared < _ALIKE * min(_letters(before), _letters(after)):
        return [("removed", before), ("added", after)]
    return changes


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _joined(changes: Iterable[tuple[Change, str]]) -> Iterator[tuple[Change, str]]:
    """The runs without empty ones; a blank between two words that were both exchanged is exchanged with them."""
    runs = [(change, text) for change, text in changes if text]
    widened: Changes = []
    for i, (change, text) in enumerate(runs):
        around = [run for run, _ in runs[max(i - 2, 0) : i]], [run for run, _ in runs[i + 1 : i + 3]]
        if change == "same" and text.isspace() and "\n" not in text and around == (_EXCHANGE, _EXCHANGE):
            widened += [("removed", text), ("added", text)]
        else:
            widened.append((change, text))
    for is_same, group in groupby(widened, lambda run: run[0] == "same"):
        parts = list(group)
        wanted: Change
        for wanted in _SAME if is_same else _OTHER:
            if text := "".join(part for change, part in parts if change == wanted):
                yield wanted, text


_EXCHANGE: Final = ["removed", "added"]
_SAME: Final[tuple[Change, ...]] = ("same",)
_OTHER: Final[tuple[Change, ...]] = ("removed", "added")


def diff_lines(before: str, after: str, indent: int = 0) -> list[Line]:
    """A word diff as lines; long stretches that are the same are shortened."""
    changes = word_diff(before, after)
    rows: list[list[Piece]] = [[]]
    for i, (change, text) in enumerate(changes):
        if change == "same":
            text = _shorten(text, first=i == 0, last=i == len(changes) - 1)
        start, end, style = _MARKS[change]
        parts = told_lines(text, style, before=start, after=end)
        for n, part in enumerate(parts):
            if n:
                rows.append([])
            # What ends with its line has nothing on the next one.
            if part.text and not (n and n == len(parts) - 1 and part.text == start + end):
                rows[-1].append(part)
    return [Line(tuple(row), indent) for row in rows]


_MARKS: dict[Change, tuple[str, str, Style]] = {
    "same": ("", "", ""),
    "removed": ("[-", "-]", "removed"),
    "added": ("{+", "+}", "added"),
}


def _shorten(text: str, *, first: bool, last: bool) -> str:
    words = _WORDS.findall(text)
    if len(words) <= 4 * _KEPT:
        return text
    head = "" if first else "".join(words[: 2 * _KEPT])
    tail = "" if last else "".join(words[-2 * _KEPT :])
    between = text[len(head) : len(text) - len(tail)].count("\n") - 1
    if between < 1:
        return f"{head} … {tail}"
    said = f"⋮ {plural(between, 'line')} the same"
    return "\n".join(filter(None, (head and f"{head.rstrip(' ')} …", said, tail and f"… {tail.lstrip(' ')}")))


def difference_lines(difference: Difference, indent: int = 0) -> list[Line]:
    """A difference word by word: ``[-recorded-]`` and ``{+actual+}`` between what is the same."""
    return diff_lines(diff_text(difference.recorded), diff_text(difference.actual), indent)


def place_pieces(difference: Difference) -> Iterator[Piece]:
    """Where it is: the path, after the part of the request where the path does not begin with that."""
    if not difference.path.startswith(difference.part):
        yield told(difference.part, "key", after="  " if difference.path else "")
    if difference.path:
        yield told(difference.path, "key")


def diff_text(value: Json) -> str:
    """A value as it is compared: a text as it is, longer JSON a line for each of its members."""
    if value is None or isinstance(value, str):
        return value or ""
    text = json_source(value)
    return text if len(text) <= _ONE_LINE else json_source(value, indent=2)
