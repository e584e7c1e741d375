"""The older GenAI form: one event a message, on the span, in log records, or as JSON in one attribute.

Names as in the semantic conventions up to 1.36. The body's shape differs: plain texts, OpenAI's tool calls, Bedrock's
content blocks as JSON text (Strands), everything as one JSON text (Semantic Kernel).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from runtime.messages import Message, ToolCallPart, ToolCallResponsePart, parse_json_text
from runtime.trace import Span

from ..importers import LogRecord
from .shapes import decoded, messages_of, parts_of, plain_content, tool_calls_of

ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE: Final = "gen_ai.choice"
DETAILS: Final = "gen_ai.client.inference.operation.details"


class MessageEvent(NamedTuple):
    """An event of these names, wherever it was found."""

    name: str
    body: Mapping[str, Any]


def of_span(span: Span) -> Iterator[MessageEvent]:
    """Those among the span's own events."""
    for event in span.events:
        if event.name in ROLES or event.name == CHOICE:
            yield MessageEvent(event.name, _body(event.attributes))


def _body(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message, which Azure's SDKs write as one JSON text beside the event's other attributes."""
    whole = decoded(attributes.get("gen_ai.event.content"))
    return {**attributes, **whole} if isinstance(whole, Mapping) else attributes


def of_logs(logs: Sequence[LogRecord]) -> Iterator[MessageEvent]:
    """Those among the span's log records, in the order of time; equal and missing times keep the file's order."""
    for record in logs:
        if record.event_name in ROLES or record.event_name == CHOICE:
            body = decoded(record.body)
            if body is None:
                yield MessageEvent(record.event_name, _body(record.attributes))
            else:
                yield MessageEvent(record.event_name, body if isinstance(body, Mapping) else {"content": body})


def of_list(items: Any) -> Iterator[MessageEvent]:
    """Those of a list of objects that name their event (pydantic-ai and Logfire)."""
    for item in items if isinstance(items, list) else []:
        if isinstance(item, Mapping):
            name = item.get("event.name")
            if isinstance(name, str) and (name in ROLES or name == CHOICE):
                yield MessageEvent(name, item)


class Conversation(NamedTuple):
    """What a list of such events says."""

    inputs: tuple[Message, ...]
    outputs: tuple[Message, ...]
    finish_reasons: tuple[str, ...]


def conversation(events: Iterable[MessageEvent]) -> Conversation:
    """The messages in order; choices are the answer."""
    inputs: list[Message] = []
    outputs: list[Message] = []
    for name, body in events:
        if name == CHOICE:
            outputs.append(_choice(body))
        else:
            inputs.append(_message(ROLES[name], body))
    reasons = tuple(m.finish_reason for m in outputs if m.finish_reason is not None)
    return Conversation(tuple(inputs), tuple(outputs), reasons)


def _message(role: str, body: Mapping[str, Any]) -> Message:
    content = decoded(body.get("content"))
    word = body.get("role")
    own = word if isinstance(word, str) and word else role
    if role == "tool":
        parts = parts_of(content) if isinstance(content, list) else []
        if not any(isinstance(part, ToolCallResponsePart) for part in parts):
            call_id = body.get("id", body.get("tool_call_id"))
            parts = [ToolCallResponsePart(call_id if isinstance(call_id, str) else None, plain_content(content))]
        return Message(own, tuple(parts))
    return _turn(own, content, body.get("tool_calls"), None)


def _choice(body: Mapping[str, Any]) -> Message:
    reason = body.get("finish_reason")
    finish = reason if isinstance(reason, str) else None
    message = decoded(body.get("message"))
    calls = body.get("tool_calls")
    if isinstance(message, Mapping):
        role = message.get("role")
        calls = message.get("tool_calls") or calls
        return _turn(role if isinstance(role, str) else "assistant", message.get("content"), calls, finish)
    return _turn("assistant", body.get("content") if message is None else message, calls, finish)


def _turn(role: str, content: Any, tool_calls: Any, finish: str | None) -> Message:
    read = messages_of(content, role)
    parts = tuple(part for message in read for part in message.parts)
    calls = tool_calls_of(parse_json_text(tool_calls), [p for p in parts if isinstance(p, ToolCallPart)])
    return Message(role, (*parts, *calls), None, finish)
