"""The spans of a trace that a filter lets pass, found part by part, so that a huge trace shows what is found so far."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    def look(self) -> Iterator[None]:
        """Look through all spans by what their rows say; comes back after every part of them."""
        for start in range(0, len(self._forest), _AT_ONCE):
            self._test(range(start, min(start + _AT_ONCE, len(self._forest))), self._known)
            yield

    def look_in(self, parts: Iterable[SearchPart], places: SpanPlaces) -> Iterator[None]:
        """The same for a filter that asks for texts.

        Args:
            parts: which texts the spans hold.
            places: of the forest.
        """
        seen = bytearray(len(self._forest))
        for part in parts:
            indices = places.of(part)
            for index in indices:
                seen[index] = 1
            self._test(indices, {**self._known, **_held(self._wanted.texts, part)})
            yield
        if self._looked < len(seen):
            # What the parts do not name has come or gone meanwhile; only its row can tell.
            self._test([i for i, was_seen in enumerate(seen) if not was_seen], self._known)

    def _test(self, indices: Sequence[int], found: Mapping[str, frozenset[Any]]) -> None:
        rows, test, marked = self._forest.rows, self._wanted.test, self._marked
        for index in indices:
            if test(rows[index], found):
                marked[index] = 1
        self._looked += len(indices)

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


class SpanPlaces:
    """Where the spans of a forest are, by ``seq``. Cost: sorts them once."""

    def __init__(self, forest: Forest) -> None:
        numbers = [row.seq for row in forest.rows]
        self._indices = array("i", sorted(range(len(numbers)), key=numbers.__getitem__))
        self._numbers = array("q", [numbers[index] for index in self._indices])
        self.forest = forest

    def of(self, part: SearchPart) -> list[int]:
        """The indices of spans; without those that are not there. Quick where they come in rising order."""
        numbers, indices = self._numbers, self._indices
        out: list[int] = []
        end, at = len(numbers), 0
        for _, seq, _ in part:
            if at >= end or numbers[at] != seq:
                at = bisect_left(numbers, seq)
                if at >= end or numbers[at] != seq:
                    continue
            out.append(indices[at])
            at += 1
        return out
