"""Several runs of the same thing, each resumed from the one before: together they know which calls have ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from ..journal import Journal, JournalEntry
from ..messages import Outcome
from ..snapshot import Frame, NoFrameError, Snapshot, restore_snapshot
from ..trace import RunStart, TraceEvent
from ._body import REQUEST


def chain_of(events: Sequence[TraceEvent], trace_id: str | None) -> list[str | None]:
    """The trace and those that it was resumed from, the oldest first.

    Without a trace id, the one that no other was resumed from; ``[None]`` where that does not tell, so that restore
    says which traces there are.
    """
    origins: dict[str, str | None] = dict.fromkeys((event.trace_id for event in events), None)
    for event in events:
        if isinstance(event, RunStart) and event.origin and not event.origin.get("span_id"):
            origins[event.trace_id] = str(event.origin.get("trace_id"))
    if trace_id is None:
        last = [each for each in origins if each not in origins.values()]
        if len(last) != 1:
            return [None]
        trace_id = last[0]
    found: list[str | None] = []
    at: str | None = trace_id
    while at is not None and at not in found and (at in origins or not found):
        found.append(at)
        at = origins.get(at)
    return found[::-1]


def restore_chain(events: Sequence[TraceEvent], chain: Iterable[str | None]) -> Snapshot | None:
    """What the runs of the chain know together, with the head of the last one that had come to an agent.

    None where none had. Raises RestoreError.
    """
    frames: dict[str, Frame] = {}
    snapshot: Snapshot | None = None
    for trace_id in chain:
        try:
            snapshot = restore_snapshot(events, trace_id=trace_id)
        except NoFrameError:
            continue
        for call_id, frame in snapshot.frames.items():
            known = frames.get(call_id)
            frames[call_id] = frame if known is None else _together(known, frame)
    return replace(snapshot, frames=frames) if snapshot else None


def _together(earlier: Frame, later: Frame) -> Frame:
    """The later frame, with what the earlier one knew beyond it."""
    journal = Journal()
    for each in (earlier.journal, later.journal):
        for kind, entry in each:
            entries = journal.map(kind)
            known = entries.get(entry.content_hash)
            entries[entry.content_hash] = entry if known is None else _answers(known, entry)
    children = [*earlier.children, *(child for child in later.children if child not in earlier.children)]
    return replace(later, journal=journal, children=children)


def _answers(earlier: JournalEntry, later: JournalEntry) -> JournalEntry:
    """The nth answer is the earlier run's, unless that failed: the later run asked the same again, in the same order.

    What it was given from the recording is a copy; what it did for real comes after that, or replaces a failure.
    """
    if earlier.content_hash == REQUEST.content_hash:
        outcomes = [*earlier.outcomes, *later.outcomes]  # each belongs to a span, not to a place in the order
    else:
        pairs = zip_longest(_ended(earlier), _ended(later))
        outcomes = [a if a and (a.status == "ok" or b is None) else b for a, b in pairs if a or b]
    return JournalEntry(earlier.content_hash, outcomes, later.request or earlier.request)


def _ended(entry: JournalEntry) -> list[Outcome]:
    return [outcome for outcome in entry.outcomes if outcome.status != "aborted"]
