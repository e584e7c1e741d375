"""One trace: the timeline, and beside it what the span under its cursor is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from ...analysis.attributes import attributes_document
from ...analysis.conversation import conversation, document_of
from ...analysis.document import Builder, Document, Piece
from ...analysis.problem import problem_document, problem_of
from ...analysis.replay_view import from_where
from ...analysis.snapshot_view import SnapshotView, snapshot_document
from ...analysis.timeline import Axis
from ...analysis.traces import trace_facts, trace_name
from ...analysis.tree import Forest, build_forest, name_of
from ...replay.edits import editable
from ...replay.model import Anchor, Edit, ReplayJob, ReplayPlan
from ...store.rows import SpanRow, TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import POLL_S, Session
from ..widgets.detail import Detail, Tab
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.timeline import Timeline, timeline_axis
from .base import PaneScreen
from .editor import ForkScreen
from .notes import NotesScreen, issues_document
from .question import QuestionScreen
from .replay import ReplayScreen

_ENDED_KEY = "retrospan.replay.ended"
_ENDED = {
    "done": "complete",
    "past_cut": "came to its cut",
    "diverged": "diverged",
    "failed": "failed",
    "cancelled": "cancelled",
}

NARROW = 110
"""Below this many cells one pane is shown at a time."""


@dataclass(frozen=True, slots=True)
class TraceModel:
    """All that the screen shows of the trace itself."""

    forest: Forest
    axis: Axis | None
    family: tuple[TraceRow, ...]
    """The recording and its replays, oldest first."""
    ended: str
    """How a replay ended, in a word; empty for a recording and where it is not known."""


@dataclass(frozen=True, slots=True)
class SpanQuestion:
    """Which span the detail pane should explain."""

    span_id: str
    index: int
    """Its place in the forest."""
    forest: Forest = field(repr=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """Which state the snapshot tab should show."""

    span_id: str
    anchor: Anchor
    name: str


class TraceScreen(PaneScreen):
    """The home of a trace."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("trace")

    def __init__(self, session: Session, row: TraceRow) -> None:
        super().__init__()
        self._session = session
        self.row = row
        self.family: tuple[TraceRow, ...] = (row,)
        self.ended = ""
        self._replay_waits = False
        self.cut: Cut | None = None
        """The state that the snapshot tab shows; None while there is none."""
        self._open: Latest[str, TraceModel] = Latest(self, "trace", self._find_trace, self._show_trace, self._no_trace)
        self._details: Latest[SpanQuestion, dict[Tab, Document]] = Latest(
            self, "detail", self._find_details, self._show_details, self._no_details
        )
        self._restore: Latest[Cut, tuple[SnapshotView, ReplayPlan]] = Latest(
            self, "snapshot", self._find_state, self._show_state, self._no_state
        )
        self._fork: Latest[SpanRow, list[tuple[str, str]]] = Latest(
            self, "fork", self._find_choices, self._edit, self._no_choices
        )
        self._plan: Latest[tuple[ReplayJob, str | None], ReplayPlan] = Latest(
            self, "plan", self._find_plan, self._ask_first, self._no_plan
        )
        self._family: Latest[str, tuple[TraceRow, ...]] = Latest(
            self, "family", self._find_family, self._show_family, self._no_family
        )
        self._version = 0
        self._poll: Latest[str, tuple[int, TraceRow | None]] = Latest(
            self, "poll", self._poll_now, self._grew, self._no_family
        )
        self._keep: Latest[str, Path] = Latest(self, "keep", session.keep, self._kept, self._no_family)
        self._issues: Latest[None, Document] = Latest(
            self, "issues", lambda _: issues_document(session.issues()), self._show_issues, self._no_issues
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield OneLine(id="ruler")
                yield Timeline(id="timeline")
            with Vertical(id="right"):
                yield Detail(id="explain")
        yield KeyLine(id="keys")

    @property
    def timeline(self) -> Timeline:
        """The left pane."""
        return self.query_one(Timeline)

    @property
    def detail(self) -> Detail:
        """The right pane."""
        return self.query_one(Detail)

    def panes(self) -> Sequence[Widget]:
        """Both panes, also while only one fits on the screen."""
        return [self.timeline, self.detail.view]

    def help_nodes(self) -> Sequence[object]:
        """The detail pane's own keys sit on its frame."""
        return [self, self.timeline, self.detail.view, self.detail, self.app]

    def focus_pane(self, pane: Widget) -> None:
        """Go to a pane, bringing it into view where only one fits."""
        self.set_class(pane is self.detail.view, "-detail")
        pane.focus()

    def on_mount(self) -> None:
        """Load the spans."""
        super().on_mount()
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.timeline.focus()
        self.detail.put({"snapshot": _no_cut_document()})
        self._open.ask(self.row.trace_id)
        if self._session.is_library:
            self.set_interval(POLL_S, self._look)

    def on_resize(self, event: events.Resize) -> None:
        """One pane or two."""
        self.set_class(event.size.width < NARROW, "-narrow")
        self.call_after_refresh(self._draw_ruler)

    def on_screen_resume(self) -> None:
        """A replay may have added a branch."""
        if len(self.timeline.forest):
            self._family.ask(self.row.trace_id)

    # Header.

    def header(self) -> Iterable[Drawable]:
        """The trace's name and its numbers."""
        sign = "↺ " if self.row.origin_trace_id else ""
        yield Run(f" {sign}{trace_name(self.row.name)}", "strong")
        if self.row.errors:
            yield Run(f"  ✗{self.row.errors:,}", "error")
        for fact in trace_facts(self.row):
            yield Run(f" · {fact}", "dim")

    def header_right(self) -> Iterable[Drawable]:
        """The branches of the recording, and which one this is."""
        if len(self.family) == 1 and not self.row.origin_trace_id:
            return
        at = next((i for i, row in enumerate(self.family) if row.trace_id == self.row.trace_id), 0)
        total = len(self.family) - 1
        if self.row.origin_trace_id:
            ended = f", {self.ended}" if self.ended else ""
            yield Run((f"replay {at} of {total}" if at else "replay") + ended, "good")
            yield Run(" (v) " if total else " ", "dim")
        else:
            yield Run("recorded", "strong")
            yield Run(f" ↺ {total} {'branch' if total == 1 else 'branches'} (v) ", "good")

    def _draw_ruler(self) -> None:
        self.query_one("#ruler", OneLine).pieces = self.timeline.header_pieces()

    # The trace, also while it goes on.

    def _look(self) -> None:
        """See whether something of this trace has been received."""
        if self.is_current and not self._open.is_running and not self._poll.is_running:
            self._poll.ask(self.row.trace_id)

    def _poll_now(self, trace_id: str) -> tuple[int, TraceRow | None]:
        """The library's version and, where that is another one, the trace's row."""
        version = self._session.version()
        if version == self._version:
            return version, None
        return version, next((row for row in self._session.traces() if row.trace_id == trace_id), None)

    def _grew(self, trace_id: str, found: tuple[int, TraceRow | None]) -> None:
        self._version, row = found
        if row is not None and row != self.row:
            self.row = row
            self._open.ask(trace_id)

    def _find_trace(self, trace_id: str) -> TraceModel:
        forest = build_forest(self._session.spans(trace_id))
        return TraceModel(forest, timeline_axis(forest), self._find_family(trace_id), self._find_end(forest))

    def _find_end(self, forest: Forest) -> str:
        """What the run span of a replay says of its end; a replay that was killed left spans open."""
        if self.row.origin_trace_id is None or not len(forest):
            return ""
        for span in self._session.span(self.row.trace_id, forest.rows[0].span_id):
            if (ended := span.attributes.get(_ENDED_KEY)) in _ENDED:
                return _ENDED[str(ended)]
        return "unfinished" if self.row.unfinished else ""

    def _find_family(self, trace_id: str) -> tuple[TraceRow, ...]:
        origin = self.row.origin_trace_id
        if origin is None:
            return (self.row, *self._session.branches(trace_id))
        known = [row for row in self._session.traces() if row.trace_id == origin]
        return (*known, *self._session.branches(origin)) or (self.row,)

    def _show_trace(self, _: str, model: TraceModel) -> None:
        self.ended = model.ended
        self.timeline.show(model.forest, model.axis)
        self._draw_ruler()
        self._show_family("", model.family)
        if not len(model.forest):
            self.detail.put({"conversation": Document(), "attributes": Document()})

    def _show_family(self, _: str, family: tuple[TraceRow, ...]) -> None:
        self.family = family
        self.draw_header()

    def _no_trace(self, _: str, error: Exception) -> None:
        self.timeline.loading_text = "The spans could not be read; the right pane says why."
        self.timeline.redraw(0)
        document = problem_document(problem_of(error, "this trace could not be opened"))
        self.detail.put({"conversation": document, "attributes": document})
        self.focus_pane(self.detail.view)

    def _no_family(self, _: str, error: Exception) -> None:
        self.say(problem_of(error, "").sentence, warning=True)

    # The span under the cursor.

    def on_timeline_selected(self, event: Timeline.Selected) -> None:
        """Explain the span."""
        forest = event.timeline.forest
        self._details.ask(SpanQuestion(forest.rows[event.index].span_id, event.index, forest))

    def _find_details(self, wanted: SpanQuestion) -> dict[Tab, Document]:
        trace_id, forest = self.row.trace_id, wanted.forest
        call = self._session.call(trace_id, wanted.span_id)
        before = forest.previous(wanted.index, "llm") if call.kind == "llm" else None
        previous = None if before is None else self._session.call(trace_id, forest.rows[before].span_id)
        spans = self._session.span(trace_id, wanted.span_id)
        marks = forest.marks_of(wanted.index)
        return {
            "conversation": document_of(conversation(call, previous), marks),
            "attributes": attributes_document(spans, marks),
        }

    def _show_details(self, _: SpanQuestion, documents: dict[Tab, Document]) -> None:
        self.detail.put(documents)

    def _no_details(self, _: SpanQuestion, error: Exception) -> None:
        document = problem_document(problem_of(error, "this span could not be read"))
        self.detail.put({"conversation": document, "attributes": document})

    def on_timeline_detail_wanted(self) -> None:
        """Enter on a span."""
        self.focus_pane(self.detail.view)

    def on_timeline_said(self, event: Timeline.Said) -> None:
        """Pass on what the timeline has to say."""
        self.say(event.text)

    # State.

    def action_restore(self, anchor: str) -> None:
        """Rebuild the state before or after the span under the cursor."""
        span = self.timeline.selected
        if span is None:
            return
        self.detail.choose("snapshot")
        self.detail.is_loading = True
        self.detail.draw_tabs()
        self._replay_waits = False
        self._restore.ask(Cut(span.span_id, cast(Anchor, anchor), name_of(span)))

    def _find_state(self, cut: Cut) -> tuple[SnapshotView, ReplayPlan]:
        view = self._session.snapshot(self.row.trace_id, cut.span_id, cut.anchor)
        return view, self._session.plan(self._job(cut))

    def _job(self, cut: Cut | None) -> ReplayJob:
        job = ReplayJob(trace_id=self.row.trace_id, agent=self._session.agent)
        return job if cut is None else replace(job, span_id=cut.span_id, anchor=cut.anchor)

    def _show_state(self, cut: Cut, found: tuple[SnapshotView, ReplayPlan]) -> None:
        self.cut = cut
        self.detail.put({"snapshot": snapshot_document(found[0], cut.name, found[1])})
        self.focus_pane(self.detail.view)
        if self._replay_waits:
            self._replay_waits = False
            self.action_replay()

    def _no_state(self, cut: Cut, error: Exception) -> None:
        self.cut = None
        self._replay_waits = False
        names = {row.span_id: name_of(row) for row in self.timeline.forest.rows}
        problem = problem_of(error, f"there is no state {cut.anchor} {cut.name}", names)
        self.detail.put({"snapshot": problem_document(problem)})
        self.focus_pane(self.detail.view)

    # Replay.

    @property
    def shown_cut(self) -> Cut | None:
        """The cut of the state that can be seen. One that is behind another tab or pane is not meant."""
        hidden = self.has_class("-narrow") and not self.has_class("-detail")
        return None if hidden or self.detail.current != "snapshot" else self.cut

    def action_replay(self) -> None:
        """Ask before a replay from the state that is shown, else of the whole trace."""
        if self._restore.is_running:
            self._replay_waits = True  # A state is on its way to the screen: it is the one that is meant.
            return
        cut = self.shown_cut
        self._plan.ask((self._job(cut), cut.name if cut else None))

    def action_fork(self) -> None:
        """Choose what to change at the span under the cursor."""
        span = self.timeline.selected
        if span is not None:
            self._fork.ask(span)

    def _find_choices(self, span: SpanRow) -> list[tuple[str, str]]:
        return editable(self._session.call(self.row.trace_id, span.span_id))

    def _edit(self, span: SpanRow, choices: list[tuple[str, str]]) -> None:
        if not choices:
            self.say("Model calls and tool calls can be changed; this span is neither, or its content is not there.")
            return

        def go_on(edit: Edit | None) -> None:
            if edit is not None:
                job = replace(self._job(None), span_id=span.span_id, anchor="before", edits=(edit,))
                self._plan.ask((job, name_of(span)))

        self.app.push_screen(ForkScreen(choices), go_on)

    def _no_choices(self, _: SpanRow, error: Exception) -> None:
        self.say(problem_of(error, "").sentence, warning=True)

    def _find_plan(self, wanted: tuple[ReplayJob, str | None]) -> ReplayPlan:
        return self._session.plan(wanted[0])

    def _ask_first(self, wanted: tuple[ReplayJob, str | None], plan: ReplayPlan) -> None:
        job, name = wanted

        def start(answer: ReplayJob | None) -> None:
            if answer is not None:
                rows = {row.span_id: row for row in self.timeline.forest.rows}
                self.app.push_screen(ReplayScreen(self._session, answer, self.row.name, from_where(answer, name), rows))

        self.app.push_screen(QuestionScreen(plan, job, name), start)

    def _no_plan(self, _: tuple[ReplayJob, str | None], error: Exception) -> None:
        document = problem_document(problem_of(error, "no replay could be planned"))
        self.app.push_screen(NotesScreen("error", document))

    # Other keys.

    def action_tab(self, tab: Tab) -> None:
        """Show a tab of the detail pane."""
        self.detail.choose(tab)
        if self.has_class("-narrow"):
            self.focus_pane(self.detail.view)

    def action_error(self, step: int) -> None:
        """Go to another span in error."""
        if not self.timeline.next_error(step):
            self.say("No span of this trace is in error.")

    def action_branch(self) -> None:
        """Go to the next branch."""
        ids = [row.trace_id for row in self.family]
        if len(ids) < 2:
            self.say("This trace has no replays yet; r makes one.")
            return
        at = ids.index(self.row.trace_id) if self.row.trace_id in ids else -1
        self.app.switch_screen(TraceScreen(self._session, self.family[(at + 1) % len(ids)]))

    def action_save(self) -> None:
        """Keep the replay that is shown in a file."""
        if self.row.origin_trace_id is None:
            self.say("This is a recording, a file already; s saves replays.")
        else:
            self._keep.ask(self.row.trace_id)

    def _kept(self, _: str, path: Path) -> None:
        self.say(f"The replay is kept in {path}")

    def action_issues(self) -> None:
        """List what was odd in the input."""
        self._issues.ask(None)

    def _show_issues(self, _: None, document: Document) -> None:
        self.app.push_screen(NotesScreen("notes on the input", document))

    def _no_issues(self, _: None, error: Exception) -> None:
        self.say(problem_of(error, "").sentence, warning=True)

    def action_back(self) -> None:
        """From the detail pane to the timeline, from there to the list."""
        if self.focused is self.detail.view:
            self.focus_pane(self.timeline)
        else:
            self.dismiss()


def _no_cut_document() -> Document:
    out = Builder()
    out.line(Piece("No state has been rebuilt yet.", "dim"))
    out.gap()
    out.line(Piece("b", "key"), Piece("  the state just before the span under the cursor"), indent=2)
    out.line(Piece("a", "key"), Piece("  the state just after it"), indent=2)
    out.line(Piece("r", "key"), Piece("  replays from the state while it is shown here"), indent=2)
    return out.document()
