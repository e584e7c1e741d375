"""How each request to a model follows from what came before it: earlier answers, tool results, and what is new.

A request begins with the messages of an earlier one wherever it can, so that a whole conversation is told by its
differences. What comes after is looked up among the earlier answers and their tool calls; only what is found in
neither is given as recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runtime.messages import (
    Call,
    Json,
    Message,
    ToolCallPart,
    ToolCallResponsePart,
    canonical_json,
    json_safe,
    message_to_json,
    parse_json_text,
    text_of,
)

from .script import AnswerOf, Given, Reason, Ref, ResultsOf, Settings, Slot, Turn


@dataclass(slots=True)
class Turns:
    """All requests of a trace, in the order of their starts."""

    turns: list[Turn] = field(default_factory=list)
    settings: list[Settings] = field(default_factory=list)
    shown: dict[Ref, tuple[int, Json]] = field(default_factory=dict)
    """Tool calls whose result stands in a later request: the first such turn, and the result as it stands there."""
    asked: dict[Ref, ToolCallPart] = field(default_factory=dict)
    """All tool calls in recorded answers."""


def turns_of(calls: Sequence[Call], frames: Mapping[str, str]) -> Turns:
    """The turns of a trace.

    Args:
        calls: its model calls, by start.
        frames: for each of their spans the frame that it belongs to, by any name.
    """
    return _Derivation(calls, frames).run()


def calls_in(message: Message | None) -> list[ToolCallPart]:
    """The tool calls of an answer, in order."""
    return [part for part in message.parts if isinstance(part, ToolCallPart)] if message else []


def answer_of(call: Call) -> Message | None:
    """The answer that a replay gives again: the first, as in the journal."""
    return call.output_messages[0] if call.output_messages and call.error is None else None


class _Derivation:
    def __init__(self, calls: Sequence[Call], frames: Mapping[str, str]) -> None:
        self._calls = calls
        self._frames = [frames.get(call.span_id, "") for call in calls]
        self._out = Turns()
        self._known_settings: dict[bytes, int] = {}
        self._whole: dict[bytes, int] = {}
        """Requests by all their messages: the latest turn that asked exactly so."""
        self._by_id: dict[str, Ref] = {}
        """The latest tool call of each id; many producers count anew in each answer."""
        self._by_calls: dict[bytes, list[int]] = {}
        self._by_text: dict[str, list[int]] = {}
        self._ids: list[dict[str, Ref]] = []
        """Per turn: the tool calls of its conversation by id."""
        self._told: dict[str, set[str]] = {}
        """Per frame: the digests of all messages that its requests held."""

    def run(self) -> Turns:
        for n, call in enumerate(self._calls):
            self._out.turns.append(self._turn(n, call))
            self._learn(n, call)
        return self._out

    def _learn(self, n: int, call: Call) -> None:
        """The answer of a turn, for the requests after it."""
        answer = answer_of(call)
        asked = calls_in(answer)
        for place, part in enumerate(asked):
            ref = Ref(n, place)
            self._out.asked[ref] = part
            if part.id is not None:
                self._by_id[part.id] = ref
        if answer is None:
            return
        if asked:
            for with_ids in (True, False):
                self._by_calls.setdefault(_key_of(asked, with_ids), []).append(n)
        elif text := text_of([answer]).strip():
            self._by_text.setdefault(text, []).append(n)

    def _turn(self, n: int, call: Call) -> Turn:
        messages = call.input_messages
        answer = answer_of(call)
        error = (call.error.type, call.error.message) if call.error else None
        slots: list[Slot] = []
        base: int | None = None
        kept = 0
        if messages is not None:
            base, kept, whole = self._base(n, messages)
            slots = _Request(self, n, base, messages[kept:]).slots()
            self._whole[whole] = n
            self._told.setdefault(self._frames[n], set()).update(m.digest for m in messages[kept:])
        else:
            self._ids.append({})
        return Turn(
            span_id=call.span_id,
            settings=self._settings(call),
            base=base,
            kept=kept,
            slots=tuple(slots),
            answer=message_to_json(answer) if answer is not None and call.lost is None else None,
            error=error,
            is_known=messages is not None,
        )

    def _base(self, n: int, messages: Sequence[Message]) -> tuple[int | None, int, bytes]:
        """The latest turn whose whole request stands at the beginning of this one, and how long that is."""
        base, kept = None, 0
        rolling = hashlib.sha256()
        for i, message in enumerate(messages):
            rolling.update(message.digest.encode())
            found = self._whole.get(rolling.digest())
            if found is not None:
                base, kept = found, i + 1
        return base, kept, rolling.digest()

    def _settings(self, call: Call) -> int:
        tools = None if call.tool_definitions is None else tuple(tool.to_json() for tool in call.tool_definitions)
        schema = None if call.output_schema is None else dict(call.output_schema)
        made = Settings(tools, schema, call.model, call.provider, dict(call.parameters), call.api)
        key = canonical_json(json_safe([tools, schema, call.model, call.provider, made.parameters, call.api])[0])
        if key not in self._known_settings:
            self._known_settings[key] = len(self._out.settings)
            self._out.settings.append(made)
        return self._known_settings[key]


class _Request:
    """The messages of one request after those of its base."""

    def __init__(self, known: _Derivation, n: int, base: int | None, messages: Sequence[Message]) -> None:
        self._known = known
        self._n = n
        self._base = base
        self._messages = messages
        self._ids: dict[str, Ref] = {} if base is None else dict(known._ids[base])
        known._ids.append(self._ids)
        self._last: int | None = None
        """The turn of the last answer."""
        self._unanswered: list[Ref] = []
        """The calls of that answer, for results that name no call."""

    def slots(self) -> list[Slot]:
        out: list[Slot] = []
        fresh: list[int] = []
        for message in self._messages:
            turn = self._answering(message)
            if turn is not None:
                self._follow(turn)
                out.append(AnswerOf(turn, message_to_json(message)))
                continue
            refs = self._answered(message)
            if any(ref is not None for ref in refs):
                out.append(ResultsOf(message_to_json(message), refs))
                continue
            fresh.append(len(out))
            out.append(Given(message_to_json(message), "start"))
        if self._base is not None or any(not isinstance(slot, Given) for slot in out):
            self._reasons(out, fresh)
        return out

    def _reasons(self, slots: list[Slot], fresh: Sequence[int]) -> None:
        """Why messages are given in a request that goes on with a conversation."""
        told = self._known._told.get(self._known._frames[self._n])
        for i in fresh:
            message = self._messages[i]
            reason: Reason = "input" if message.role == "user" else "rewritten"
            if self._base is None and (told is None or message.digest in told):
                # A history that was handed over, or was cut at its beginning.
                reason = "start"
            slots[i] = Given(message_to_json(message), reason)

    def _answering(self, message: Message) -> int | None:
        """The turn whose answer the message is."""
        known = self._known
        asked = calls_in(message)
        if asked:
            for with_ids in (True, False):
                found = self._nearest(known._by_calls.get(_key_of(asked, with_ids), ()))
                if found is not None:
                    return found
            # The program changed the arguments; the ids still tell.
            turns = {ref.turn if (ref := known._by_id.get(part.id or "")) else None for part in asked}
            return turns.pop() if len(turns) == 1 else None
        if message.role in ("user", "system", "tool", "developer"):
            return None
        return self._nearest(known._by_text.get(text_of([message]).strip(), ()))

    def _nearest(self, turns: Sequence[int]) -> int | None:
        """Of several equal answers the next one in the conversation, of the same frame where there is one."""
        if not turns:
            return None
        after = -1 if self._last is None else self._last
        if self._last is None and self._base is not None:
            after = self._base - 1
        frames = self._known._frames
        own = [turn for turn in turns if frames[turn] == frames[self._n]] or list(turns)
        return next((turn for turn in own if turn > after), own[-1])

    def _follow(self, turn: int) -> None:
        self._last = turn
        known = self._known
        asked = calls_in(answer_of(known._calls[turn]))
        self._unanswered = [Ref(turn, place) for place in range(len(asked))]
        self._ids.update({part.id: Ref(turn, i) for i, part in enumerate(asked) if part.id is not None})

    def _answered(self, message: Message) -> tuple[Ref | None, ...]:
        """Per part the tool call that it answers."""
        refs: list[Ref | None] = []
        for part in message.parts:
            ref: Ref | None = None
            if isinstance(part, ToolCallResponsePart):
                if part.id is not None:
                    ref = self._ids.get(part.id) or self._known._by_id.get(part.id)
                elif self._unanswered:
                    ref = self._unanswered[0]
                if ref is not None:
                    self._unanswered = [open_ for open_ in self._unanswered if open_ != ref]
                    self._known._out.shown.setdefault(ref, (self._n, parse_json_text(part.response)))
            refs.append(ref)
        return tuple(refs)


def _key_of(calls: Sequence[ToolCallPart], with_ids: bool) -> bytes:
    told = [[part.id if with_ids else None, part.name, parse_json_text(part.arguments)] for part in calls]
    return canonical_json(json_safe(told)[0])
