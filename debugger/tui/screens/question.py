"""The one question that is asked: before a replay starts, what will run and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ...analysis.replay_view import from_where, question_document, waiting_document
from ...analysis.text import visible
from ...replay.model import Mode, ReplayJob, ReplayPlan
from ...replay.plan import is_without_code, sentence_of, without_cut
from ..keymap import bindings
from ..widgets.drawn import Drawn, OneLine, Run, key_for
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from .files import BranchNameScreen

_LINES = ("scope", "mode", "tools", "rest", "called")
_BORDER = 2
_MOST_TEXT = 14
_LEAST_TEXT = 3

_MODELS: dict[Mode, str] = {
    "strict": "what is not recorded stops it",
    "live": "else really asked; may cost money",
    "ask": "else you give the answer",
}
_TOOLS: dict[Mode, str] = {
    "strict": "what is not recorded stops it",
    "live": "else really run; may change things",
    "ask": "else you give the result",
}
_NO_CODE: Final = "no tool's code is given: as strict"
_NAMED = ("the branch is called as the recorded run", "")
"""Beside the name of a branch, without one and with one."""


class QuestionText(LineView, inherit_bindings=False):
    """Only moves: enter belongs to the question."""

    BINDINGS: ClassVar[list[BindingType]] = Drawn.BINDINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a replay may start."""

    job: ReplayJob
    word: str
    said: str
    """Which place that is, in a few words."""
    span_name: str | None = None
    """What the screen calls the span of its cut."""

    @property
    def words(self) -> str:
        """The place in full."""
        return from_where(self.job, self.span_name)


class QuestionScreen(ModalScreen[ReplayJob | None], inherit_bindings=False):
    """Answers with the job to start, or None.

    Args:
        starts: where the replay may start; the first is proposed.
        plan: the plan for the first.
        ask: asked for the plan of another one, which ``take`` is then given.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")

    def __init__(self, starts: Sequence[Start], plan: ReplayPlan, ask: Callable[[Start], None]) -> None:
        super().__init__()
        self._starts = starts
        self._at = 0
        self._plans = {0: plan}
        """By place."""
        self._ask = ask
        self.job = starts[0].job

    @property
    def start(self) -> Start:
        """The place that is chosen."""
        return replace(self._starts[self._at], job=self.job)

    @property
    def plan(self) -> ReplayPlan | None:
        """What a replay from there would do; None while that is worked out."""
        return self._plans.get(self._at)

    @property
    def _is_possible(self) -> bool:
        return self.plan is not None and self.plan.problem is None

    def take(self, start: Start, plan: ReplayPlan) -> None:
        """The plan that was asked for has come."""
        self._plans[self._starts.index(start)] = plan
        self._draw()

    def compose(self) -> ComposeResult:  # noqa: D102
        with Vertical(id="question"):
            yield QuestionText(id="question-text")
            for name in _LINES:
                yield OneLine(id=name)
            yield KeyLine(id="question-keys")

    def help_nodes(self) -> Sequence[object]:
        """Whose keys the help explains."""
        return [self, self.query_one(QuestionText)]

    def on_mount(self) -> None:
        """Say what is asked."""
        self.query_one(QuestionText).focus()
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """The choices and the keys always stay on the screen; the text above them scrolls in what is left."""
        self._fit(event.size.height)

    def _fit(self, height: int) -> None:
        lines = sum(1 for name in _LINES if self.query_one(f"#{name}").display) + 1
        self.query_one(QuestionText).styles.max_height = max(min(height - _BORDER - lines, _MOST_TEXT), _LEAST_TEXT)

    def _is_open(self, binding: Binding) -> bool:
        return self._is_possible or binding.id in ("question.cancel", "question.help")

    def _draw(self) -> None:
        job, plan = self.job, self.plan
        text = self.query_one(QuestionText)
        self.query_one("#question").border_title = "Not possible" if plan and plan.problem else "Replay"
        if plan is None:
            text.show(waiting_document(self.start.words))
        else:
            said = sentence_of(job, plan, key_for(self, "question.model"))
            text.show(question_document(replace(plan, sentence=said), self.start.words, job), keep=True)
        offered = [b for b in bindings("question") if isinstance(b, Binding) and b.show and self._is_open(b)]
        self.query_one(KeyLine).offer(offered, ())
        self._line("scope", "question.whole", "from", self.start.word, self.start.said)
        self._line("mode", "question.model", "models", job.mode, _MODELS[job.mode])
        without = plan is not None and is_without_code(job, plan)
        self._line("tools", "question.tools", "tools", job.tools, _NO_CODE if without else _TOOLS[job.tools])
        past = "the recording answers past the cut" if job.rest_recorded else "goes no further than the cut"
        self._line("rest", "question.rest", "at the cut", "go on" if job.rest_recorded else "stop", past)
        self._line("called", "question.name", "name", visible(job.name) if job.name else "none", _NAMED[bool(job.name)])
        for name in ("mode", "tools", "called"):
            self.query_one(f"#{name}").display = self._is_possible
        self.query_one("#scope").display = len(self._starts) > 1
        self.query_one("#rest").display = self._is_possible and self._has_cut
        self._fit(self.size.height)

    @property
    def _has_cut(self) -> bool:
        """A fork begins at its cut, and the whole recording answers."""
        return self.job.span_id is not None and not self.job.edits

    def _line(self, name: str, id_: str, what: str, word: str, sentence: str) -> None:
        style = "warning" if word in ("live", "ask") else "good"
        self.query_one(f"#{name}", OneLine).pieces = (
            Run(key_for(self, id_), "key"),
            Run(f" {what:<11}", "dim"),
            Run(f"{word:<7}", style),
            Run(sentence),
        )

    def action_start(self) -> None:
        """Start the replay. The user has seen what runs, so an entry point of the trace's own is now named by them."""
        plan = self.plan
        if plan is None:
            self.notify("What this would do is still worked out.")
        if plan is None or plan.problem:
            return
        if self.job.mode == "live" and plan.lacking is not None:
            self.notify(f"Not started: {visible(plan.lacking)}", severity="warning", markup=False)
            return
        if not plan.trusted and self.job.agent is None:
            self.job = replace(self.job, agent=plan.entry_point)
        self.dismiss(self.job)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(None)

    def action_choose(self, what: str) -> None:
        """Switch between strict, live and ask."""
        if not self._is_possible:
            return
        other: dict[Mode, Mode] = {"strict": "live", "live": "ask", "ask": "strict"}
        if what == "mode":
            self.job = replace(self.job, mode=other[self.job.mode])
        else:
            self.job = replace(self.job, tools=other[self.job.tools])
        self._draw()

    def action_whole(self) -> None:
        """Go on to the next place where the replay may start."""
        if len(self._starts) == 1:
            return
        self._at = (self._at + 1) % len(self._starts)
        start = self._starts[self._at]
        self.job = replace(self.job, span_id=start.job.span_id, anchor=start.job.anchor)
        known = next((plan for plan in self._plans.values() if plan.problem is None), None)
        if start.job.span_id is None and known is not None:
            self._plans.setdefault(self._at, without_cut(known))
        if self.plan is None:
            self._ask(start)
        self._draw()

    def action_rest(self) -> None:
        """Stop at the cut or go on with recorded answers."""
        if self._is_possible and self._has_cut:
            self.job = replace(self.job, rest_recorded=not self.job.rest_recorded)
            self._draw()

    def action_name(self) -> None:
        """Give the branch a name."""
        if not self._is_possible:
            return

        def named(name: str | None) -> None:
            if name is not None:
                self.job = replace(self.job, name=name or None)
                self._draw()

        self.app.push_screen(BranchNameScreen(self.job.name or ""), named)
