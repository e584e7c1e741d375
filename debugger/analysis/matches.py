"""The spans of a trace that a filter lets pass, found part by part, so that a huge trace shows what is found so far."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Final

from ..store.rows import SearchPart
from .filter_language import Filter
from .tree import Forest, with_ancestors

_AT_ONCE: Final = 20_000
"""Spans that are looked at before it is asked whether the answer is still wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanMatches:
    """What was found."""

    matches: array[int] = field(repr=False)
    """Forest indices, ascending."""
    marked: bytearray = field(repr=False)
    """By forest index: 1 for a match."""
    around: array[int] | None = field(default=None, repr=False)
    """The matches and all that lies above them, ascending; None before the search is done."""
    looked_at: int
    """Spans that were looked at."""

    @property
    def is_whole(self) -> bool:
        """Whether the search is done."""
        return self.around is not None


class SpanFinder:
    """One search of a trace, which can be asked at any moment what it has found.

    Args:
        forest: the spans.
        wanted: the filter.
        known: what holds for its conditions.
    """

    def __init__(self, forest: Forest, wanted: Filter, known: Mapping[str, frozenset[Any]]) -> None:
        self._forest = forest
        self._wanted = wanted
        self._known = known
        self._marked = bytearray(len(forest))
        self._looked = 0

    def look(self, parts: Iterable[SearchPart] | None) -> Iterator[None]:
        """Look through all spans; comes back after every part of them.

        Args: parts: which texts the spans hold, in any order; None where the filter asks for no text.
        """
        if parts is None:
            for start in range(0, len(self._forest), _AT_ONCE):
                self._test(range(start, min(start + _AT_ONCE, len(self._forest))), self._known)
                yield
            return
        places = _Places(self._forest)
        seen = bytearray(len(self._forest))
        for part in parts:
            indices = [place for _, seq, _ in part if (place := places.of(seq)) is not None and not seen[place]]
            for index in indices:
                seen[index] = 1
            self._test(indices, {**self._known, **_held(self._wanted.texts, part)})
            yield
        # What the parts do not name has come or gone meanwhile; only its own words can tell.
        self._test([i for i, was_seen in enumerate(seen) if not was_seen], self._known)

    def _test(self, indices: Iterable[int], found: Mapping[str, frozenset[Any]]) -> None:
        rows, test, marked = self._forest.rows, self._wanted.test, self._marked
        for index in indices:
            self._looked += 1
            if test(rows[index], found):
                marked[index] = 1

    def so_far(self) -> SpanMatches:
        """What is found by now."""
        return SpanMatches(matches=self._matches(), marked=bytearray(self._marked), looked_at=self._looked)

    def whole(self) -> SpanMatches:
        """What was found in the end."""
        matches = self._matches()
        around = with_ancestors(self._forest, matches)
        return SpanMatches(matches=matches, marked=self._marked, around=around, looked_at=self._looked)

    def _matches(self) -> array[int]:
        return array("i", compress(range(len(self._marked)), self._marked))


def _held(texts: tuple[str, ...], part: SearchPart) -> dict[str, frozenset[int]]:
    return {text: frozenset([seq for _, seq, bits in part if bits >> i & 1]) for i, text in enumerate(texts)}


class _Places:
    """Where the spans of a forest are, by ``seq``. They are asked for in rising order, which is quick."""

    def __init__(self, forest: Forest) -> None:
        numbers = [row.seq for row in forest.rows]
        self._indices = array("i", sorted(range(len(numbers)), key=numbers.__getitem__))
        self._numbers = array("q", [numbers[index] for index in self._indices])
        self._next = 0

    def of(self, seq: int) -> int | None:
        """The index of a span; None where it is not there."""
        at = self._next
        if at >= len(self._numbers) or self._numbers[at] != seq:
            at = bisect_left(self._numbers, seq)
            if at >= len(self._numbers) or self._numbers[at] != seq:
                return None
        self._next = at + 1
        return self._indices[at]
