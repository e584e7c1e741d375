"""Where a phrase came from: from where it stands, step by step back to where it first appeared.

A step goes only where what is there could have been read: an answer comes from what that call was given, a tool's
arguments from the request that named its call, an agent's input from what is around it. Where a trace does not say how
two calls belong together, an earlier place with the same text is taken, and marked as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..errors import QueryCancelledError
from .phrase import Found, Phrase, Words
from .places import Place, Places

Link: TypeAlias = Literal["start", "given", "asked", "inside", "around", "text"]
"""How a step was found: where the question began; what the call was given; what asked for it; what ran inside it; what
is around it; only the same text at an earlier time."""

End: TypeAlias = Literal["model", "tool", "outside", "absent"]
"""Why the trail ends: the model wrote it, the tool brought it, it came from outside; or it stands nowhere."""

MOST_STEPS: Final = 200
_CHECK_EVERY: Final = 2_000
_EXCERPT: Final = 160


@dataclass(frozen=True, slots=True)
class Step:
    """A place where the phrase, or the part of it that is followed, stands."""

    place: Place
    span_id: str
    found: Found
    link: Link
    wanted: str
    """What was looked for here: shorter than the phrase where only a part of it could be followed."""

    @property
    def excerpt(self) -> tuple[str, str, str]:
        """The text around it: before, found, after."""
        text, start, end = self.place.text, self.found.start, self.found.end
        before, after = text[max(start - _EXCERPT, 0) : start], text[end : end + _EXCERPT]
        return (
            ("…" if start > _EXCERPT else "") + before,
            text[start:end],
            after + ("…" if end + _EXCERPT < len(text) else ""),
        )


@dataclass(frozen=True, slots=True)
class Lineage:
    """The steps of a phrase, from where it was asked about to where it first appeared."""

    phrase: str
    steps: tuple[Step, ...]
    end: End
    elsewhere: int = 0
    """Places of the trace that hold the phrase as it stands, steps or not."""


def lineage_of(
    places: Places,
    phrase: str,
    span_id: str | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    *,
    is_given: bool = False,
) -> Lineage:
    """Follow a phrase back.

    Args:
        places: of the trace.
        phrase: what to follow; white space around it does not count.
        span_id: where to begin: the span's own answer, else what it was given. None begins at the last place of the
            trace that holds it.
        cancelled: asked now and then.
        is_given: begin with what the span was given, and only else with its answer.

    Raises: QueryCancelledError: it was cancelled.
    Cost: one search through all texts of the trace, then a few texts for each step; call it in a worker.
    """
    return _Tracker(places, phrase, cancelled).run(span_id, is_given=is_given)


class _Tracker:
    """Follows one phrase."""

    def __init__(self, places: Places, phrase: str, cancelled: Callable[[], bool]) -> None:
        self._places = places
        self._asked = Phrase(phrase)
        self._phrase = self._asked
        self._cancelled = cancelled
        self._words: dict[int, Words] = {}
        self._holding: dict[str, list[int]] = {}
        """For each text that is followed the places that hold it, in the order of time."""

    def run(self, span_id: str | None, *, is_given: bool) -> Lineage:
        if not self._asked.text:
            return Lineage("", (), "absent")
        call = None if span_id is None else self._places.by_span.get(span_id)
        first = None if call is None else self._begin(call, is_given=is_given)
        if first is None:
            last = self._everywhere()
            first = self._check(last[-1], "start") if last else None
        exact = sum(1 for at in self._everywhere() if self._found(at).level == "exact")
        if first is None:
            return Lineage(self._asked.text, (), "absent", exact)
        steps = [first]
        seen = {first.place.number}
        while len(steps) < MOST_STEPS:
            self._look_up()
            step = self._source(steps[-1], seen)
            if step is None:
                break
            seen.add(step.place.number)
            steps.append(step)
            if step.found.level == "part":
                self._follow(step.place.text[step.found.start : step.found.end])
        return Lineage(self._asked.text, tuple(steps), self._end(steps[-1].place), exact)

    def _look_up(self) -> None:
        if self._cancelled():
            raise QueryCancelledError("looking for where a phrase comes from")

    def _follow(self, part: str) -> None:
        """From here on only a part of the phrase is followed."""
        self._phrase = Phrase(part)

    # Whether a place holds it.

    def _words_of(self, number: int) -> Words:
        if number not in self._words:
            self._words[number] = Words.of(self._places.places[number].text)
        return self._words[number]

    def _find(self, number: int) -> Found | None:
        """Where a place holds the phrase whole."""
        text = self._places.places[number].text
        found = self._phrase.find_exact(text)
        if found is None and self._phrase.may_hold(text):
            found = self._phrase.find_words(self._words_of(number))
        return found

    def _found(self, number: int) -> Found:
        found = self._find(number)
        assert found is not None
        return found

    def _check(self, number: int, link: Link) -> Step | None:
        found = self._find(number)
        return None if found is None else self._step(number, found, link)

    def _step(self, number: int, found: Found, link: Link) -> Step:
        place = self._places.places[number]
        return Step(place, self._places.calls[place.call].span_id, found, link, self._phrase.text)

    def _everywhere(self) -> list[int]:
        """All places that hold it, by time."""
        known = self._holding.get(self._phrase.text)
        if known is None:
            known = []
            for place in self._places.places:
                if not place.number % _CHECK_EVERY:
                    self._look_up()
                if self._find(place.number) is not None:
                    known.append(place.number)
            known.sort(key=lambda at: (self._places.places[at].time, at))
            self._holding[self._phrase.text] = known
        return known

    # Where it can have come from.

    def _begin(self, call: int, *, is_given: bool) -> Step | None:
        """Where a span has it: in what it gave, else in what it was given, or the other way round."""
        own = [self._places.places[at] for at in self._places.of_call.get(call, ())]
        given = [*self._places.inputs(call), *(p.number for p in own if not p.comes_out)]
        gave = [p.number for p in own if p.comes_out]
        order = [*given, *gave] if is_given else [*gave, *given]
        found = self._first(order, "start")
        return found or self._longest(order, "start")

    def _first(self, numbers: Iterable[int], link: Link, seen: Iterable[int] = ()) -> Step | None:
        """The first of some places that holds it."""
        return next((step for at in numbers if at not in seen and (step := self._check(at, link))), None)

    def _longest(self, numbers: Iterable[int], link: Link, seen: Iterable[int] = ()) -> Step | None:
        """The place that holds the longest part of it."""
        best: Step | None = None
        size = 0
        for at in numbers:
            found = None if at in seen else self._phrase.longest_part(self._words_of(at))
            if found is not None and found.end - found.start > size:
                best, size = self._step(at, found, link), found.end - found.start
        return best

    def _source(self, step: Step, seen: set[int]) -> Step | None:
        """Where a step's text comes from."""
        groups = list(self._groups(step.place))
        for link, numbers in groups:
            if (found := self._first(numbers, link, seen)) is not None:
                return found
        if self._may_be_text(step.place):
            place = step.place
            # What was given is there before what comes out; at the same moment the order of reading decides.
            before = [at for at in self._everywhere() if self._is_before(self._places.places[at], place)]
            if (found := self._first(reversed(before), "text", seen)) is not None:
                return found
        for link, numbers in groups:
            if (found := self._longest(numbers, link, seen)) is not None:
                return found
        return None

    def _is_before(self, other: Place, place: Place) -> bool:
        return (other.time, other.number) < (place.time, place.number) and other.call != place.call

    def _may_be_text(self, place: Place) -> bool:
        """Whether the trace does not say what the place was made from, so that an earlier equal text may be it."""
        call = self._places.calls[place.call]
        if place.kind in ("message", "arguments", "input"):
            return True
        return call.kind == "llm" and call.input_messages is None

    def _groups(self, place: Place) -> Iterator[tuple[Link, list[int]]]:
        """The places that a place's text can have come from, the surest first."""
        places = self._places
        call = place.call
        own = [at for at in places.of_call.get(call, ()) if not places.places[at].comes_out]
        match place.kind:
            case "answer" | "reasoning" | "request":
                yield "given", self._facts(places.inputs(call))
            case "result" | "error":
                yield "inside", list(self._inside(place))
                yield "given", own
            case "message":
                yield "asked", self._results_of(place.number)
                yield "given", self._facts(self._earlier(place))
                yield "around", list(self._around(call))
            case "arguments" | "input":
                yield "asked", self._nearest(places.requests.get(places.calls[call].tool_call_id or "", ()), place)
                yield "around", list(self._around(call))

    def _facts(self, numbers: Iterable[int]) -> list[int]:
        """The places, before each answer of a tool that a model was given the result on the tool's own call."""
        return [fact for at in numbers for fact in (*self._results_of(at), at)]

    def _results_of(self, number: int) -> list[int]:
        """The same fact on the call that it comes from, for the answer of a tool that a model was given."""
        places = self._places
        place = places.places[number]
        if place.kind != "message" or place.role != "tool":
            return []
        calls = places.results.get(place.tool_call_id or "", ())
        results = [at for call in calls for at in places.of_call.get(call, ()) if places.places[at].comes_out]
        return self._nearest(results, place)[:1]

    def _nearest(self, numbers: Iterable[int], place: Place) -> list[int]:
        """Places before a place that share its tool call id: those of its own agent first, then the latest."""
        owner = self._places.owner(place.call)
        known = [at for at in numbers if self._places.places[at].time <= place.time]
        theirs = {at: self._places.places[at] for at in known}
        return sorted(known, key=lambda at: (self._places.owner(theirs[at].call) != owner, -theirs[at].time, -at))

    def _earlier(self, place: Place) -> Iterator[int]:
        """The messages before a message in the call where it first appeared."""
        reached = False
        for at in self._places.inputs(place.call):
            if reached:
                yield at
            reached = reached or at == place.number

    def _around(self, call: int) -> Iterator[int]:
        for above in self._places.above(call):
            for at in self._places.of_call.get(above, ()):
                if not self._places.places[at].comes_out:
                    yield at

    def _inside(self, place: Place) -> Iterator[int]:
        """What came out of the calls below a call, the last first."""
        for at in reversed(self._everywhere()):
            other = self._places.places[at]
            if other.comes_out and other.time <= place.time and place.call in self._places.above(other.call):
                yield at

    def _end(self, place: Place) -> End:
        if place.kind in ("answer", "reasoning", "request"):
            return "model"
        if place.kind in ("result", "error"):
            return "model" if self._places.kind_of(place.call) == "agent" else "tool"
        return "outside"
