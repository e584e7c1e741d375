"""Journal entries while events still add to them, safe for the snapshots that already hold them."""

from __future__ import annotations

from ..journal import AnyRequest, JournalEntry
from ..messages import Outcome


class Ledger:
    """Adds outcomes to journal entries: one that a snapshot holds is copied first, and order is made once."""

    def __init__(self) -> None:
        self.is_handed_out = False
        """There was a snapshot, which may hold any entry that is not fresh."""
        self._fresh: set[int] = set()
        """Ids of the entries that no snapshot holds yet, once there was a snapshot."""
        self._unsorted: dict[int, JournalEntry] = {}
        """Entries whose outcomes did not come in the order of their starts."""

    def record(
        self, entries: dict[str, JournalEntry], content_hash: str, outcome: Outcome, request: AnyRequest | None
    ) -> None:
        """Add an outcome under its hash."""
        entry = entries.get(content_hash)
        if entry is None:
            entry = entries[content_hash] = JournalEntry(content_hash, [outcome], request)
        else:
            if self.is_handed_out and id(entry) not in self._fresh:
                entry = entries[content_hash] = JournalEntry(content_hash, list(entry.outcomes), entry.request)
            self._add(entry, outcome)
            if entry.request is None:
                entry.request = request
        if self.is_handed_out:
            self._fresh.add(id(entry))

    def _add(self, entry: JournalEntry, outcome: Outcome) -> None:
        """Add an outcome. Where calls end out of order, sort once per snapshot: inserting each would be quadratic."""
        last, start = entry.outcomes[-1].start_unix_nano, outcome.start_unix_nano
        if last is not None and start is not None and start < last:
            self._unsorted[id(entry)] = entry
        entry.outcomes.append(outcome)

    def hand_out(self) -> None:
        """A snapshot is taken: put every entry in order, and copy it before it changes again."""
        for entry in self._unsorted.values():
            _sort(entry)
        self._unsorted.clear()
        self._fresh.clear()
        self.is_handed_out = True


def _sort(entry: JournalEntry) -> None:
    """Order the outcomes by start; one without a start keeps its place, as with ``JournalEntry.add``."""
    out: list[Outcome] = []
    known: list[Outcome] = []
    for outcome in entry.outcomes:
        if outcome.start_unix_nano is None:
            out += sorted(known, key=_start_of)
            out.append(outcome)
            known.clear()
        else:
            known.append(outcome)
    entry.outcomes = out + sorted(known, key=_start_of)


def _start_of(outcome: Outcome) -> int:
    return outcome.start_unix_nano or 0
