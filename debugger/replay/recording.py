"""A recorded trace made ready for replays: its run, its snapshots, its later calls. Read once, used for many cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from runtime.messages import Call
from runtime.snapshot import NoFrameError, NothingBeforeError, RestoreError, Snapshot, restore_snapshot
from runtime.trace import TraceEvent, events_of

from .model import Anchor


class Recording:
    """One trace as a cassette.

    Args:
        trace_id: the trace.
        calls: its calls, in timeline order.
        sources: the files that it was loaded from; an entry point may be looked up beside them.
    """

    def __init__(self, trace_id: str, calls: Sequence[Call], sources: Sequence[Path]) -> None:
        self.trace_id = trace_id
        self.calls = tuple(calls)
        self.sources = tuple(sources)

    @cached_property
    def events(self) -> list[TraceEvent]:
        """Its trace events."""
        return events_of(self.calls)

    @cached_property
    def whole(self) -> Snapshot:
        """The snapshot at its end: everything that can answer. Raises RestoreError."""
        return restore_snapshot(self.events, trace_id=self.trace_id)

    @cached_property
    def run(self) -> Call | None:
        """The run of ours that made the trace; None where it comes from another framework."""
        return next((c for c in self.calls if c.call_id == "root" and c.convention == "retrospan"), None)

    def snapshot(self, span_id: str | None, anchor: Anchor) -> Snapshot:
        """The snapshot at a cut; without a span, at the end.

        Raises: RestoreError: see ``runtime.snapshot``.
        """
        if span_id is None:
            return self.whole
        return restore_snapshot(self.events, span_id, anchor, trace_id=self.trace_id)

    def count_calls(self, test: Callable[[Call], bool]) -> tuple[int, int]:
        """How many llm and how many tool calls pass the test."""
        chosen = [c.kind for c in self.calls if test(c)]
        return chosen.count("llm"), chosen.count("tool")


def is_before_any_frame(error: RestoreError) -> bool:
    """True for a cut at which nothing had happened yet: a replay from there is a run from the start."""
    return isinstance(error, NoFrameError | NothingBeforeError)
