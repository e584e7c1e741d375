"""A frame while events still change it: the frame itself, and what only the machine needs to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ._frame import Frame, Note

Change: TypeAlias = tuple[str, Callable[..., None], tuple[Any, ...]]
"""The call id of a frame, what is done to it, and with what."""


class RootFacts(NamedTuple):
    """What is known of the run apart from its frame."""

    is_used: bool = False
    """Something was recorded in the run itself, so that it is the root even of a single agent."""
    has_run: bool = False
    """The run was recorded, so that its status is its own."""
    left_out: Note | None = None
    """The calls that no frame could be found for."""


class Shelf:
    """All frames by call id, and how often they were handed out."""

    __slots__ = ("epoch", "facts", "frames", "handed_out", "log", "slots")

    def __init__(self, log: list[Change] | None) -> None:
        self.epoch = 0
        self.handed_out: dict[str, Frame] = {}
        """The frames as they were when last handed out: they change no more."""
        self.frames: dict[str, Frame] = {}
        """Those that are new or changed since then."""
        self.slots: list[Slot] = []
        """All frames in the order of their starts."""
        self.facts = RootFacts()
        self.log = log
        """Takes every change of a frame, for a cursor."""

    def hand_out(self) -> dict[str, Frame]:
        """The frames that are new or changed since the last time; each is copied before it changes again."""
        changed = self.frames
        self.handed_out |= changed
        self.frames = {}
        self.epoch += 1
        return changed

    def change(self, slot: Slot, change: Callable[..., None], *args: Any) -> None:
        """Change a frame, and note it down where someone wants to make the change again."""
        change(slot.frame if slot.epoch == self.epoch else slot.writable(self), *args)
        if self.log is not None:
            self.log.append((slot.frame.call_id, change, args))


class Slot:
    """A frame's place in the machine. Parts that many frames never need are made when first needed."""

    __slots__ = ("below", "depth", "epoch", "frame", "guard", "index", "is_open", "is_orphan", "seqs", "span", "up")

    def __init__(self, frame: Frame, span: str | None, up: Slot | None, shelf: Shelf) -> None:
        self.frame = frame
        self.span = span
        """The agent's; None for the run."""
        self.up = up
        self.depth: int = 0 if up is None else up.depth + 1
        self.epoch = shelf.epoch
        """How many times frames had been handed out when this one was last made its own."""
        shelf.frames[frame.call_id] = frame
        self.index = len(shelf.slots)
        shelf.slots.append(self)
        self.is_open = True
        """Not ended, and not cut off by the end of a frame above."""
        self.is_orphan = False
        """Cut off by the end of a frame above; its own end may still correct that."""
        self.guard = up
        """While open: the frame whose end would cut this one off. Then: a way to the nearest open frame above."""
        self.below: list[Slot] | None = None
        """The frames whose guard this one is or was, without those below them."""
        self.seqs: dict[str, int] | None = None
        """Next sequence number per agent id."""

    def writable(self, shelf: Shelf) -> Frame:
        """The frame, made its own again where it was handed out."""
        if self.epoch != shelf.epoch:
            self.epoch = shelf.epoch
            self.frame = shelf.frames[self.frame.call_id] = self.frame.copy()
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
        """Close every open frame below, and tell which these were. Each frame is looked at once, at its guard's end."""
        found: list[Slot] = []
        pending = [self]
        while pending:
            slot = pending.pop()
            still_open = [below for below in slot.below or () if below.is_open]
            slot.below = None
            for below in still_open:
                below.is_open = False
                below.is_orphan = True
            found += still_open
            pending += still_open
        return found
