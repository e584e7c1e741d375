"""The form in which requests of a program are compared with recorded ones whose hash differs.

The same conversation looks different at different places: a program sends blocks where an instrumentation records one
text, results of tools inside a user's message, thoughts that only one side has. What is left of a request here is what
was asked. An answer that was found in this way counts as inferred.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from runtime.journal import AnyRequest
from runtime.messages import (
    Call,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
    parse_json_text,
)
from runtime.models.wire import to_text

Change = Callable[[AnyRequest], AnyRequest]

_CARRIED: Final = ("openai.", "anthropic.")
_THOUGHTS: Final = frozenset(("reasoning", "thinking", "redacted_thinking"))
_ROLES: Final = {"developer": "system", "tool-call": "assistant", "tool-response": "user", "tool": "user"}
"""Words of frameworks for what goes out under another role: a tool's message that answers no call is a user's text."""
_DATED: Final = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


def form_for(calls: Sequence[Call], *, left_out: Change | None = None) -> Change:
    """The form for requests that a recording with these calls shall answer.

    Args:
        calls: what the recording lacks in all of its model calls is no difference.
        left_out: applied to both sides at last: what the user declared as volatile.
    """
    turns = [call for call in calls if call.kind == "llm"]
    foreign = any(call.convention != "retrospan" for call in turns)
    tells_schema = not foreign or any(call.output_schema is not None for call in turns)
    tells_parameters = any(tool.parameters is not None for call in turns for tool in call.tool_definitions or ())
    # Some producers record only the model that answered, whose name has a date behind the one that was asked for.
    answering = frozenset(_DATED.sub("", c.model) for c in turns if c.model and c.response_model in (None, c.model))
    partial = holds_part_only(calls)

    def form(request: AnyRequest) -> AnyRequest:
        if isinstance(request, Request):
            model = request.model
            if model is not None and _DATED.sub("", model) in answering:
                model = _DATED.sub("", model)
            tools = request.tools
            if tools is not None:
                tools = tuple(map(_plain_tool, tools)) if tells_parameters else tuple(map(_name_only, tools))
            request = replace(
                request,
                messages=tuple(_plain_messages(_without_lost(request.messages) if partial else request.messages)),
                tools=tools,
                output_schema=request.output_schema if tells_schema else None,
                model=model,
                provider=None,
            )
        return left_out(request) if left_out else request

    return form


def holds_part_only(calls: Sequence[Call]) -> bool:
    """Whether the recording lost what was said in between: it holds a request again after that asked for tools.

    Such producers (OpenTelemetry's for the OpenAI Agents SDK) write neither system text nor tool calls of a request.
    """
    asked: set[tuple[str, ...]] = set()
    repeats = False
    turns = [call for call in calls if call.kind == "llm" and call.convention != "retrospan"]
    for turn in sorted(turns, key=lambda call: call.start_unix_nano or 0):
        said = turn.input_messages or ()
        if any(m.role == "system" or any(map(_is_of_a_tool, m.parts)) for m in said):
            return False
        key = tuple(message.digest for message in said)
        repeats = repeats or key in asked
        if said and any(map(_is_of_a_tool, (part for m in turn.output_messages or () for part in m.parts))):
            asked.add(key)
    return repeats


def _is_of_a_tool(part: Part) -> bool:
    return isinstance(part, ToolCallPart | ToolCallResponsePart)


def _without_lost(messages: Iterable[Message]) -> Iterator[Message]:
    for message in messages:
        if message.role not in ("system", "developer"):
            yield replace(message, parts=tuple(part for part in message.parts if not _is_of_a_tool(part)))


def _plain_tool(tool: ToolDefinition) -> ToolDefinition:
    return ToolDefinition(tool.name, tool.description or None, tool.parameters or {"type": "object", "properties": {}})


def _name_only(tool: ToolDefinition) -> ToolDefinition:
    return ToolDefinition(tool.name)


def _plain_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Neighbours of one role as one message, each tool result a message of its own, call ids by their order."""
    ids: dict[str, str] = {}
    open_ids: list[str] = []
    role, parts = "", list[Part]()
    for message in messages:
        own = _ROLES.get(message.role, message.role)
        for part in message.parts:
            if isinstance(part, ToolCallResponsePart):
                if parts:
                    yield Message(role, tuple(_joined(parts)))
                    parts = []
                yield Message("tool", (_plain_response(part, ids, open_ids),))
            elif not _is_thought(part) and part != TextPart(""):
                if parts and own != role:
                    yield Message(role, tuple(_joined(parts)))
                    parts = []
                role = own
                parts.append(_plain_call(part, ids, open_ids) if isinstance(part, ToolCallPart) else part)
    if parts:
        yield Message(role, tuple(_joined(parts)))


def _is_thought(part: Part) -> bool:
    if isinstance(part, ReasoningPart):
        return True
    return isinstance(part, OtherPart) and (part.type in _THOUGHTS or part.type.startswith(_CARRIED))


def _plain_call(part: ToolCallPart, ids: dict[str, str], open_ids: list[str]) -> ToolCallPart:
    made = f"call_{len(ids) + 1}"
    ids[part.id or f"\0{made}"] = made
    open_ids.append(made)
    # A tool without parameters is called with nothing, which models write as the text "null".
    return ToolCallPart(made, part.name, None if part.arguments == "null" else part.arguments)


def _plain_response(part: ToolCallResponsePart, ids: dict[str, str], open_ids: list[str]) -> ToolCallResponsePart:
    """The response under the plain id of its call; one without an id answers the first open call."""
    made = ids.get(part.id or "") or (open_ids[0] if open_ids else None)
    if made in open_ids:
        open_ids.remove(made)
    value = parse_json_text(part.response)
    return ToolCallResponsePart(made, value if isinstance(value, dict | list) else to_text(value))


def _joined(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts with texts side by side as one."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
            continue
        if texts:
            yield TextPart("\n".join(texts))
            texts = []
        yield part
    if texts:
        yield TextPart("\n".join(texts))
