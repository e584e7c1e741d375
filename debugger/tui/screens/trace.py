"""One trace: the timeline, and beside it what the span under its cursor is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from ...analysis.branches import ENDED
from ...analysis.critical import CriticalPath, critical_path
from ...analysis.document import Document
from ...analysis.problem import problem_document, problem_of
from ...analysis.rhythm import Rhythm, rhythm_of
from ...analysis.text import duration, plural, width_of
from ...analysis.timeline import Axis
from ...analysis.traces import branches_text, trace_facts, trace_name
from ...analysis.tree import Forest, build_forest
from ...store.rows import IssueRow, TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import POLL_S, Session
from ..widgets.detail import Detail, Tab
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.filter_line import FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.minimap import Minimap
from ..widgets.playhead_line import PlayheadLine
from ..widgets.ruler import Ruler
from ..widgets.time_strip import TimeStrip
from ..widgets.timeline import Timeline, timeline_axis
from ..widgets.timeline_moves import WHEEL
from ..widgets.trace_list import FIDELITY_STYLES
from .base import PaneScreen
from .compare import CompareScreen
from .explaining import SpanQuestion, explained
from .notes import NotesScreen, issues_document
from .reading import Reading
from .thread import ThreadScreen
from .trace_fidelity import TraceFidelity
from .trace_findings import TraceFindings
from .trace_replay import TraceReplay
from .trace_search import TraceSearch
from .trace_time import no_cut_document

_ENDED_KEY = "retrospan.replay.ended"

NARROW = 110
"""Below this many cells one pane is shown at a time."""


@dataclass(frozen=True, slots=True)
class TraceModel:
    """All that the screen shows of the trace itself."""

    forest: Forest
    axis: Axis | None
    family: tuple[TraceRow, ...]
    """The recording and its replays, oldest first."""
    newest: int
    """The span that started last."""
    ended: str
    """How a replay ended, in a word; empty for a recording and where it is not known."""


class TraceScreen(TraceSearch, TraceReplay, TraceFindings):
    """The home of a trace."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("trace")

    def __init__(self, session: Session, row: TraceRow, span_id: str = "") -> None:
        super().__init__(session, row)
        self._first = span_id
        """The span to begin at, by the beginning of its id; empty once it was gone to."""
        self.family: tuple[TraceRow, ...] = (row,)
        self.ended = ""
        self._open: Latest[str, TraceModel] = Latest(self, "trace", self._find_trace, self._show_trace, self._no_trace)
        self._details: Latest[SpanQuestion, dict[Tab, Document]] = Latest(
            self, "detail", self._find_details, self._show_details, self._no_details
        )
        self._family: Latest[str, tuple[TraceRow, ...]] = Latest(
            self, "family", self._find_family, self._show_family, self.say_fault
        )
        self._version = 0
        self._poll: Latest[str, tuple[int, TraceRow | None]] = Latest(
            self, "poll", self._poll_now, self._grew, self.say_fault
        )
        self._is_gone = False
        """The trace was removed from the library while it is open, which was said."""
        self._keep: Latest[str, Path] = Latest(self, "keep", session.keep, self._kept, self.say_fault)
        self._rhythm: Latest[Forest, Rhythm] = Latest(
            self, "rhythm", lambda forest: rhythm_of(forest, timeline_axis(forest)), self._show_rhythm, self.say_fault
        )
        self._critical: Latest[Forest, CriticalPath] = Latest(
            self, "critical", critical_path, self._show_critical, self.say_fault
        )
        self._shows_critical = False
        self.fidelity = TraceFidelity(self, session, self.draw_header)
        self._opening = Reading(self, row.spans)
        self.follows = False
        """The cursor goes to each new span."""
        self._issues: Latest[None, list[IssueRow]] = Latest(
            self, "issues", lambda _: session.issues(), self._show_issues, self.say_fault
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield FilterLine("search", self.complete, id="search")
                yield Minimap(id="minimap")
                yield Ruler(id="ruler")
                yield Timeline(id="timeline")
            with Vertical(id="right"):
                yield Detail(id="explain")
        yield PlayheadLine(id="playhead")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """Load the spans."""
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.timeline.focus()
        self.detail.put({"snapshot": no_cut_document(self.key)})
        self._opening.begin(self.timeline.say_loading, at_once=False)
        self._open.ask(self.row.trace_id)
        if self._session.is_library or self._session.following() is not None:
            self.set_interval(POLL_S, self._look)

    def on_resize(self, event: events.Resize) -> None:
        """One pane or two."""
        self.set_class(event.size.width < NARROW, "-narrow")
        self.draw_header()
        self.when_laid_out(self.draw_time)

    def on_unmount(self) -> None:
        """Let what is read end."""
        self._opening.leave()
        self.fidelity.leave()
        self.leave_reading()
        self.leave_search()

    def on_screen_resume(self) -> None:
        """A replay may have added a branch."""
        if len(self.timeline.forest):
            self._family.ask(self.row.trace_id)

    # Header.

    def header(self) -> Iterable[Drawable]:
        """The trace's name and its numbers, as many as there is room for."""
        said = list(self._said_first())
        taken = sum(width_of(run.text) for run in (*said, *self.header_right()))
        facts = trace_facts(self.row, self.size.width - taken)
        return (*said, *(Run(f" · {fact}", "dim") for fact in facts))

    def _said_first(self) -> Iterable[Drawable]:
        sign = "↺ " if self.row.origin_trace_id else ""
        yield Run(f" {sign}{trace_name(self.row.name)}", "strong")
        if self.row.errors:
            yield Run(f"  ✗{self.row.errors:,}", "error")
        if self.follows:
            yield Run("  following", "good")
        elif (files := self._session.following()) is not None and files.is_on and self.row.unfinished:
            yield Run("  ◉ live", "good")
        if word := self.fidelity.word:
            yield Run(f"  {word}", FIDELITY_STYLES.get(word, "dim"))
        yield from self.reading_pieces()

    def header_right(self) -> Iterable[Drawable]:
        """The branches of the recording, and which one this is."""
        if len(self.family) == 1 and not self.row.origin_trace_id:
            return
        at = next((i for i, row in enumerate(self.family) if row.trace_id == self.row.trace_id), 0)
        total = len(self.family) - 1
        if self.row.origin_trace_id:
            ended = f", {self.ended}" if self.ended else ""
            yield Run((f"replay {at} of {total}" if at else "replay") + ended, "good")
            yield Run(f" ({self.key('trace.branch')}) " if total else " ", "dim")
        else:
            said = branches_text(self.family, self.size.width // 4 if self.size.width >= NARROW else 0)
            yield from (Run("recorded", "strong"), Run(f" {said} ({self.key('trace.branch')}) ", "good"))

    def draw_time(self) -> None:
        """Draw what shows the window of time: the ruler and the minimap."""
        timeline = self.timeline
        self.query_one(Ruler).show(timeline.view, timeline.drawn_columns, timeline.playhead)
        self.query_one(Minimap).show(timeline.rhythm, timeline.axis, timeline.view, self.time_marks)

    def on_timeline_zoomed(self) -> None:
        """Another window of time."""
        self.draw_time()

    @on(Minimap.Pointed, "#minimap")
    def _show_around(self, event: Minimap.Pointed) -> None:
        self.timeline.point_at(event.moment)

    @on(Minimap.Swept)
    def _show_stretch(self, event: Minimap.Swept) -> None:
        self.timeline.sweep(event.moment, event.end)

    @on(Ruler.Pointed, "#ruler")
    def _move_playhead(self, event: Ruler.Pointed) -> None:
        self.go_to_moment(event.moment)

    @on(TimeStrip.Scrolled)
    def _turn_wheel(self, event: TimeStrip.Scrolled) -> None:
        if event.pans:
            self.timeline.action_pan(-WHEEL if event.is_up else WHEEL)
        else:
            self.timeline.zoom_at(event.moment, is_in=event.is_up)

    def action_critical(self) -> None:
        """Show the critical path, or no longer."""
        if self._shows_critical:
            self._shows_critical = False
            self._critical.drop()
            self.timeline.set_critical(None)
        else:
            self._critical.ask(self.timeline.forest)

    def _show_critical(self, forest: Forest, path: CriticalPath) -> None:
        if forest is self.timeline.forest:
            was_shown, self._shows_critical = self._shows_critical, True
            self.timeline.set_critical(path)
            if was_shown:
                return
            self.say(f"{plural(path.spans, 'span')} decided how long it took; their solid parts add up to "
                     f"{duration(path.length_ns)}.")  # fmt: skip

    def _show_rhythm(self, forest: Forest, rhythm: Rhythm) -> None:
        if forest is self.timeline.forest:
            self.timeline.set_rhythm(rhythm)
            self.draw_time()

    # The trace, also while it goes on.

    def _look(self) -> None:
        """See whether something of this trace has been received."""
        if self.is_current and not self._open.is_running and not self._poll.is_running:
            self._poll.ask(self.row.trace_id)

    def _poll_now(self, trace_id: str) -> tuple[int, TraceRow | None]:
        """The library's version and, where that is another one, the trace's row; None where it is gone."""
        version = self._session.version()
        if version == self._version:
            return version, None if self._is_gone else self.row
        return version, next((row for row in self._session.traces() if row.trace_id == trace_id), None)

    def _grew(self, trace_id: str, found: tuple[int, TraceRow | None]) -> None:
        self._version, row = found
        was_gone, self._is_gone = self._is_gone, row is None and self._session.is_library
        if self._is_gone and not was_gone:
            self.say("This trace was removed from the library; no more of it can be read.", warning=True)
        if row is not None and row != self.row:
            self.row = row
            self._open.ask(trace_id)

    def _find_trace(self, trace_id: str) -> TraceModel:
        forest = build_forest(self._session.spans(trace_id, self._opening.tell_spans))
        starts = [row.start_unix_nano or 0 for row in forest.rows]
        newest = starts.index(max(starts)) if starts else 0
        family = self._find_family(trace_id)
        return TraceModel(forest, timeline_axis(forest), family, newest, self._find_end(forest))

    def _find_end(self, forest: Forest) -> str:
        """What the run span of a replay says of its end; a replay that was killed left spans open."""
        if self.row.origin_trace_id is None or not len(forest):
            return ""
        for span in self._session.span(self.row.trace_id, forest.rows[0].span_id):
            if (ended := span.attributes.get(_ENDED_KEY)) in ENDED:
                return ENDED[str(ended)]
        return "unfinished" if self.row.unfinished else ""

    def _find_family(self, trace_id: str) -> tuple[TraceRow, ...]:
        origin = self.row.origin_trace_id
        if origin is None:
            return (self.row, *self._session.branches(trace_id))
        known = [row for row in self._session.traces() if row.trace_id == origin]
        return (*known, *self._session.branches(origin)) or (self.row,)

    def _show_trace(self, _: str, model: TraceModel) -> None:
        self.ended = model.ended
        self._opening.end()
        self.timeline.show(model.forest, model.axis)
        self.draw_time()
        if self._shows_critical:
            self._critical.ask(model.forest)
        self._rhythm.ask(model.forest)
        if self.follows and len(model.forest):
            self.timeline.place(model.newest)
        self._go_to_first()
        self.search_again()
        self._show_family("", model.family)
        self.fidelity.judge(self.row.trace_id, len(model.forest))
        if not len(model.forest):
            self.detail.put({"conversation": Document(), "attributes": Document()})

    def _go_to_first(self) -> None:
        wanted, self._first = self._first, ""
        if not wanted:
            return
        rows = self.timeline.forest.rows
        at = next((i for i, row in enumerate(rows) if row.span_id.startswith(wanted)), None)
        if at is None:
            self.say(f"There is no span in this trace whose id begins with {wanted}.", warning=True)
        else:
            self.timeline.go_to(at)

    def _show_family(self, _: str, family: tuple[TraceRow, ...]) -> None:
        self.family = family
        self.draw_header()

    def _no_trace(self, _: str, error: Exception) -> None:
        self._opening.end()
        self.timeline.say_loading("The spans could not be read; the right pane says why.")
        document = problem_document(problem_of(error, "this trace could not be opened"))
        self.detail.put({"conversation": document, "attributes": document})
        self.focus_pane(self.detail.view)

    # The span under the cursor.

    def on_timeline_selected(self, event: Timeline.Selected) -> None:
        """Explain the span."""
        self.cursor_moved()
        forest = event.timeline.forest
        self._details.ask(SpanQuestion(forest.rows[event.index].span_id, event.index, forest))

    def _find_details(self, wanted: SpanQuestion) -> dict[Tab, Document]:
        return explained(self._session, self.row.trace_id, wanted)

    def _show_details(self, wanted: SpanQuestion, documents: dict[Tab, Document]) -> None:
        self.explained = wanted
        self.detail.put(documents, wanted.span_id)

    def _no_details(self, wanted: SpanQuestion, error: Exception) -> None:
        self.explained = wanted
        document = problem_document(problem_of(error, "this span could not be read"))
        self.detail.put({"conversation": document, "attributes": document})

    def on_timeline_detail_wanted(self) -> None:
        """Enter on a span."""
        self.focus_pane(self.detail.view)

    def on_timeline_said(self, event: Timeline.Said) -> None:
        """Pass on what the timeline has to say."""
        self.say(event.text)

    # Other keys.

    def action_tab(self, tab: Tab) -> None:
        """Show a tab of the detail pane."""
        self.detail.choose(tab)
        if self.has_class("-narrow"):
            self.focus_pane(self.detail.view)

    def action_follow(self) -> None:
        """Let the cursor go to each new span, or no longer."""
        self.follows = not self.follows
        key = self.key("trace.follow")
        said = (
            f"The cursor goes to each new span as it arrives; {key} ends that." if self.follows else "The cursor stays."
        )
        self.say(said)
        self.draw_header()

    def action_thread(self) -> None:
        """Show the conversation of the whole trace."""
        span = self.timeline.selected
        self.app.push_screen(ThreadScreen(self._session, self.row, span.span_id if span else None, self.go_to_span))

    def action_compare(self) -> None:
        """Compare a replay with its recording, a recording with its newest replay."""
        others = [row for row in self.family if row.trace_id != self.row.trace_id]
        origin = next((row for row in others if row.trace_id == self.row.origin_trace_id), None)
        if not others:
            keys = f"{self.key('traces.mark')} and {self.key('traces.compare')}"
            self.say(f"This trace has no replay to compare it with; {keys} in the list compare any two.")
        elif origin is not None:
            self.app.push_screen(CompareScreen(self._session, origin, self.row))
        else:
            self.app.push_screen(CompareScreen(self._session, self.row, others[-1]))

    def action_branch(self) -> None:
        """Go to the next branch."""
        ids = [row.trace_id for row in self.family]
        if len(ids) < 2:
            self.say(f"This trace has no replays yet; {self.key('trace.replay')} makes one.")
            return
        at = ids.index(self.row.trace_id) if self.row.trace_id in ids else -1
        self.app.switch_screen(TraceScreen(self._session, self.family[(at + 1) % len(ids)]))

    def action_save(self) -> None:
        """Keep the replay that is shown in a file."""
        if self.row.origin_trace_id is None:
            self.say(f"This is a recording, a file already; {self.key('trace.save')} saves replays.")
        else:
            self._keep.ask(self.row.trace_id)

    def _kept(self, _: str, path: Path) -> None:
        self.say(f"The replay is kept in {path}")

    def action_issues(self) -> None:
        """List what was odd in the input."""
        self._issues.ask(None)

    def _show_issues(self, _: None, found: list[IssueRow]) -> None:
        is_reading = any(isinstance(screen, PaneScreen) and screen.is_reading for screen in self.app.screen_stack)
        self.app.push_screen(NotesScreen("notes on the input", issues_document(found, is_reading=is_reading)))

    def action_back(self) -> None:
        """End what is read; from the detail pane to the timeline, to the steps that led here, to the list.

        Before the list, a search is ended.
        """
        if self.stop_reading():
            return
        if self.focused is self.detail.view:
            self.focus_pane(self.timeline)
        elif not self.back_to_trail() and not self.end_search():
            self.dismiss()
