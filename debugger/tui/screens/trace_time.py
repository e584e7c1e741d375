"""Time travel on a trace's screen: the playhead, the state where it stands, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

from runtime.snapshot import NoFrameError

from ...analysis.document import Builder, Document, Piece
from ...analysis.kept_frames import KeptPages
from ...analysis.playhead import StateView, Track
from ...analysis.problem import problem_document, problem_of
from ...analysis.snapshot_view import snapshot_document
from ...analysis.text import one_line
from ...analysis.tree import name_of
from ...replay.model import Anchor, ReplayJob, ReplayPlan
from ...store.rows import TraceRow
from ..latest import Latest
from ..session import Session
from ..widgets.drawn import Drawable, Run
from ..widgets.playhead_line import PlayheadLine
from .reading import Reading
from .state_question import Cut, StateAnswer, StateQuestion
from .trace_base import TraceBase

_PLANNED = 3_000
"""Events of a trace up to which every step of the playhead also plans a replay; a plan costs a whole restore."""


_TO_A_STATE = ("trace.step_back", "trace.step", "trace.before", "trace.after")
"""The keys that go to a state."""


class TraceTime(TraceBase):
    """The part of a trace's screen that shows states."""

    def __init__(self, session: Session, row: TraceRow) -> None:
        super().__init__(session, row)
        self.cut: Cut | None = None
        """The cut at which a replay from the shown state would start; None while there is none."""
        self.mark: int | None = None
        """The marked event."""
        self._track: Track | None = None
        self._tracked: TraceRow | None = None
        """The trace as it was when it had these events."""
        self._state: StateView | None = None
        self._pages = KeptPages()
        self._replay_waits = False
        self._words = ""
        """How far the reading of the trace is, once that takes long enough to be told."""
        self._reading = Reading(self, row.spans)
        self._restore: Latest[StateQuestion, StateAnswer] = Latest(
            self, "snapshot", self._find_state, self._show_state, self._no_state
        )

    def draw_time(self) -> None:
        """Draw what shows the window of time."""
        raise NotImplementedError

    def action_replay(self) -> None:
        """Ask before a replay."""
        raise NotImplementedError

    # Reading the whole trace, which the first state and the first plan need.

    def reading_pieces(self) -> Iterable[Drawable]:
        """How far that is, for the header."""
        if self._words:
            yield Run(f"  {self._words}", "warning")
            yield Run(f"  {self.key('trace.back')}", "key")
            yield Run(" stops that", "dim")

    def _begin_reading(self) -> None:
        self._reading.begin(self._show_words, at_once=False)

    def _end_reading(self) -> None:
        self._reading.end()
        if self._words:
            self._show_words("")

    def _show_words(self, words: str) -> None:
        self._words = words
        self.draw_header()

    def stop_reading(self) -> bool:
        """End what is read, where the screen says that something is; False where it does not."""
        if not self._reading.is_shown:
            return False
        self.leave_reading()
        self.drop_questions()
        self._end_reading()
        self.say("Reading the trace was stopped; it begins anew when it is needed.")
        return True

    def drop_questions(self) -> None:
        """Want no answer any more for which the trace is read."""
        self._restore.drop()
        self._replay_waits = False

    def leave_reading(self) -> None:
        """Nobody waits for what is read."""
        self._reading.leave()
        self._session.stop_preparing()

    # Moving. Where the trace has gone on since its events were read, they are read again with the next move.

    @property
    def _has_gone_on(self) -> bool:
        return self._tracked is not None and self._tracked is not self.row

    def action_restore(self, anchor: str) -> None:
        """Go to the state before or after the span under the cursor."""
        span = self.timeline.selected
        if span is None:
            return
        self._ask(StateQuestion(cut=Cut(span.span_id, cast(Anchor, anchor), name_of(span)), since=self._shown_at))

    def action_step(self, by: int) -> None:
        """Move the playhead by some events; where it was not used yet, to the start of the span under the cursor."""
        if self.position is None or self._track is None:
            span = self.timeline.selected
            if span is not None and not self._restore.is_awaited:
                self._ask(StateQuestion(span_id=span.span_id))
            return
        if self._has_gone_on:
            if not self._restore.is_awaited:
                self._ask(StateQuestion(position=self.position, by=by, since=self._shown_at))
            return
        to = min(max(self.position + by, 0), len(self._track) - 1)
        if to == self.position:
            self.say("This is the last event." if by > 0 else "This is the first event.")
        else:
            self.go_to_event(to)

    def on_playhead_moved(self, event: PlayheadLine.Moved) -> None:
        """The mouse moved the playhead."""
        if event.position != self.position:
            self.go_to_event(event.position)

    def go_to_event(self, position: int) -> None:
        """Move the playhead: the line and the cursor at once, the state as soon as it is there."""
        assert self._track is not None
        self.position = position
        at = self.timeline.forest.find(self._track.span_ids[position])
        if at is not None:
            self.timeline.place(at)
        self._draw_playhead("")
        self._ask(StateQuestion(position=position, since=self._shown_at))

    def go_to_moment(self, moment: int) -> None:
        """Move the playhead to the last event up to a moment, also where it was not used yet."""
        if self._track is None or self._has_gone_on:
            if not self._restore.is_awaited:
                self._ask(StateQuestion(moment=moment, since=self._shown_at))
        elif (to := self._track.at(moment)) != self.position:
            self.go_to_event(to)

    def action_mark(self) -> None:
        """Mark the state that is shown; where another one is marked, show what differs."""
        if self.position is None:
            ways = " ".join(map(self.key, _TO_A_STATE))
            self.say(f"Go to a state first, with {ways}; {self.key('trace.mark')} then marks it.")
        elif self.mark is None or self.mark == self.position:
            self.mark = self.position
            self.say(
                f"Event {self.mark + 1:,} is marked. At another one, {self.key('trace.mark')} shows what "
                f"differs; {self.key('trace.unmark')} forgets the mark."
            )
            self._draw_playhead(self._state.summary if self._state else "")
        else:
            self._ask(StateQuestion(position=self.position, since=self.mark, is_marked=True))

    def action_unmark(self) -> None:
        """Forget the mark."""
        self.mark = None
        if self.position is not None:
            self._draw_playhead(self._state.summary if self._state else "")

    # The state.

    @property
    def _shown_at(self) -> int | None:
        return None if self._state is None else self._state.position

    def _ask(self, question: StateQuestion) -> None:
        self.detail.choose("snapshot")
        self._replay_waits = False
        self._begin_reading()
        self._restore.ask(replace(question, seen=self._track))

    def _find_state(self, question: StateQuestion) -> StateAnswer:
        row, trace_id = self.row, self.row.trace_id
        self._session.prepare(trace_id, self._reading.tell)
        self._reading.tell("state", 1)
        known = self._track if self._tracked is row else None
        track = known or self._session.track(trace_id)
        question = question.counted_in(track)
        position, cut = question.position, question.cut
        if cut is not None:
            position = self._session.position_of(trace_id, cut.span_id, cut.anchor)
        elif position is None:
            moment = question.moment
            position = track.span_ids.index(question.span_id or "") if moment is None else track.at(moment)
            position = self._first_position(position)
        position = min(max(position + question.by, 0), len(track) - 1)
        state = self._session.state(trace_id, position, question.since)
        plan = None
        if cut is None and (found := track.cut_of(position)) is not None:
            cut = Cut(found[0], found[1], self._span_name(found[0]))
        if cut is not None and (question.cut is not None or len(track) <= _PLANNED):
            plan = self._session.plan(self._job(cut))
        document = self._document(question, track, state, plan)
        return StateAnswer(row=row, track=track, state=state, cut=cut, document=document)

    def _first_position(self, position: int) -> int:
        """The event itself; before all agents the next one at which there is a state, so that the way goes on."""
        try:
            self._session.state(self.row.trace_id, position, None)
        except NoFrameError as none:
            places = [self._session.position_of(self.row.trace_id, cut.span_id, cut.anchor) for cut in none.nearest]
            return min((place for place in places if place > position), default=position)
        return position

    def _span_name(self, span_id: str) -> str:
        forest = self.timeline.forest
        at = forest.find(span_id)
        return span_id if at is None else name_of(forest.rows[at])

    def _job(self, cut: Cut | None) -> ReplayJob:
        job = ReplayJob(trace_id=self.row.trace_id, agent=self._session.agent)
        return job if cut is None else replace(job, span_id=cut.span_id, anchor=cut.anchor)

    def _show_state(self, question: StateQuestion, answer: StateAnswer) -> None:
        self._end_reading()
        if self._track is not None and self._track is not answer.track:
            self.mark = answer.track.again(self._track, self.mark)
        self._track, self._tracked, self._state, self.cut = answer.track, answer.row, answer.state, answer.cut
        self.position = answer.state.position
        self.detail.put({"snapshot": answer.document})
        self.query_one(PlayheadLine).add_class("-open")
        self._draw_playhead(answer.state.summary)
        if question.cut is not None:
            self.focus_pane(self.detail.view)
        if answer.row is not self.row:
            # The trace went on while it was read: its events, and with them the playhead's way, are others by now.
            self._restore.ask(question)
        elif self._replay_waits:
            self._replay_waits = False
            self.action_replay()

    def _document(self, question: StateQuestion, track: Track, state: StateView, plan: ReplayPlan | None) -> Document:
        """The state as the detail pane shows it. Called in the worker: a state may have many frames."""
        cut = question.cut
        if cut is not None:
            place = f"{cut.anchor} {one_line(cut.name)}"
        else:
            said = self._said(track, state.position)
            place = f"after event {state.position + 1:,} of {len(track):,}: {said}"
        since = "" if state.since is None else f"event {state.since + 1:,}"
        if question.is_marked:
            since += ", which is marked"
        changes = None if state.since is None or state.since == state.position else state.changes
        snapshot = replace(state.snapshot, place=place)
        replay_key = self.key("trace.replay")
        return snapshot_document(snapshot, "", plan, changes, since, replay_key, self._pages.of)

    def _no_state(self, question: StateQuestion, error: Exception) -> None:
        self._end_reading()
        self.cut, self._replay_waits = None, False
        where = f"after event {(question.position or 0) + 1:,}"
        if question.cut is not None:
            where = f"{question.cut.anchor} {question.cut.name}"
        elif question.span_id is not None:
            where = f"in {self._span_name(question.span_id)}"
        names = {row.span_id: name_of(row) for row in self.timeline.forest.rows}
        problem = problem_of(error, f"there is no state {where}", names)
        self.detail.put({"snapshot": problem_document(problem)})
        if question.position is None:
            self.focus_pane(self.detail.view)

    # The playhead's line.

    def _said(self, track: Track, position: int) -> str:
        return track.said(position, self._span_name(track.span_ids[position]))

    def _draw_playhead(self, summary: str) -> None:
        track = self._track
        assert track is not None
        assert self.position is not None
        said = self._said(track, self.position)
        self.query_one(PlayheadLine).show(self.position, len(track), self.mark, said, summary)
        self.timeline.playhead = track.times[self.position]
        self.draw_time()

    @property
    def time_marks(self) -> dict[str, int]:
        """Moments that the minimap marks: the mark and the playhead."""
        track = self._track
        if track is None:
            return {}
        places = (("⚑", self.mark), ("┃", self.position))
        return {sign: track.times[at] for sign, at in places if at is not None}


def no_cut_document(key: Callable[[str], str]) -> Document:
    """What the state's tab says before there is one.

    Args: key: how a binding's key is written.
    """
    out = Builder()
    out.line(Piece("No state has been rebuilt yet.", "dim"))
    out.gap()
    goes_back = f"{key('trace.step_back')} goes back"
    for id_, sentence in (
        ("trace.before", "the state just before the span under the cursor"),
        ("trace.after", "the state just after it"),
        ("trace.step", f"the playhead: the state at every event, one after the other; {goes_back}"),
        ("trace.mark", "marks a state, and at another one shows what differs"),
        ("trace.replay", "replays from the state while it is shown here"),
    ):
        out.line(Piece(key(id_), "key"), Piece(f"  {sentence}"), indent=2, hang=3)
    return out.document()
