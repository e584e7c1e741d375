"""The messages of a request, made anew from the answers and tool results of this run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runtime.messages import (
    ErrorInfo,
    Json,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    message_from_json,
)

from .forms import rewritten, same
from .script import AnswerOf, Given, Ref, ResultsOf, Script, Slot


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a tool call: a value, or an error."""

    value: Json = None
    error: ErrorInfo | None = None

    @property
    def shown(self) -> Json:
        """What a program tells the model of it."""
        return self.value if self.error is None else self.error.message

    def is_same(self, other: Result) -> bool:
        """Whether both say the same."""
        return self.error == other.error if self.error or other.error else same(self.value, other.value)


@dataclass(slots=True)
class Said:
    """What this run has heard so far, beside what the recorded one had."""

    script: Script
    answers: dict[int, Message] = field(default_factory=dict)
    """By turn."""
    results: dict[Ref, Result] = field(default_factory=dict)
    recorded: dict[Ref, Result] = field(default_factory=dict)
    """What had come of the same tool calls when they were recorded."""

    def message(self, slot: Slot, arguments: Json) -> Message:
        """The message of a slot.

        Args:
            slot: how it is made.
            arguments: of the tool call that opened the agent now.
        """
        recorded = message_from_json(slot.message)
        if isinstance(slot, AnswerOf):
            return self._answer(slot.turn, recorded)
        if isinstance(slot, ResultsOf):
            parts = zip(recorded.parts, slot.refs, strict=True)
            return replace(recorded, parts=tuple(self._result(part, ref) for part, ref in parts))
        return _with_arguments(recorded, slot, arguments)

    def _answer(self, turn: int, recorded: Message) -> Message:
        """The recorded form for the recorded answer; another answer in the same role and name."""
        said, was = self.answers.get(turn), self.script.turns[turn].answer
        if said is None or (was is not None and message_from_json(was).digest == said.digest):
            return recorded
        return Message(recorded.role, said.parts, recorded.name)

    def _result(self, part: Part, ref: Ref | None) -> Part:
        if ref is None or not isinstance(part, ToolCallResponsePart) or ref not in self.results:
            return part
        now, was = self.results[ref], self.recorded.get(ref, Result())
        if now.is_same(was):
            return part
        return replace(part, response=rewritten(part.response, was.shown, now.shown))


def _with_arguments(message: Message, slot: Given, arguments: Json) -> Message:
    if not slot.derived or not isinstance(arguments, Mapping):
        return message
    parts = list(message.parts)
    for each in slot.derived:
        part, value = parts[each.part], arguments.get(each.argument)
        if isinstance(part, TextPart) and isinstance(value, str):
            parts[each.part] = TextPart(part.content.replace(each.value, value))
    return replace(message, parts=tuple(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a program writes answers and results, for requests that were never recorded."""

    answer_role: str = "assistant"
    answer_name: str | None = None
    result_role: str = "tool"
    is_grouped: bool = False
    """All results of an answer stand in one message."""
    is_named: bool = False
    """The message has the tool's name."""

    @classmethod
    def of(cls, script: Script, near: Sequence[int]) -> Style:
        """Learned from the requests of the turns, else from any of the script."""
        turns = [script.turns[n] for n in near]
        slots = [slot for turn in (*turns, *script.turns) for slot in turn.slots]
        answer = next((slot.message for slot in slots if isinstance(slot, AnswerOf)), {})
        results = [slot for slot in slots if isinstance(slot, ResultsOf)]
        result = results[0].message if results else {}
        return cls(
            answer_role=answer.get("role", "assistant"),
            answer_name=answer.get("name"),
            result_role=result.get("role", "tool"),
            is_grouped=any(len(slot.refs) > 1 for slot in results),
            is_named=result.get("name") is not None,
        )

    def answer(self, said: Message) -> Message:
        """An answer as a message of the next request."""
        return Message(self.answer_role, said.parts, self.answer_name)

    def results(self, calls: Sequence[ToolCallPart], results: Sequence[Result]) -> list[Message]:
        """The results of an answer's tool calls as messages of the next request."""
        parts = [ToolCallResponsePart(call.id, _shown(result)) for call, result in zip(calls, results, strict=True)]
        if self.is_grouped:
            return [Message(self.result_role, tuple(parts))]
        names = [call.name if self.is_named else None for call in calls]
        return [Message(self.result_role, (part,), name) for part, name in zip(parts, names, strict=True)]


def _shown(result: Result) -> Json:
    return result.value if result.error is None else f"Error: {result.error.message}"
