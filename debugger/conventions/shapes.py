"""Messages and tool definitions in the shapes that producers copy into attributes, as ours.

One reader for all of them: GenAI conventions, OpenAI chat and Responses, Anthropic, Gemini, Bedrock, LangChain and the
Vercel AI SDK. They can be told apart by their keys, so no convention needs a reader of its own. Nothing here raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from runtime.messages import (
    Known,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
    parse_json_text,
    part_from_json,
    read_json,
)

_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "tool-call": "assistant",
    "tool-response": "tool",
}
"""Words of other vocabularies for a role; all others are kept."""


_LANGCHAIN_TYPES: Final = frozenset(("human", "ai", "system", "tool"))


class _Entry(NamedTuple):
    """An item of a list of messages; which of the two it is, the whole list decides."""

    message: Message
    is_item: bool
    """One of several items that together are one turn."""
    is_part: bool
    """It may as well be a part of one message."""


class _Read(NamedTuple):
    """A message as it was read; ``is_item`` for one of several items that together are one turn."""

    role: str
    parts: tuple[Part, ...]
    name: str | None = None
    finish_reason: str | None = None
    is_item: bool = False


def messages_of(value: Any, role: str, known: Known | None = None) -> tuple[Message, ...]:
    """The messages in a value: a list of messages or of parts, one message, a request that holds them, plain text.

    Args:
        value: JSON, also as text.
        role: for text and parts that name none.
        known: those that were read before in the same trace.
    """
    value = decoded(value)
    if isinstance(value, Mapping):
        value = _inside(value, role)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # LangChain: one list of messages for each prompt of a batch
    if isinstance(value, list) and len(value) == 1 and _is_response(value[0]):
        value = value[0]["output"]  # OpenAI Agents SDK: a stream's response, as if it were a message
    if value is None:
        return ()
    if isinstance(value, str):
        return (Message(role, (TextPart(value),)),)
    items = value if isinstance(value, list) else [value]
    entries = [_entry(item, role) for item in items] if known is None else known.each(_entry, items, role)
    if entries and all(entry.is_part for entry in entries):
        return (Message(role, tuple(parts_of(items))),)
    return tuple(_merged(entries))


def decoded(value: Any) -> Any:
    """JSON text as its value, also where a producer wrote a text as JSON; other text as it is."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"') and value:
        try:
            return read_json(value)
        except (ValueError, RecursionError):
            return value
    return value


def _inside(value: Mapping[str, Any], role: str) -> Any:
    """The messages of a request or response body that was recorded as a whole."""
    system = (value.get("system") or value.get("instructions")) if role != "assistant" else None
    for key in ("messages", "contents", "prompt", "input", "output", "choices", "candidates", "generations", "content"):
        inner = value.get(key)
        if key == "content" and ("role" in value or "type" in value or not isinstance(inner, list | Mapping)):
            continue
        if isinstance(inner, list | Mapping | str) and "role" not in value:
            return _with_system(system, inner)
    return value


def _with_system(system: Any, inner: Any) -> Any:
    if not isinstance(system, str | list) or not system:
        return inner
    rest = inner if isinstance(inner, list) else [{"role": "user", "content": inner}]
    return [{"role": "system", "content": system}, *rest]


def _is_response(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("object") == "response" and isinstance(item.get("output"), list)


def _is_part(item: Any) -> bool:
    if not isinstance(item, Mapping) or "role" in item or "parts" in item or isinstance(item.get("message"), Mapping):
        return False
    if "type" in item:
        return isinstance(item["type"], str) and item["type"] in _TYPED_PARTS
    return any(key in item for key in _UNTYPED_PARTS)


_USUAL: Final = frozenset(("role", "parts", "name", "finish_reason"))
"""What a message of the GenAI conventions has."""


def _entry(item: Any, role: str) -> _Entry:
    if type(item) is dict and _USUAL.issuperset(item) and type(item.get("parts")) is list:
        word = item.get("role")
        if type(word) is str and word:  # the usual shape, read without asking for all the others
            parts = tuple(parts_of(item["parts"]))
            message = Message(_ROLES.get(word, word), parts, _text(item.get("name")), _text(item.get("finish_reason")))
            return _Entry(message, is_item=False, is_part=False)
    read = _read(item, role)
    message = Message(read.role, read.parts, read.name, read.finish_reason)
    return _Entry(message, read.is_item, _is_part(item))


def _merged(entries: Iterable[_Entry]) -> list[Message]:
    """Neighbouring items of one turn as one message: the Responses API writes its parts side by side."""
    out: list[Message] = []
    was_item = False
    for message, is_item, _ in entries:
        last = out[-1] if out else None
        if last is not None and is_item and was_item and last.role == message.role:
            out[-1] = Message(last.role, last.parts + message.parts, last.name, last.finish_reason)
        else:
            out.append(message)
        was_item = is_item
    return out


def _read(item: Any, role: str) -> _Read:
    item = decoded(item) if isinstance(item, str) else item
    if not isinstance(item, Mapping):
        return _Read(role, (part_from_json(item),))
    message = _unwrapped(item)
    kind = _text(message.get("type"))
    if kind in _ITEM_ROLES:
        return _Read(_ITEM_ROLES[kind], tuple(parts_of([message])), is_item=True)
    word = message.get("role")
    if word is None and kind in _LANGCHAIN_TYPES:
        word = kind  # LangChain's own dump of a message
    own = _ROLES.get(word, word) if isinstance(word, str) and word else role
    name = _text(message.get("name"))
    finish = _finish_reason(message) or (None if message is item else _finish_reason(item))
    given = message.get("parts")
    parts = parts_of(given if isinstance(given, list) else _content(message))
    call_id = _text(message.get("tool_call_id"))
    if own == "tool" and not any(isinstance(part, ToolCallResponsePart) for part in parts):
        if not isinstance(given, list):
            parts = [ToolCallResponsePart(call_id or _text(message.get("id")), parse_json_text(_plain(message)))]
            name = None
        elif call_id is not None:  # LiteLLM: GenAI's parts in OpenAI's message
            parts = [ToolCallResponsePart(call_id, parse_json_text(plain_content(given)))]
    parts += tool_calls_of(message.get("tool_calls"), parts)
    return _Read(own, tuple(parts), name, finish, is_item=kind == "message")


def _finish_reason(item: Mapping[str, Any]) -> str | None:
    """Why the answer ended, also where it stands in what a framework notes beside the message."""
    for place in (item, item.get("meta"), item.get("generation_info"), item.get("response_metadata")):
        if isinstance(place, Mapping):
            for key in _FINISH_REASONS:
                if key in place and (found := _text(place[key])) is not None:
                    return found
    return None


_FINISH_REASONS: Final = ("finish_reason", "finishReason", "stop_reason", "stopReason")


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message inside a choice, a candidate, or one of LangChain's two envelopes."""
    inner = item.get("message")
    if isinstance(inner, Mapping) and "role" not in item:
        inner = _unwrapped(inner) if "lc" in inner or "data" in inner else inner
        return {**inner, "tool_calls": inner.get("tool_calls") or item.get("tool_calls")}
    content = item.get("content")
    if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
        return content
    if isinstance(item.get("kwargs"), Mapping) and "lc" in item:
        path = item.get("id")
        word = path[-1] if isinstance(path, list) and path else None
        kwargs = item["kwargs"]
        return {**kwargs, "role": _ROLES.get(word, kwargs.get("type")) if isinstance(word, str) else None, "type": None}
    if isinstance(item.get("data"), Mapping) and isinstance(item.get("type"), str):
        return {**item["data"], "role": item["type"], "type": None}
    return item


def _content(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [content] if content else []
    if isinstance(content, Mapping):
        return [content]
    return content if isinstance(content, list) else []


def _plain(message: Mapping[str, Any]) -> Any:
    """A tool's result as data: its text where it is one block of text, else the blocks."""
    return plain_content(message.get("content"))


def plain_content(content: Any) -> Any:
    """The text of a single text block; anything else as it is."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        only = content[0]
        for key in ("text", "json", "content"):
            if key in only and set(only) <= {key, "type"} and (key != "content" or only.get("type") == "text"):
                return only[key]
    return content


def tool_calls_of(calls: Any, known: Sequence[Part] = ()) -> list[Part]:
    """The entries of ``tool_calls`` in the shapes of OpenAI, LangChain and OpenLLMetry, without those known already."""
    seen = {part.id for part in known if isinstance(part, ToolCallPart) and part.id is not None}
    out: list[Part] = []
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, Mapping):
            continue
        call = call["tool_call"] if isinstance(call.get("tool_call"), Mapping) else call
        function = call.get("function")
        inner = function if isinstance(function, Mapping) else call
        name = _text(inner.get("name"))
        call_id = _text(call.get("id"))
        if name is not None and (call_id is None or call_id not in seen):
            out.append(ToolCallPart(call_id, name, parse_json_text(inner.get("arguments", inner.get("args")))))
    return out


def parts_of(items: Any) -> list[Part]:
    """The parts of a message."""
    return [part_of(item) for item in (items if isinstance(items, list) else [items])]


def part_of(item: Any) -> Part:
    """One part in any of the shapes; one of an unknown kind is kept whole."""
    if not isinstance(item, Mapping):
        return part_from_json(item)
    kind = item.get("type")
    if isinstance(kind, str):
        read = _TYPED_PARTS.get(kind)
    else:
        read = next((_UNTYPED_PARTS[key] for key in _UNTYPED_PARTS if key in item), None)
    part = read(item) if read is not None else None
    return part if part is not None else part_from_json(item)


def _text_part(item: Mapping[str, Any]) -> Part | None:
    text = item.get("text", item.get("content"))
    if isinstance(text, Mapping):
        text = text.get("value")
    if not isinstance(text, str):
        return None
    return ReasoningPart(text) if item.get("thought") is True else TextPart(text)


def _reasoning_part(item: Mapping[str, Any]) -> Part | None:
    for key in ("content", "thinking", "text", "reasoning", "summary", "reasoningText"):
        found = item.get(key)
        if isinstance(found, str) and found:
            return ReasoningPart(found)
        if isinstance(found, Mapping) and isinstance(found.get("text"), str):
            return ReasoningPart(found["text"])
        if isinstance(found, list):
            texts = [part["text"] for part in found if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
            if texts:
                return ReasoningPart("\n".join(texts))
    return None


def _call_part(item: Mapping[str, Any]) -> Part | None:
    name = next((found for key in ("name", "toolName", "tool_name") if (found := _text(item.get(key)))), None)
    if name is None:
        return None
    ids = (item.get(key) for key in ("call_id", "toolCallId", "toolUseId", "ref", "id"))
    given = (item[key] for key in ("arguments", "input", "args") if key in item)
    return ToolCallPart(next((i for i in ids if isinstance(i, str)), None), name, parse_json_text(next(given, None)))


def _result_part(item: Mapping[str, Any]) -> Part | None:
    ids = (item.get(key) for key in ("call_id", "toolCallId", "toolUseId", "tool_use_id", "tool_call_id", "ref", "id"))
    given = (item[key] for key in ("response", "result", "output", "content") if key in item)
    value = plain_content(next(given, None))
    if isinstance(value, Mapping) and set(value) == {"type", "value"}:
        value = value["value"]  # Vercel AI SDK: {"type": "json", "value": ...}
    return ToolCallResponsePart(next((i for i in ids if isinstance(i, str)), None), value)


def _origin_result_part(item: Mapping[str, Any]) -> Part | None:
    """Haystack: the result with the call that it answers."""
    origin = item.get("origin")
    call_id = origin.get("id") if isinstance(origin, Mapping) else None
    return ToolCallResponsePart(_text(call_id), parse_json_text(item.get("result")))


def _nested(key: str, read: Callable[[Mapping[str, Any]], Part | None]) -> Callable[[Mapping[str, Any]], Part | None]:
    def inner(item: Mapping[str, Any]) -> Part | None:
        value = item.get(key)
        return read(value) if isinstance(value, Mapping) else None

    return inner


def _function_part(item: Mapping[str, Any]) -> Part | None:
    """OpenAI's tool call where a producer put it among the parts of the content (Langtrace)."""
    return next(iter(tool_calls_of([item])), None) if isinstance(item.get("function"), Mapping) else None


def _image_part(item: Mapping[str, Any]) -> Part | None:
    return OtherPart(str(item.get("type")), {key: value for key, value in item.items() if key != "type"})


_Reader = Callable[[Mapping[str, Any]], Part | None]
_TYPED_PARTS: Final[dict[Any, _Reader]] = {
    "text": _text_part,
    "input_text": _text_part,
    "output_text": _text_part,
    "summary_text": _text_part,
    "reasoning": _reasoning_part,
    "thinking": _reasoning_part,
    "tool_call": _call_part,
    "tool-call": _call_part,
    "tool_use": _call_part,
    "toolUse": _call_part,
    "function_call": _call_part,
    "function": _function_part,
    "tool_call_response": _result_part,
    "tool-result": _result_part,
    "tool_result": _result_part,
    "toolResult": _result_part,
    "function_call_output": _result_part,
    "image_url": _image_part,
}
_UNTYPED_PARTS: Final[dict[str, _Reader]] = {
    "text": _text_part,
    "toolUse": _nested("toolUse", _call_part),
    "toolResult": _nested("toolResult", _result_part),
    "toolRequest": _nested("toolRequest", _call_part),
    "toolResponse": _nested("toolResponse", _result_part),
    "tool_call": _nested("tool_call", _call_part),
    "tool_call_result": _nested("tool_call_result", _origin_result_part),
    "reasoning": _nested("reasoning", _reasoning_part),
    "reasoningContent": _nested("reasoningContent", _reasoning_part),
    "function_call": _nested("function_call", _call_part),
    "function_response": _nested("function_response", _result_part),
    "functionCall": _nested("functionCall", _call_part),
    "functionResponse": _nested("functionResponse", _result_part),
}
_ITEM_ROLES: Final = {"function_call": "assistant", "reasoning": "assistant", "function_call_output": "tool"}
"""Items of the Responses API that stand beside the messages instead of in them."""


def tool_definitions_of(value: Any) -> tuple[ToolDefinition, ...] | None:
    """The tools of a list in any shape (OpenAI, Anthropic, Gemini, Vercel AI SDK, pydantic-ai); None if it is none."""
    value = decoded(value)
    if not isinstance(value, list):
        return None
    out: list[ToolDefinition] = []
    for item in value:
        item = decoded(item)
        declared = None
        if isinstance(item, Mapping):
            declared = item.get("function_declarations", item.get("functionDeclarations"))
        if isinstance(declared, list):
            out.extend(tool_definition_of(inner) for inner in declared)
        else:
            out.append(tool_definition_of(item))
    return tuple(out)


def tool_definition_of(item: Any) -> ToolDefinition:
    """One definition, whatever its schema is called."""
    item = decoded(item)
    if not isinstance(item, Mapping):
        return ToolDefinition.from_json(item)
    # Haystack's own tools lie in "data".
    inner = next((below for key in ("function", "data") if isinstance(below := item.get(key), Mapping)), item)
    for key in ("inputSchema", "input_schema", "parameters_json_schema"):
        schema = inner.get(key)
        if "parameters" not in inner and isinstance(schema, Mapping):
            return ToolDefinition.from_json({**inner, "parameters": schema})
    return ToolDefinition.from_json({**inner, "parameters": parse_json_text(inner.get("parameters"))})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
