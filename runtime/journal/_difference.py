"""What differs between two requests: part by part, down to the path of the value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ..messages import (
    Json,
    Message,
    Request,
    ToolDefinition,
    canonical_json,
    json_safe,
    message_to_json,
    parse_json_text,
)
from ._journal import AnyRequest

Cause: TypeAlias = Literal[
    "prompt text", "tool result", "tool set", "output schema", "model", "parameters", "tool arguments",
    "order", "extra call", "missing call",
]  # fmt: skip
"""What made a request miss."""

_CAUSES: dict[str, Cause] = {
    "tool": "tool set",
    "schema": "output schema",
    "model": "model",
    "provider": "model",
    "parameters": "parameters",
    "name": "tool arguments",
    "arguments": "tool arguments",
    "count": "extra call",
}

MOST = 50
"""No more differences than this are listed; the first is what matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference between a request and the nearest recorded one."""

    part: str
    """``message``, ``tool``, ``schema``, ``model``, ``provider``, ``parameters``, ``name``, ``arguments`` or
    ``count``."""
    path: str
    """Where in the request, such as ``messages[1].parts[0].content``."""
    recorded: Json
    actual: Json

    def to_json(self) -> dict[str, Json]:
        """The difference as the command line's JSON shows it."""
        return {"part": self.part, "path": self.path, "recorded": self.recorded, "actual": self.actual}


def differences_between(recorded: AnyRequest, actual: AnyRequest) -> tuple[Difference, ...]:
    """All differences, the parts that make a miss first; empty for equal requests.

    A part that one side lacks (tools, schema, model, provider are None there) is no difference. Sampling parameters
    come last: they are worth knowing, but make no miss.
    """
    out: list[Difference] = []
    for difference in _differences(recorded, actual):
        out.append(difference)
        if len(out) == MOST:
            break
    return tuple(out)


def _differences(recorded: AnyRequest, actual: AnyRequest) -> Iterator[Difference]:
    if isinstance(recorded, Request) and isinstance(actual, Request):
        yield from _message_differences(recorded.messages, actual.messages)
        if recorded.tools is not None and actual.tools is not None:
            yield from _tool_differences(recorded.tools, actual.tools)
        if recorded.output_schema is not None and actual.output_schema is not None:
            yield from json_differences("schema", "schema", recorded.output_schema, actual.output_schema)
        elif recorded.output_schema != actual.output_schema and recorded.tools is not None:
            # Only a recording that tells the tools is complete enough to say that there was no schema.
            yield Difference(part="schema", path="schema", recorded=recorded.output_schema, actual=actual.output_schema)
        if recorded.model is not None and actual.model is not None:
            yield from json_differences("model", "model", recorded.model, actual.model)
        if recorded.provider is not None and actual.provider is not None:
            yield from json_differences("provider", "provider", recorded.provider, actual.provider)
        yield from json_differences("parameters", "parameters", recorded.parameters, actual.parameters)
    elif not isinstance(recorded, Request) and not isinstance(actual, Request):
        yield from json_differences("name", "name", recorded.name, actual.name)
        was, now = parse_json_text(recorded.arguments), parse_json_text(actual.arguments)
        yield from json_differences("arguments", "arguments", was, now)


def changed_parameters(recorded: AnyRequest | None, actual: object) -> tuple[Difference, ...]:
    """The parameters that both requests tell, with another value; what only one side tells is no change."""
    if not isinstance(recorded, Request) or not isinstance(actual, Request):
        return ()
    was, now = recorded.parameters, actual.parameters
    both = [key for key in was if now.get(key) is not None and was[key] is not None and was[key] != now[key]]
    return tuple(Difference(part="parameters", path=f"parameters.{k}", recorded=was[k], actual=now[k]) for k in both)


def makes_miss(difference: Difference) -> bool:
    """False for what is compared and reported only."""
    return difference.part != "parameters"


def cause_of(differences: Sequence[Difference]) -> Cause:
    """The class of what made a request miss, by its first difference; without any it is a call more than recorded."""
    first = next(filter(makes_miss, differences), None)
    if first is None:
        return "parameters" if differences else "extra call"
    if first.part == "message":
        shown = first.actual if first.actual is not None else first.recorded
        parts = shown.get("parts") if isinstance(shown, Mapping) else None
        is_result = ".response" in first.path or any(
            isinstance(part, Mapping) and part.get("type") == "tool_call_response" for part in parts or ()
        )
        return "tool result" if is_result else "prompt text"
    return _CAUSES.get(first.part, "prompt text")


def cause_in_messages(recorded: AnyRequest, actual: AnyRequest) -> Cause | None:
    """What a conversation as a whole tells, where place by place would mislead; None where it tells nothing more.

    The same parts in another order are an order of calls; answers or tool results that only one side has, with all the
    rest as it was, are calls that only one side made.
    """
    if not isinstance(recorded, Request) or not isinstance(actual, Request):
        return None
    was, now = _parts_in(recorded.messages), _parts_in(actual.messages)
    if was == now:
        return None
    if Counter(was) == Counter(now):
        return "order"
    longer, shorter = (was, now) if len(was) > len(now) else (now, was)
    left = _beside(longer, shorter)
    if left is None or not any(part.is_from_a_call for part in left):
        return None
    return "missing call" if longer is was else "extra call"


class _Told(NamedTuple):
    """One part of a message."""

    role: str
    text: bytes
    is_from_a_call: bool
    """A model's answer or a tool's result."""


def _parts_in(messages: Sequence[Message]) -> list[_Told]:
    out: list[_Told] = []
    for message in messages:
        for part in message_to_json(message)["parts"]:
            from_call = message.role == "assistant" or part.get("type") == "tool_call_response"
            out.append(_Told(message.role, canonical_json(json_safe(part)[0]), from_call))
    return out


def _beside(longer: Sequence[_Told], shorter: Sequence[_Told]) -> list[_Told] | None:
    """What the longer one has beside all of the shorter in its order; None where it has not all of that."""
    out: list[_Told] = []
    at = 0
    for part in longer:
        if at < len(shorter) and part == shorter[at]:
            at += 1
        else:
            out.append(part)
    return out if at == len(shorter) else None


def _message_differences(recorded: tuple[Message, ...], actual: tuple[Message, ...]) -> Iterator[Difference]:
    for i in range(max(len(recorded), len(actual))):
        path = f"messages[{i}]"
        if i >= len(recorded):
            yield Difference(part="message", path=path, recorded=None, actual=message_to_json(actual[i]))
        elif i >= len(actual):
            yield Difference(part="message", path=path, recorded=message_to_json(recorded[i]), actual=None)
        elif recorded[i].digest != actual[i].digest:
            yield from json_differences("message", path, message_to_json(recorded[i]), message_to_json(actual[i]))


def _tool_differences(recorded: tuple[ToolDefinition, ...], actual: tuple[ToolDefinition, ...]) -> Iterator[Difference]:
    was = {tool.name: tool for tool in recorded}
    now = {tool.name: tool for tool in actual}
    for name in {**was, **now}:
        path = f"tools[{name}]"
        if name not in now:
            yield Difference(part="tool", path=path, recorded=was[name].to_json(), actual=None)
        elif name not in was:
            yield Difference(part="tool", path=path, recorded=None, actual=now[name].to_json())
        elif was[name].digest != now[name].digest:
            yield from json_differences("tool", path, was[name].to_json(), now[name].to_json())
    order_was, order_now = [t.name for t in recorded], [t.name for t in actual]
    if order_was != order_now and sorted(order_was) == sorted(order_now):
        yield Difference(part="tool", path="tools", recorded=order_was, actual=order_now)


def json_differences(part: str, path: str, recorded: Json, actual: Json) -> Iterator[Difference]:
    """The leaves at which two JSON values differ, in document order; iterative, since texts nest as they like."""
    stack: list[tuple[str, Json, Json]] = [(path, recorded, actual)]
    while stack:
        where, a, b = stack.pop()
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            keys = list({**a, **b})
            stack.extend((f"{where}.{key}", a.get(key), b.get(key)) for key in reversed(keys))
        elif isinstance(a, list) and isinstance(b, list):
            longest = range(max(len(a), len(b)))
            stack.extend(
                (f"{where}[{i}]", a[i] if i < len(a) else None, b[i] if i < len(b) else None) for i in reversed(longest)
            )
        elif a != b or type(a) is not type(b):
            yield Difference(part=part, path=where, recorded=a, actual=b)
