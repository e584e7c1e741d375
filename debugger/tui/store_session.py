"""The session behind the real app: a store, and replays that are loaded back into it as branches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType

from runtime.journal import Question, Supplied
from runtime.messages import Call
from runtime.trace import Span

from ..analysis.prices import price_of
from ..errors import NoLibraryError, ReplayError
from ..importers import Follower, Following
from ..receiver.child import ReceiverProcess
from ..receiver.status import Status
from ..replay.entry import samples_folder
from ..replay.keep import copy_beside
from ..replay.model import ReplayCall, ReplayJob, ReplayPlan, ReplayReport
from ..replay.plan import calls_after, plan_replay, sentence_of
from ..replay.recording import Recording
from ..replay.run import run_replay, stop_here
from ..scratch import ScratchFolder
from ..store import Library, Store
from ..store.library import library_folder
from ..store.notebook import Notebook, notebook_beside
from ..store.rows import IssueRow, LoadProgress, SpanRow, TraceRow
from .following import FileFollower
from .sql_answers import SqlAnswers
from .trace_reading import TraceReading


def notebook_of(path: Path) -> Path:
    """Where the notes on plain traces lie: beside them, but never in the installed package with the samples."""
    return library_folder().with_name("sample-notes.sqlite") if is_sample(path) else notebook_beside(path)


def _keep_of_sample(made: Path, sample: Path) -> Path:
    try:
        with Library.open(make=False) as library:
            return library.keep(made)
    except NoLibraryError:
        return copy_beside(made, Path.cwd() / sample.name)


def is_sample(path: Path) -> bool:
    """Whether a file is a bundled sample: nothing is ever written beside those."""
    samples = samples_folder()
    return samples is not None and path.resolve().is_relative_to(samples)


class StoreSession(TraceReading):
    """Everything behind the screens, over the files and folders that the user named, or over a library.

    Replays live in a folder of the session and go with it, unless the job names a file or ``keep`` writes one.

    Args:
        paths: what to load; nothing for a library.
        agent: ``FILE.py:NAME`` or ``MODULE:NAME`` that all replays run, whatever their traces name.
        library: what to show instead of paths. The session closes it.
        listen_words: words for ``retrospan listen``, where its receiver is to be another than by default.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        agent: str | None = None,
        library: Library | None = None,
        listen_words: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.agent = agent
        self._library = library
        self._reader = library.reader() if library is not None else None
        self._replays: dict[str, Path] = {}
        self._kept: dict[str, Path] = {}
        self._gone: set[str] = set()
        """Replays that were thrown away."""
        self._making = Lock()
        self._loaded = Store.memory() if library is None else None
        self._files = FileFollower(self._store, Follower(paths)) if paths else None
        self._folder = ScratchFolder()
        self._numbers = itertools.count(1)
        self._recording: Recording | None = None
        self._recorded_spans: list[SpanRow] = []
        """The spans of the recording: another end or another span makes another recording."""
        self._recorded_at = -1
        """The store's generation when the recording was last known to be up to date."""
        self._record_lock = Lock()
        self._lock = Lock()
        """Of the replays and the receiver: reading a recording may take long, and neither waits for that."""
        self._listen_words = tuple(listen_words)
        self._receiver: ReceiverProcess | None = None

        self.sql = SqlAnswers(self._asked_stores, lambda: self.generation)
        self.notebook = Notebook(library.user_file if library else notebook_of(Path(paths[0] if paths else ".")))

    def __enter__(self) -> StoreSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._receiver is not None:
            self._receiver.close()
        if self._files is not None:
            self._files.switch(False)
        self.sql.close()
        if self._loaded is not None:
            self._loaded.close()
        if self._library is not None:
            self._library.close()
        self._folder.remove()

    @property
    def _store(self) -> Store:
        """What holds all that is loaded here; made for the first of it, which in a library is the first replay."""
        with self._making:
            if self._loaded is None:
                self._loaded = Store.memory()
            return self._loaded

    @property
    def is_library(self) -> bool:
        """Whether a library is shown: it changes by itself, and traces can be removed from it."""
        return self._library is not None

    def opened_as(self, row: TraceRow) -> str:
        """The word that opens a trace again: its file, or the library; empty for the user's own."""
        if self._library is None:
            return row.source.partition("!")[0]
        return "" if self._library.folder == library_folder() else f"--library={self._library.folder}"

    def version(self) -> int:
        """Another number whenever the library or the files have changed. Costs microseconds where they have not."""
        return self._store.generation if self._reader is None else self._reader.generation

    def follow(self, wanted: bool) -> None:
        """Go on reading files that grow, or no longer."""
        if self._files is not None:
            self._files.switch(wanted)

    def following(self) -> Following | None:
        """How following the files stands; None for a library."""
        return None if self._files is None else self._files.now

    def is_temporary(self, trace_id: str) -> bool:
        """Whether a trace is a replay of this session that is not kept."""
        return trace_id in self._replays and trace_id not in self._kept

    def remove(self, trace_id: str) -> None:
        """Take a trace out of the library, or throw a temporary replay away; what was made from it stays.

        Raises: ReplayError: it is a file.
        """
        with self._lock:
            if self.is_temporary(trace_id):
                self._gone.add(trace_id)
                self._replays.pop(trace_id).unlink(missing_ok=True)
                return
        if self._library is not None:
            self._library.remove([trace_id])
        else:
            raise ReplayError("only replays that were made here and not saved can be removed; this trace is a file")

    def receive(self, wanted: bool) -> None:
        """Start or stop the receiver of this session, a process of its own."""
        with self._lock:
            runs = self._receiver is not None and self._receiver.status.state != "stopped"
            if wanted and not runs and self._library is not None:
                if self._receiver is not None:
                    self._receiver.close()
                self._receiver = ReceiverProcess(self._library.folder, self._listen_words)
            elif not wanted and self._receiver is not None:
                self._receiver.stop()

    def receiver(self) -> Status | None:
        """How the receiver is; None where none was started."""
        return None if self._receiver is None else self._receiver.status

    def load(self, on_progress: Callable[[LoadProgress], None], cancelled: Callable[[], bool]) -> None:
        """Read the inputs; what is read can be listed while it runs."""
        if self._files is not None:
            self._files.load(on_progress, cancelled)

    def traces(self) -> list[TraceRow]:
        """All traces, newest first, replays among them."""
        loaded = [] if self._loaded is None else self._loaded.traces()
        here = [row for row in loaded if row.trace_id not in self._gone]
        if self._reader is None:
            return here
        kept = self._reader.traces()
        known = {row.trace_id for row in kept}
        return [*(row for row in here if row.trace_id not in known), *kept]

    def _asked_stores(self) -> tuple[list[Store], set[str]]:
        """What SQL is asked of. A replay that is in the library by now counts there."""
        if self._reader is None:
            return [self._store], set(self._gone)
        if not self._replays:
            return [self._reader], set()
        return [self._reader, self._store], self._gone | {row.trace_id for row in self._reader.traces()}

    def _of(self, trace_id: str) -> Store:
        """The store that a trace lies in."""
        if self._reader is None or (trace_id in self._replays and trace_id not in self._kept):
            return self._store
        return self._reader

    def spans(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> list[SpanRow]:
        """The spans of a trace, by start."""
        return self._of(trace_id).spans(trace_id, tell)

    def call(self, trace_id: str, span_id: str) -> Call:
        """What a span means."""
        return self._of(trace_id).call(trace_id, span_id)

    def span(self, trace_id: str, span_id: str) -> list[Span]:
        """The span as it was written."""
        return self._of(trace_id).span(trace_id, span_id)

    def issues(self) -> list[IssueRow]:
        """What was odd in the inputs."""
        if self._reader is not None:
            return self._reader.issues()
        return [*self._store.issues(), *(self._files.issues() if self._files is not None else ())]

    def plan(self, job: ReplayJob, *, priced: bool = False) -> ReplayPlan:
        """What the job would do, and what its real model calls may cost by the price list."""
        recording = self._record(job.trace_id)
        plan = plan_replay(recording, job)
        if not priced:
            return plan
        later, all_calls = (calls_after(recording, each) for each in (job, replace(job, span_id=None)))
        plan = replace(plan, later_price=price_of(later), all_price=price_of(all_calls))
        return replace(plan, sentence=sentence_of(job, plan))

    def replay(
        self,
        job: ReplayJob,
        on_call: Callable[[ReplayCall], None],
        cancelled: Callable[[], bool],
        on_ask: Callable[[Question], Supplied] = stop_here,
    ) -> ReplayReport:
        """Run the job to its end, and load its trace as a branch."""
        path = job.output or self._folder.path / f"replay-{next(self._numbers)}.otlp.jsonl"
        report = run_replay(self._record(job.trace_id), job, path, on_call=on_call, cancelled=cancelled, on_ask=on_ask)
        if report.trace_path is not None:
            self._store.load([report.trace_path])
            if report.trace_id is not None:
                is_kept = job.output is not None and self._library is None
                (self._kept if is_kept else self._replays)[report.trace_id] = report.trace_path
        return report

    def keep(self, trace_id: str) -> Path:
        """Put a replay's trace into the library, or beside its recording as ``NAME.replay-N.otlp.jsonl``.

        A replay of a bundled sample goes into the user's library where there is one, else to the present folder.

        Raises: ReplayError, LibraryError: the copy cannot be written.
        """
        with self._lock:
            if trace_id not in self._kept:
                if trace_id not in self._replays:
                    raise ReplayError("only a replay that was made here is temporary; this trace is a file already")
                made = self._replays[trace_id]
                if self._library is not None:
                    self._kept[trace_id] = self._library.keep(made)
                elif not is_sample(recorded := self._recorded_file(trace_id)):
                    self._kept[trace_id] = copy_beside(made, recorded)
                else:
                    self._kept[trace_id] = _keep_of_sample(made, recorded)
            return self._kept[trace_id]

    def _recorded_file(self, trace_id: str) -> Path:
        """The file of the recording that a replay comes from, also by way of other replays."""
        rows = self._rows()
        made_here = {*self._replays, *self._gone}
        while trace_id in made_here and (origin := rows[trace_id].origin_trace_id) in rows:
            assert origin is not None
            trace_id = origin
        archive, _, member = rows[trace_id].source.partition("!")
        return Path(archive).parent / Path(member or archive).name

    def branches(self, trace_id: str) -> list[TraceRow]:
        """The replays of a trace, oldest first."""
        return [row for row in reversed(self.traces()) if row.origin_trace_id == trace_id]

    def _record(self, trace_id: str) -> Recording:
        """The trace as a cassette; the last one is kept, since its snapshot is asked for again and again."""
        with self._record_lock:
            known, generation = self._recording, self.generation
            if known is not None and known.trace_id != trace_id:
                known = None
            if known is None or generation != self._recorded_at:
                spans = self._of(trace_id).spans(trace_id)
                # What was loaded since may have nothing to do with this trace.
                if known is None or spans != self._recorded_spans:
                    row = self._rows().get(trace_id)
                    service = None if row is None else row.service
                    known = Recording(trace_id, self.calls(trace_id), self._sources(trace_id), service)
                    self._recorded_spans = spans
            self._recording, self._recorded_at = known, generation
            return known

    def _rows(self) -> dict[str, TraceRow]:
        """All traces by id, also replays that were thrown away: other ones may come from them."""
        return {row.trace_id: row for store in self._stores for row in store.traces()}

    def _sources(self, trace_id: str) -> list[Path]:
        """The files of the trace and, for a replay, of the traces that it comes from."""
        rows = self._rows()
        out: list[Path] = []
        seen: set[str] = set()
        while trace_id in rows and trace_id not in seen:
            seen.add(trace_id)
            out.append(Path(rows[trace_id].source))
            trace_id = rows[trace_id].origin_trace_id or ""
        return out
