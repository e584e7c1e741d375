"""The part of the session that reads traces in depth: search, whole calls, states at the playhead."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from runtime.messages import Call
from runtime.snapshot import Snapshot

from ..analysis.branches import BranchWords, branch_words
from ..analysis.fidelity import level_of, records_memory, with_conversation
from ..analysis.opening import opening_of
from ..analysis.places import Places, places_of
from ..analysis.playhead import MOST_FRAMES, States, StateView, Track, track_of
from ..analysis.tree import name_of
from ..importers import LogRecord
from ..replay.model import Anchor
from ..replay.recording import Recording
from ..store import Store, collector_off
from ..store.rows import SearchPart
from .exporting import ExportJob, write_export


def room_for_calls() -> int:
    """Bytes of memory that the calls of one trace may take: a screen that is killed by the system is no help.

    Half of what the machine has, since some of it is in use; where a system does not say, as much as a small one has.
    """
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return 4_000_000_000


class TraceReading(ABC):
    """Questions about what was recorded, asked of the stores that hold it."""

    _loaded: Store | None
    """What was loaded here; None while a library is shown and nothing was."""
    _reader: Store | None
    """The library, where one is shown."""

    @abstractmethod
    def _of(self, trace_id: str) -> Store:
        """The store that a trace lies in."""

    @abstractmethod
    def _record(self, trace_id: str) -> Recording:
        """The trace as a cassette."""

    def __init__(self) -> None:
        self._searching: set[int] = set()
        self._preparing: set[int] = set()
        """Threads, as above, that read a trace for a state or a replay."""
        self._search_lock = threading.Lock()
        self._states: tuple[Recording, States] | None = None
        """Of the recording whose state was asked for last."""
        self._places: tuple[tuple[str, int], Places] | None = None

    @property
    def generation(self) -> int:
        """Goes up with everything that is loaded."""
        return sum(store.generation for store in self._stores)

    @property
    def _stores(self) -> list[Store]:
        return [store for store in (self._loaded, self._reader) if store is not None]

    def search(self, texts: Sequence[str], trace_id: str | None) -> Generator[SearchPart]:
        """All spans part by part, and which of the texts each holds. Raises QueryCancelledError."""
        with self._noted_in(self._searching):
            for store in self._stores if trace_id is None else [self._of(trace_id)]:
                with closing(store.search(texts, trace_id)) as parts:
                    yield from parts

    @contextmanager
    def _noted_in(self, threads: set[int]) -> Iterator[None]:
        """What this thread asks the stores meanwhile can be ended by another one."""
        ident = threading.get_ident()
        with self._search_lock:
            threads.add(ident)
        try:
            yield
        finally:
            with self._search_lock:
                threads.discard(ident)

    def _end(self, threads: set[int]) -> None:
        with self._search_lock:
            for ident in threads:
                for store in self._stores:
                    store.interrupt(ident)

    def stop_search(self) -> None:
        """End all searches that run; they raise QueryCancelledError."""
        self._end(self._searching)

    def stop_preparing(self) -> None:
        """End each ``prepare`` that waits for the database; it raises QueryCancelledError."""
        self._end(self._preparing)

    def stop(self) -> None:
        """End all that is asked of the stores now."""
        for store in self._stores:
            store.stop()

    def conversations(self) -> dict[str, str]:
        """The conversation of each trace that names one."""
        return {trace_id: name for store in self._stores for trace_id, name in store.conversations().items()}

    def calls(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> list[Call]:
        """What all spans of a trace mean, in timeline order. Raises NoRoomError."""
        store = self._of(trace_id)
        store.check_room(trace_id, room_for_calls())
        return store.calls(trace_id, tell)

    def places(self, trace_id: str, tell: Callable[[str, int], None]) -> Places:
        """All that was said in a trace. Kept for the trace that was asked about last."""
        now = (trace_id, self.generation)
        kept = self._places
        if kept is None or kept[0] != now:
            calls = self.calls(trace_id, lambda done: tell("span", done))
            with collector_off():
                kept = self._places = now, places_of(calls, lambda done: tell("call", done))
        return kept[1]

    def logs(self, trace_id: str, span_id: str) -> list[LogRecord]:
        """The log records of a span, by time."""
        return self._of(trace_id).logs(trace_id, span_id).get(span_id, [])

    def fidelity(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> str:
        """How faithful a trace is, in a word; empty where nothing of an agent is in it. Raises NoRoomError."""
        calls = self.calls(trace_id, tell)
        return level_of(lambda: self._of(trace_id).events(trace_id), calls, trace_id) or ""

    def opening(self, trace_id: str) -> str:
        """What the trace was asked, in a line; empty where that was not recorded."""
        return opening_of(self.calls(trace_id))

    def prepare(self, trace_id: str, tell: Callable[[str, int], None]) -> None:
        """Read what states and replays are made of. Raises NoRoomError, RestoreError."""
        with self._noted_in(self._preparing):
            self.calls(trace_id, lambda done: tell("span", done))
        self._record(trace_id).rebuilt(lambda done: tell("event", done))

    def branch(self, trace_id: str) -> BranchWords | None:
        """What a replay is, in words; None for a trace that is none."""
        calls = self.calls(trace_id)
        run = next((call for call in calls if call.origin_trace_id is not None), None)
        if run is None or run.origin_trace_id is None or run.origin_span_id is None:
            return branch_words(calls, None)
        rows = self._of(run.origin_trace_id).spans(run.origin_trace_id)
        return branch_words(calls, next((name_of(row) for row in rows if row.span_id == run.origin_span_id), None))

    def track(self, trace_id: str) -> Track:
        """The events of a trace. Raises RestoreError."""
        return track_of(trace_id, self._record(trace_id).cursor.timeline.events)

    def position_of(self, trace_id: str, span_id: str, anchor: Anchor) -> int:
        """The position of a cut. Raises RestoreError."""
        return self._record(trace_id).cursor.position_of(span_id, anchor)

    @staticmethod
    def _at(recording: Recording, position: int) -> Snapshot:
        snapshot = recording.cursor.at(position)
        # Going through all messages of very many frames would make the playhead wait.
        small = snapshot.frame_count <= MOST_FRAMES
        return with_conversation(snapshot, is_own=records_memory(recording.calls)) if small else snapshot

    def export(self, job: ExportJob) -> Path:
        """Write a trace, its conversation or a snapshot. Raises DebuggerError, RestoreError."""

        def snapshot() -> Snapshot:
            recording = self._record(job.trace_id)
            last = len(recording.cursor.timeline.events) - 1
            return self._at(recording, last if job.position is None else job.position)

        return write_export(job, self._of(job.trace_id), snapshot)

    def state(self, trace_id: str, position: int, since: int | None) -> StateView:
        """The state after an event, and what changed since another one. Raises RestoreError."""
        recording = self._record(trace_id)
        cursor, kept = recording.cursor, self._states
        if kept is None or kept[0] is not recording:
            source = ", ".join(dict.fromkeys(path.name for path in recording.sources[:1]))
            kept = self._states = recording, States(partial(self._at, recording), cursor.has_state, source)
        return kept[1].view(position, since, cursor.timeline.events[position].time_unix_nano)
