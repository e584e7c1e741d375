"""Chat completions: a request as parameters of the SDK, and answers and chunks as replies.

Source: the API reference of OpenAI, "Chat completions", which many other servers imitate. Those also write what the
model thought under ``reasoning_content`` or ``reasoning``, and content as a list of parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelAnswerError, ModelRefusedError
from ..messages import (
    BlobPart,
    Message,
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
from ._wire import (
    Output,
    choice_of,
    incomplete,
    is_carried,
    items,
    parsed_arguments,
    refuse_part,
    to_text,
    with_call_ids,
)

RENAMED = {"stop_sequences": "stop"}
_SAMPLING = ("temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty")
_OWN = frozenset((*_SAMPLING, "max_tokens", "max_completion_tokens", "tool_choice"))
"""What the SDK takes under this name; anything else goes into the body as it is."""


def params_of(request: Request, model: str, provider: str, max_tokens_key: str) -> dict[str, Any]:
    """The arguments for ``chat.completions.create``, without ``stream``.

    Raises:
        ModelRequestError: a part has no form in this protocol.
    """
    params: dict[str, Any] = {"model": model, "messages": _messages(request.messages, provider)}
    if request.tools:
        params["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    **({"description": tool.description} if tool.description else {}),
                    "parameters": dict(tool.parameters or {"type": "object", "properties": {}}),
                },
            }
            for tool in request.tools
        ]
    output = Output.of(request)
    if output is not None:
        params["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": output.name, "schema": dict(output.schema), "strict": output.strict},
        }
    extra: dict[str, Any] = {}
    for name, value in request.parameters.items():
        key = max_tokens_key if name == "max_tokens" else RENAMED.get(name, name)
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
    return {"type": "function", "function": {"name": choice[1]}} if choice[0] == "tool" else choice[0]


def _messages(messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for message in with_call_ids(messages):
        content: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for part in message.parts:
            match part:
                case TextPart(text):
                    content.append({"type": "text", "text": text})
                case ToolCallPart(id_, name, arguments):
                    function = {"name": name, "arguments": to_text(arguments)}
                    calls.append({"id": id_, "type": "function", "function": function})
                case ToolCallResponsePart(id_, response):
                    out.append({"role": "tool", "tool_call_id": id_, "content": to_text(response)})
                case BlobPart(mime_type, str(uri)) if (mime_type or "image/").startswith("image/"):
                    content.append({"type": "image_url", "image_url": {"url": uri}})
                case _ if not is_carried(part):
                    raise refuse_part(part, provider)
        if not content and not calls and any(isinstance(part, ToolCallResponsePart) for part in message.parts):
            continue
        sent: dict[str, Any] = {"role": message.role, "content": _content(content)}
        if message.name:
            sent["name"] = message.name
        if calls:
            sent["tool_calls"] = calls
            sent["content"] = sent["content"] or None
        out.append(sent)
    return out


def _content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Plain text where there is nothing else, since not every server takes lists."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def reply_of(answer: Mapping[str, Any], output: Output | None, provider: str, prices: Prices | None) -> Reply:
    """The reply in an answer; of several choices the first.

    Raises:
        ModelRefusedError: the model refused.
        ModelAnswerError: there is no message in it.
    """
    choice = next(iter(items(answer.get("choices"))), None)
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, Mapping):
        raise ModelAnswerError("the answer holds no message", provider=provider, type="malformed")
    finish = choice.get("finish_reason")
    parts: list[Part] = []
    if reasoning := _reasoning(message):
        parts.append(ReasoningPart(reasoning))
    if text := _text(message.get("content")):
        parts.append(TextPart(text))
    for call in items(message.get("tool_calls")):
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        id_ = call.get("id")
        arguments = parsed_arguments(function.get("arguments"))
        parts.append(ToolCallPart(id_ if isinstance(id_, str) else None, str(function.get("name", "")), arguments))
    refusal = message.get("refusal")
    if refusal or (finish == "content_filter" and not parts):
        raise ModelRefusedError(
            str(refusal or "the provider's filter took the whole answer"),
            provider=provider,
            type="refusal" if refusal else "content_filter",
        )
    made = Message("assistant", tuple(parts), finish_reason=finish if isinstance(finish, str) else None)
    return Reply(
        message=output.unwrap_message(made) if output else made,
        usage=usage_of(answer.get("usage"), prices, sent="prompt", got="completion"),
    )


def _reasoning(message: Mapping[str, Any]) -> str:
    found = message.get("reasoning_content") or message.get("reasoning")
    return found if isinstance(found, str) else ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in items(content) if isinstance(part.get("text"), str))


@dataclass(slots=True)
class ChatStream:
    """Chunks -> deltas, and in the end the whole answer in the form that ``reply_of`` reads."""

    wrapped: bool
    """True where the text arrives inside an object and can only be given once it is whole."""
    provider: str
    _message: dict[str, Any] = field(default_factory=dict)
    _calls: list[dict[str, Any]] = field(default_factory=list)
    _indices: dict[int, int] = field(default_factory=dict)
    _finish: str | None = None
    _usage: Any = None

    def feed(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas in one chunk."""
        self._usage = chunk.get("usage") or self._usage
        choice = next(iter(items(chunk.get("choices"))), None)
        if choice is None:
            return
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return
        if reasoning := _reasoning(delta):
            self._append("reasoning_content", reasoning)
            yield ReasoningDelta(reasoning)
        if text := _text(delta.get("content")):
            self._append("content", text)
            if not self.wrapped:
                yield TextDelta(text)
        if isinstance(refusal := delta.get("refusal"), str):
            self._append("refusal", refusal)
        for call in items(delta.get("tool_calls")):
            yield from self._tool_call(call)

    def _append(self, key: str, text: str) -> None:
        self._message[key] = self._message.get(key, "") + text

    def _tool_call(self, piece: Mapping[str, Any]) -> Iterator[Delta]:
        number, id_ = piece.get("index"), piece.get("id")
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        if type(number) is not int:
            # Some servers send no index: a new id is a new call, anything else goes on with the last one.
            known = [call["id"] for call in self._calls]
            number = known.index(id_) if id_ in known else len(known) if id_ or not known else len(known) - 1
        place = self._indices.setdefault(number, len(self._calls))
        if place == len(self._calls):
            self._calls.append({"id": id_, "function": {"name": str(function.get("name") or ""), "arguments": ""}})
            yield ToolCallDelta(place, id_, self._calls[place]["function"]["name"], "")
        call = self._calls[place]
        text = function.get("arguments")
        if isinstance(text, str) and text:
            call["function"]["arguments"] += text
            yield ToolCallDelta(place, call["id"], call["function"]["name"], text)

    def whole(self) -> Mapping[str, Any]:
        """The answer put together.

        Raises:
            ModelTransportError: the stream ended before the answer did.
        """
        if self._finish is None:
            raise incomplete(self.provider)
        message = {**self._message, "tool_calls": self._calls}
        return {"choices": [{"message": message, "finish_reason": self._finish}], "usage": self._usage}
