"""Messages and their parts, in the shape of the GenAI semantic conventions (role + typed parts)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ._json import Json, JsonObject, canonical_json, json_safe, parse_json_text

_quoted = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    content: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What the model wrote while thinking, where the provider shows it."""

    content: str


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """The model asks for a tool. ``arguments`` is the parsed object, or the raw text where it does not parse."""

    id: str | None
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ToolCallResponsePart:
    """The answer to a tool call, tied to it by ``id``."""

    id: str | None
    response: Json


@dataclass(frozen=True, slots=True)
class BlobPart:
    """An image, sound or file: inline (``size_bytes`` known) or a reference (``uri``)."""

    mime_type: str | None
    uri: str | None = None
    size_bytes: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class OtherPart:
    """A part of a type that this version does not know, kept whole."""

    type: str
    data: JsonObject


Part: TypeAlias = TextPart | ReasoningPart | ToolCallPart | ToolCallResponsePart | BlobPart | OtherPart


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Its digest is computed once and kept on the frozen object."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``; other words of the producer are kept."""
    parts: tuple[Part, ...]
    name: str | None = None
    finish_reason: str | None = None
    """Only on an output message; no part of the digest, since the same text comes back as input without it."""
    _digest: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the normalised message: role, name and parts."""
        if self._digest is None:
            object.__setattr__(self, "_digest", hashlib.sha256(self._form()).hexdigest())
        assert self._digest is not None
        return self._digest

    def _form(self) -> bytes:
        """The canonical JSON of what the digest covers."""
        if self.name is None and len(self.parts) == 1 and type(self.parts[0]) is TextPart:
            # Most messages are one text: the same bytes, without a look at each value.
            text = f'[{_quoted(self.role)},null,[{{"content":{_quoted(self.parts[0].content)},"type":"text"}}]]'
            return text.encode("utf-8", "surrogatepass")
        form = [self.role, self.name, [_normal(part) for part in self.parts]]
        try:
            return canonical_json(form)
        except ValueError:
            return _odd_form(form)


def _odd_form(form: Json) -> bytes:
    """What holds NaN or nests deeper than the canonical form goes: traces do, and their messages are told apart."""
    try:
        text = json.dumps(form, sort_keys=True)
    except RecursionError:
        text = json.dumps(json_safe(form)[0], sort_keys=True)
    return b"odd" + text.encode()


def _normal(part: Part) -> Json:
    """The part as it enters the digest: arguments and results as JSON, whichever way the producer wrote them."""
    data = part_to_json(part)
    for key in ("arguments", "response"):
        if key in data:
            data[key] = parse_json_text(data[key])
    return data


def part_to_json(part: Part) -> dict[str, Any]:
    """The part in the shape of the semantic conventions; ``part_from_json`` reads it back equal."""
    match part:
        case TextPart(content):
            return {"type": "text", "content": content}
        case ReasoningPart(content):
            return {"type": "reasoning", "content": content}
        case ToolCallPart(id_, name, arguments):
            return {"type": "tool_call", "id": id_, "name": name, "arguments": arguments}
        case ToolCallResponsePart(id_, response):
            return {"type": "tool_call_response", "id": id_, "response": response}
        case BlobPart(mime_type, uri, size_bytes, digest):
            return {"type": "blob", "mime_type": mime_type, "uri": uri, "size_bytes": size_bytes, "digest": digest}
        case OtherPart(type_, data):
            return {**data, "type": type_}


def part_from_json(data: Json) -> Part:
    """A part from the shape of the semantic conventions; lenient, since producers differ. Never raises."""
    if not isinstance(data, Mapping):
        return TextPart(data) if isinstance(data, str) else OtherPart("unknown", {"value": data})
    kind = data.get("type")
    content = data.get("content")
    if kind in ("text", "reasoning") and isinstance(content, str):
        return TextPart(content) if kind == "text" else ReasoningPart(content)
    if kind == "tool_call" and isinstance(data.get("name"), str):
        return ToolCallPart(_text(data.get("id")), data["name"], parse_json_text(data.get("arguments")))
    if kind == "tool_call_response":
        # pydantic-ai writes the result under "result", everyone else under "response".
        return ToolCallResponsePart(_text(data.get("id")), data.get("response", data.get("result")))
    if kind == "blob" and "content" not in data:
        size = data.get("size_bytes")
        return BlobPart(
            _text(data.get("mime_type")),
            _text(data.get("uri")),
            size if isinstance(size, int) else None,
            _text(data.get("digest")),
        )
    return OtherPart(str(kind), {key: value for key, value in data.items() if key != "type"})


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def message_to_json(message: Message) -> dict[str, Any]:
    """The message in the shape of the semantic conventions; absent fields are left out."""
    out: dict[str, Any] = {"role": message.role, "parts": [part_to_json(part) for part in message.parts]}
    if message.name is not None:
        out["name"] = message.name
    if message.finish_reason is not None:
        out["finish_reason"] = message.finish_reason
    return out


def message_from_json(data: Json) -> Message:
    """A message from the shape of the semantic conventions, or from ``{"role", "content"}``. Never raises.

    In the latter, ``tool_calls``, ``reasoning_content`` and ``tool_call_id`` are read as most chat APIs have them, so
    that a journal may hold messages as their producer wrote them.
    """
    if not isinstance(data, Mapping):
        return Message("unknown", (part_from_json(data),))
    parts = data.get("parts")
    return Message(
        str(data.get("role", "unknown")),
        tuple(part_from_json(part) for part in parts) if isinstance(parts, list) else tuple(_chat_parts(data)),
        _text(data.get("name")),
        _text(data.get("finish_reason")),
    )


def _chat_parts(data: Mapping[str, Any]) -> Iterator[Part]:
    """The parts of a message whose content, reasoning and tool calls lie side by side."""
    reasoning, content, calls = (data.get(key) for key in ("reasoning_content", "content", "tool_calls"))
    if isinstance(reasoning, str):
        yield ReasoningPart(reasoning)
    if data.get("role") == "tool" and isinstance(data.get("tool_call_id"), str):
        yield ToolCallResponsePart(data["tool_call_id"], content)
        return
    for item in content if isinstance(content, list) else () if content is None else (content,):
        is_text = isinstance(item, Mapping) and item.get("type") == "text" and isinstance(item.get("text"), str)
        yield TextPart(item["text"]) if is_text else part_from_json(item)
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            inner = call["function"] if isinstance(call.get("function"), Mapping) else call
            arguments = parse_json_text(inner.get("arguments"))
            yield ToolCallPart(_text(call.get("id")), str(inner.get("name", "")), arguments)


def text_of(messages: Iterable[Message]) -> str:
    """All text parts of the messages, joined by line breaks."""
    return "\n".join(part.content for m in messages for part in m.parts if isinstance(part, TextPart))
