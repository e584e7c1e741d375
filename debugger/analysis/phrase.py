"""Finding a phrase in a text: as it stands, then whatever its case, spacing and way of writing numbers, then a part.

Models copy words and change how they are written: ``1234.5`` becomes ``1,234.50``, JSON becomes prose. So texts are
compared as words: letters without case, numbers by value, punctuation left out, one word per ideograph.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["exact", "normalised", "part"]
"""How a phrase was found, the surest first."""

PHRASE_LIMIT = 2_000
"""Characters of a phrase that are looked for."""

_WORD = re.compile(
    "(?P<number>[0-9](?:[0-9.,'_\u00a0\u202f]*[0-9])?)|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W0-9\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af]+"
)
_LEAST_PART = 8
_LEAST_SHARE = 0.4
"""A common part must be this much of the phrase, unless it holds a number of three digits: those are rarely chance."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a phrase stands in a text."""

    level: Level
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Words:
    """A text as words that can be compared."""

    joined: str
    """The words between blanks, with one at either end, so that a word is never found within another."""
    spots: tuple[tuple[int, int], ...] = field(repr=False)
    """Where each word stands in the text."""
    starts: tuple[int, ...] = field(repr=False)
    """Where each word stands in ``joined``."""

    @classmethod
    def of(cls, text: str) -> Words:
        """The words of a text. Cost: one pass with a regular expression, 10 MB a second."""
        words, spots, starts = [], [], []
        at = 1
        for match in _WORD.finditer(text):
            word = match.group()
            word = _number(word) if match.lastgroup else word.casefold()
            words.append(word)
            spots.append(match.span())
            starts.append(at)
            at += len(word) + 1
        return cls(f" {' '.join(words)} " if words else "", tuple(spots), tuple(starts))

    def __len__(self) -> int:
        return len(self.spots)

    def part(self, start: int, size: int) -> str:
        """Some words, as they stand in ``joined``, with the blanks around them."""
        last = start + size
        end = self.starts[last] if last < len(self.starts) else len(self.joined)
        return self.joined[self.starts[start] - 1 : end]

    def find(self, part: str) -> tuple[int, int] | None:
        """Where some words stand in the text, the last time."""
        at = self.joined.rfind(part) if part else -1
        if at < 0:
            return None
        first = bisect_right(self.starts, at + 1) - 1
        return self.spots[first][0], self.spots[first + part.count(" ") - 2][1]


def _number(text: str) -> str:
    """A number without thousands marks and idle zeros: ``1,234.50``, ``1.234,5`` and ``1234.5`` are the same."""
    text = re.sub("['_\u00a0\u202f]", "", text)
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        mark = "." if text.rfind(".") > text.rfind(",") else ","
        text = text.replace("," if mark == "." else ".", "")
        text = text.replace(mark, ".") if text.count(mark) == 1 else text.replace(mark, "")
    elif commas:
        tail = text.rpartition(",")[2]
        text = text.replace(",", "" if commas > 1 or len(tail) == 3 else ".")
    elif dots > 1:
        return text  # A version, an address, a date.
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    whole = whole if whole.startswith("0") and len(whole) > 1 else whole or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _loosely(word: str) -> str:
    """A pattern for a word in a text without case: whoever holds the word fits, and little else does."""
    if not word[0].isdigit():
        return re.escape(word)
    # A number may have marks between its digits and idle zeros behind them.
    return "[.,'_\u00a0\u202f]?".join(digit for digit in word if digit.isdigit()) + "[.,0]*"


class Phrase:
    """A phrase that is looked for in many texts."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()[:PHRASE_LIMIT]
        self.words = Words.of(self.text)
        self._loose = re.compile("\\W*".join(_loosely(word) for word in self.words.joined.split()))

    def find_exact(self, text: str) -> Found | None:
        """Where it stands as it is, the last time."""
        at = text.rfind(self.text) if self.text else -1
        return Found("exact", at, at + len(self.text)) if at >= 0 else None

    def may_hold(self, text: str) -> bool:
        """False where a text cannot hold the words: a cheap look before ``Words.of``."""
        return len(self.words) > 0 and self._loose.search(text.casefold()) is not None

    def find_words(self, words: Words) -> Found | None:
        """Where it stands, however it is written."""
        spot = words.find(self.words.joined) if len(self.words) else None
        return None if spot is None else Found("normalised", *spot)

    def longest_part(self, words: Words) -> Found | None:
        """The longest run of its words that stands there too, where it is long enough to mean something.

        Cost: O(words of the phrase x log of that) searches in the text.
        """
        low, high, best = 0, len(self.words), ""
        while low < high:
            size = (low + high + 1) // 2
            here = next((part for part in self._parts(size) if part in words.joined), None)
            if here is None:
                high = size - 1
            else:
                low, best = size, here
        if not self._means_something(best):
            return None
        spot = words.find(best)
        return None if spot is None else Found("part", *spot)

    def _parts(self, size: int) -> list[str]:
        return [self.words.part(start, size) for start in range(len(self.words) - size + 1)]

    def _means_something(self, part: str) -> bool:
        bare = part.strip()
        if any(sum(c.isdigit() for c in word) >= 3 for word in bare.split()):
            return True
        return len(bare) >= max(_LEAST_PART, _LEAST_SHARE * len(self.words.joined))
