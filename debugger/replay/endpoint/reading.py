"""A request's body, in any of the three protocols, as a request of the one vocabulary.

Messages and tools are read by the conventions' reader, the same that reads what instrumentations copied out of such
bodies into traces: so a request and its recording come out alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.messages import Json, Request, ToolDefinition
from runtime.models.wire import Wire

from ...conventions.shapes import messages_of, plain_content, tool_definition_of
from ...errors import ReplayError

_CONTENT: Final = {"chat": ("messages",), "responses": ("instructions", "input"), "messages": ("system", "messages")}
"""Where the messages of a body lie, by protocol."""
_NO_PARAMETERS: Final = frozenset(
    (
        "model", "messages", "input", "instructions", "system", "tools", "functions", "response_format", "text",
        "output_format", "output_config", "stream", "stream_options", "user", "safety_identifier", "metadata", "store",
        "prompt_cache_key", "include", "previous_response_id", "background", "service_tier",
    )
)  # fmt: skip
"""What is read elsewhere, or says how to deliver an answer and not which one."""


class UnreadableRequestError(ReplayError):
    """A body that is no request of its protocol."""


def read_request(wire: Wire, body: Mapping[str, Any], provider: str | None) -> Request:
    """The request in a body.

    Args: provider: whose name the recording has for this model; no request tells it.

    Raises: UnreadableRequestError.
    """
    content = {key: body[key] for key in _CONTENT[wire.name] if body.get(key) is not None}
    if _CONTENT[wire.name][-1] not in content:
        raise UnreadableRequestError(f"the body has no {_CONTENT[wire.name][-1]!r}")
    model = body.get("model")
    tools = body.get("tools")
    if tools is None:
        tools = body.get("functions")
    return Request(
        messages=messages_of(content, "user"),
        tools=tuple(_tool(item) for item in tools) if isinstance(tools, list) else (),
        output_schema=_output_schema(body),
        model=model if isinstance(model, str) else None,
        provider=provider,
        parameters={
            wire.renamed.get(key, key): value
            for key, value in body.items()
            if key not in _NO_PARAMETERS and value is not None
        },
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
    for item in _mappings(body.get("messages")) if "messages" in body else _mappings(body.get("input")):
        if item.get("role") == "tool" and isinstance(item.get("tool_call_id"), str):
            yield item["tool_call_id"], plain_content(item.get("content"))
        elif item.get("type") == "function_call_output" and isinstance(item.get("call_id"), str):
            yield item["call_id"], plain_content(item.get("output"))
        for block in _mappings(item.get("content")):
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                yield block["tool_use_id"], plain_content(block.get("content"))


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())
