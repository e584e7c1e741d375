"""What the endpoint says to a request: the recorded answer, the real one, or that there is none.

Knows nothing of HTTP. Safe to ask from several threads: uses are counted by the one session.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from runtime.errors import ReplayStop
from runtime.journal import MISS_TYPE, Hit
from runtime.messages import (
    ErrorInfo,
    Json,
    Message,
    Outcome,
    Request,
    ToolCallPart,
    ToolRequest,
    Usage,
    message_from_json,
    message_to_json,
    text_of,
)
from runtime.models.wire import to_text

from ..model import LiveUse
from .faults import MISS_STATUS, recorded_fault
from .reading import KnownMessages, read_request, tool_results
from .speaking import Answer, Fault, Speaker
from .tape import SCOPE, Tape
from .trail import Trail, now

_SHOWN: Final = 3
_LONGEST: Final = 240


@dataclass(frozen=True, slots=True)
class Turn:
    """A model turn that goes to the real endpoint; closed by ``Door.turned_out``."""

    call_id: str
    span_id: str
    content_hash: str
    request: Request
    start_unix_nano: int
    said: tuple[Message, ...] = ()
    """The conversation up to it, without instructions: those hold for one request of responses only."""


class Door:
    """One program's door to its models and tools.

    Args:
        trail: where the run is written.
        tape: what answers; None records only, everything is done for real.
    """

    def __init__(self, trail: Trail, tape: Tape | None = None) -> None:
        self.trail = trail
        self.tape = tape
        self.requests = 0
        """Model requests so far."""
        self.last_text: str | None = None
        """The text of the last answer that the program was given."""
        self.last_error: ErrorInfo | None = None
        self.live: list[LiveUse] = []
        """What the real endpoint's answers used."""
        self.unread: list[str] = []
        """Paths that were asked for and that nothing here speaks."""
        self._known = KnownMessages()
        self._conversations: dict[str, tuple[Message, ...]] = {}
        """What was said up to an answer and in it, by the answer's id: a request of responses may go on from there."""
        self._answered = 0
        self._tools_told: dict[str, int] = {}
        self._seen: set[tuple[str, str]] = set()
        self._noted: dict[str, ToolCallPart] = {}
        """Tool calls whose results were seen, by id: each request brings them again, as the same objects."""
        self._turn_ends: dict[str, int] = {}
        self._running: dict[str, tuple[str, ToolRequest]] = {}
        self._lock = threading.Lock()

    def ask(self, speaker: Speaker, body: Mapping[str, Any]) -> Answer | Fault | Turn:
        """The answer to a model request, a failure, or the turn that is now done for real.

        Raises: UnreadableRequestError.
        """
        model = body.get("model")
        known = self.tape.providers if self.tape else {}
        provider = known.get(model, speaker.wire.provider) if isinstance(model, str) else speaker.wire.provider
        request = self._continued(read_request(speaker.wire, body, provider, self._known), body)
        name = request.model or "unknown"
        with self._lock:
            self.requests += 1
        self._note_tools(body, request)
        said = request.messages[1:] if body.get("instructions") else request.messages
        call_id = self.trail.call_id("prompt", name)
        span_id = self.trail.model_started(call_id, request, request.content_hash)
        if self.tape is None:
            return Turn(call_id, span_id, request.content_hash, request, now(), said)
        session = self.tape.session
        self.tape.comparison.note(request)
        try:
            hit = session.answer(SCOPE, "prompt", name, call_id, request)
        except ReplayStop as stop:
            message = self._why(stop.reason)
            missed = Outcome(status="error", error=ErrorInfo(MISS_TYPE, message))
            self.trail.model_ended(span_id, request.content_hash, missed, "none")
            return Fault(status=MISS_STATUS, type=MISS_TYPE, message=message)
        if hit is None:
            return Turn(call_id, span_id, request.content_hash, request, now(), said)
        found = self._recorded(hit, request, span_id, name)
        if isinstance(found, Answer):
            self._conversations[f"resp_{found.id}"] = (*said, found.message)
        return found

    def _continued(self, request: Request, body: Mapping[str, Any]) -> Request:
        """The request with what the answer that it names had come from, as the provider would put it together.

        Other recordings hold only what was sent; where such a one answers, the request stays as it is.
        """
        before = self._conversations.get(str(body.get("previous_response_id")))
        if before is None:
            return request
        system = request.messages[:1] if body.get("instructions") else ()
        whole = replace(request, messages=(*system, *before, *request.messages[len(system) :]))
        session = self.tape.session if self.tape else None
        if session is None or session.peek(SCOPE, "prompt", whole) is not None:
            return whole
        return request if session.peek(SCOPE, "prompt", request) is not None else whole

    def tokens_of(self, speaker: Speaker, body: Mapping[str, Any]) -> int | None:
        """How many tokens the recording tells for such a request; None where it holds none.

        Raises: UnreadableRequestError.
        """
        if self.tape is None:
            return None
        provider = self.tape.providers.get(str(body.get("model")), speaker.wire.provider)
        request = read_request(speaker.wire, body, provider, self._known)
        found = self.tape.session.peek(SCOPE, "prompt", request)
        return found.usage.input_tokens if found is not None else None

    def _recorded(self, hit: Hit, request: Request, span_id: str, name: str) -> Answer | Fault:
        outcome = hit.outcome
        served = "reused" if hit.reused else "journal"
        self.trail.model_ended(span_id, request.content_hash, outcome, served, outcome.span_id)
        if outcome.error is not None:
            with self._lock:
                self.last_error, self.last_text = outcome.error, None
            return recorded_fault(outcome.error)
        message = message_from_json(outcome.output)
        self._answered_with(message)
        with self._lock:
            self._answered += 1
            number = self._answered
        created = (outcome.start_unix_nano or 0) // 1_000_000_000
        id_ = f"{self.trail.trace_id[:16]}{number:08x}"
        return Answer(message=message, usage=outcome.usage, model=name, id=id_, created=created)

    def _answered_with(self, message: Message) -> None:
        with self._lock:
            self.last_error, self.last_text = None, text_of([message])
            for part in message.parts:
                if isinstance(part, ToolCallPart) and part.id:
                    self._turn_ends[part.id] = now()

    def turned_out(
        self,
        turn: Turn,
        message: Message | None,
        usage: Usage,
        error: ErrorInfo | None,
        *,
        response_id: str | None = None,
    ) -> None:
        """A real answer has come, or failed; no message and no error means that it was broken off."""
        if message is not None:
            self._answered_with(message)
            if response_id is not None:
                self._conversations[response_id] = (*turn.said, message)
        elif error is not None:
            error = self.trail.without_secrets(error)  # what is said of it at the end is no place for them either
            with self._lock:
                self.last_error, self.last_text = error, None
        outcome = Outcome(
            status="error" if error else "ok" if message is not None else "aborted",
            output=None if message is None else message_to_json(message),
            error=error,
            usage=usage,
            start_unix_nano=turn.start_unix_nano,
            duration_ns=now() - turn.start_unix_nano,
        )
        with self._lock:
            use = LiveUse(
                provider=turn.request.provider,
                model=turn.request.model,
                start_unix_nano=turn.start_unix_nano,
                usage=usage,
            )
            self.live.append(use)
        if self.tape is not None:
            self.tape.session.settle(turn.call_id, failed=message is None)
        self.trail.model_ended(turn.span_id, turn.content_hash, outcome, "live")

    # Tools -------------------------------------------------------------------------------------------------

    def _note_tools(self, body: Mapping[str, Any], request: Request) -> None:
        """Tools whose results stand in the request, and that no adapter told of, have really run in the program."""
        asked = {p.id: p for m in request.messages for p in m.parts if isinstance(p, ToolCallPart) and p.id}
        for id_, result in tool_results(body):
            part = asked.get(id_)
            if part is None or self._noted.get(id_) is part:
                continue
            call = ToolRequest(name=part.name, arguments=part.arguments)
            key = (id_, call.content_hash)
            with self._lock:
                self._noted[id_] = part
                if key in self._seen:
                    continue
                self._seen.add(key)
                told = self._tools_told.get(call.content_hash, 0)
                if told:
                    self._tools_told[call.content_hash] = told - 1
                    continue
            call_id = self.trail.call_id("tool", call.name)
            span_id = self.trail.tool_started(call_id, call, id_, self._turn_ends.get(id_))
            # A failure is part of the conversation here: what the model was shown is the result.
            self.trail.tool_ended(
                span_id, call, Outcome(status="ok", output=result), None if self.tape is None else "live"
            )
            if self.tape is not None:
                self.tape.session.note_live("tool", call.name, call_id, call.content_hash)

    def tool(self, name: str, arguments: Json, tool_call_id: str | None) -> dict[str, Json]:
        """What an adapter is to do with a tool call.

        Returns: ``{"do": "give", "value", "text", "error"}`` (text: what the model was shown, or None), ``{"do": "run",
            "call_id"}`` for a call to be done for real and told by ``tool_ran``, or ``{"do": "stop", "message"}``.
        """
        request = ToolRequest(name=name, arguments=arguments)
        asked = self.tape.requests.get(tool_call_id or "") if self.tape else None
        if asked is not None and asked.name == name:
            request = asked
        call_id = self.trail.call_id("tool", name)
        with self._lock:
            self._tools_told[request.content_hash] = self._tools_told.get(request.content_hash, 0) + 1
        span_id = self.trail.tool_started(call_id, request, tool_call_id, None)
        if self.tape is None:
            with self._lock:
                self._running[call_id] = (span_id, request)
            return {"do": "run", "call_id": call_id}
        try:
            hit = self.tape.session.answer(SCOPE, "tool", name, call_id, request)
        except ReplayStop as stop:
            message = self._why(stop.reason)
            missed = Outcome(status="error", error=ErrorInfo(MISS_TYPE, message))
            self.trail.tool_ended(span_id, request, missed, "none")
            return {"do": "stop", "message": message}
        if hit is None:
            with self._lock:
                self._running[call_id] = (span_id, request)
            return {"do": "run", "call_id": call_id}
        outcome = hit.outcome
        origin = outcome.span_id
        if origin is not None and origin in self.tape.inside:
            self.tape.session.use_up(SCOPE, origin, self.tape.inside[origin])
        self.trail.tool_ended(span_id, request, outcome, "reused" if hit.reused else "journal", origin)
        text = self.tape.texts.get(tool_call_id or "")
        if text is None:
            text = self.tape.texts_of_spans.get(origin or "")
        if text is None and origin is None:
            text = to_text(outcome.output)
        error = outcome.error.to_json() if outcome.error else None
        return {"do": "give", "value": outcome.output, "text": text, "error": error}

    def tool_ran(self, call_id: str, value: Json, error: ErrorInfo | None) -> None:
        """A tool that was done for real has ended."""
        with self._lock:
            found = self._running.pop(call_id, None)
        if found is None:
            return
        span_id, request = found
        outcome = Outcome(status="error" if error else "ok", output=None if error else value, error=error)
        if self.tape is not None:
            self.tape.session.settle(call_id, failed=error is not None)
        self.trail.tool_ended(span_id, request, outcome, None if self.tape is None else "live")

    def _why(self, reason: str) -> str:
        """The message of a miss, as the program sees it."""
        if reason == "past_cut":
            return "retrospan: the replay has come to its cut; the recording answers nothing after it"
        found = self.tape.session.divergence if self.tape else None
        if found is None:
            return "retrospan: the replay has diverged from the recording"
        lines = [f"retrospan: no recorded answer for {found.name}: {found.reason}"]
        for difference in found.differences[:_SHOWN]:
            lines.append(f"{difference.path}: recorded {_short(difference.recorded)}, now {_short(difference.actual)}")
        if len(found.differences) > _SHOWN:
            lines.append(f"and {len(found.differences) - _SHOWN} more differences")
        return "\n".join(lines)


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
