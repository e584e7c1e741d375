"""The one question that is asked: before a replay starts, what will run and what it may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ...analysis.replay_view import question_document
from ...analysis.text import visible
from ...replay.model import Mode, ReplayJob, ReplayPlan
from ...replay.plan import sentence_of, without_cut
from ..keymap import bindings
from ..widgets.drawn import Drawn, OneLine, Run, key_for
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView

_LINES = ("scope", "mode", "tools", "rest")
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


class QuestionText(LineView, inherit_bindings=False):
    """Only moves: enter belongs to the question."""

    BINDINGS: ClassVar[list[BindingType]] = Drawn.BINDINGS


class QuestionScreen(ModalScreen[ReplayJob | None], inherit_bindings=False):
    """Answers with the job to start, or None.

    Args:
        plan: the plan of the job, which holds for every choice made here: the answers at other cuts follow from it.
        job: what is proposed. Its span is the only cut that can be chosen.
        is_whole: the whole trace is proposed first, as the state at the cut is out of sight.
        span_name: what the screen calls that span.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")

    def __init__(self, plan: ReplayPlan, job: ReplayJob, span_name: str | None, *, is_whole: bool = False) -> None:
        super().__init__()
        self.plan = plan
        self.job = replace(job, span_id=None) if is_whole else job
        # A fork begins at its cut, and the whole recording answers: there is nothing to choose.
        self._cut = None if job.edits else job.span_id
        self._span_name = span_name

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
        self.query_one("#question").border_title = "Not possible" if self.plan.problem else "Replay"
        self.query_one(QuestionText).focus()
        offered = [b for b in bindings("question") if isinstance(b, Binding) and b.show and self._is_open(b)]
        self.query_one(KeyLine).offer(offered, ())
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """The choices and the keys always stay on the screen; the text above them scrolls in what is left."""
        self._fit(event.size.height)

    def _fit(self, height: int) -> None:
        lines = sum(1 for name in _LINES if self.query_one(f"#{name}").display) + 1
        self.query_one(QuestionText).styles.max_height = max(min(height - _BORDER - lines, _MOST_TEXT), _LEAST_TEXT)

    def _is_open(self, binding: Binding) -> bool:
        return self.plan.problem is None or binding.id in ("question.cancel", "question.help")

    def _draw(self) -> None:
        job = self.job
        plan = self.plan if job.span_id == self._cut else without_cut(self.plan)
        plan = replace(plan, sentence=sentence_of(job, plan))
        self.query_one(QuestionText).show(question_document(plan, job, self._span_name), keep=True)
        scope = "the cut that is shown" if job.span_id else "every recorded answer counts"
        self._line("scope", "question.whole", "from", "cut" if job.span_id else "whole", scope)
        self._line("mode", "question.model", "models", job.mode, _MODELS[job.mode])
        self._line("tools", "question.tools", "tools", job.tools, _TOOLS[job.tools])
        past = "the recording answers past the cut" if job.rest_recorded else "goes no further than the cut"
        self._line("rest", "question.rest", "at the cut", "go on" if job.rest_recorded else "stop", past)
        possible = not self.plan.problem
        for name in ("mode", "tools"):
            self.query_one(f"#{name}").display = possible
        self.query_one("#scope").display = possible and self._cut is not None
        self.query_one("#rest").display = possible and self._cut is not None and job.span_id is not None
        self._fit(self.size.height)

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
        if self.plan.problem:
            return
        if self.job.mode == "live" and self.plan.lacking is not None:
            self.notify(f"Not started: {visible(self.plan.lacking)}", severity="warning", markup=False)
            return
        if not self.plan.trusted and self.job.agent is None:
            self.job = replace(self.job, agent=self.plan.entry_point)
        self.dismiss(self.job)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(None)

    def action_choose(self, what: str) -> None:
        """Switch between strict, live and ask."""
        if self.plan.problem:
            return
        other: dict[Mode, Mode] = {"strict": "live", "live": "ask", "ask": "strict"}
        if what == "mode":
            self.job = replace(self.job, mode=other[self.job.mode])
        else:
            self.job = replace(self.job, tools=other[self.job.tools])
        self._draw()

    def action_whole(self) -> None:
        """Replay from the cut, or the whole trace."""
        if self._cut is not None and not self.plan.problem:
            self.job = replace(self.job, span_id=None if self.job.span_id else self._cut)
            self._draw()

    def action_rest(self) -> None:
        """Stop at the cut or go on with recorded answers."""
        if self._cut is not None and self.job.span_id is not None and not self.plan.problem:
            self.job = replace(self.job, rest_recorded=not self.job.rest_recorded)
            self._draw()
