"""One replay session: the recording, the cut, the policy on a miss, and the rows of the report."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Literal

from ..errors import ReplayStop
from ..messages import Effect, Outcome, Request, ValueRequest, message_to_json
from ._difference import Cause, Difference, cause_of
from ._edits import Edits, MemoryPatch
from ._journal import AnyRequest, Journal, JournalKind
from ._matcher import Abort, Form, Hit, Matcher, MatchRequest, Miss, spans_of
from ._rows import Divergence, Question, ReplayPolicy, ReplayRow, RowKind, RowStatus, Supplied, ToolMode

_ROW_KINDS: dict[JournalKind, RowKind] = {"prompt": "llm", "tool": "tool", "value": "value"}


class ReplaySession:
    """Answers the calls of one run from a recording and keeps the report. Safe to ask from several threads.

    Args:
        recording: the journals that answer, by frame (call id).
        cut: the journals of the snapshot to replay from, where the recording goes on after it; answers that lie after
        the cut
            end a strict replay as ``past_cut``. None lets the whole recording answer.
        open_ended: the recording stops in the middle (its run was killed, or is of another framework); a strict replay
            that has used up what a frame recorded has then come to the end of the recording, not to a divergence.
        policy: what happens on a miss.
        on_row: called with each row as it appears, and again when a running one settles.
        form: as of ``Matcher``.
        edits: what goes out, or is answered, otherwise than recorded.
        supply: asks the user, where the policy says ``ask``.
    """

    def __init__(
        self,
        recording: Mapping[str, Journal],
        *,
        cut: Iterable[Journal] | None = None,
        open_ended: bool = False,
        policy: ReplayPolicy | None = None,
        on_row: Callable[[ReplayRow], None] | None = None,
        form: Form | None = None,
        edits: Edits | None = None,
        supply: Callable[[Question], Awaitable[Supplied]] | None = None,
    ) -> None:
        self.policy = policy or ReplayPolicy()
        self.rows: list[ReplayRow] = []
        self.divergence: Divergence | None = None
        self.stopped: Literal["past_cut", "diverged"] | None = None
        self.inferred = False
        """True once an answer was found only by leaving out a part that the recording lacks."""
        self.parameters: dict[str, Difference] = {}
        """Parameters that were asked otherwise than recorded in answered requests, by path; the first of each."""
        self.answered: list[Outcome] = []
        """The outcomes that were given from the recording, each use once."""
        self._matcher = Matcher(recording, form=form)
        self._edits = edits or Edits()
        self._memory = list(self._edits.memory)
        self.reached: set[str] = set()
        """What of the edits took effect, as ``Edits.uses`` names it; who says ``Edits.inputs`` adds those."""
        self._supply = supply
        self._questions: dict[str, tuple[JournalKind, Question, Miss]] = {}
        """Calls that wait for what the user says."""
        self._before_cut = None if cut is None else spans_of(cut)
        self._open_ended = open_ended
        self._asked: dict[str, None] = {}
        """The frames that have asked, in that order."""
        self._on_row = on_row
        self._running: dict[str, int] = {}
        self._waiting: dict[str, tuple[JournalKind, str, Abort]] = {}
        """Calls that wait for the abort that was recorded."""
        self._wakers: dict[str, Callable[[], object]] = {}
        self._lock = threading.RLock()

    def answer(
        self, scope: str, kind: JournalKind, name: str, call_id: str, request: MatchRequest, *, in_tool: bool = False
    ) -> Hit | None:
        """The recorded answer, or None when the call is to be done for real.

        Args:
            scope: the frame's call id.
            kind: which of its three maps.
            name: the model, the tool or the kind of value.
            call_id: of the call, for the report.
            request: what is asked.
            in_tool: a value that a tool takes, or that stands before one: what tools may do decides.

        Raises:
            ReplayStop: the replay ends here, at its cut or because it diverged; it is raised again on every later call,
                since an agent might go on after catching it.
        """
        mode = self.policy.tools if kind == "tool" or in_tool else self.policy.models
        with self._lock:
            found = self._answer(scope, kind, name, call_id, request, mode, None, aborts=False)
        assert not isinstance(found, Abort)
        return found

    def answer_or_abort(
        self,
        scope: str,
        kind: Literal["prompt", "tool"],
        name: str,
        call_id: str,
        request: MatchRequest,
        effect: Effect | None = None,
    ) -> Hit | Abort | None:
        """As ``answer``, for a caller that can wait where the recorded call was cancelled.

        Such a caller waits, and then says what came of it to ``aborted`` or ``not_aborted``. ``effect`` is what a tool
        declares of itself.
        """
        mode = self.policy.tools if kind == "tool" else self.policy.models
        with self._lock:
            return self._answer(scope, kind, name, call_id, request, mode, effect, aborts=True)

    def _answer(
        self,
        scope: str,
        kind: JournalKind,
        name: str,
        call_id: str,
        request: MatchRequest,
        mode: ToolMode,
        effect: Effect | None,
        *,
        aborts: bool,
    ) -> Hit | Abort | None:
        if self.stopped:
            raise self.stop()
        self._asked[scope] = None
        aborts = aborts and mode != "live" and not self.policy.retry_errors
        found = self._matcher.match(scope, kind, request, reuse=self.policy.reuse_exhausted, aborts=aborts)
        if isinstance(found, Hit) and found.parameters:
            found = self._with_parameters(found)
        strict = mode == "strict" or (mode == "safe" and kind == "tool" and not _is_safe(effect, found))
        if isinstance(found, Abort):
            return self._expect_abort(scope, kind, name, call_id, found)
        if isinstance(found, Hit):
            outcome = found.outcome
            if self._lies_after_cut(kind, outcome):
                if not strict:
                    miss = Miss(reason="the recorded call lies after the cut", nearest=outcome)
                    self._ask(mode, kind, name, call_id, request, miss)
                    self._go_live(kind, name, call_id, found.content_hash)
                    return None
                self._stop_at_cut(scope, kind, name, call_id, found)
            if not (self.policy.retry_errors and outcome.status == "error"):
                return self._give(kind, name, call_id, found)
        elif strict and self._edits.inputs and kind == "prompt" and not self._matcher.unused(scope, "prompt"):
            past = replace(found, reason="this goes on past the end of the recording")
            raise self._diverge(kind, name, call_id, past, cause="extra call")
        elif strict and self._open_ended and self._matcher.is_used_up(scope):
            raise self._end("past_cut")
        elif strict:
            raise self._diverge(kind, name, call_id, found)
        else:
            self._ask(mode, kind, name, call_id, request, found)
        self._go_live(kind, name, call_id, found.content_hash)
        return None

    def _with_parameters(self, hit: Hit) -> Hit | Miss:
        for difference in hit.parameters:
            self.parameters.setdefault(difference.path, difference)
        if not self.policy.compare_parameters:
            return hit
        reason = f"the request differs from the recorded one in {hit.parameters[0].path}"
        return Miss(
            reason=reason,
            known=True,
            differences=hit.parameters,
            nearest=hit.outcome,
            content_hash=hit.content_hash,
        )

    def _ask(self, mode: str, kind: JournalKind, name: str, call_id: str, request: MatchRequest, miss: Miss) -> None:
        if mode != "ask" or self._supply is None or isinstance(request, ValueRequest):
            return
        asked = (
            [message_to_json(message) for message in request.messages]
            if isinstance(request, Request)
            else request.arguments
        )
        question = Question(
            kind=_ROW_KINDS[kind],
            name=name,
            call_id=call_id,
            reason=miss.reason,
            request=asked,
            proposal=miss.nearest.output if miss.nearest else None,
            differences=miss.differences,
        )
        self._questions[call_id] = kind, question, miss

    async def supplied(self, call_id: str) -> Supplied | None:
        """What the user says to a call; None where it is to be done for real.

        Raises: ReplayStop: the user ends the replay here.
        """
        waiting = self._questions.get(call_id)
        if waiting is None or self._supply is None:
            return None
        kind, question, miss = waiting
        said = await self._supply(question)
        with self._lock:
            del self._questions[call_id]
            if said.kind == "stop":
                self._settle(call_id, "missed")
                raise self._diverge(kind, question.name, call_id, miss, told=True)
            return None if said.kind == "live" else said

    def outgoing(self, scope: str, agent_id: str, request: Request) -> Request:
        """The request as it goes out, with the edits that are due."""
        if not self._edits.requests:
            return request
        with self._lock:
            answer = self._matcher.peek(scope, "prompt", request)
            start = answer.start_unix_nano if answer else None
            self.reached.update(self._edits.reached(agent_id, request, start))
            return self._edits.applied(agent_id, request, start)

    def is_edited(self, span_id: str) -> bool:
        """Whether the outcome of that recorded span was edited."""
        return span_id in self._edits.outcomes

    def memory_due(self, scope: str) -> list[MemoryPatch]:
        """The edits of the frame's memory that are to be made now; each is given once."""
        if not self._memory:
            return []
        with self._lock:
            due = [patch for patch in self._memory if patch.scope == scope and self._is_reached(patch)]
            self._memory = [patch for patch in self._memory if patch not in due]
            self.reached.update(f"memory {n}" for n, patch in enumerate(self._edits.memory) if patch in due)
            return due

    def _is_reached(self, patch: MemoryPatch) -> bool:
        since = patch.since_unix_nano
        if since is None:
            return True
        return all((left.start_unix_nano or 0) >= since for left in self._matcher.unused(patch.scope))

    def peek(self, scope: str, kind: JournalKind, request: AnyRequest) -> Outcome | None:
        """As ``Matcher.peek``."""
        with self._lock:
            return self._matcher.peek(scope, kind, request)

    def unused(self, scope: str, kind: JournalKind | None = None) -> list[Outcome]:
        """As ``Matcher.unused``."""
        with self._lock:
            return self._matcher.unused(scope, kind)

    def use_up(self, scope: str, tool_span_id: str, inside: Collection[str]) -> None:
        """As ``Matcher.use_up``."""
        with self._lock:
            self._matcher.use_up(scope, tool_span_id, inside)

    def finish(self) -> None:
        """The run has ended by itself. Where a strict replay of all the recording left calls out, that is a divergence.

        A cut, an open end or an edit is reason enough for less, and so is an answer that was not the recorded one.
        """
        with self._lock:
            policy, edits = self.policy, self._edits
            is_whole = self._before_cut is None and not self._open_ended and not (edits.requests or edits.outcomes)
            if self.stopped or not is_whole or edits.memory or (policy.models, policy.tools) != ("strict", "strict"):
                return
            # Only model turns tell: a tool that runs agents runs again, and its own outcome is then never used.
            for scope in self._asked:
                left = self._matcher.unused(scope, "prompt")
                if left:
                    count = f"{len(left)} more model call{'s' * (len(left) != 1)}"
                    self.divergence = Divergence(
                        kind="llm",
                        name="model",
                        call_id=scope,
                        reason=f"the run has ended, and the recording has {count} here",
                        nearest_span_id=left[0].span_id,
                        cause="missing call",
                    )
                    return

    def skip(self, name: str, call_id: str) -> None:
        """A completed sub-agent was not run again."""
        with self._lock:
            if self.stopped:
                raise self.stop()
            row = ReplayRow(call_id=call_id, kind="agent", name=name, status="hit")
            self.rows.append(row)
            self._tell(row)

    def note_live(self, kind: JournalKind, name: str, call_id: str, content_hash: str) -> None:
        """A call was seen that had been done for real, without anybody asking for its answer."""
        with self._lock:
            self._add(kind, name, call_id, "live", content_hash)

    def settle(self, call_id: str, *, failed: bool, supplied: bool = False) -> None:
        """A call that was done for real, or that the user answered, has ended."""
        with self._lock:
            self._settle(call_id, "supplied" if supplied else "error" if failed else "live")

    def _settle(self, call_id: str, status: RowStatus) -> None:
        index = self._running.pop(call_id, None)
        if index is not None:
            self.rows[index] = replace(self.rows[index], status=status)
            self._tell(self.rows[index])

    def stop(self) -> ReplayStop:
        """What a replay that has ended raises at every further call."""
        assert self.stopped is not None
        at = self.divergence
        return ReplayStop(self.stopped, f"{at.kind} {at.name!r} ({at.call_id}): {at.reason}" if at else "")

    def when_stopped(self, call_id: str, wake: Callable[[], object]) -> None:
        """Have a call that waits for its abort woken when the replay ends elsewhere."""
        with self._lock:
            if self.stopped:
                wake()
            self._wakers[call_id] = wake

    def aborted(self, call_id: str) -> None:
        """A call that was cancelled when it was recorded was cancelled again."""
        with self._lock:
            self._waiting.pop(call_id, None)
            self._wakers.pop(call_id, None)
            self._settle(call_id, "hit")

    def not_aborted(self, call_id: str) -> ReplayStop:
        """Nothing cancelled such a call this time, or the replay has ended elsewhere; what to raise."""
        with self._lock:
            kind, name, abort = self._waiting.pop(call_id)
            self._wakers.pop(call_id, None)
            if self.stopped or self._open_ended:
                self._settle(call_id, "hit")
                return self.stop() if self.stopped else self._end("past_cut")
            self._settle(call_id, "missed")
            took = (abort.outcome.duration_ns or 0) / 1e9
            reason = (
                f"the recorded call was cancelled after {took:.1f} s without an answer, and nothing cancelled it here"
            )
            miss = Miss(reason=reason, known=True, nearest=abort.outcome, content_hash=abort.content_hash)
            return self._diverge(kind, name, call_id, miss, told=True)

    def _expect_abort(self, scope: str, kind: JournalKind, name: str, call_id: str, abort: Abort) -> Abort:
        if self._lies_after_cut(kind, abort.outcome):
            self._stop_at_cut(scope, kind, name, call_id, abort)
        if self._open_ended and self._matcher.is_used_up(scope):
            raise self._end("past_cut")
        self._waiting[call_id] = kind, name, abort
        self._running[call_id] = len(self.rows)
        self._add(kind, name, call_id, "running", abort.content_hash, abort.outcome.span_id)
        return abort

    def _end(self, why: Literal["past_cut", "diverged"]) -> ReplayStop:
        self.stopped = why
        for wake in self._wakers.values():
            wake()
        return self.stop()

    def _lies_after_cut(self, kind: JournalKind, outcome: Outcome) -> bool:
        # Values have no span of their own, so they cannot tell on which side of the cut they lie; a later model turn or
        # tool call will.
        # The same holds for what has no span, such as a tool's result that only a later request shows.
        if self._before_cut is None or kind == "value" or outcome.span_id is None:
            return False
        return outcome.span_id not in self._before_cut

    def _give(self, kind: JournalKind, name: str, call_id: str, hit: Hit) -> Hit:
        self.inferred = self.inferred or hit.inferred
        status: RowStatus = "reused" if hit.reused else "hit"
        edited = self._edits.outcomes.get(hit.outcome.span_id or "")
        if edited is not None:
            outcome = replace(edited, span_id=hit.outcome.span_id)
            self.reached.add(f"outcome {outcome.span_id}")
            hit, status = replace(hit, outcome=outcome, supplied=True), "supplied"
        else:
            self.answered.append(hit.outcome)
        self._add(kind, name, call_id, status, hit.content_hash, hit.outcome.span_id)
        return hit

    def _go_live(self, kind: JournalKind, name: str, call_id: str, content_hash: str) -> None:
        if kind == "value":
            self._add(kind, name, call_id, "live", content_hash)
            return
        self._running[call_id] = len(self.rows)
        self._add(kind, name, call_id, "running", content_hash)

    def _stop_at_cut(self, scope: str, kind: JournalKind, name: str, call_id: str, hit: Hit | Abort) -> None:
        """Ends the replay at its cut, unless the run left out calls that the recording made first."""
        start = hit.outcome.start_unix_nano or 0
        skipped = [
            other
            for other in self._matcher.unused(scope)
            if (other.start_unix_nano or 0) + (other.duration_ns or 0) <= start and other.span_id != hit.outcome.span_id
        ]
        if not skipped:
            raise self._end("past_cut")
        count = len(skipped)
        reason = f"the recording makes {count} other call{'s' * (count != 1)} before this one"
        miss = Miss(reason=reason, nearest=skipped[0], content_hash=hit.content_hash)
        raise self._diverge(kind, name, call_id, miss, cause="missing call")

    def _diverge(
        self, kind: JournalKind, name: str, call_id: str, miss: Miss, *, told: bool = False, cause: Cause | None = None
    ) -> ReplayStop:
        if not told:
            self._add(kind, name, call_id, "missed", miss.content_hash)
        self.divergence = Divergence(
            kind=_ROW_KINDS[kind],
            name=name,
            call_id=call_id,
            reason=miss.reason,
            differences=miss.differences,
            nearest_span_id=miss.nearest.span_id if miss.nearest else None,
            cause=cause or miss.cause or cause_of(miss.differences),
        )
        return self._end("diverged")

    def _add(
        self,
        kind: JournalKind,
        name: str,
        call_id: str,
        status: RowStatus,
        content_hash: str,
        origin_span_id: str | None = None,
    ) -> None:
        row = ReplayRow(
            call_id=call_id,
            kind=_ROW_KINDS[kind],
            name=name,
            status=status,
            origin_span_id=origin_span_id,
            content_hash=content_hash,
        )
        self.rows.append(row)
        self._tell(row)

    def _tell(self, row: ReplayRow) -> None:
        if self._on_row:
            self._on_row(row)


def _is_safe(effect: Effect | None, found: Hit | Abort | Miss) -> bool:
    """Whether doing the tool call for real changes nothing in the world that the recorded run did not change."""
    return effect == "pure" or (effect == "idempotent" and (not isinstance(found, Miss) or found.known))
