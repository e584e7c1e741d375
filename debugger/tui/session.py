"""What the screens need of the rest of the program, as one narrow protocol.

The screens never see a store, a database or a child process. Every method blocks and is called in a worker thread; they
raise errors whose text can be shown as it is (``hint`` and ``nearest`` are shown too, where an error has them).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import Final, Protocol

from runtime.journal import Question, Supplied
from runtime.messages import Call
from runtime.trace import Span

from ..analysis.branches import BranchWords
from ..analysis.places import Places
from ..analysis.playhead import StateView, Track
from ..analysis.sql_completion import SqlNames
from ..analysis.sql_view import ResultView
from ..importers import Following, LogRecord
from ..receiver.status import Status
from ..replay.model import Anchor, ReplayCall, ReplayJob, ReplayPlan, ReplayReport
from ..store.notebook import Notebook
from ..store.rows import IssueRow, LoadProgress, NumbersBy, NumbersRow, SearchPart, SpanRow, TraceRow
from .exporting import ExportJob

POLL_S: Final = 0.4
"""How often screens ask whether something has changed by itself, which costs microseconds."""


class SqlDesk(Protocol):
    """Questions in SQL, one at a time; each method but ``stop`` blocks."""

    def names(self) -> SqlNames:
        """What a query can name."""

    def ask(self, text: str) -> ResultView:
        """The answer to a query, cut where the screen could not keep it.

        Raises:
            SqlError: it is no query, or is refused.
            QueryCancelledError: ``stop`` was called.
        """

    def write(self, text: str, path: Path, *, overwrites: bool) -> int:
        """Write all rows of a query to a file, whose name says in which form; how many there were.

        Raises:
            DebuggerError: it is there already, or cannot be written.
        """

    def numbers(self, by: NumbersBy, trace_ids: Collection[str] | None) -> list[NumbersRow]:
        """Numbers over the calls of some traces, or of all, the name with most calls first.

        Raises:
            QueryCancelledError: ``stop`` was called.
        """

    def matching(self, condition: str, trace_id: str | None) -> frozenset[str]:
        """The spans of a trace for which a condition holds; without a trace, the traces with such spans.

        Raises:
            SqlError: it is none; the place is one in it.
            QueryCancelledError: ``stop`` was called.
        """

    def reading(self) -> tuple[int, int] | None:
        """While the messages of all traces are read for a question: spans done, and how many there are. Cheap."""

    def stop(self) -> None:
        """End the question that runs. One that only begins may be missed: whoever waits calls it again."""


class Session(Protocol):
    """Everything behind the screens. Safe to call from several threads at once."""

    @property
    def agent(self) -> str | None:
        """The agent that the user named for all replays, as ``FILE.py:NAME``; None leaves it to each trace."""

    @property
    def is_library(self) -> bool:
        """Whether a library is shown: it changes by itself, and traces can be removed from it."""

    @property
    def notebook(self) -> Notebook:
        """The notebook of what is shown. Its methods block."""

    @property
    def sql(self) -> SqlDesk:
        """Questions in SQL about what is shown."""

    def opened_as(self, row: TraceRow) -> str:
        """The word that opens a trace again: its file, or the library; empty for the user's own. Cheap."""

    def version(self) -> int:
        """Another number whenever what is shown has changed by itself; cheap. Each screen remembers its own."""

    def follow(self, wanted: bool) -> None:
        """Go on reading files that still grow, or no longer. Only where files are shown."""

    def following(self) -> Following | None:
        """How following the files stands; None where a library is shown. Cheap."""

    def is_temporary(self, trace_id: str) -> bool:
        """Whether a trace is a replay of this session that is not kept: it goes with the session, or when removed."""

    def remove(self, trace_id: str) -> None:
        """Take a trace out of the library, or throw a temporary replay away."""

    def receive(self, wanted: bool) -> None:
        """Start or stop a receiver that fills the library; it goes with the session. Only where a library is shown."""

    def receiver(self) -> Status | None:
        """How the receiver is; None where none was started. Cheap."""

    def load(self, on_progress: Callable[[LoadProgress], None], cancelled: Callable[[], bool]) -> None:
        """Read the inputs. Traces that are read already can be listed while it runs."""

    def traces(self) -> list[TraceRow]:
        """All traces, replays among them."""

    def spans(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> list[SpanRow]:
        """The spans of a trace, by start.

        Args: tell: told now and then how many are read; what it raises ends the reading.
        """

    def call(self, trace_id: str, span_id: str) -> Call:
        """What a span means, with its messages."""

    def span(self, trace_id: str, span_id: str) -> list[Span]:
        """The span as it was written; several where different ones share the id. Raises UnknownSpanError."""

    def search(self, texts: Sequence[str], trace_id: str | None) -> Generator[SearchPart]:
        """All spans part by part, and which of the texts each holds; None looks in all traces.

        The thread must ask nothing else before the parts have come to their end or are closed.

        Raises:
            QueryCancelledError: ``stop_search`` was called.
        """

    def stop_search(self) -> None:
        """End the searches that run. Does not block."""

    def conversations(self) -> dict[str, str]:
        """The conversation of each trace that names one."""

    def issues(self) -> list[IssueRow]:
        """What was odd in the inputs."""

    def calls(self, trace_id: str, tell: Callable[[int], None] = ...) -> list[Call]:
        """What all spans of a trace mean, in timeline order. Reads the whole trace, once.

        Args: tell: told now and then how many spans are read; what it raises ends the reading.
        Raises: NoRoomError: it does not fit into memory; so do all that read the whole trace.
        """

    def places(self, trace_id: str, tell: Callable[[str, int], None]) -> Places:
        """All that was said in a trace, to follow phrases in. Made once for the trace that was asked about last.

        Args: tell: told now and then how many are done of its ``span`` or ``call``; what it raises ends the work.
        """

    def logs(self, trace_id: str, span_id: str) -> list[LogRecord]:
        """The log records of a span, by time."""

    def fidelity(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> str:
        """How faithful a trace is, in a word; empty where nothing of an agent is in it. One restore of the whole.

        Args: tell: told now and then how many spans are read; what it raises ends the work.
        """

    def opening(self, trace_id: str) -> str:
        """What the trace was asked, in a line; empty where that was not recorded. Reads all its calls."""

    def prepare(self, trace_id: str, tell: Callable[[str, int], None]) -> None:
        """Read what states and replays are made of; ``track``, ``state`` and ``plan`` then find it.

        Args: tell: told now and then how many are done of its ``span`` or ``event``; what it raises ends the work.

        Raises:
            NoRoomError: the calls of the trace would not fit into memory.
            RestoreError: nothing can be restored from it.
            QueryCancelledError: ``stop_preparing`` was called.
        """

    def branch(self, trace_id: str) -> BranchWords | None:
        """What a replay is, in words; None for a trace that is none. Reads all its calls. Raises NoRoomError."""

    def stop_preparing(self) -> None:
        """End each ``prepare`` that runs. One that only works out states is ended by what it tells."""

    def stop(self) -> None:
        """End all that is asked now: the user leaves, and nobody waits for answers."""

    def track(self, trace_id: str) -> Track:
        """The events of a trace, which the playhead goes through. Reads the whole trace, once.

        Raises:
            RestoreError: the trace has no events.
        """

    def position_of(self, trace_id: str, span_id: str, anchor: Anchor) -> int:
        """The position of a cut of a span.

        Raises:
            RestoreError: there is no such cut; names the nearest ones that work.
        """

    def state(self, trace_id: str, position: int, since: int | None) -> StateView:
        """The state after an event, and what changed since another one; None compares with the empty state.

        Raises:
            RestoreError: nothing had started yet; names the nearest cuts that work.
        """

    def plan(self, job: ReplayJob, *, priced: bool = False) -> ReplayPlan:
        """What the job would do. A job that cannot run has a plan with a problem; that is no error.

        Args: priced: say also what its real model calls may cost by the price list, which takes a second to read.
        """

    def replay(
        self,
        job: ReplayJob,
        on_call: Callable[[ReplayCall], None],
        cancelled: Callable[[], bool],
        on_ask: Callable[[Question], Supplied],
    ) -> ReplayReport:
        """Run the job to its end.

        Args:
            job: what to run.
            on_call: called in this thread for each call as it starts and again as it ends.
            cancelled: asked often; True ends the run.
            on_ask: called in this thread for a call that the recording cannot answer, in ``ask`` mode.

        Returns: the report, also for a run that diverged, failed or was cancelled.
        """

    def keep(self, trace_id: str) -> Path:
        """Write the trace of a replay beside its recording, or into the library where that holds the recording.

        Returns: the new file, or the old one where it is kept already.

        Raises:
            ReplayError: the trace is no replay of this session, or the file cannot be written.
        """

    def export(self, job: ExportJob) -> Path:
        """Write a trace, its conversation or a snapshot to a file.

        Raises:
            DebuggerError: it cannot be written, or is there already.
            RestoreError: there is no snapshot.
        """

    def branches(self, trace_id: str) -> list[TraceRow]:
        """The replays of a trace, oldest first."""
