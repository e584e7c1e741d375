"""Timeline order where the clock alone does not tell."""

from __future__ import annotations

from itertools import groupby, islice
from operator import lt
from typing import Protocol, TypeVar


class _Placed(Protocol):
    @property
    def span_id(self) -> str: ...
    @property
    def parent_span_id(self) -> str | None: ...
    @property
    def start_unix_nano(self) -> int | None: ...
    @property
    def start_seq(self) -> int | None: ...


P = TypeVar("P", bound=_Placed)


class TimelineOrder:
    """Puts spans that come in any order as the queries do that are in timeline order."""

    def __init__(self) -> None:
        self._keys: list[tuple[bool, int, bool, str, bool, int, int]] = []

    def add(self, start_unix_nano: int | None, run_id: str | None, start_seq: int | None, seq: int) -> None:
        """The next span. By start, run, emitted sequence and input, what is absent last."""
        start, emitted = start_unix_nano or 0, start_seq or 0
        self._keys.append(
            (start_unix_nano is None, start, run_id is None, run_id or "", start_seq is None, emitted, seq)
        )

    def places(self) -> list[int]:
        """Which of the spans that came is the first one, the second one, and so on."""
        return sorted(range(len(self._keys)), key=self._keys.__getitem__)


def parents_first(rows: list[P]) -> list[P]:
    """Rows in order of start, with ties of foreign spans settled by structure: a parent starts before its child.

    Exporters write children first, since these end first, and coarse clocks give both the same start.

    Args: rows: by start, ties in the order of input; those without a start last.
    """
    starts = [row.start_unix_nano for row in rows if row.start_unix_nano is not None]
    if len(starts) == len(rows) and all(map(lt, starts, islice(starts, 1, None))):
        return rows  # Nothing is tied.
    out: list[P] = []
    for _, group in groupby(rows, key=lambda row: row.start_unix_nano):
        tied = list(group)
        if len(tied) > 1 and any(row.start_seq is None for row in tied):
            tied = _by_depth(tied)
        out.extend(tied)
    return out


def _by_depth(tied: list[P]) -> list[P]:
    """By the number of parents with the same start; the spans of a cycle keep the order of input."""
    parents = {row.span_id: row.parent_span_id for row in tied}
    depths: dict[str | None, int] = {}
    for start in parents:
        path: dict[str, None] = {}
        here: str | None = start
        while here is not None and here in parents and here not in depths and here not in path:
            path[here] = None
            here = parents[here]
        above = list(path)
        if here in path:
            ring = above.index(here)
            depths |= dict.fromkeys(above[ring:], 0)
            above = above[:ring]
        depth = depths.get(here, -1)
        for span_id in reversed(above):
            depth += 1
            depths[span_id] = depth
    return sorted(tied, key=lambda row: depths[row.span_id])
