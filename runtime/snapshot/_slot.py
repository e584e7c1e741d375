"""A frame while events still change it: the frame itself, and what only the machine needs to know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..messages import Usage
from ._budget import Budget, UsageStats
from ._frame import MAX_DEPTH, Frame


class Shelf:
    """All frames by call id, and how often they were handed out."""

    __slots__ = ("epoch", "frames")

    def __init__(self) -> None:
        self.epoch = 0
        self.frames: dict[str, Frame] = {}


class Slot:
    """A frame's place in the machine. Parts that many frames never need are made when first needed."""

    __slots__ = (
        "depth",
        "epoch",
        "frame",
        "guard",
        "is_open",
        "is_orphan",
        "open_below",
        "own",
        "seqs",
        "summed",
        "up",
    )

    def __init__(self, frame: Frame, up: Slot | None, shelf: Shelf) -> None:
        self.frame = frame
        self.up = up
        self.depth: int = 0 if up is None else up.depth + 1
        self.epoch = shelf.epoch
        """How many snapshots there were when the frame was last made its own; older frames are handed out."""
        shelf.frames[frame.call_id] = frame
        self.is_open = True
        """Not ended, and not cut off by the end of a frame above."""
        self.is_orphan = False
        """Cut off by the end of a frame above; its own end may still correct that."""
        self.guard = up
        """While open: the frame whose end would cut this one off. Then: a way to the nearest open frame above."""
        self.open_below: dict[Slot, None] | None = None
        """The open frames that the end of this one would cut off, without those below them."""
        self.seqs: dict[str, int] | None = None
        """Next sequence number per agent id."""
        self.own: UsageStats | None = None
        """What the frame itself spent; None for nothing."""
        self.summed = True
        """The frame's aggregate is right. Where it is not, it is not right in any frame above either."""

    def writable(self, shelf: Shelf) -> Frame:
        """The frame, made its own again where a snapshot holds it."""
        if self.epoch != shelf.epoch:
            self.epoch = shelf.epoch
            self.frame = shelf.frames[self.frame.call_id] = self.frame.copy()
            self.own = None if self.own is None else self.own.copy()
        return self.frame

    def open_at_or_above(self) -> Slot:
        """The nearest open frame; the run's counts as open. Closed frames never open again, so ways are shortened."""
        slot = self
        path = []
        while not slot.is_open:
            path.append(slot)
            assert slot.guard is not None
            slot = slot.guard
        for each in path:
            each.guard = slot
        return slot

    def cut_off_below(self) -> list[Slot]:
        """Close every open frame below, and tell which these were."""
        found: list[Slot] = []
        pending = [self]
        while pending:
            below = pending.pop().open_below
            if below:
                for slot in below:
                    slot.is_open = False
                    slot.is_orphan = True
                found.extend(below)
                pending.extend(below)
                below.clear()
        return found

    def spent(self) -> UsageStats:
        """The frame's own sums, to add to; the sums above are then to be made again."""
        above: Slot | None = self
        while above is not None and above.summed:
            above.summed = False
            above = above.up
        if self.own is None:
            self.own = UsageStats()
        return self.own


class Spend(NamedTuple):
    """One model call that cost something."""

    slot: Slot
    usage: Usage
    model: str | None
    provider: str | None


def add_up(spends: Iterable[Spend], shelf: Shelf) -> None:
    """Make the budgets right again after a few calls: each is added to the frames above it."""
    for slot, usage, model, provider in spends:
        frame = slot.writable(shelf)
        aggregate = frame.budget.aggregate
        aggregate.add_model_call(usage, model, provider)
        frame.budget = Budget(slot.own, aggregate)
        slot.summed = True
        above = slot.up
        while above is not None:
            above.writable(shelf).budget.aggregate.add_model_call(usage, model, provider)
            above.summed = True
            above = above.up


def sum_up(slots: Iterable[Slot], shelf: Shelf) -> None:
    """Make all budgets right again in one pass. The slots come with children before parents."""
    sums: dict[Slot, UsageStats] = {}
    for slot in slots:
        up = slot.up
        if slot.summed:
            if up is None or up.summed:
                continue
            spent = slot.frame.budget.total()
        else:
            slot.summed = True
            below = sums.pop(slot, None)
            if below is not None and slot.own is not None:
                below.merge(slot.own)
            slot.writable(shelf).budget = Budget(slot.own, below)
            spent = slot.own if below is None else below
        if up is not None and spent is not None:
            into = sums.get(up)
            if into is None:
                into = sums[up] = UsageStats()
            # Frames that deep are never written; their items would take quadratic time.
            into.merge(spent, with_items=slot.depth <= MAX_DEPTH)
