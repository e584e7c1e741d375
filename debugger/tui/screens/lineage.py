"""Where a phrase of a trace came from, step by step; enter goes to the span of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ...analysis.document import Builder, Piece
from ...analysis.lineage import lineage_of
from ...analysis.lineage_view import LineageView, lineage_view
from ...analysis.problem import problem_document, problem_of
from ...analysis.text import one_line, plural
from ...errors import QueryCancelledError
from ...store.notebook import Note
from ...store.rows import TraceRow
from ..keymap import bindings
from ..latest import Latest
from ..session import Session
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.filter_line import FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from .pinning import PinningScreen
from .reading import Reading, shown_in


@dataclass(frozen=True, slots=True)
class PhraseQuestion:
    """What to follow, and from where."""

    phrase: str
    span_id: str | None
    is_given: bool = False
    """The user pointed at what the span was given, not at its answer."""


@dataclass(frozen=True, slots=True)
class Trail:
    """A trail that was left for the span of one of its steps; the screen can be opened on it again."""

    question: PhraseQuestion
    found: LineageView
    step: str
    """Key of the block of the step."""


GoTo: TypeAlias = Callable[[str, Trail], None]


class LineageScreen(PinningScreen):
    """The trail of a phrase.

    Args:
        session: everything behind the screen.
        row: the trace.
        phrase: what to follow; an empty one asks for it, and None says why it has to ask: the user pointed at a line
            that was made for the screen.
        span_id: where to begin.
        go_to: called with the span of the step that the user went to, and the trail.
        is_given: the phrase stands in what the span was given.
        trail: shown again instead of following the phrase anew.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("lineage")

    def __init__(
        self,
        session: Session,
        row: TraceRow,
        phrase: str | None,
        span_id: str | None,
        go_to: GoTo,
        *,
        is_given: bool = False,
        trail: Trail | None = None,
    ) -> None:
        super().__init__()
        self._session = session
        self._trace = row
        self.phrase = phrase or ""
        self._is_remark = phrase is None
        self._span_id = span_id
        self._is_given = is_given
        self._go_to = go_to
        self._trail = trail
        self.found: LineageView | None = None
        self._reading = Reading(self, row.spans)
        self._follow: Latest[PhraseQuestion, LineageView] = Latest(
            self, "lineage", self._find, self._show, self._no_trail
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield FilterLine("phrase", id="phrase")
        yield LineView(id="lineage")
        yield KeyLine(id="keys")

    @property
    def view(self) -> LineView:
        """The steps."""
        return self.query_one(LineView)

    @property
    def line(self) -> FilterLine:
        """Where the phrase is typed."""
        return self.query_one("#phrase", FilterLine)

    def help_nodes(self) -> Sequence[object]:
        """The screen's keys, and those of the text."""
        return [self, self.view, self.app]

    def header(self) -> Iterable[Drawable]:
        """What is followed."""
        yield Run(" where it came from", "strong")
        if self.phrase:
            yield Run(f"  “{one_line(self.phrase)}”", "added")

    def header_right(self) -> Iterable[Drawable]:
        """How many steps there are."""
        if self.found is not None and self.found.steps:
            yield Run(f"{plural(self.found.steps, 'step')} ", "dim")

    def offered(self, binding: Binding) -> Binding | None:
        """Nothing folds here, so that enter goes to the span."""
        return None if binding.id in ("text.unfold", "text.unfold_all") else super().offered(binding)

    def on_mount(self) -> None:
        """Follow the phrase, or ask for one."""
        if self._trail is not None:
            self.view.focus()
            self._show(self._trail.question, self._trail.found)
            self.view.go_to_block(self._trail.step)
        elif self.phrase:
            self.view.focus()
            self._ask()
        else:
            out = Builder()
            if self._is_remark:
                out.line(
                    Piece("The line under the cursor was made for the screen: nobody in the trace said it.", "warning")
                )
            out.line(Piece("Type a phrase that stands in a message, an answer, an argument or a result.", "dim"))
            self.view.show(out.document())
            self.action_phrase()

    def on_unmount(self) -> None:
        """Let the search end."""
        self._reading.leave()

    def _ask(self) -> None:
        self.found = None
        self._reading.begin(shown_in(self.view, self.key("lineage.back")))
        self.draw_header()
        self._follow.ask(self._question)

    @property
    def _question(self) -> PhraseQuestion:
        return PhraseQuestion(self.phrase, self._span_id, self._is_given)

    def _find(self, question: PhraseQuestion) -> LineageView:
        places = self._session.places(self._trace.trace_id, self._reading.tell)
        found = lineage_of(places, question.phrase, question.span_id, self._cancelled, is_given=question.is_given)
        return lineage_view(found, places)

    def _cancelled(self) -> bool:
        return self._reading.is_left or self._follow.is_waiting

    def _show(self, _: PhraseQuestion, found: LineageView) -> None:
        self.found = found
        self._reading.end()
        self.view.show(found.document)
        self.draw_header()
        self.offer_keys()

    def _no_trail(self, _: PhraseQuestion, error: Exception) -> None:
        if not isinstance(error, QueryCancelledError):
            self._reading.end()
            self.view.show(problem_document(problem_of(error, "the phrase could not be followed")))

    # Keys.

    def action_phrase(self) -> None:
        """Type another phrase."""
        self.line.add_class("-open")
        self.line.focus()

    @on(FilterLine.Left, "#phrase")
    def _typed(self, event: FilterLine.Left) -> None:
        phrase = self.line.text.strip()
        self.line.remove_class("-open")
        self.line.text = ""
        self.view.focus()
        if event.is_kept and phrase:
            self.phrase = phrase
            self._is_given = False
            self._ask()
        elif not self.phrase:
            self.dismiss()

    def action_step(self, by: int) -> None:
        """Go to the next or previous step."""
        steps = self.found.steps if self.found is not None else 0
        if not steps:
            return
        key = self.view.block_key or ""
        here = int(key.removeprefix("step")) if key.startswith("step") else -1 if by > 0 else steps
        self.view.go_to_block(f"step{min(max(here + by, 0), steps - 1)}")

    @property
    def span_id(self) -> str | None:
        """The span of the step under the cursor."""
        return None if self.found is None else self.found.spans.get(self.view.block_key or "")

    def action_open_span(self) -> None:
        """Go to the span of the step under the cursor."""
        span_id = self.span_id
        if span_id is None or self.found is None:
            self.say(f"Put the cursor on a step; {self.key('lineage.next')} goes from one to the next.")
            return
        self.dismiss()
        self._go_to(span_id, Trail(self._question, self.found, self.view.block_key or ""))

    def action_pin(self) -> None:
        """Pin the trail."""
        if self.found is None or not self.found.steps:
            self.say("There is no trail to pin.")
            return
        span_id = self.span_id or self.found.spans["step0"]
        self.pin(self._session, Note(kind="lineage", title=f"where “{self.phrase}” came from",
                                     body=self.found.document.text, source=self._session.opened_as(self._trace),
                                     trace_id=self._trace.trace_id, span_id=span_id))  # fmt: skip

    def action_back(self) -> None:
        """Back to where the question was asked."""
        self.dismiss()
