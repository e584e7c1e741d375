"""A request's body, in any of the three protocols, as a request of the one vocabulary.

Messages and tools are read by the conventions' reader, the same that reads what instrumentations copied out of such
bodies into traces: so a request and its recording come out alike.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from runtime.messages import Json, Message, Request, ToolDefinition
from runtime.models.wire import Wire

from ...conventions.shapes import messages_of, plain_content, tool_definition_of
from ...errors import ReplayError

_CONTENT: Final = {
    "chat": ("messages",),
    "completions": ("prompt",),
    "responses": ("instructions", "input"),
    "messages": ("system", "messages"),
}
"""Where the messages of a body lie, by protocol."""
_NO_PARAMETERS: Final = frozenset(
    (
        "model", "messages", "prompt", "input", "instructions", "system", "tools", "functions", "response_format",
        "text", "output_format", "output_config", "stream", "stream_options", "user", "safety_identifier", "metadata",
        "store", "prompt_cache_key", "include", "previous_response_id", "background", "service_tier",
    )
)  # fmt: skip
"""What is read elsewhere, or says how to deliver an answer and not which one."""

_MOST_KNOWN: Final = 50_000
_ANY_MESSAGE: Final = {"role": "user", "content": ""}


class UnreadableRequestError(ReplayError):
    """A body that is no request of its protocol."""


class KnownMessages:
    """Messages by what they were read from: each request brings its conversation again, all but the end unchanged.

    Equal messages are one object, so that each is read and hashed once. May be used by several threads.
    """

    def __init__(self) -> None:
        self._read: dict[bytes, tuple[Message, ...]] = {}

    def of(self, content: Mapping[str, Any], key: str) -> tuple[Message, ...]:
        """The messages of a body's content, whose list lies under the key."""
        items = content[key]
        if not isinstance(items, list) or not items or not _stands_alone(items[0]):
            return messages_of(content, "user")
        out = list(messages_of({**content, key: []}, "user"))
        for unit in _units(items):
            digest = _digest(unit)
            found = None if digest is None else self._read.get(digest)
            if found is None:
                if len(self._read) >= _MOST_KNOWN:
                    self._read.clear()
                # Behind another message, as it stands in the whole.
                found = messages_of([_ANY_MESSAGE, *unit], "user")[1:]
                if digest is not None:
                    self._read[digest] = found
            out += found
        return tuple(out)


def _digest(unit: list[Any]) -> bytes | None:
    """What tells items from others; None where they nest too deep to tell.

    The order of keys is that of the client, which keeps it. Marshal, since it is six times as fast as JSON and this is
    done to each message of each request; its version 2 writes equal values alike, later ones look at who else holds
    them.
    """
    try:
        return hashlib.blake2b(marshal.dumps(unit, 2), digest_size=32).digest()
    except ValueError:
        return None


def _stands_alone(item: Any) -> bool:
    # Not any mapping: this is parsed JSON, and the check of an abstract class is slow.
    return isinstance(item, dict) and "role" in item and "type" not in item


def _units(items: Sequence[Any]) -> Iterator[list[Any]]:
    """The items in groups over whose borders nothing is ever joined to one message.

    A message stands alone. Of the typed items of responses, a tool's result is joined to no call and no text.
    """
    unit: list[Any] = []
    for item in items:
        alone = _stands_alone(item)
        if unit and (alone or _stands_alone(unit[-1]) or (_is_result(unit[-1]) and not _is_result(item))):
            yield unit
            unit = []
        unit.append(item)
    yield unit


def _is_result(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "function_call_output"


def read_request(
    wire: Wire, body: Mapping[str, Any], provider: str | None, known: KnownMessages | None = None
) -> Request:
    """The request in a body.

    Args:
        wire: the protocol.
        body: of the request.
        provider: whose name the recording has for this model; no request tells it.
        known: the messages of requests before.

    Raises: UnreadableRequestError.
    """
    content = {key: body[key] for key in _CONTENT[wire.name] if body.get(key) is not None}
    if _CONTENT[wire.name][-1] not in content:
        raise UnreadableRequestError(f"the body has no {_CONTENT[wire.name][-1]!r}")
    if isinstance(body.get("prompt"), list) and len(body["prompt"]) > 1:
        raise UnreadableRequestError("several prompts in one request have no single answer; ask for each alone")
    model = body.get("model")
    tools = body.get("tools")
    if tools is None:
        tools = body.get("functions")
    return Request(
        messages=(known or KnownMessages()).of(content, _CONTENT[wire.name][-1]),
        tools=tuple(_tool(item) for item in tools) if isinstance(tools, list) else (),
        output_schema=_output_schema(body),
        model=model if isinstance(model, str) else None,
        provider=provider,
        parameters={
            wire.renamed.get(key, key): value
            for key, value in body.items()
            if key not in _NO_PARAMETERS and value is not None
        },
        api="responses" if wire.name == "responses" else None,
    )


def _tool(item: Json) -> ToolDefinition:
    found = tool_definition_of(item)
    if found.name or not isinstance(item, Mapping):
        return found
    # A tool of the provider's own has no name, only a type.
    return ToolDefinition(str(item.get("type", "")))


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of a structured answer; each protocol hides it elsewhere."""
    for path in (
        ("response_format", "json_schema", "schema"),
        ("text", "format", "schema"),
        ("output_format", "schema"),
        ("output_config", "format", "schema"),
    ):
        found: Any = body
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return None


def tool_results(body: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Call id and result as it was sent, of each tool result in a body."""
    for item in _mappings(body.get("messages") if "messages" in body else body.get("input")):
        content = item.get("content")
        if item.get("role") == "tool" and isinstance(item.get("tool_call_id"), str):
            yield item["tool_call_id"], plain_content(content)
        elif item.get("type") == "function_call_output" and isinstance(item.get("call_id"), str):
            yield item["call_id"], plain_content(item.get("output"))
        if not isinstance(content, str):
            for block in _mappings(content):
                if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                    yield block["tool_use_id"], plain_content(block.get("content"))


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())
