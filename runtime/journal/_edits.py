"""Edits of a replay: patches of outgoing requests, of recorded outcomes and of memory. The recording stays as it is.

A patch of a request names the recorded message or part that it replaces, so it holds in every later request that
repeats the same one, whichever program makes it. It begins with a recorded call: requests that the recording answers
with an earlier one are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..messages import Json, Message, Outcome, Request, ToolDefinition, message_from_json, message_to_json

PatchKind: TypeAlias = Literal["message", "add", "tool", "model", "parameter", "schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPatch:
    """One change of outgoing requests."""

    kind: PatchKind
    since_unix_nano: int | None = None
    """Start of the recorded call that it begins with; None begins at once."""
    agent_id: str | None = None
    """Whose requests; None where the message itself tells."""
    index: int = 0
    """Of ``message``: where it stands; of ``add``: after which message."""
    digest: str = ""
    """Of that recorded message."""
    name: str = ""
    """Of the tool or parameter."""
    value: Json = None
    """A message (``message_to_json``), tool definition, model, schema or parameter; None takes it away."""

    def to_json(self) -> dict[str, Json]:
        """As JSON, for another process."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPatch:
    """A value that an agent's memory holds from the cut on."""

    scope: str
    """The frame's call id."""
    since_unix_nano: int | None
    """Recorded calls of the frame that started before have been answered first; None writes at the agent's start."""
    key: str
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """All edits of one replay."""

    requests: tuple[RequestPatch, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """By the recorded span whose answer they replace."""
    memory: tuple[MemoryPatch, ...] = ()
    inputs: tuple[Json, ...] = ()
    """Messages of the user (``message_to_json``) that follow the recorded end; who runs the conversation says them."""
    uses: tuple[str, ...] = ()
    """What each edit came to, in their order: ``request N``, ``outcome SPAN``, ``memory N`` or ``input N``."""

    def applied(self, agent_id: str, request: Request, start_unix_nano: int | None) -> Request:
        """The request as it goes out.

        Args:
            agent_id: who asks.
            request: as the program made it.
            start_unix_nano: of the recorded call that would answer it; None where none does.
        """
        patches = [patch for patch in self.requests if _is_due(patch, agent_id, start_unix_nano)]
        return _with_messages(_with_parts(request, patches), patches) if patches else request

    def reached(self, agent_id: str, request: Request, start_unix_nano: int | None) -> Iterator[str]:
        """The patches of requests that ``applied`` finds a place for, named as in ``uses``."""
        for n, patch in enumerate(self.requests):
            is_message = patch.kind in ("message", "add")
            has_place = not is_message or _place(request.messages, patch) is not None
            if has_place and _is_due(patch, agent_id, start_unix_nano):
                yield f"request {n}"

    def to_json(self) -> dict[str, Json]:
        """As JSON, for another process."""
        return {
            "requests": [patch.to_json() for patch in self.requests],
            "outcomes": {span: outcome.to_json() for span, outcome in self.outcomes.items()},
            "memory": [{name: getattr(patch, name) for name in patch.__slots__} for patch in self.memory],
            "inputs": list(self.inputs),
            "uses": list(self.uses),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Edits:
        """What ``to_json`` wrote."""
        return cls(
            requests=tuple(RequestPatch(**each) for each in data["requests"]),
            outcomes={span: Outcome.from_json(each) for span, each in data["outcomes"].items()},
            memory=tuple(MemoryPatch(**each) for each in data["memory"]),
            inputs=tuple(data["inputs"]),
            uses=tuple(data["uses"]),
        )


def _is_due(patch: RequestPatch, agent_id: str, start: int | None) -> bool:
    if patch.agent_id is not None and patch.agent_id != agent_id:
        return False
    return patch.since_unix_nano is None or start is None or start >= patch.since_unix_nano


def _with_parts(request: Request, patches: Sequence[RequestPatch]) -> Request:
    for patch in patches:
        match patch.kind:
            case "model":
                request = replace(request, model=patch.value)
            case "schema":
                request = replace(request, output_schema=patch.value)
            case "parameter":
                kept = {key: value for key, value in request.parameters.items() if key != patch.name}
                new = {} if patch.value is None else {patch.name: patch.value}
                request = replace(request, parameters=kept | new)
            case "tool":
                request = replace(request, tools=_with_tool(request.tools, patch))
    return request


def _with_tool(tools: tuple[ToolDefinition, ...] | None, patch: RequestPatch) -> tuple[ToolDefinition, ...]:
    new = None if patch.value is None else ToolDefinition.from_json(patch.value)
    if all(tool.name != patch.name for tool in tools or ()):
        return (*(tools or ()), *([new] if new else []))
    changed = (new if tool.name == patch.name else tool for tool in tools or ())
    return tuple(tool for tool in changed if tool is not None)


def _with_messages(request: Request, patches: Sequence[RequestPatch]) -> Request:
    """Places are those of the request as the program made it, whatever the other patches add."""
    messages = request.messages
    out: list[list[Message]] = [[message] for message in messages]
    for patch in patches:
        if patch.kind not in ("message", "add"):
            continue
        place = _place(messages, patch)
        if place is None:
            continue
        new = [] if patch.value is None else [message_from_json(patch.value)]
        out[place] = [*out[place], *new] if patch.kind == "add" else [*new, *out[place][1:]]
    return replace(request, messages=tuple(message for group in out for message in group))


def _place(messages: Sequence[Message], patch: RequestPatch) -> int | None:
    """Where the recorded message stands: at its place, else wherever it is first."""
    if patch.index < len(messages) and messages[patch.index].digest == patch.digest:
        return patch.index
    return next((i for i, message in enumerate(messages) if message.digest == patch.digest), None)


def edited_message(message: Message, value: Json) -> Json:
    """A recorded message with another text, or another message; as JSON. None takes it away."""
    if value is None or isinstance(value, Mapping):
        return None if value is None else message_to_json(message_from_json(value))
    shown = message_to_json(message)
    texts = [i for i, part in enumerate(shown["parts"]) if part["type"] == "text"]
    if not texts:
        return {**shown, "parts": [*shown["parts"], {"type": "text", "content": str(value)}]}
    parts = [part for i, part in enumerate(shown["parts"]) if i not in texts[1:]]
    parts[texts[0]] = {"type": "text", "content": str(value)}
    return {**shown, "parts": parts}
