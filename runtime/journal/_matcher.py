"""The one matcher: which recorded outcome answers a request.

Used by ``run_with`` (a scope is a frame) and by everything else that answers from a recording. Keys are content
hashes; the nth use of a hash in a scope gets its nth outcome, in the order in which the recorded calls started.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..messages import Outcome, Request, ValueRequest
from ._difference import (
    Cause,
    Difference,
    cause_in_messages,
    changed_parameters,
    differences_between,
    makes_miss,
)
from ._journal import AnyRequest, Journal, JournalEntry, JournalKind

logger = logging.getLogger(__name__)

MatchRequest = AnyRequest | ValueRequest
Form: TypeAlias = Callable[[AnyRequest], AnyRequest]
"""What requests are compared by where their hash is not known: a form without what does not count between the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recorded outcome answers."""

    outcome: Outcome
    use: int
    """Which use of the hash this is, from 1."""
    reused: bool = False
    """True when the recording has fewer answers than uses, and the last one was given again."""
    inferred: bool = False
    """True when a part had to be left out of the comparison, because the recording lacks it."""
    content_hash: str = ""
    supplied: bool = False
    """True when the user put another outcome in the recorded one's place."""
    parameters: tuple[Difference, ...] = ()
    """The parameters that both requests tell, and tell otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abort:
    """The recorded call was cancelled before it answered: it waits until what cancelled it then does so again."""

    outcome: Outcome
    patience_s: float
    """How long to wait at most: no timer of the recorded run that cancelled it can have been longer."""
    content_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """Nothing recorded answers."""

    reason: str
    """One sentence."""
    known: bool = False
    """True where the recording made the same call, and only has no answer left."""
    differences: tuple[Difference, ...] = ()
    """Against the nearest recorded request; the first one is the cause."""
    nearest: Outcome | None = None
    content_hash: str = ""
    cause: Cause | None = None
    """Where the requests as a whole tell more than their first difference."""


@dataclass(slots=True)
class Scope:
    """One frame's journal with the place of each reader in it."""

    journal: Journal
    uses: dict[tuple[JournalKind, str], int] = field(default_factory=dict)
    """How often each entry has answered."""
    places: dict[tuple[JournalKind, str], int] = field(default_factory=dict)
    """Where among its outcomes each entry goes on answering."""
    used_up: set[str] = field(default_factory=set)
    """Spans whose outcomes answer no one: calls inside tools that were answered as a whole."""
    values_used_up: set[str] = field(default_factory=set)
    """Spans whose values answer no one: those tools and the calls inside."""
    loose: dict[str, list[tuple[JournalEntry, AnyRequest]]] | None = None
    """Entries with the form of their request by their loose key; made when a strict key misses for the first time."""

    def next_of(self, kind: JournalKind, entry: JournalEntry, aborts: bool = False) -> Outcome | None:
        """The outcome that is next; None when there is none left. Aborts never answer, and are passed over.

        With ``aborts``, one that was cancelled has its place in the order.
        """
        key = (kind, entry.content_hash)
        at = self.places.get(key, 0)
        while at < len(entry.outcomes) and not self._answers(kind, entry.outcomes[at]):
            outcome = entry.outcomes[at]
            if aborts and was_cancelled(outcome) and outcome.span_id not in self.used_up:
                break
            at += 1
        self.places[key] = at
        return entry.outcomes[at] if at < len(entry.outcomes) else None

    def step(self, kind: JournalKind, entry: JournalEntry, *, to_next: bool = True) -> int:
        """Count a use of the entry; ``to_next`` where it took the outcome that ``next_of`` gave. Which use it was."""
        key = (kind, entry.content_hash)
        self.uses[key] = self.uses.get(key, 0) + 1
        self.places[key] += to_next
        return self.uses[key]

    def answers_of(self, kind: JournalKind, entry: JournalEntry) -> list[Outcome]:
        """All its outcomes that may answer, used or not."""
        return [outcome for outcome in entry.outcomes if self._answers(kind, outcome)]

    def _answers(self, kind: JournalKind, outcome: Outcome) -> bool:
        used_up = self.values_used_up if kind == "value" else self.used_up
        return outcome.status != "aborted" and outcome.span_id not in used_up


class Matcher:
    """Answers requests from the journals of a recording, one scope per frame. Cursors belong to the matcher.

    Args:
        journals: by frame.
        form: requests whose hash the recording does not hold are compared in this form, on both sides. For those that
            did not come through the runtime, and for what the user wants left out.
    """

    def __init__(self, journals: Mapping[str, Journal], *, form: Form | None = None) -> None:
        self._scopes = {name: Scope(journal) for name, journal in journals.items()}
        self._form: Form = form or (lambda request: request)
        self._began: int | None = None
        """When the first recorded call started; None until first asked."""

    def match(
        self, scope: str, kind: JournalKind, request: MatchRequest, *, reuse: bool = False, aborts: bool = False
    ) -> Hit | Abort | Miss:
        """The outcome that answers the request, which is then used up.

        Args:
            scope: the frame's call id.
            kind: which of its three maps.
            request: what is asked.
            reuse: give the last outcome again when all are used up, as the seed does.
            aborts: take a call that was cancelled as what comes next, instead of passing it over.

        Returns: a Hit, or with ``aborts`` an Abort; or a Miss, which uses up nothing but an answer that cannot be used.
        Cost: O(size of new messages) for a hit, since digests are kept on the messages.
        """
        content_hash = request.content_hash
        place = self._scopes.get(scope)
        if place is None:
            return Miss(reason="the recording has no such frame", content_hash=content_hash)
        inferred = False
        entry = place.journal.map(kind).get(content_hash)
        if entry is None and not isinstance(request, ValueRequest):
            entry = self._loose_match(place, kind, request) or self._by_place(place, kind, request)
            inferred = entry is not None
        if entry is None:
            return self._explain(place, kind, request)
        if aborts:
            abort = self._take_abort(place, kind, entry)
            if abort is not None:
                return abort
        taken = self._take(place, kind, entry, reuse, inferred, content_hash)
        changed = changed_parameters(entry.request, request) if isinstance(taken, Hit) and entry.is_one else ()
        return replace(taken, parameters=changed) if isinstance(taken, Hit) and changed else taken

    def _take_abort(self, place: Scope, kind: JournalKind, entry: JournalEntry) -> Abort | None:
        outcome = place.next_of(kind, entry, aborts=True)
        if outcome is None or outcome.status != "aborted":
            return None
        place.step(kind, entry)
        if self._began is None:
            starts = (o.start_unix_nano for s in self._scopes.values() for _, e in s.journal for o in e.outcomes)
            self._began = min((start for start in starts if start is not None), default=0)
        ended = (outcome.start_unix_nano or self._began) + (outcome.duration_ns or 0)
        patience = max(0, ended - self._began) / 1e9 + SLACK_S
        return Abort(outcome=outcome, patience_s=patience, content_hash=entry.content_hash)

    def _take(
        self, place: Scope, kind: JournalKind, entry: JournalEntry, reuse: bool, inferred: bool, content_hash: str
    ) -> Hit | Miss:
        outcome = place.next_of(kind, entry)
        reused = outcome is None
        if outcome is None:
            answers = place.answers_of(kind, entry)
            if not (reuse and answers):
                return self._explain_exhausted(place, kind, entry, answers, content_hash)
            outcome = answers[-1]
        if outcome.lost is not None:
            logger.warning("a recorded %s cannot answer: %s", kind, outcome.lost)
            reason = f"the recorded answer cannot be used: {outcome.lost}"
            # Its turn has come all the same: the next use is for the next outcome.
            place.step(kind, entry, to_next=not reused)
            return Miss(reason=reason, known=True, nearest=outcome, content_hash=content_hash)
        use = place.step(kind, entry, to_next=not reused)
        return Hit(outcome=outcome, use=use, reused=reused, inferred=inferred, content_hash=entry.content_hash)

    def _explain_exhausted(
        self, place: Scope, kind: JournalKind, entry: JournalEntry, answers: list[Outcome], content_hash: str
    ) -> Miss:
        """More uses than answers. Where the recording has another call of the same name here, that is what differs."""
        asked = place.uses.get((kind, entry.content_hash), 0) + 1
        reason = _exhausted(len(answers), [o for o in entry.outcomes if o.status == "aborted"], asked)
        count = Difference(part="count", path="uses", recorded=len(answers), actual=asked)
        nearest = answers[-1] if answers else None
        differences: tuple[Difference, ...] = ()
        found = _next_of_the_same_name(place, kind, entry)
        if found is not None and entry.request is not None:
            recorded, nearest = found
            differences = differences_between(recorded, entry.request)
            if differences:
                reason += f"; the recorded call here differs in {differences[0].path}"
        differences = (*differences, count)
        return Miss(reason=reason, known=True, differences=differences, nearest=nearest, content_hash=content_hash)

    def use_up(self, scope: str, tool_span_id: str, inside: Collection[str]) -> None:
        """A tool was answered as a whole: what it had asked itself answers no one in the scope from now on.

        Args:
            scope: the frame's call id.
            tool_span_id: the tool's recorded span, in which it took values from the runtime.
            inside: the spans of the model turns and tool calls that its function had made.
        """
        place = self._scopes.get(scope)
        if place is not None:
            place.used_up.update(inside)
            place.values_used_up.update(inside, (tool_span_id,))

    def peek(self, scope: str, kind: JournalKind, request: AnyRequest) -> Outcome | None:
        """The outcome that ``match`` would give, without using it up; None for a miss."""
        place = self._scopes.get(scope)
        if place is None:
            return None
        entry = place.journal.map(kind).get(request.content_hash) or self._loose_match(place, kind, request)
        return place.next_of(kind, entry) if entry is not None else None

    def unused(self, scope: str, kind: JournalKind | None = None) -> list[Outcome]:
        """Recorded outcomes of model turns and tools of the scope, or of one kind, that nothing has used, by start."""
        place = self._scopes.get(scope)
        if place is None:
            return []
        out: list[Outcome] = []
        for each, entry in place.journal:
            if each != "value" and kind in (None, each):
                at = place.places.get((each, entry.content_hash), 0)
                out.extend(o for o in entry.outcomes[at:] if o.status != "aborted" and o.span_id not in place.used_up)
        return sorted(out, key=lambda o: o.start_unix_nano or 0)

    def is_used_up(self, scope: str) -> bool:
        """True when the scope is recorded, and nothing in it is left to answer."""
        return scope in self._scopes and not self.unused(scope)

    def _loose_match(self, place: Scope, kind: JournalKind, request: AnyRequest) -> JournalEntry | None:
        """An entry whose request equals this one in all parts that the recording has.

        Needed for recordings that lack a part (tools, schema, model, provider), and for those whose own hash is of
        another kind. One that lacks the model answers only where none that names it does.
        """
        if place.loose is None:
            place.loose = {}
            for _, entry in place.journal:
                if entry.request is not None:
                    formed = self._form(entry.request)
                    place.loose.setdefault(_loose_key(formed), []).append((entry, formed))
        known = place.journal.map(kind)
        asked = self._form(request)
        candidates = [
            (_lacks_model(formed), entry)
            for entry, formed in place.loose.get(_loose_key(asked), ())
            if entry.content_hash in known and _agree(formed, asked)
        ]
        candidates.sort(key=lambda each: each[0])
        fresh = [
            (lacks, o.start_unix_nano or 0, n)
            for n, (lacks, entry) in enumerate(candidates)
            if (o := place.next_of(kind, entry))
        ]
        return candidates[min(fresh)[-1] if fresh else 0][1] if candidates else None

    def _by_place(self, place: Scope, kind: JournalKind, request: AnyRequest) -> JournalEntry | None:
        """A call of which the recording lacks what it asked, where it is the next: all that began before is used."""
        entries = place.journal.map(kind).values()
        if not isinstance(request, Request) or not any(entry.untold for entry in entries):
            return None
        waiting = [(o.start_unix_nano or 0, e) for e in entries if (o := place.next_of(kind, e))]
        first = min(waiting, key=lambda each: each[0], default=None)
        if first is None or first[1].untold is None:
            return None
        known, asked = self._form(first[1].untold), self._form(request)
        assert isinstance(known, Request)
        assert isinstance(asked, Request)
        return first[1] if known.model in (None, asked.model) else None

    def _explain(self, place: Scope, kind: JournalKind, request: MatchRequest) -> Miss:
        if isinstance(request, ValueRequest):
            return Miss(
                reason=f"the recording took no {request.name!r} from the runtime here",
                content_hash=request.content_hash,
            )
        entries = [e for e in place.journal.map(kind).values() if e.request is not None and e.outcomes]
        if not isinstance(request, Request):
            named = [e for e in entries if e.request and getattr(e.request, "name", None) == request.name]
            if not named:
                reason = f"the recording never calls tool {request.name!r} here"
                return Miss(reason=reason, content_hash=request.content_hash)
            entries = named
        if not entries:
            what = "model turn" if kind == "prompt" else "tool call"
            return Miss(reason=f"the recording holds no {what} here to compare with", content_hash=request.content_hash)
        asked = self._form(request)
        nearest = max(entries, key=lambda e: self._nearness(place, kind, e, asked))
        assert nearest.request is not None
        found = differences_between(self._form(nearest.request), asked)
        causes = [d for d in found if makes_miss(d)]
        where = causes[0].path if causes else "its recorded hash"
        use = min(place.uses.get((kind, nearest.content_hash), 0), len(nearest.outcomes) - 1)
        return Miss(
            reason=f"the request differs from the nearest recorded one in {where}",
            differences=found,
            nearest=nearest.outcomes[use],
            content_hash=request.content_hash,
            cause=cause_in_messages(self._form(nearest.request), asked) if causes else None,
        )

    def _nearness(
        self, place: Scope, kind: JournalKind, entry: JournalEntry, request: AnyRequest
    ) -> tuple[int, int, int]:
        """Larger is nearer: equal messages at the same place, then still unused, then earlier."""
        unused = place.uses.get((kind, entry.content_hash), 0) < len(entry.outcomes)
        start = entry.outcomes[0].start_unix_nano or 0
        recorded = self._form(entry.request) if entry.request is not None else None
        if isinstance(recorded, Request) and isinstance(request, Request):
            pairs = zip(recorded.messages, request.messages, strict=False)
            equal = sum(a.digest == b.digest for a, b in pairs)
            apart = abs(len(recorded.messages) - len(request.messages))
            return (2 * equal - apart, int(unused), -start)
        return (0, int(unused), -start)


def _next_of_the_same_name(place: Scope, kind: JournalKind, entry: JournalEntry) -> tuple[AnyRequest, Outcome] | None:
    """The first unused call of the same kind and name, other than the entry's own."""
    waiting: list[tuple[AnyRequest, Outcome]] = []
    for other in place.journal.map(kind).values():
        request = other.request
        if other is entry or request is None:
            continue
        if getattr(request, "name", None) == getattr(entry.request, "name", None):
            outcome = place.next_of(kind, other)
            if outcome is not None:
                waiting.append((request, outcome))
    return min(waiting, key=lambda each: each[1].start_unix_nano or 0, default=None)


def was_cancelled(outcome: Outcome) -> bool:
    """True for a call that its caller cancelled, as by a time limit; False for one that its program's end cut off."""
    return outcome.status == "aborted" and outcome.error is not None and outcome.error.type in _CANCELLED


_CANCELLED = ("asyncio.exceptions.CancelledError", "asyncio.CancelledError", "CancelledError")
SLACK_S = 5.0
"""Added to the time that an abort may take to come again, for a machine that is slower than the recorded one."""


def _exhausted(recorded: int, aborts: list[Outcome], asked: int) -> str:
    how = sorted({abort.error.type.rpartition(".")[2] for abort in aborts if abort.error is not None})
    because = f" ({', '.join(how)})" if how else ""
    if recorded == 0:
        return f"the recorded call was aborted{because} and never answered"
    also = f" and {len(aborts)} call{'s' * (len(aborts) != 1)} that never answered{because}" if aborts else ""
    return f"the recording has {recorded} answer{'s' * (recorded != 1)}{also}, asked a {ordinal(asked)} time"


def ordinal(number: int) -> str:
    """The number as a rank: 1st, 2nd, 3rd, 4th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


def _loose_key(request: AnyRequest) -> str:
    """A key that equal requests share even when one lacks tools, schema, model or provider."""
    if isinstance(request, Request):
        return Request(messages=request.messages).content_hash
    return request.content_hash


def _lacks_model(request: AnyRequest) -> bool:
    return isinstance(request, Request) and request.model is None


def _agree(recorded: AnyRequest, actual: AnyRequest) -> bool:
    return not any(map(makes_miss, differences_between(recorded, actual)))


def spans_of(journals: Iterable[Journal]) -> frozenset[str]:
    """The spans whose outcomes the journals hold: what lies before a cut."""
    return frozenset(
        outcome.span_id
        for journal in journals
        for _, entry in journal
        for outcome in entry.outcomes
        if outcome.span_id is not None
    )
