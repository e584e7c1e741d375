"""Anthropic's messages: a request as parameters of the SDK, and answers and events as replies.

- System texts travel apart, and neighbouring messages of one role become one, as the API wants it.
- What a model thought must come back signed and unchanged: the signature follows its reasoning part as a part of type
  ``anthropic.thinking``; other blocks (``redacted_thinking``, say) are kept whole as ``anthropic.<type>``.
- A wanted output schema is offered as a tool that the model must call; its arguments become the text of the reply.

Source: the API reference of Anthropic, "Messages" and "Streaming messages".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelAnswerError, ModelRefusedError
from ..messages import (
    BlobPart,
    Json,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    Usage,
)
from ._prices import Prices
from ._protocol import Delta, ReasoningDelta, Reply, TextDelta, ToolCallDelta
from ._wire import (
    Output,
    choice_of,
    count,
    incomplete,
    is_carried,
    items,
    parsed_arguments,
    refuse_parameters,
    refuse_part,
    to_text,
    with_call_ids,
)

MAX_TOKENS = 4096
"""The API wants a limit with each request."""

_OWN = frozenset(("max_tokens", "stop_sequences", "thinking", "metadata", "service_tier"))
"""What every version of the SDK takes under this name; anything else goes into the body as it is."""
_UNKNOWN = ("seed", "frequency_penalty", "presence_penalty")


def output_tool(request: Request) -> tuple[Output, str] | None:
    """The wanted output and the name of the tool that stands for it; None where text is wanted."""
    output = Output.of(request)
    if output is None:
        return None
    name, taken = output.name, {tool.name for tool in request.tools or ()}
    while name in taken:
        name += "_"
    return output, name


def params_of(request: Request, model: str, provider: str) -> dict[str, Any]:
    """The arguments for ``messages.create``, without ``stream``.

    Raises:
        ModelRequestError: a part or parameter has no form in this protocol.
    """
    refuse_parameters(request.parameters, _UNKNOWN, "the messages API", provider)
    params: dict[str, Any] = {
        "model": model,
        "max_tokens": MAX_TOKENS,
        "messages": _messages(request.messages, provider),
    }
    if system := _system(request.messages):
        params["system"] = system
    tools = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools or ()]
    wanted = output_tool(request)
    if wanted is not None:
        output, name = wanted
        tools.append(_tool(name, "Give the final answer with this.", output.schema))
        params["tool_choice"] = _forced(request, name)
    if tools:
        params["tools"] = tools
    extra: dict[str, Any] = {}
    for key, value in request.parameters.items():
        if value is None or (key == "tool_choice" and not tools):
            continue
        if key == "tool_choice":
            params[key] = _tool_choice(value)
        else:
            (params if key in _OWN else extra)[key] = value
    if extra:
        params["extra_body"] = extra
    return params


def _tool(name: str, description: str | None, schema: Any) -> dict[str, Any]:
    out = {"name": name, "input_schema": dict(schema or {"type": "object", "properties": {}})}
    return out | {"description": description} if description else out


def _forced(request: Request, name: str) -> dict[str, Any]:
    thinking = request.parameters.get("thinking")
    if isinstance(thinking, Mapping) and thinking.get("type") != "disabled":
        # The API refuses to force a tool on a model that thinks.
        return {"type": "auto"}
    return {"type": "any"} if request.tools else {"type": "tool", "name": name}


def _tool_choice(value: Json) -> Any:
    choice = choice_of(value)
    if choice is None:
        return value
    kind, name = choice
    return {"type": "tool", "name": name} if kind == "tool" else {"type": "any" if kind == "required" else kind}


def _system(messages: Sequence[Message]) -> str:
    texts = (
        part.content
        for message in messages
        if message.role in ("system", "developer")
        for part in message.parts
        if isinstance(part, TextPart) and part.content
    )
    return "\n\n".join(texts)


def _messages(messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for message in with_call_ids(messages):
        if message.role in ("system", "developer"):
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message.parts, provider))
        if not blocks:
            continue
        if out and out[-1]["role"] == role:
            out[-1]["content"].extend(blocks)
        else:
            out.append({"role": role, "content": blocks})
    return out


def _blocks(parts: Sequence[Part], provider: str) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(parts):
        match part:
            case TextPart(text):
                if text:  # The API refuses an empty block.
                    yield {"type": "text", "text": text}
            case ToolCallPart(id_, name, arguments):
                # Only an object is allowed here; arguments that did not parse are shown to the model as they came.
                given = arguments if isinstance(arguments, Mapping) else {"malformed_arguments": arguments}
                yield {"type": "tool_use", "id": id_, "name": name, "input": given}
            case ToolCallResponsePart(id_, response):
                yield {"type": "tool_result", "tool_use_id": id_, "content": to_text(response)}
            case BlobPart(mime_type, str(uri)) if (mime_type or "image/").startswith("image/"):
                yield {"type": "image", "source": _image(uri)}
            case OtherPart("anthropic.thinking", data):
                before = parts[number - 1] if number else None
                thought = before.content if isinstance(before, ReasoningPart) else ""
                yield {"type": "thinking", "thinking": thought, "signature": data.get("signature")}
            case OtherPart(kind, data) if kind.startswith("anthropic."):
                yield {**data, "type": kind.removeprefix("anthropic.")}
            case _ if not is_carried(part):
                raise refuse_part(part, provider)


def _image(uri: str) -> dict[str, Any]:
    head, found, data = uri.partition(";base64,")
    if uri.startswith("data:") and found:
        return {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}
    return {"type": "url", "url": uri}


def reply_of(
    answer: Mapping[str, Any], wanted: tuple[Output, str] | None, provider: str, prices: Prices | None
) -> Reply:
    """The reply in an answer.

    Raises:
        ModelRefusedError: the model refused.
        ModelAnswerError: there is no content in it.
    """
    if answer.get("stop_reason") == "refusal":
        details = answer.get("stop_details")
        why = details.get("explanation") if isinstance(details, Mapping) else None
        raise ModelRefusedError(str(why or "the model refused to answer"), provider=provider, type="refusal")
    if not isinstance(answer.get("content"), list):
        raise ModelAnswerError("the answer holds no content", provider=provider, type="malformed")
    parts = [part for block in items(answer["content"]) for part in _parts(block, wanted)]
    finish = answer.get("stop_reason")
    if wanted is not None and finish == "tool_use" and not any(isinstance(part, ToolCallPart) for part in parts):
        # The tool that stood for the output is no tool to anyone else.
        finish = "end_turn"
    made = Message("assistant", tuple(parts), finish_reason=finish if isinstance(finish, str) else None)
    return Reply(message=made, usage=usage_of(answer.get("usage"), prices))


def _parts(block: Mapping[str, Any], wanted: tuple[Output, str] | None) -> Iterator[Part]:
    kind = block.get("type")
    if kind == "text":
        if isinstance(text := block.get("text"), str) and text:
            yield TextPart(text)
    elif kind == "tool_use":
        name, given = str(block.get("name", "")), parsed_arguments(block.get("input"))
        id_ = block.get("id")
        if wanted is not None and name == wanted[1]:
            yield TextPart(wanted[0].unwrap(to_text(given)))
        else:
            yield ToolCallPart(id_ if isinstance(id_, str) else None, name, given)
    elif kind == "thinking":
        if thought := block.get("thinking"):
            yield ReasoningPart(str(thought))
        if block.get("signature"):
            yield OtherPart("anthropic.thinking", {"signature": block["signature"]})
    else:
        # Hidden thoughts, or what a tool of the provider's own did. Kept, and sent back as it came.
        yield OtherPart(f"anthropic.{kind}", {key: value for key, value in block.items() if key != "type"})


def usage_of(data: Any, prices: Prices | None) -> Usage:
    """Tokens with the cache's counted as input, as everyone else counts; the API itself counts them apart."""
    fresh, got = count(data, "input_tokens"), count(data, "output_tokens")
    read, written = count(data, "cache_read_input_tokens"), count(data, "cache_creation_input_tokens")
    sent = None if fresh is None else fresh + (read or 0) + (written or 0)
    cost = None
    if prices is not None:
        cost = prices.cost(input_tokens=sent, output_tokens=got, cached_tokens=read, cache_write_tokens=written)
    return Usage(
        input_tokens=sent,
        output_tokens=got,
        cached_tokens=read,
        reasoning_tokens=count(data, "output_tokens_details", "thinking_tokens"),
        cost_nano_usd=cost,
    )


@dataclass(slots=True)
class MessageStream:
    """Events -> deltas, and in the end the whole answer in the form that ``reply_of`` reads."""

    wanted: tuple[Output, str] | None
    provider: str
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _calls: dict[int, int] = field(default_factory=dict)
    _texts: list[int] = field(default_factory=list)
    """The blocks that are text of the reply, in order."""
    _message: dict[str, Any] = field(default_factory=dict)
    _usage: dict[str, Any] = field(default_factory=dict)
    _stopped: bool = False

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas in one event."""
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                if isinstance(message, Mapping):
                    self._count(message.get("usage"))
            case "content_block_start":
                yield from self._open(event)
            case "content_block_delta":
                delta = event.get("delta")
                number = count(event, "index")
                if isinstance(delta, Mapping) and number in self._blocks:
                    yield from self._grow(number, delta)
            case "message_delta":
                delta = event.get("delta")
                if isinstance(delta, Mapping):
                    self._message.update(delta)
                self._count(event.get("usage"))
            case "message_stop":
                self._stopped = True

    def _count(self, usage: Any) -> None:
        """Counts are cumulative; the last known one of each kind stands."""
        if isinstance(usage, Mapping):
            self._usage.update({key: value for key, value in usage.items() if value is not None})

    def _open(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        number, block = count(event, "index"), event.get("content_block")
        if number is None or not isinstance(block, Mapping):
            return
        opened = self._blocks[number] = dict(block)
        if opened.get("type") == "tool_use":
            opened["input"] = ""
            if not self._is_output(opened):
                self._calls[number] = len(self._calls)
                yield ToolCallDelta(self._calls[number], opened.get("id"), str(opened.get("name", "")), "")
        elif opened.get("type") == "text" and opened.get("text"):
            yield from self._text(number, str(opened["text"]))

    def _is_output(self, block: Mapping[str, Any]) -> bool:
        return self.wanted is not None and block.get("type") == "tool_use" and block.get("name") == self.wanted[1]

    def _grow(self, number: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        block = self._blocks[number]
        match delta.get("type"):
            case "text_delta" if text := str(delta.get("text") or ""):
                block["text"] = str(block.get("text") or "") + text
                yield from self._text(number, text)
            case "thinking_delta" if text := str(delta.get("thinking") or ""):
                block["thinking"] = str(block.get("thinking") or "") + text
                yield ReasoningDelta(text)
            case "signature_delta":
                block["signature"] = delta.get("signature")
            case "input_json_delta" if text := str(delta.get("partial_json") or ""):
                # The input of a provider's own tool grows in the same way.
                before = block.get("input")
                block["input"] = (before if isinstance(before, str) else "") + text
                if number in self._calls:
                    yield ToolCallDelta(self._calls[number], block.get("id"), str(block.get("name", "")), text)

    def _text(self, number: int, text: str) -> Iterator[Delta]:
        """A piece of text, after a line break where a further block begins, as in the text of the whole message."""
        first = number not in self._texts
        if first:
            self._texts.append(number)
        yield TextDelta(("\n" if first and len(self._texts) > 1 else "") + text)

    def output_delta(self) -> Iterator[Delta]:
        """The wanted output, which is only given once it is whole: as it came it may not be written as it is kept."""
        for number, block in self._blocks.items():
            if self.wanted is not None and self._is_output(block):
                yield from self._text(number, self.wanted[0].unwrap(to_text(parsed_arguments(block["input"]))))

    def whole(self) -> Mapping[str, Any]:
        """The answer put together.

        Raises:
            ModelTransportError: the stream ended before the answer did.
        """
        if not self._stopped and not self._message.get("stop_reason"):
            raise incomplete(self.provider)
        content = [
            {**block, "input": parsed_arguments(block["input"])} if "input" in block else block
            for _, block in sorted(self._blocks.items())
        ]
        return {**self._message, "content": content, "usage": self._usage}
