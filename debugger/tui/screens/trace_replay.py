"""Replays and forks from a trace's screen: from where, with which changes, and the question before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from runtime.messages import Call, Json
from runtime.snapshot import RestoreError

from ...analysis.problem import problem_document, problem_of
from ...analysis.tree import name_of
from ...replay.editing import editable
from ...replay.model import Edit, ReplayJob, ReplayPlan
from ...store.rows import SpanRow, TraceRow
from ..latest import Latest
from ..session import Session
from .editor import ForkScreen
from .notes import NotesScreen
from .question import QuestionScreen, Start
from .replay import ReplayScreen
from .state_question import Cut
from .trace_time import TraceTime

Starts: TypeAlias = tuple[Start, ...]
"""Where a replay may start, the proposed one first."""


class TraceReplay(TraceTime):
    """The part of a trace's screen that begins replays."""

    def __init__(self, session: Session, row: TraceRow) -> None:
        super().__init__(session, row)
        self._fork: Latest[SpanRow, list[tuple[str, str]]] = Latest(
            self, "fork", self._find_choices, self._edit, self._no_choices
        )
        self._plan: Latest[Starts, ReplayPlan] = Latest(self, "plan", self._find_plan, self._ask_first, self._no_plan)
        self._other_plan: Latest[Starts, ReplayPlan] = Latest(
            self, "other plan", self._find_plan, self._take_plan, self._no_plan
        )
        self._asking: QuestionScreen | None = None
        """The dialog before a replay."""
        self._drafts: dict[str, Mapping[str, str]] = {}
        """What was typed for forks that have not started, by span and path."""
        self._back: Callable[[], None] = lambda: None
        """From the question about a fork to its editor."""

    def drop_questions(self) -> None:
        """Want neither a state nor a plan any more."""
        super().drop_questions()
        self._fork.drop()
        self._plan.drop()

    @property
    def _is_state_shown(self) -> bool:
        """Whether the state's tab can be seen. A state that is behind another tab or pane is not meant."""
        hidden = self.has_class("-narrow") and not self.has_class("-detail")
        return not hidden and self.detail.current == "snapshot"

    def action_replay(self) -> None:
        """Ask before a replay: from the state that is shown, of the whole trace, or from the span under the cursor."""
        if self._restore.is_awaited:
            self._replay_waits = True  # A state is on its way to the screen: it is the one that is meant.
            return
        whole = Start(job=self._job(None), word="whole", said="every recorded answer counts")
        cuts = self._cuts()
        shown = 1 if self._is_state_shown and self.cut is not None else 0
        self._ask_plan((*cuts[:shown], whole, *reversed(cuts[shown:])))

    def _cuts(self) -> Starts:
        """The state's place and the span under the cursor, as far as they are two."""
        state, span = self.cut, self.timeline.selected
        found = [] if state is None else [(state, "state", "the state that is shown")]
        # Nothing lies before the first span.
        if span is not None and self.timeline.cursor and (state is None or state.span_id != span.span_id):
            before = Cut(span.span_id, "before", name_of(span))
            found.append((before, "span", "before the span under the cursor"))
        return tuple([Start(job=self._job(cut), word=word, said=said, span_name=cut.name) for cut, word, said in found])

    def _ask_plan(self, starts: Starts) -> None:
        self._begin_reading()
        self._plan.ask(starts)

    def action_fork(self) -> None:
        """Choose what to change at the span under the cursor."""
        span = self.timeline.selected
        if span is not None:
            self._begin_reading()
            self._fork.ask(span)

    def _find_choices(self, span: SpanRow) -> list[tuple[str, str]]:
        call = self._session.call(self.row.trace_id, span.span_id)
        return editable(call, self._memory_before(call) if call.convention == "retrospan" else None)

    def _memory_before(self, call: Call) -> Mapping[str, Json]:
        """What the agent's memory held when it made the call; nothing where no state can be rebuilt there."""
        try:
            self._session.prepare(self.row.trace_id, self._reading.tell)
            position = self._session.position_of(self.row.trace_id, call.span_id, "before")
            frames = self._session.state(self.row.trace_id, position, None).snapshot.frames
        except RestoreError:
            return {}
        owner = (call.call_id or "").rpartition("/")[0]
        return next((frame.memory or {} for frame in frames if frame.call_id == owner), {})

    def _edit(self, span: SpanRow, choices: list[tuple[str, str]]) -> None:
        self._end_reading()
        if not choices:
            self.say("Model calls and tool calls can be changed; this span is neither, or its content is not there.")
            return
        if not self.is_current:
            # As for the question: what the user types now is meant for another page.
            return

        self._open_editor(span, choices)

    def _open_editor(self, span: SpanRow, choices: list[tuple[str, str]]) -> None:
        """What was typed for this span before, and has not become a fork, stands there again."""
        editor = ForkScreen(choices, self._drafts.get(span.span_id))

        def go_on(edits: tuple[Edit, ...] | None) -> None:
            if edits is None:
                self._drafts.pop(span.span_id, None)
                return
            self._drafts[span.span_id] = editor.drafts
            job = replace(self._job(None), span_id=span.span_id, anchor="before", edits=edits)
            if any(edit.path == "next" for edit in edits):
                # No program takes a message after its end; the agent that the trace implies does.
                job = replace(job, agent=None, rebuild=True)
            self._back = lambda: self._open_editor(span, choices)
            self._ask_plan((Start(job=job, word="fork", said="changed", span_name=name_of(span)),))

        self.app.push_screen(editor, go_on)

    def _no_choices(self, _: SpanRow, error: Exception) -> None:
        self._end_reading()
        self.say(problem_of(error, "").sentence, warning=True)

    def _find_plan(self, starts: Starts) -> ReplayPlan:
        with suppress(RestoreError):  # which the plan says in its own words
            self._session.prepare(self.row.trace_id, self._reading.tell)
        return self._session.plan(starts[0].job, priced=True)

    def _ask_first(self, starts: Starts, plan: ReplayPlan) -> None:
        self._end_reading()
        if not self.is_current:
            # The user has gone on to another page, where enter means something else.
            return

        def start(answer: ReplayJob | None) -> None:
            asking, self._asking = self._asking, None
            self._other_plan.drop()
            if answer is None and starts[0].job.edits:
                self._back()
            if answer is not None and asking is not None:
                if answer.edits:
                    self._drafts.pop(answer.span_id or "", None)
                rows = {row.span_id: row for row in self.timeline.forest.rows}
                self.app.push_screen(ReplayScreen(self._session, answer, self.row.name, asking.start.words, rows))

        self._asking = QuestionScreen(starts, plan, lambda other: self._other_plan.ask((other,)))
        self.app.push_screen(self._asking, start)

    def _take_plan(self, starts: Starts, plan: ReplayPlan) -> None:
        if self._asking is not None:
            self._asking.take(starts[0], plan)

    def _no_plan(self, _: Starts, error: Exception) -> None:
        self._end_reading()
        document = problem_document(problem_of(error, "no replay could be planned"))
        self.app.push_screen(NotesScreen("error", document))
