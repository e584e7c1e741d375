"""Searching a trace: what is typed becomes matches, which keys go through, or the only spans that are shown."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Final

from textual import on
from textual.binding import Binding

from ...analysis.filter_fields import SPAN_FIELDS, complete, span_filter, span_values
from ...analysis.filter_language import Completion, Filter, FilterError
from ...analysis.matches import SpanFinder, SpanMatches, SpanPlaces
from ...analysis.numbers import filter_of
from ...analysis.problem import problem_of
from ...analysis.rhythm import next_in
from ...analysis.traces import trace_name
from ...analysis.tree import Forest
from ...errors import QueryCancelledError
from ...store.rows import NumbersBy, NumbersRow, TraceRow
from ..latest import Latest
from ..session import Session
from ..widgets.drawn import Run
from ..widgets.filter_line import FilterLine
from .filtering import answered, told_at_its_place
from .numbers import NumbersScreen, Scope
from .trace_base import TraceBase

_TOLD_S: Final = 0.25
"""Seconds after which it is shown what a search has found so far."""


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """What to look for, and in which spans."""

    wanted: Filter
    forest: Forest = field(repr=False)


class TraceSearch(TraceBase):
    """The search part of a trace's screen."""

    def __init__(self, session: Session, row: TraceRow) -> None:
        super().__init__(session, row)
        self._search: Latest[SearchQuestion, SpanMatches] = Latest(
            self, "search", self._find_matches, self._show_matches, self._no_matches, self._show_matches
        )
        self._values: Mapping[str, tuple[str, ...]] | None = None
        self._places: SpanPlaces | None = None
        self._found: SpanMatches | None = None
        self._only = False
        """Only the matches are wanted, also when the spans are others by now."""
        self._goes_on = False
        """The user is done typing while the search still runs: go to the first match when it ends."""

    @property
    def search_line(self) -> FilterLine:
        """Where the search is typed."""
        return self.query_one("#search", FilterLine)

    @property
    def is_searching(self) -> bool:
        """True from the first letter until the search is ended."""
        return bool(self.search_line.text)

    def offered(self, binding: Binding) -> Binding | None:
        """While a search is on, n and N go through its matches."""
        if binding.id in ("trace.next_match", "trace.only") and not self.is_searching:
            return None
        return super().offered(binding)

    def complete(self, text: str) -> Completion:
        """How a search can go on."""
        if self._values is None:
            # Values of a huge trace come from its beginning: a key must not wait for a million rows.
            self._values = span_values(self.timeline.forest.rows[:20_000])
        return complete(text, SPAN_FIELDS, self._values)

    def action_search(self) -> None:
        """Type a search."""
        self.focus_pane(self.timeline)
        self.search_line.add_class("-open")
        self.search_line.focus()

    @on(FilterLine.Changed, "#search")
    def _typed(self, event: FilterLine.Changed) -> None:
        if not event.is_late:
            self.search_changed(event.text)

    @on(FilterLine.Left, "#search")
    def _done_typing(self, event: FilterLine.Left) -> None:
        self.search_left(is_kept=event.is_kept)

    def search_changed(self, text: str) -> None:
        """Search as it is typed."""
        self._session.stop_search()
        self._session.sql.stop()
        self._found = None
        if not text.strip():
            self._search.drop()
            self._show_only(None)
            self.timeline.mark_matches(array("i"))
            self.draw_search()
            return
        try:
            wanted = span_filter(text)
        except FilterError as mistake:
            self._search.drop()
            self.search_line.show_mistake(mistake)
            self.draw_search()
            return
        self._search.ask(SearchQuestion(wanted, self.timeline.forest))
        self.draw_search()

    def search_again(self) -> None:
        """The spans are others now."""
        self._values = None
        if self.is_searching:
            self.search_changed(self.search_line.text)

    def _find_matches(self, question: SearchQuestion) -> SpanMatches:
        wanted, trace_id = question.wanted, self.row.trace_id
        finder = SpanFinder(question.forest, wanted, answered(self._session.sql, wanted, trace_id))
        told = time.monotonic()
        with ExitStack() as stack:
            looking = finder.look()
            if wanted.texts:
                parts = stack.enter_context(closing(self._session.search(wanted.texts, trace_id)))
                looking = finder.look_in(parts, self._places_in(question.forest))
            for _ in looking:
                if not self._search.is_wanted:
                    raise QueryCancelledError("search")
                if (now := time.monotonic()) >= told + _TOLD_S:
                    self._search.tell(question, finder.so_far())
                    told = now
        return finder.whole()

    def _places_in(self, forest: Forest) -> SpanPlaces:
        places = self._places
        if places is None or places.forest is not forest:
            places = self._places = SpanPlaces(forest)
        return places

    def _show_matches(self, question: SearchQuestion, answer: SpanMatches) -> None:
        if question.forest is not self.timeline.forest:
            return
        self._found = answer
        self.timeline.mark_matches(answer.matches, answer.marked)
        if self._only and answer.is_whole:
            self._show_only(answer)
        if self._goes_on and (answer.is_whole or len(answer.matches)):
            self._goes_on = False
            self._first_match()
        self.draw_search()

    def _no_matches(self, question: SearchQuestion, error: Exception) -> None:
        self._goes_on, self._found = False, None
        if not told_at_its_place(self.search_line, question.wanted, error):
            self.say(problem_of(error, "").sentence, warning=True)
        self.draw_search()

    def _show_only(self, answer: SpanMatches | None) -> None:
        self._only = answer is not None
        if answer is None or answer.around is None:  # While the search still runs, all is shown until it is done.
            if self.timeline.shows_only_matches:
                self.timeline.show_only(None)
        else:
            self.timeline.show_only(answer.around)

    def draw_search(self) -> None:
        """Say at the line's right edge how many matches there are, and which one the cursor is on."""
        line = self.search_line
        answer = self._found
        if not line.text:
            line.right = ()
        elif answer is not None and answer.is_whole:
            line.right = (Run(self._counted(answer) + " ", "warning"),)
        elif answer is not None:
            far = f"{answer.looked_at * 100 // max(len(answer.marked), 1)} % "
            line.right = (Run(f"{self._counted(answer)}, ", "warning"), Run(f"searching… {far}", "dim"))
        elif self._search.is_awaited:
            line.right = (Run("searching… ", "dim"),)
        else:
            line.right = ()
        line.set_class(bool(line.text) or line.is_typed_into, "-open")
        self.offer_keys()

    def _counted(self, answer: SpanMatches) -> str:
        total = len(answer.matches)
        if not total:
            return "no match" if answer.is_whole else "no match yet"
        at = next_in(answer.matches, self.timeline.index - 1, 1)
        only = ", only these" if self.timeline.shows_only_matches else ""
        if at == self.timeline.index:
            place = bisect_left(answer.matches, at) + 1
            return f"{place:,} of {total:,}{only}"
        return f"{total:,} {'match' if total == 1 else 'matches'}{only}"

    def search_left(self, *, is_kept: bool) -> None:
        """Enter goes to the first match, Esc ends the search."""
        self.focus_pane(self.timeline)
        if not is_kept or not self.is_searching:
            self.end_search()
        elif self._found is not None and (self._found.is_whole or len(self._found.matches)):
            self._first_match()
        else:
            self._goes_on = self._search.is_awaited
        self.draw_search()

    def _first_match(self) -> None:
        """The match under the cursor, else the next one."""
        found = self._found
        if found is not None and not self.timeline.jump(found.matches, 1, "match", stay=True):
            self.say("Nothing in this trace matches.")

    def action_match(self, step: int) -> None:
        """Go to the next or previous match; without a search, to the next or previous span in error."""
        if not self.is_searching:
            self.timeline.action_jump_kind("error", step)
        elif self._found is None or not self.timeline.jump(self._found.matches, step, "match"):
            goes_on = self._search.is_awaited
            self.say("Nothing was found yet; the search goes on." if goes_on else "Nothing in this trace matches.")

    def action_numbers(self) -> None:
        """Count the calls of this trace; a row leads to a search for its calls."""
        what = "" if self.row.origin_trace_id is None else ", a replay"
        scope = Scope(trace_name(self.row.name) + what, (self.row,), is_all=False)
        self.app.push_screen(NumbersScreen(self._session, scope, self._show_calls))

    def _show_calls(self, row: NumbersRow, by: NumbersBy) -> None:
        wanted = filter_of(row, by)
        if self.search_line.text == wanted and self._found is not None:
            self._first_match()
            return
        self._goes_on = True
        self.search_line.text = wanted

    def action_only(self) -> None:
        """Show only the matches and what is above them, or everything again."""
        if self.timeline.shows_only_matches:
            self._show_only(None)
        elif self._found is None or not len(self._found.matches):
            self.say(f"There are no matches to show; {self.key('trace.search')} searches.")
        else:
            self._show_only(self._found)
        self.draw_search()

    def end_search(self) -> bool:
        """Show everything unmarked again; False where nothing was searched."""
        line = self.search_line
        if not line.text and not line.has_class("-open"):
            return False
        was_on = bool(line.text)
        line.text = ""
        line.remove_class("-open")
        return was_on

    def leave_search(self) -> None:
        """Nobody waits for what is looked for."""
        if self._search.is_awaited:
            self._session.sql.stop()
        self._search.drop()

    def cursor_moved(self) -> None:
        """The cursor may have come to a match, or left it; where it left all that was shown, all is shown again."""
        if self._found is not None:
            self._only = self.timeline.shows_only_matches
            self.draw_search()
