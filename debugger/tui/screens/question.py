"""The one question that is asked: before a replay starts, what will run and what it may do."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ...analysis.replay_view import question_document
from ...replay.model import Mode, ReplayJob, ReplayPlan
from ..keymap import bindings
from ..widgets.drawn import Drawn, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView

_MODELS: dict[Mode, str] = {
    "strict": "only the recording answers, else the replay stops",
    "live": "anything else is really asked, which may cost money",
}
_TOOLS: dict[Mode, str] = {
    "strict": "only the recording answers, no tool is run",
    "live": "anything else is really run, which may change things",
}


class QuestionText(LineView, inherit_bindings=False):
    """Only moves: enter belongs to the question."""

    BINDINGS: ClassVar[list[BindingType]] = Drawn.BINDINGS


class QuestionScreen(ModalScreen[ReplayJob | None], inherit_bindings=False):
    """Answers with the job to start, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")

    def __init__(self, plan: ReplayPlan, job: ReplayJob, span_name: str | None) -> None:
        super().__init__()
        self.plan = plan
        self.job = job
        self._span_name = span_name

    def compose(self) -> ComposeResult:  # noqa: D102
        with Vertical(id="question"):
            yield QuestionText(id="question-text")
            yield OneLine(id="mode")
            yield OneLine(id="tools")
            yield OneLine(id="rest")
            yield KeyLine(id="question-keys")

    def on_mount(self) -> None:
        """Say what is asked."""
        self.query_one("#question").border_title = "Not possible" if self.plan.problem else "Replay"
        self.query_one(QuestionText).show(question_document(self.plan, self.job, self._span_name))
        self.query_one(QuestionText).focus()
        for name in ("#mode", "#tools", "#rest"):
            self.query_one(name).display = not self.plan.problem
        self.query_one("#rest").display = self.job.span_id is not None and not self.plan.problem
        offered = [b for b in bindings("question") if isinstance(b, Binding) and b.show and self._is_open(b)]
        self.query_one(KeyLine).offer(offered, ())
        self._draw()

    def _is_open(self, binding: Binding) -> bool:
        if binding.id == "question.cancel":
            return True
        if binding.id == "question.rest" and self.job.span_id is None:
            return False
        return self.plan.problem is None

    def _draw(self) -> None:
        job = self.job
        self._line("mode", "m", "models", job.mode, _MODELS[job.mode])
        self._line("tools", "o", "tools", job.tools, _TOOLS[job.tools])
        past = "goes on past the cut with recorded answers" if job.rest_recorded else "stops at the cut"
        self._line("rest", "x", "at the cut", "go on" if job.rest_recorded else "stop", past)

    def _line(self, name: str, key: str, what: str, word: str, sentence: str) -> None:
        style = "warning" if word == "live" else "good"
        self.query_one(f"#{name}", OneLine).pieces = (
            Run(key, "key"),
            Run(f" {what:<11}", "dim"),
            Run(f"{word:<7}", style),
            Run(sentence),
        )

    def action_start(self) -> None:
        """Start the replay. The user has seen what runs, so an entry point of the trace's own is now named by them."""
        if self.plan.problem:
            return
        if not self.plan.trusted and self.job.agent is None:
            self.job = replace(self.job, agent=self.plan.entry_point)
        self.dismiss(self.job)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(None)

    def action_choose(self, what: str) -> None:
        """Switch between strict and live."""
        if self.plan.problem:
            return
        other: dict[Mode, Mode] = {"strict": "live", "live": "strict"}
        if what == "mode":
            self.job = replace(self.job, mode=other[self.job.mode])
        else:
            self.job = replace(self.job, tools=other[self.job.tools])
        self._draw()

    def action_rest(self) -> None:
        """Stop at the cut or go on with recorded answers."""
        if self.job.span_id is not None:
            self.job = replace(self.job, rest_recorded=not self.job.rest_recorded)
            self._draw()
