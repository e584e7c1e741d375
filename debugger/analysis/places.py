"""The places of a trace where text stands, each message once: what a phrase is looked for in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from runtime.messages import (
    Call,
    CallKind,
    ErrorInfo,
    Json,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    parse_json_text,
)

from .document import json_text

Kind: TypeAlias = Literal["message", "answer", "reasoning", "request", "arguments", "input", "result", "error"]
"""What stands there: a message that a model was given, what it said, thought or asked a tool for; what a tool or agent
was given and gave."""

_COMES_OUT: frozenset[Kind] = frozenset(("answer", "reasoning", "request", "result", "error"))
_TELL_EVERY = 500


@dataclass(frozen=True, slots=True)
class Place:
    """A text and where it first stood."""

    number: int
    """In the order of ``Places.places``."""
    call: int
    """Which call of the trace."""
    kind: Kind
    role: str
    """Of a message."""
    tool_call_id: str | None
    time: int
    """When it was there, in Unix nanoseconds."""
    text: str = field(repr=False)

    @property
    def comes_out(self) -> bool:
        """It is what the call gave, not what it was given."""
        return self.kind in _COMES_OUT


@dataclass(frozen=True, slots=True)
class Places:
    """All places of a trace, with what leads from one to another."""

    calls: Sequence[Call] = field(repr=False)
    places: Sequence[Place] = field(repr=False)
    of_call: Mapping[int, Sequence[int]] = field(repr=False)
    """The places of a call's own; messages that an earlier call held are not among them."""
    of_message: Mapping[str, Sequence[int]] = field(repr=False)
    """The places of a message, by its digest."""
    by_span: Mapping[str, int] = field(repr=False)
    """Which call a span is; the first where several share the id."""
    results: Mapping[str, Sequence[int]] = field(repr=False)
    """The calls of tools by the id that their request and their response name: some producers begin anew with each
    agent, so that it may be several."""
    requests: Mapping[str, Sequence[int]] = field(repr=False)
    """The places where a model asked for a tool call."""

    def inputs(self, call: int) -> Iterator[int]:
        """The places of the messages that a model call was given, the last ones first."""
        for message in reversed(self.calls[call].input_messages or ()):
            yield from reversed(self.of_message.get(message.digest, ()))

    def above(self, call: int) -> Iterator[int]:
        """The calls around a call, the nearest first."""
        seen = {call}
        parent = self.calls[call].parent_span_id
        while parent is not None and (at := self.by_span.get(parent)) is not None and at not in seen:
            seen.add(at)
            yield at
            parent = self.calls[at].parent_span_id

    def owner(self, call: int) -> int | None:
        """The agent that a call belongs to."""
        return next((at for at in self.above(call) if self.calls[at].kind == "agent"), None)

    def kind_of(self, call: int) -> CallKind:
        """The kind of a call."""
        return self.calls[call].kind


class _Collector:
    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.places: list[Place] = []
        self.of_call: dict[int, list[int]] = {}
        self.of_message: dict[str, Sequence[int]] = {}
        self.seen: set[int] = set()
        """Messages by identity: those that a conversation repeats are mostly one object, known without its digest."""
        self.results: dict[str, list[int]] = {}
        self.requests: dict[str, list[int]] = {}

    def add(self, call: int, kind: Kind, text: str, time: int, role: str = "", id_: str | None = None) -> None:
        number = len(self.places)
        self.places.append(Place(number, call, kind, role, id_, time, text))
        self.of_call.setdefault(call, []).append(number)
        if kind == "request" and id_:
            self.requests.setdefault(id_, []).append(number)

    def message(self, call: int, message: Message, time: int, *, is_answer: bool) -> None:
        if id(message) in self.seen:
            return
        self.seen.add(id(message))
        digest = message.digest
        if digest in self.of_message:
            return
        first = len(self.places)
        for part in message.parts:
            match part:
                case TextPart(content):
                    self.add(call, "answer" if is_answer else "message", _plain(content), time, message.role)
                case ReasoningPart(content):
                    self.add(call, "reasoning" if is_answer else "message", content, time, message.role)
                case ToolCallPart(id_, name, arguments):
                    text = f"{name}\n{_plain(arguments)}"
                    self.add(call, "request" if is_answer else "message", text, time, message.role, id_)
                case ToolCallResponsePart(id_, response):
                    self.add(call, "message", _plain(response), time, "tool", id_)
                case _:
                    continue
        self.of_message[digest] = tuple(range(first, len(self.places)))

    def call(self, number: int) -> None:
        call = self.calls[number]
        start = call.start_unix_nano or 0
        end = max(call.end_unix_nano or start, start)
        for message in call.input_messages or ():
            self.message(number, message, start, is_answer=False)
        if call.arguments is not None:
            self.add(number, "arguments", _plain(call.arguments), start)
        if call.input is not None:
            self.add(number, "input", _plain(call.input), start)
        for message in call.output_messages or ():
            self.message(number, message, end, is_answer=True)
        if call.has_result:
            self.add(number, "result", _plain(call.result), end)
        if call.error is not None and (text := _error_text(call.error)):
            self.add(number, "error", text, end)
        if call.kind == "tool" and call.tool_call_id:
            self.results.setdefault(call.tool_call_id, []).append(number)


def places_of(calls: Sequence[Call], tell: Callable[[int], None] = lambda _: None) -> Places:
    """The places of a trace.

    Args:
        calls: all of it, in timeline order.
        tell: told now and then how many calls are done; what it raises ends the work.

    Cost: one pass over all messages, of which each is read once; call it in a worker.
    """
    out = _Collector(calls)
    by_span: dict[str, int] = {}
    for number, call in enumerate(calls):
        if not number % _TELL_EVERY:
            tell(number)
        by_span.setdefault(call.span_id, number)
        out.call(number)
    return Places(calls, out.places, out.of_call, out.of_message, by_span, out.results, out.requests)


def _error_text(error: ErrorInfo) -> str:
    """An error as it is told to a model: its class and its message, in one text as both come from the same call."""
    # "error" stands where no class was recorded: nobody wrote it, so nothing can have come from it.
    return ": ".join(part for part in ("" if error.type == "error" else error.type, error.message) if part)


def _plain(value: Json) -> str:
    """A value as text that reads like what people and models write: ``key: value`` by the line, texts as they are."""
    lines: list[str] = []
    _into(lines, parse_json_text(value), "", 0)
    return "\n".join(lines)


def _into(lines: list[str], value: Json, name: str, depth: int) -> None:
    if depth < 40 and isinstance(value, Mapping):
        if name:
            lines.append(name.strip())
        for key, item in value.items():
            _into(lines, item, f"{key}: ", depth + 1)
    elif depth < 40 and isinstance(value, list | tuple):
        for item in value:
            _into(lines, item, name, depth + 1)
    else:
        lines.append(name + (value if isinstance(value, str) else json_text(value)))
