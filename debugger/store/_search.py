"""Which spans hold which texts: all texts are looked for while the spans are read once."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final, TypeAlias

from .rows import SearchPart

AskEach: TypeAlias = Callable[[str, Mapping[str, Any]], Generator[tuple[Any, ...]]]

_AT_ONCE: Final = 8
"""Needles that the query looks for in one reading."""
_PART: Final = 16_384
"""Spans that are told of together."""


def search_parts(each: AskEach, texts: Sequence[str], trace_id: str | None) -> Generator[SearchPart]:
    """Look for texts, and tell of all spans part by part, in the order in which they lie.

    Args:
        each: the rows of a query one by one, as they are found.
        texts: what to look for, whatever its case.
        trace_id: only in this trace; None looks everywhere.
    Cost: one reading for up to eight needles, which a text with quotes or foreign letters has several of.
    """
    needles = [(place, needle) for place, text in enumerate(texts) for needle in _written(text.lower())]
    readings = [needles[start : start + _AT_ONCE] for start in range(0, len(needles), _AT_ONCE)]
    is_plain = len(readings) == 1 and len(needles) == len(texts)  # The bits of the needles are those of the texts.
    before: dict[tuple[str, int], int] = {}
    for number, reading in enumerate(readings, 1):
        texts_of = [_texts_of(bits, reading) for bits in range(1 << len(reading))]
        asked = {"trace_id": trace_id, "needles": [needle for _, needle in reading]}
        # Where it is left early, what it reads from is to be free at once.
        with closing(each("span_search", asked)) as rows:
            while part := list(islice(rows, _PART)):
                if is_plain:
                    yield part
                elif number == len(readings):
                    yield [(row[0], row[1], texts_of[row[2]] | before.get(row[:2], 0)) for row in part]
                else:
                    before |= {row[:2]: texts_of[row[2]] | before.get(row[:2], 0) for row in part if row[2]}


def _texts_of(bits: int, needles: Sequence[tuple[int, str]]) -> int:
    """The bits of the texts for those of their needles."""
    out = 0
    for i, (place, _) in enumerate(needles):
        if bits >> i & 1:
            out |= 1 << place
    return out


def _written(text: str) -> list[str]:
    """A text in the ways in which it stands in an attribute: plain, within JSON, within JSON in a JSON text."""
    once = [json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]]
    twice = [json.dumps(part, ensure_ascii=False)[1:-1] for part in once]
    return list(dict.fromkeys([text, *once, *twice]))
