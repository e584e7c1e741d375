"""Responses: a request as parameters of the SDK, and answers and events as replies.

Reasoning items are kept whole beside their text, as parts of type ``openai.reasoning``: the API wants them back with
the next request of the same conversation.

Source: the API reference of OpenAI, "Responses" and "Streaming events".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelAnswerError, ModelRefusedError
from ..messages import (
    BlobPart,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from ._openai_usage import usage_of
from ._prices import Prices
from ._protocol import Delta, ReasoningDelta, Reply, TextDelta, ToolCallDelta
from ._sdk import error_in_body
from ._wire import (
    Output,
    choice_of,
    incomplete,
    is_carried,
    items,
    parsed_arguments,
    refuse_parameters,
    refuse_part,
    to_text,
    with_call_ids,
)

RENAMED = {"max_tokens": "max_output_tokens"}
_OWN = frozenset(("temperature", "top_p", "max_output_tokens", "tool_choice"))
_UNKNOWN = ("seed", "stop_sequences", "frequency_penalty", "presence_penalty")
_KEPT = ("id", "summary", "content", "encrypted_content")
"""What of a reasoning item goes back to the provider."""


def params_of(request: Request, model: str, provider: str) -> dict[str, Any]:
    """The arguments for ``responses.create``, without ``stream``.

    Raises:
        ModelRequestError: a part or parameter has no form in this protocol.
    """
    refuse_parameters(request.parameters, _UNKNOWN, "the responses API", provider)
    params: dict[str, Any] = {"model": model, "input": _input(request.messages, provider)}
    if request.tools:
        params["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                **({"description": tool.description} if tool.description else {}),
                "parameters": dict(tool.parameters or {"type": "object", "properties": {}}),
                # The default of this API is strict, which refuses schemas with optional arguments.
                "strict": False,
            }
            for tool in request.tools
        ]
    output = Output.of(request)
    if output is not None:
        form = {"type": "json_schema", "name": output.name, "schema": dict(output.schema), "strict": output.strict}
        params["text"] = {"format": form}
    extra: dict[str, Any] = {}
    for name, value in request.parameters.items():
        key = RENAMED.get(name, name)
        if value is None or (key == "tool_choice" and not request.tools):
            continue
        if key == "tool_choice":
            value = _tool_choice(value)
        (params if key in _OWN else extra)[key] = value
    if extra:
        params["extra_body"] = extra
    return params


def _tool_choice(value: Any) -> Any:
    choice = choice_of(value)
    if choice is None:
        return value
    return {"type": "function", "name": choice[1]} if choice[0] == "tool" else choice[0]


def _input(messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for message in with_call_ids(messages):
        content: list[dict[str, Any]] | None = None
        for part in message.parts:
            item = _item(part, provider)
            if item is not None:
                out.append(item)
                content = None
            elif not is_carried(part):
                # Neighbouring texts and images are one message; calls and reasoning are items beside it.
                if content is None:
                    content = []
                    out.append({"role": message.role, "content": content})
                content.append(_content(part, message.role, provider))
    return [_shorter(item) for item in out]


def _item(part: Part, provider: str) -> dict[str, Any] | None:
    match part:
        case ToolCallPart(id_, name, arguments):
            return {"type": "function_call", "call_id": id_, "name": name, "arguments": to_text(arguments)}
        case ToolCallResponsePart(id_, response):
            return {"type": "function_call_output", "call_id": id_, "output": to_text(response)}
        case OtherPart("openai.reasoning", data):
            return {"type": "reasoning", "summary": [], **{key: data[key] for key in _KEPT if data.get(key)}}
        case OtherPart(kind, data) if kind.startswith("openai."):
            return {**data, "type": kind.removeprefix("openai.")}
    return None


def _content(part: Part, role: str, provider: str) -> dict[str, Any]:
    match part:
        case TextPart(text):
            return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case BlobPart(mime_type, str(uri)) if (mime_type or "image/").startswith("image/"):
            return {"type": "input_image", "image_url": uri, "detail": "auto"}
    raise refuse_part(part, provider)


def _shorter(item: dict[str, Any]) -> dict[str, Any]:
    """A message of texts alone with its content as text: the only form that all servers take for an assistant's."""
    content = item.get("content")
    if "role" not in item or not isinstance(content, list) or not all("text" in each for each in content):
        return item
    return {**item, "content": "\n".join(each["text"] for each in content)}


def reply_of(answer: Mapping[str, Any], output: Output | None, provider: str, prices: Prices | None) -> Reply:
    """The reply in a response object.

    Raises:
        ModelRefusedError: the model refused.
        ModelAnswerError: it holds no output.
        ModelError: the response failed; of the class that its error code stands for.
    """
    if answer.get("status") == "failed" or (answer.get("error") and not answer.get("output")):
        raise error_in_body(answer.get("error"), provider)
    if not isinstance(answer.get("output"), list):
        raise ModelAnswerError("the answer holds no output", provider=provider, type="malformed")
    parts: list[Part] = []
    for item in items(answer["output"]):
        parts.extend(_parts(item, provider))
    details = answer.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if reason == "content_filter" and not any(isinstance(part, TextPart | ToolCallPart) for part in parts):
        raise ModelRefusedError("the provider's filter took the whole answer", provider=provider, type=reason)
    finish = reason or answer.get("status")
    made = Message("assistant", tuple(parts), finish_reason=finish if isinstance(finish, str) else None)
    return Reply(
        message=output.unwrap_message(made) if output else made,
        usage=usage_of(answer.get("usage"), prices, sent="input", got="output"),
    )


def _parts(item: Mapping[str, Any], provider: str) -> Iterator[Part]:
    kind = item.get("type")
    if kind == "message":
        for each in items(item.get("content")):
            if each.get("type") == "refusal":
                raise ModelRefusedError(str(each.get("refusal")), provider=provider, type="refusal")
            if isinstance(text := each.get("text"), str) and text:
                yield TextPart(text)
    elif kind == "function_call":
        id_ = item.get("call_id")
        arguments = parsed_arguments(item.get("arguments"))
        yield ToolCallPart(id_ if isinstance(id_, str) else None, str(item.get("name", "")), arguments)
    elif kind == "reasoning":
        shown = [str(each.get("text")) for key in ("summary", "content") for each in items(item.get(key))]
        if shown:
            yield ReasoningPart("\n\n".join(shown))
        if item.get("id"):
            yield OtherPart("openai.reasoning", {key: item[key] for key in _KEPT if item.get(key)})
    else:
        # What a tool of the provider's own did (a search, say). Kept, and sent back as it came.
        yield OtherPart(f"openai.{kind}", {key: value for key, value in item.items() if key != "type"})


@dataclass(slots=True)
class ResponseStream:
    """Events -> deltas, and in the end the whole response object, which the last event brings along."""

    wrapped: bool
    """True where the text arrives inside an object and can only be given once it is whole."""
    provider: str
    _calls: dict[Any, tuple[int, str | None, str]] = field(default_factory=dict)
    _text_at: tuple[Any, Any] | None = None
    _whole: Mapping[str, Any] | None = None

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas in one event.

        Raises:
            ModelError: the event is an error.
        """
        text = event.get("delta") if isinstance(event.get("delta"), str) else ""
        match event.get("type"):
            case "response.output_text.delta" if text and not self.wrapped:
                yield TextDelta(self._break(event) + text)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if text:
                yield ReasoningDelta(text)
            case "response.output_item.added":
                yield from self._open_call(event)
            case "response.function_call_arguments.delta" if text:
                if event.get("output_index") in self._calls:
                    index, id_, name = self._calls[event.get("output_index")]
                    yield ToolCallDelta(index, id_, name, text)
            case "response.completed" | "response.incomplete" | "response.failed":
                whole = event.get("response")
                self._whole = whole if isinstance(whole, Mapping) else None
            case "error":
                raise error_in_body(event, self.provider)

    def _break(self, event: Mapping[str, Any]) -> str:
        """The line break between two texts, as in the text of the whole message."""
        at = event.get("output_index"), event.get("content_index")
        before, self._text_at = self._text_at, at
        return "\n" if before is not None and before != at else ""

    def _open_call(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        item = event.get("item")
        if isinstance(item, Mapping) and item.get("type") == "function_call":
            opened = len(self._calls), item.get("call_id"), str(item.get("name") or "")
            self._calls[event.get("output_index")] = opened
            yield ToolCallDelta(*opened, "")

    def whole(self) -> Mapping[str, Any]:
        """The response object.

        Raises:
            ModelTransportError: the stream ended before the answer did.
        """
        if self._whole is None:
            raise incomplete(self.provider)
        return self._whole
