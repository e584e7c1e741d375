"""What both providers' wire formats have in common: tool ids, tool choice, schemas and texts.

Answers are read as plain JSON and never trusted to have the documented shape: many servers imitate the protocols.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ..errors import ModelAnswerError, ModelRequestError, ModelTransportError
from ..messages import (
    Json,
    JsonObject,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    read_json,
    text_of,
)

ToolChoice: TypeAlias = tuple[Literal["auto", "none", "required", "tool"], str]
"""The choice and, for ``tool``, its name."""

OWN_PARTS = ("openai.", "anthropic.")
"""Types of other parts begin so where they hold what a provider wants to see again with the next request."""


def as_mapping(answer: Any, provider: str) -> Mapping[str, Any]:
    """The SDK's answer as plain JSON.

    Raises:
        ModelAnswerError: it is no JSON object.
    """
    plain = answer.to_dict(mode="json", warnings=False) if hasattr(answer, "to_dict") else answer
    if not isinstance(plain, Mapping):
        raise ModelAnswerError("the answer is no JSON object", provider=provider, type="malformed")
    return plain


def incomplete(provider: str) -> ModelTransportError:
    """What to raise where a stream ended before its answer did."""
    return ModelTransportError(
        "the stream ended before the answer was whole", provider=provider, type="incomplete_stream"
    )


def items(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; anything else is no item."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def count(data: Any, *path: str) -> int | None:
    """The whole number at the path, or None."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data if type(data) is int else None


def parsed_arguments(text: Any) -> Json:
    """Arguments as the object that they are the text of, or the raw text where it does not parse. Empty text is {}."""
    if not isinstance(text, str):
        return {} if text is None else text
    if not text.strip():
        return {}
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text


def to_text(value: Json) -> str:
    """A tool's result or arguments as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def with_call_ids(messages: Sequence[Message]) -> list[Message]:
    """The messages with an id on every tool call and response.

    Recordings of some frameworks lack them, and both providers refuse a call without one. A response without an id
    answers the first open call.
    """
    made = 0
    open_ids: list[str] = []
    out: list[Message] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                made += 1
                part = part if part.id else replace(part, id=f"call_{made}")
                open_ids.append(part.id or "")
            elif isinstance(part, ToolCallResponsePart):
                part = part if part.id else replace(part, id=open_ids[0] if open_ids else "call_0")
                if part.id in open_ids:
                    open_ids.remove(part.id)
            parts.append(part)
        out.append(replace(message, parts=tuple(parts)))
    return out


def is_carried(part: Part) -> bool:
    """Whether the part is a provider's own (thoughts, above all): others never get it, since they refuse it."""
    return isinstance(part, ReasoningPart) or (isinstance(part, OtherPart) and part.type.startswith(OWN_PARTS))


def refuse_part(part: Part, provider: str) -> ModelRequestError:
    """The error for a part that the protocol has no form for."""
    kind = part.type if isinstance(part, OtherPart) else "blob"
    return ModelRequestError(
        f"a message part of type {kind!r} cannot be sent; leave it out or give an image by its uri",
        provider=provider,
        type="unsupported_part",
    )


def refuse_parameters(parameters: JsonObject, names: Sequence[str], api: str, provider: str) -> None:
    """Raise ModelRequestError where the API has nothing like a parameter that is set."""
    for name in names:
        if parameters.get(name) is not None:
            raise ModelRequestError(
                f"{api} takes no {name!r}; leave it out", provider=provider, type="unsupported_parameter"
            )


def choice_of(value: Json) -> ToolChoice | None:
    """A tool choice in any of the usual forms; None where it is none of them and must be sent as it is."""
    if value in ("auto", "none", "required"):
        return value, ""
    if value == "any":
        return "required", ""
    if not isinstance(value, Mapping):
        return None
    function = value.get("function")
    name = function.get("name") if isinstance(function, Mapping) else value.get("name")
    if isinstance(name, str) and value.get("type", "tool") in ("tool", "function"):
        return "tool", name
    return choice_of(value["type"]) if isinstance(value.get("type"), str) and len(value) == 1 else None


@dataclass(frozen=True, slots=True)
class Output:
    """The wanted output as both providers can take it: a schema whose root is an object."""

    name: str
    schema: JsonObject
    wrapped: bool
    """True where the wanted value is no object and travels under the key ``value``."""
    strict: bool

    @classmethod
    def of(cls, request: Request) -> Output | None:
        """None where the request wants text."""
        schema = request.output_schema
        if schema is None:
            return None
        title = schema.get("title")
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", title if isinstance(title, str) else "").strip("_")[:60] or "answer"
        wrapped = schema.get("type") != "object"
        if wrapped:
            # Definitions stay at the root, where the references to them point.
            shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
            value = {key: item for key, item in schema.items() if key not in shared}
            schema = {
                "type": "object",
                "properties": {"value": value},
                "required": ["value"],
                "additionalProperties": False,
                **shared,
            }
        return cls(name, schema, wrapped, _is_strict(schema))

    def unwrap(self, text: str) -> str:
        """The text of the wanted value; a text that is not wrapped as asked is left as it is."""
        if not self.wrapped:
            return text
        value = parsed_arguments(text)
        if isinstance(value, Mapping) and set(value) == {"value"}:
            return json.dumps(value["value"], ensure_ascii=False)
        return text

    def unwrap_message(self, message: Message) -> Message:
        """The message with its text unwrapped."""
        if not self.wrapped:
            return message
        text = text_of([message])
        if not text:
            return message
        rest = tuple(part for part in message.parts if not isinstance(part, TextPart))
        reasoning = sum(is_carried(part) for part in rest)
        return replace(message, parts=(*rest[:reasoning], TextPart(self.unwrap(text)), *rest[reasoning:]))


def _is_strict(schema: Any) -> bool:
    """Whether strict mode takes the schema: each object names all its properties as required and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(properties) != set(schema.get("required", ())):
            return False
        if any("default" in each for each in properties.values() if isinstance(each, Mapping)):
            return False
    return all(map(_is_strict, schema.values()))
