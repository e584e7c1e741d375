"""The tool calls in the answers of a trace's models, and which of them a tool's span carried out.

A span that tells no id is matched by name, arguments and time. Each tool call is looked at a bounded number of times,
however many spans of the trace tell no id.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Final

from runtime.messages import Call, ToolCallPart, parse_json_text

_DEEPEST: Final = 8
"""Levels of arguments that tell calls apart at once; what differs below only is compared one by one."""


@dataclass(slots=True)
class Asked:
    """A tool call in a model's answer."""

    part: ToolCallPart
    turn: int
    start: int
    is_taken: bool = False


def asked_in(calls: Iterable[Call]) -> Iterator[Asked]:
    """The tool calls in the answers of the models, in the order of the calls."""
    for turn, call in enumerate(calls):
        if call.kind == "llm":
            for message in call.output_messages or ():
                for part in message.parts:
                    if isinstance(part, ToolCallPart):
                        yield Asked(part, turn, call.start_unix_nano or 0)


@dataclass(slots=True)
class _Waiting:
    """Tool calls that look alike."""

    later: list[Asked] = field(default_factory=list)
    """Those that started after all that was asked about so far, the earliest last."""
    open: list[tuple[int, int, Asked]] = field(default_factory=list)
    """A heap of the others, by turn: the latest first."""


class ByName:
    """Finds the tool call of a span that tells no id. Is asked in the order in which the spans started.

    Args: asked: the tool calls of the trace; one that is taken meanwhile answers no more.
    """

    def __init__(self, asked: Iterable[Asked]) -> None:
        self._alike: dict[Hashable, _Waiting] = {}
        # The earliest last, so that it can be taken from the end.
        for one in sorted(asked, key=lambda one: -one.start):
            for key in _keys(one.part):
                self._alike.setdefault(key, _Waiting()).later.append(one)

    def find(self, call: Call) -> Asked | None:
        """The one tool call of the latest turn before the span that it can be; None where there are several.

        Cost: O(log of the tool calls that look alike).
        """
        key = _key(call.tool_name, None if call.arguments is None else parse_json_text(call.arguments))
        waiting = self._alike.get(key)
        if waiting is None:
            return None
        self._open_until(waiting, call.start_unix_nano)
        found = self._next(waiting, call)
        if found is None:
            return None
        second = self._next(waiting, call, found.turn)
        for one in (found, second):
            if one is not None:
                _push(waiting, one)
        return found if second is None else None

    def _open_until(self, waiting: _Waiting, start: int | None) -> None:
        later = waiting.later
        while later and (start is None or later[-1].start <= start):
            _push(waiting, later.pop())

    def _next(self, waiting: _Waiting, call: Call, turn: int | None = None) -> Asked | None:
        """The next one of the latest turn, or of the given one, out of the heap."""
        passed: list[Asked] = []
        found = None
        while waiting.open and (turn is None or -waiting.open[0][0] == turn):
            one = heappop(waiting.open)[2]
            if one.is_taken:
                continue
            if call.arguments is None or _same_arguments(call.arguments, one.part.arguments):
                found = one
                break
            passed.append(one)
        for one in passed:
            _push(waiting, one)
        return found


def _push(waiting: _Waiting, one: Asked) -> None:
    heappush(waiting.open, (-one.turn, id(one), one))


def _keys(part: ToolCallPart) -> Collection[Hashable]:
    """Under what a tool call is found: its name; name and arguments, also printed; name and its only bare value."""
    arguments = parse_json_text(part.arguments)
    keys = {_key(part.name, None), _key(part.name, arguments), _key(part.name, printed(arguments))}
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        keys.add(_key(part.name, next(iter(arguments.values()))))
    return keys


def _key(name: str | None, arguments: Any) -> Hashable:
    """Equal for what ``_same_arguments`` holds to be equal."""
    return name, None if arguments is None else (_frozen(arguments),)


def _frozen(value: Any, depth: int = 0) -> Hashable:
    """A value that is equal where the JSON values are."""
    if isinstance(value, Mapping):
        if depth >= _DEEPEST:
            return Mapping
        return frozenset((key, _frozen(each, depth + 1)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(_frozen(each, depth + 1) for each in value) if depth < _DEEPEST else tuple
    return value if isinstance(value, Hashable) else None


def printed(arguments: Any) -> Any:
    """The arguments with numbers and truth values as text, as a decorator may have written them (Netra)."""
    if not isinstance(arguments, Mapping):
        return arguments
    return {name: str(value) if type(value) in (int, float, bool) else value for name, value in arguments.items()}


def _same_arguments(recorded: Any, asked: Any) -> bool:
    """Equal, or the same with numbers as text, or the bare value of a tool's only argument."""
    recorded, asked = parse_json_text(recorded), parse_json_text(asked)
    if recorded == asked or recorded == printed(asked):
        return True
    return isinstance(asked, Mapping) and len(asked) == 1 and recorded in asked.values()
