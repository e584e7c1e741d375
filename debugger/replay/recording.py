"""A recorded trace made ready for replays: its run, its snapshots, its later calls. Read once, used for many cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from runtime.messages import Call
from runtime.snapshot import Snapshot, SnapshotCursor, restore_snapshot
from runtime.trace import TraceEvent, events_of

from .model import Anchor


class Recording:
    """One trace as a cassette.

    Args:
        trace_id: the trace.
        calls: its calls, in timeline order.
        sources: the files that it was loaded from; an entry point may be looked up beside them.
        service: whose trace it is; its replays are told to be of the same. None where nothing tells.
    """

    def __init__(
        self, trace_id: str, calls: Sequence[Call], sources: Sequence[Path], service: str | None = None
    ) -> None:
        self.trace_id = trace_id
        self.calls = tuple(calls)
        self.sources = tuple(sources)
        self.service = service
        self._cursor: SnapshotCursor | None = None

    @cached_property
    def events(self) -> list[TraceEvent]:
        """Its trace events."""
        return events_of(self.calls)

    @property
    def cursor(self) -> SnapshotCursor:
        """Its states, by event position. Raises RestoreError."""
        return self.rebuilt(lambda _: None)

    def rebuilt(self, tell: Callable[[int], None]) -> SnapshotCursor:
        """Its states, by event position, made now where they are not there yet.

        Args: tell: told now and then how many events are done; what it raises ends the work.
        Raises: RestoreError.
        """
        if self._cursor is None:
            self._cursor = SnapshotCursor(self.events, self.trace_id, tell)
        return self._cursor

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

    def time_of(self, span_id: str | None, anchor: Anchor) -> int | None:
        """When the cut lies, in Unix nanoseconds; without a span, the last time known. None where no time is known."""
        if span_id is None:
            times = [t for c in self.calls for t in (c.start_unix_nano, c.end_unix_nano) if t is not None]
            return max(times, default=None)
        call = next((c for c in self.calls if c.span_id == span_id), None)
        if call is None:
            return None
        return call.start_unix_nano if anchor == "before" else call.end_unix_nano
