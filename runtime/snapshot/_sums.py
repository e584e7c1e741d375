"""Budgets while events still add to them: what was spent is noted down, and summed when someone looks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from ..messages import Usage
from ._budget import UsageStats
from ._collector import collector_paused
from ._frame import MAX_DEPTH

K = TypeVar("K", bound=Hashable)


Spend: TypeAlias = tuple[int, Usage, str | None, str | None]
"""One model call that was paid for: the frame, counted in the order of the starts; usage, model, provider."""
ToolSpend: TypeAlias = tuple[int, str, int, str | None, Mapping[str, int]]
"""What a tool used up: the frame, counted in the order of the starts; name, quantity, unit, costs."""


class Sums:
    """What the frames of one machine spent since their budgets were last made right.

    Frames are numbers here, so that a budget that waits for its sums (``of``) keeps no other frame alive.
    """

    def __init__(self) -> None:
        self.spends: list[Spend] = []
        self.tool_spends: list[ToolSpend] = []
        self._above: list[int | None] = []
        self._kept: dict[int, tuple[UsageStats | None, UsageStats]] | None = None
        self._lock = threading.Lock()

    def take(self, above: Callable[[int], int | None]) -> Iterator[tuple[int, UsageStats | None, UsageStats]]:
        """Each frame with what it spent itself, and together with all below it; then forget that.

        Args:
            above: the frame above one; None for the root.

        Cost: O(what was spent, and the frames above that).
        """
        spent: dict[int, UsageStats] = {}
        for frame, usage, model, provider in self.spends:
            stats = spent.get(frame)
            if stats is None:
                stats = spent[frame] = UsageStats()
            stats.add_model_call(usage, model, provider)
        self.spends.clear()
        for frame, name, quantity, unit, costs in self.tool_spends:
            spent.setdefault(frame, UsageStats()).add_tool_use(name, quantity, unit, costs)
        self.tool_spends.clear()
        for frame, total in totals(spent, above):
            yield frame, spent.get(frame), total

    def keep(self, above: list[int | None]) -> None:
        """After the last event: ``of`` is to give the sums.

        Args:
            above: for each frame the one above; None for the root.
        """
        self._above = above

    def of(self, frame: int) -> tuple[UsageStats | None, UsageStats] | None:
        """What one frame spent, itself and together with all below it; given once."""
        with self._lock:  # two threads may look at budgets of one snapshot
            if self._kept is None:
                with collector_paused():
                    self._kept = {each: (own, total) for each, own, total in self.take(self._above.__getitem__)}
            return self._kept.pop(frame, None)


def totals(spent: Mapping[K, UsageStats], above: Callable[[K], K | None]) -> Iterator[tuple[K, UsageStats]]:
    """What each frame and all below it spent, for those where that is something; children come before parents.

    Args:
        spent: what each frame itself spent.
        above: the frame above one; None for the root.
    """
    depths: dict[K, int] = {}
    for key in spent:
        path = []
        at: K | None = key
        while at is not None and at not in depths:
            path.append(at)
            at = above(at)
        depth = -1 if at is None else depths[at]
        for passed in reversed(path):
            depth += 1
            depths[passed] = depth
    below: dict[K, UsageStats] = {}
    for key in sorted(depths, key=depths.__getitem__, reverse=True):
        own, total = spent.get(key), below.pop(key, None)
        if total is None:
            assert own is not None, "every way up starts at a frame that spent something"
            total = own
        elif own is not None:
            total.merge(own)
        up = above(key)
        if up is not None:
            into = below.get(up)
            if into is None:
                into = below[up] = UsageStats()
            # Frames that deep are never written; their items would take quadratic time.
            into.merge(total, with_items=depths[key] <= MAX_DEPTH)
        yield key, total
