"""Frames of states that follow each other: of very many, few change from one to the next, and only those are made anew.

What is kept is kept by identity, never by equality: a frame that holds the very objects that it held before cannot look
otherwise, while ``1`` and ``True`` are equal and do not look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any

from runtime.journal import JournalEntry
from runtime.snapshot import Frame

from .snapshot_view import FramePage, FrameView, frame_page, frame_view


class KeptViews:
    """Makes the views of frames, and keeps those of the last state."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Frame, FrameView]] = {}
        """By call id: what the view was made of, and the view."""

    def of(self, frames: Iterable[tuple[int, Frame]]) -> tuple[FrameView, ...]:
        """The views of a state's frames, each given with its depth."""
        now: dict[str, tuple[Frame, FrameView]] = {}
        for depth, frame in frames:
            known = self._kept.get(frame.call_id)
            if known is None or known[1].depth != depth or not _holds_the_same(known[0], frame):
                known = frame, frame_view(depth, frame)
            now[frame.call_id] = known
        self._kept = now
        return tuple([view for _, view in now.values()])


class KeptPages:
    """Makes what a document says of frames, and keeps it of those of the last document."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[FrameView, FramePage]] = {}

    def of(self, views: Sequence[FrameView]) -> list[FramePage]:
        """What a document says of these frames."""
        now: dict[str, tuple[FrameView, FramePage]] = {}
        for view in views:
            known = self._kept.get(view.call_id)
            if known is None or known[0] is not view:
                known = view, frame_page(view)
            now[view.call_id] = known
        self._kept = now
        return [page for _, page in now.values()]


def _holds_the_same(one: Frame, other: Frame) -> bool:
    """Whether all that a view shows of two frames is the same."""
    return one is other or (
        (one.agent_id, one.status, one.generation) == (other.agent_id, other.status, other.generation)
        and one.input is other.input
        and one.output is other.output
        and one.error is other.error
        and one.budget == other.budget
        and one.fidelity == other.fidelity
        and _are_the_same(one.memory, other.memory, is_)
        and _are_the_same(one.journal.prompt, other.journal.prompt, _is_same_entry)
        and _are_the_same(one.journal.tool, other.journal.tool, _is_same_entry)
        and _are_the_same(one.journal.value, other.journal.value, _is_same_entry)
    )


def _are_the_same(one: Mapping[str, Any], other: Mapping[str, Any], is_same: Callable[[Any, Any], bool]) -> bool:
    """Whether two mappings have the same keys in the same order, with values that are the same."""
    return len(one) == len(other) and list(one) == list(other) and all(map(is_same, one.values(), other.values()))


def _is_same_entry(one: JournalEntry, other: JournalEntry) -> bool:
    return one is other or (
        one.request is other.request
        and len(one.outcomes) == len(other.outcomes)
        and all(map(is_, one.outcomes, other.outcomes))
    )
