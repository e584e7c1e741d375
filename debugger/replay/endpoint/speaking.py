"""What the three protocols share when an answer is spoken: its facts, reasons to finish, and usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from runtime.messages import Message, OtherPart, Part, ToolCallPart, Usage
from runtime.models.wire import Wire

Finish: TypeAlias = Literal["stop", "length", "tool", "filter"]

PIECE: Final = 24
"""Characters in a piece of a stream: the pieces as they came are not recorded."""

_WORDS: Final[dict[str, Finish]] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "incomplete": "length",
    "tool_calls": "tool",
    "tool_call": "tool",
    "tool-calls": "tool",
    "tool_use": "tool",
    "function_call": "tool",
    "content_filter": "filter",
    "content-filter": "filter",
    "refusal": "filter",
    "safety": "filter",
}
"""The words of all protocols and conventions that do not mean a plain end."""

REFUSAL: Final = "refusal"
"""The type of an other part that holds a refusal as the model worded it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, whatever the protocol."""

    message: Message
    usage: Usage
    model: str
    id: str
    """Hex digits that no other answer of this run has."""
    created: int
    """Unix seconds."""

    @property
    def finish(self) -> Finish:
        """Why the answer ends, in our four words."""
        word = (self.message.finish_reason or "").lower()
        has_calls = any(isinstance(part, ToolCallPart) for part in self.message.parts)
        return _WORDS.get(word) or ("tool" if has_calls else "stop")

    def own_word(self, words: Mapping[Finish, str], others: frozenset[str] = frozenset()) -> str:
        """The reason in the protocol's words: as recorded where it is one of them."""
        word = self.message.finish_reason
        return word if word is not None and (word in words.values() or word in others) else words[self.finish]

    def parts(self) -> list[Part]:
        """The parts, each tool call with an id, since recordings of some producers have none."""
        out: list[Part] = []
        for number, part in enumerate(self.message.parts):
            if isinstance(part, ToolCallPart) and not part.id:
                part = ToolCallPart(f"call_{self.id}_{number}", part.name, part.arguments)
            out.append(part)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A failure as it goes over the wire."""

    status: int
    type: str
    message: str
    code: str | None = None
    body: Mapping[str, Any] | None = None
    """The body as recorded; None where only type and message are known."""
    retry_after: str | None = None
    """The header of that name, as recorded."""
    may_retry: bool = False
    """The program's SDK may try again, as it did when this was recorded."""


Event: TypeAlias = tuple[str | None, dict[str, Any]]
"""Name and data of a server-sent event; chat completions name none."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """One protocol as a server speaks it."""

    wire: Wire
    whole: Callable[[Answer], dict[str, Any]]
    events: Callable[[Answer, Mapping[str, Any]], Iterator[Event]]
    """Given the answer and the request's body."""
    fault: Callable[[Fault], dict[str, Any]]
    """The body of a failure."""
    last_line: str = ""
    """What closes a stream."""


def refusal_of(part: Part) -> str | None:
    """The words of a refusal; None for all other parts."""
    if isinstance(part, OtherPart) and part.type == REFUSAL:
        words = part.data.get("content", part.data.get("refusal"))
        return words if isinstance(words, str) else ""
    return None


def or_zero(number: int | None) -> int:
    """A count for protocols that want one."""
    return 0 if number is None else number
