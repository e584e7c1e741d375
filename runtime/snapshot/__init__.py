"""Snapshots: their form, reading and writing them, and restoring one from a trace."""

from ._ancestry import Ancestry
from ._budget import NANO_USD, Budget, UsageItem, UsageStats
from ._cursor import SnapshotCursor
from ._errors import (
    Anchor,
    Cut,
    EmptyTraceError,
    NoFrameError,
    NothingBeforeError,
    PositionError,
    RestoreError,
    SeveralTracesError,
    SpanNotEndedError,
    SpanNotStartedError,
    UnknownSpanError,
    UnknownTraceError,
)
from ._frame import MAX_DEPTH, ROOT_ID, VERSION, Frame, Level, Note, Provenance, Snapshot, Status
from ._machine import RestoreMachine
from ._order import ClockIssue, order_events
from ._reasons import parent_ended
from ._restore import restore_every, restore_snapshot
from ._schema import snapshot_from_json, snapshot_to_json
from ._timeline import Timeline

__all__ = [
    "MAX_DEPTH",
    "NANO_USD",
    "ROOT_ID",
    "VERSION",
    "Ancestry",
    "Anchor",
    "Budget",
    "ClockIssue",
    "Cut",
    "EmptyTraceError",
    "Frame",
    "Level",
    "NoFrameError",
    "Note",
    "NothingBeforeError",
    "PositionError",
    "Provenance",
    "RestoreError",
    "RestoreMachine",
    "SeveralTracesError",
    "Snapshot",
    "SnapshotCursor",
    "SpanNotEndedError",
    "SpanNotStartedError",
    "Status",
    "Timeline",
    "UnknownSpanError",
    "UnknownTraceError",
    "UsageItem",
    "UsageStats",
    "order_events",
    "parent_ended",
    "restore_every",
    "restore_snapshot",
    "snapshot_from_json",
    "snapshot_to_json",
]
