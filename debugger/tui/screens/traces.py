"""The trace list: what was loaded, while it loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from ...analysis.filter_fields import TRACE_FIELDS, complete, trace_filter, trace_values
from ...analysis.filter_language import Completion, Filter, FilterError
from ...analysis.problem import problem_document, problem_of
from ...analysis.progress import progress_text
from ...analysis.text import one_line, plural
from ...analysis.traces import list_title, trace_name
from ...importers import Following
from ...receiver.status import Status
from ...store.rows import IssueRow, LoadProgress, TraceRow
from ..keymap import bindings
from ..latest import EachInTurn, Latest
from ..session import POLL_S, Session
from ..widgets.drawn import Drawable, Drawn, OneLine, Run
from ..widgets.filter_line import FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.trace_list import TraceList
from .arranging import ArrangingScreen
from .filtering import answered, told_at_its_place, traces_holding
from .judging import Judging
from .list_header import empty_text, following_pieces, receiver_pieces, title_pieces
from .notes import NotesScreen, issues_document
from .trace import TraceScreen

_OF_TRACES = frozenset(f"traces.{what}" for what in ("open", "filter", "sort", "compare", "numbers"))
"""Keys that are offered where there is a trace."""


Listed: TypeAlias = tuple[list[TraceRow], list[IssueRow]]


class LoadMoved(Message):
    """Some more is loaded."""

    def __init__(self, progress: LoadProgress) -> None:
        super().__init__()
        self.progress = progress

    def can_replace(self, message: Message) -> bool:
        """Only the newest progress is worth drawing."""
        return isinstance(message, LoadMoved)


class TracesScreen(ArrangingScreen):
    """The list of traces. It loads the input itself, once."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("traces")

    def __init__(self, session: Session, clock: Callable[[], float], start: tuple[str, str] = ("", "")) -> None:
        super().__init__(session)
        self._clock = clock
        self._start = start
        """The trace and the span to go to once all is loaded; empty texts for none."""
        self._stop_loading = False
        self._loading = True
        self._opens_first = False
        """The key that opens was pressed before there was anything to open."""
        self._began = clock()
        self._progress: LoadProgress | None = None
        self._issues: Sequence[IssueRow] = ()
        self._load: Latest[None, Listed] = Latest(self, "load", self._load_now, self._loaded, self._load_failed)
        self._judging = Judging(self, session)
        self._doomed: str | None = None
        """The trace that is removed when its key is pressed once more."""
        self._receiver: Status | None = None
        self._switch: Latest[bool, None] = Latest(self, "receive", session.receive, self._switched, self._not_switched)
        self._files: Following | None = session.following()
        self._follow: Latest[bool, None] = Latest(self, "follow", session.follow, self._switched, self._not_followed)
        self._version = 0
        self._poll: Latest[None, tuple[int, Status | None, Following | None]] = Latest(
            self, "poll", self._poll_now, self._polled, self._failed
        )
        self._remove: EachInTurn[str, None] = EachInTurn(
            self, "remove", session.remove, self._removed, self._not_removed
        )
        self._list: Latest[None, Listed] = Latest(self, "list", self._list_now, self._listed, self._failed)
        self._bodies: Latest[Filter, dict[str, frozenset[str]]] = Latest(
            self, "search", self._search, self._searched, self._not_searched
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield FilterLine("filter", self._complete, id="filter")
        yield OneLine(id="columns")
        yield TraceList(id="traces")
        yield KeyLine(id="keys")

    # What is shown.

    def header(self) -> Iterable[Drawable]:
        """Program, what is loaded, how far loading has come."""
        table = self.query_one(TraceList)
        yield Run(" Retrospan", "strong")
        yield from title_pieces(self._title(), table.branch_here, self.size.width)
        how = table.arrangement
        if not how.wanted.is_empty:
            yield Run(f"   {table.shown:,} shown", "warning")
        if self._bodies.is_awaited:
            yield Run(f"{'   ' if how.wanted.is_empty else ', '}searching…", "warning")
        if not table.shows_sorting:
            yield Run(f"   sorted by {how.sort}", "warning")
        if how.group != "nothing":
            yield Run(f"   by {how.group}", "warning")
        if table.marked:
            yield Run(f"   ✓ {len(table.marked):,} marked", "warning")
        if self._loading:
            yield Run(f"   {self._progress_text()}", "warning")
        if self._receiver is not None:
            yield from receiver_pieces(self._receiver, self.key("traces.receive"))
        elif self._files is not None and not self._loading:
            yield from following_pieces(self._files, self.key("traces.follow"))

    def _title(self) -> str:
        is_followed = self._files is not None and self._files.is_on and not self._loading
        return list_title(self.query_one(TraceList).traces, self.temporary(), with_files=not is_followed)

    @property
    def is_reading(self) -> bool:  # type: ignore[override]
        """The input is still being read."""
        return self._loading

    def _progress_text(self) -> str:
        done = self._progress
        if done is None:
            return "loading…"
        # The name comes last: a narrow header has no room for it.
        return f"{progress_text(done, self._clock() - self._began)}   {one_line(PurePath(done.path).name)}"

    def header_right(self) -> Iterable[Drawable]:
        """The notes on the input."""
        if self._issues:
            yield Run(f"! {plural(len(self._issues), 'input note')} ({self.key('traces.issues')}) ", "warning")

    def draw(self) -> None:
        """Draw the column heads, the header and the key line again."""
        table = self.query_one(TraceList)
        self.query_one("#columns", OneLine).pieces = table.header_pieces()
        if table.is_searching != self._bodies.is_awaited:
            table.is_searching = self._bodies.is_awaited
            table.refresh()
        self._judging.look()
        self.draw_header()
        self.offer_keys()

    def offered(self, binding: Binding) -> Binding | None:
        """Esc is offered while it does something."""
        if binding.id in ("traces.remove", "traces.receive") and not self._session.is_library:
            row = self.query_one(TraceList).selected
            is_temporary = row is not None and self._session.is_temporary(row.trace_id)
            return binding if is_temporary and binding.id == "traces.remove" else None
        if binding.id == "traces.receive" and self._receives:
            return replace(binding, description="stop receiving")
        if binding.id in _OF_TRACES and not self._loading and not self.query_one(TraceList).traces:
            return None
        if binding.id != "traces.cancel":
            return super().offered(binding)
        if self._loading:
            return replace(binding, description="stop loading")
        return binding if self.query_one(FilterLine).text else None

    # Loading.

    def on_mount(self) -> None:
        """Start to load."""
        self.query_one(TraceList).focus()
        self.watch(self.query_one(TraceList), "scroll_y", self._judging.look, init=False)
        self._load.ask(None)
        if self._session.is_library or self._files is not None:
            self.set_interval(POLL_S, self._look)

    def _look(self) -> None:
        """See whether another process has brought traces in, or a file has grown."""
        if self.is_current and not self._loading and not self._poll.is_running:
            self._poll.ask(None)

    def _poll_now(self, _: None) -> tuple[int, Status | None, Following | None]:
        return self._session.version(), self._session.receiver(), self._session.following()

    def _polled(self, _: None, found: tuple[int, Status | None, Following | None]) -> None:
        version, receiver, files = found
        if files != self._files:
            is_other = self._files is None or files is None or files.is_on != self._files.is_on
            self._files = files
            if is_other:
                self._list.ask(None)  # What was waited for is an input note from now on, or no longer.
            self._say_empty()
            self.draw_header()
        if version != self._version:
            self._version = version
            self._list.ask(None)
            wanted = self.query_one(TraceList).arrangement.wanted
            if wanted.texts or wanted.conditions:
                self._bodies.ask(wanted)  # What has come may hold it too.
        if receiver != self._receiver:
            before, self._receiver = self._receiver, receiver
            if receiver is not None and receiver.problem and (before is None or before.problem != receiver.problem):
                self.say(receiver.problem, warning=True)
            self.draw_header()
            self.offer_keys()

    def on_unmount(self) -> None:
        """Let a load and a search end."""
        self._stop_loading = True
        self._bodies.drop()

    def on_screen_resume(self) -> None:
        """A replay may have made a new trace."""
        if not self._loading:
            self._list.ask(None)

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.when_laid_out(self.draw)

    def _load_now(self, _: None) -> Listed:
        def moved(progress: LoadProgress) -> None:
            self.post_message(LoadMoved(progress))

        self._session.load(moved, lambda: self._stop_loading)
        return self._list_now(None)

    def _list_now(self, _: None) -> Listed:
        return self._session.traces(), self._session.issues()

    def on_load_moved(self, message: LoadMoved) -> None:
        """Show how far it is, and what is there already."""
        self._progress = message.progress
        self.draw_header()
        if not self._list.is_running:
            self._list.ask(None)

    def _loaded(self, _: None, found: Listed) -> None:
        self._loading = False
        if self._stop_loading:
            self.say("Loading was stopped; what is listed is usable.", warning=True)
        self._list.drop()  # What was listed before the end may lack its last traces.
        self._listed(None, found)

    def _load_failed(self, _: None, error: Exception) -> None:
        self._loading = False
        self._list.ask(None)
        self._failed(None, error, "the input could not be loaded")

    def _listed(self, _: None, found: Listed) -> None:
        rows, self._issues = found
        table = self.query_one(TraceList)
        self._say_empty()
        table.show(rows)
        self.look_at_conversations()
        self.draw()
        if self._opens_first and self.is_current and (table.selected is not None or not self._loading):
            self._opens_first = False
            self.action_open()
        if self._start[0] and not self._loading:
            (trace_id, span_id), self._start = self._start, ("", "")
            if not self.open_trace(trace_id, span_id):
                self.say(f"There is no trace whose id begins with {trace_id}.", warning=True)

    def _say_empty(self) -> None:
        """Say what to do where the list shows nothing."""
        table = self.query_one(TraceList)
        said = empty_text(self._session.is_library, self.key, self._files, len(self._issues))
        table.empty_text = ("Loading…",) if self._loading else said
        if not table.lines:
            table.refresh()

    def _failed(self, _: None, error: Exception, what: str = "the traces could not be listed") -> None:
        self.app.push_screen(NotesScreen("error", problem_document(problem_of(error, what))))

    # Keys.

    def on_drawn_moved(self) -> None:
        """The header says what the replay under the cursor is."""
        if self.query_one(TraceList).facts:
            self.draw_header()

    def on_drawn_opened(self, event: Drawn.Opened) -> None:
        """A second click opens."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Open the trace under the cursor."""
        row = self.query_one(TraceList).selected
        if row is not None:
            self.app.push_screen(TraceScreen(self._session, row))
        elif self.toggle_group():
            return
        elif self._loading:
            self._opens_first = True

    def temporary(self) -> list[str]:
        """The replays of this session that are not kept."""
        rows = self.query_one(TraceList).traces
        return [row.trace_id for row in rows if row.origin_trace_id and self._session.is_temporary(row.trace_id)]

    def lists(self, trace_id: str) -> bool:
        """Whether a trace is here, by the beginning of its id."""
        return any(row.trace_id.startswith(trace_id) for row in self.query_one(TraceList).traces)

    def open_trace(self, trace_id: str, span_id: str) -> bool:
        """Open a trace at a span, both by the beginning of their ids; False where the trace is not here."""
        rows = self.query_one(TraceList).traces
        row = next((row for row in rows if row.trace_id.startswith(trace_id)), None)
        if row is not None:
            self.app.push_screen(TraceScreen(self._session, row, span_id))
        return row is not None

    def action_filter(self) -> None:
        """Type a filter."""
        line = self.query_one(FilterLine)
        line.add_class("-open")
        line.focus()

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Filter as it is typed."""
        if event.is_late:
            return
        try:
            wanted = trace_filter(event.text)
        except FilterError as mistake:
            event.line.show_mistake(mistake)  # The last filter that was understood stays.
            return
        self._session.stop_search()
        self._session.sql.stop()
        if wanted.texts or wanted.conditions:
            self._bodies.ask(wanted)
        else:
            self._bodies.drop()
        if wanted.conditions:
            self.draw_header()
        else:
            self.rearrange(wanted=wanted, found={})  # What has it in its name or service is there at once.

    def _search(self, wanted: Filter) -> dict[str, frozenset[str]]:
        held = traces_holding(self._session.search, wanted.texts, lambda: self._bodies.is_wanted)
        return held | answered(self._session.sql, wanted, None)

    def _searched(self, wanted: Filter, found: dict[str, frozenset[str]]) -> None:
        self.rearrange(wanted=wanted, found=found)

    def _not_searched(self, wanted: Filter, error: Exception) -> None:
        self.draw()
        if not told_at_its_place(self.query_one(FilterLine), wanted, error):
            self.say(problem_of(error, "").sentence, warning=True)

    def _complete(self, text: str) -> Completion:
        return complete(text, TRACE_FIELDS, trace_values(self.query_one(TraceList).traces))

    def on_filter_line_left(self) -> None:
        """Back to the list; an empty filter takes no room."""
        line = self.query_one(FilterLine)
        line.set_class(bool(line.text), "-open")
        self.query_one(TraceList).focus()
        self.offer_keys()

    def action_remove(self) -> None:
        """Remove the trace under the cursor from the library, once the key was pressed twice."""
        row = self.query_one(TraceList).selected
        if row is None:
            return
        is_temporary = self._session.is_temporary(row.trace_id)
        if not self._session.is_library and not is_temporary:
            self.say("Only replays made here and not saved can be removed; this trace is a file, which stays yours.")
        elif self._doomed != row.trace_id:
            self._doomed = row.trace_id
            where = "for good: it is a replay that was not saved" if is_temporary else "from the library"
            again = f"{self.key('traces.remove')} once more removes {trace_name(row.name)} {where}"
            self.say(f"{again}; any other trace is safe.", warning=True)
        else:
            self._doomed = None
            self._remove.ask(row.trace_id)

    def _removed(self, _: str, __: None) -> None:
        self._list.ask(None)
        self.say("Removed. Loading its file again brings it back." if self._session.is_library else "Removed.")

    def _not_removed(self, _: str, error: Exception) -> None:
        self._failed(None, error, "the trace could not be removed")

    def action_issues(self) -> None:
        """List what was odd in the input."""
        self.app.push_screen(NotesScreen("notes on the input", issues_document(self._issues, is_reading=self._loading)))

    @property
    def _receives(self) -> bool:
        return self._receiver is not None and self._receiver.state in ("starting", "listening")

    def action_receive(self) -> None:
        """Start to receive traces, or stop."""
        if self._session.is_library:
            self._switch.ask(not self._receives)
        else:
            self.say("Traces are received into the library; `retrospan` without a file opens it.", warning=True)

    def action_follow(self) -> None:
        """Go on reading files that grow, or no longer."""
        files = self._session.following()
        if files is None:
            self.say("The library shows by itself what is loaded into it; files are followed where they are opened.")
            return
        for path, why in files.not_followed[:3]:
            self.say(f"{path} is not followed: {why}", warning=True)
        if files.files:
            self._follow.ask(not files.is_on)

    def _not_followed(self, _: bool, error: Exception) -> None:
        self._failed(None, error, "following could not be switched")

    def _switched(self, _: bool, __: None) -> None:
        self._look()

    def _not_switched(self, wanted: bool, error: Exception) -> None:
        self._failed(
            None, error, "the receiver could not be started" if wanted else "the receiver could not be stopped"
        )

    def action_cancel(self) -> None:
        """Stop loading, else clear the filter."""
        if self._loading:
            self._stop_loading = True
        elif self.query_one(FilterLine).text:
            self.query_one(FilterLine).text = ""
            self.on_filter_line_left()
