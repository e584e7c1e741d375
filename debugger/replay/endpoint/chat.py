"""Chat completions as a server speaks them.

Source: the API reference of OpenAI, "Chat completions" and its streaming chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.messages import ReasoningPart, TextPart, ToolCallPart, Usage
from runtime.models import ReasoningDelta, Reply, TextDelta, ToolCallDelta, deltas_of
from runtime.models.wire import CHAT, to_text

from .speaking import PIECE, Answer, Event, Fault, Finish, Speaker, or_zero, refusal_of

_FINISH: Final[dict[Finish, str]] = {
    "stop": "stop",
    "length": "length",
    "tool": "tool_calls",
    "filter": "content_filter",
}


def whole(answer: Answer) -> dict[str, Any]:
    """The answer as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    texts, thoughts, calls = [], [], []
    for part in answer.parts():
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, ReasoningPart):
            thoughts.append(part.content)
        elif isinstance(part, ToolCallPart):
            function = {"name": part.name, "arguments": to_text(part.arguments)}
            calls.append({"id": part.id, "type": "function", "function": function})
        elif (words := refusal_of(part)) is not None:
            message["refusal"] = words
    if texts or not (calls or message["refusal"] is not None):
        message["content"] = "\n".join(texts)
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    return _object("chat.completion", answer, [choice]) | {"usage": usage_as_sent(answer.usage)}


def events(answer: Answer, body: Mapping[str, Any]) -> Iterator[Event]:
    """The answer as chunks; with its usage where the request wants it."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return None, _object("chat.completion.chunk", answer, [choice])

    message = whole(answer)["choices"][0]["message"]
    yield chunk({"role": "assistant", "content": None if message["content"] is None else "", "refusal": None})
    if message["refusal"]:
        yield chunk({"refusal": message["refusal"]})
    ids = [call["id"] for call in message.get("tool_calls", ())]
    for delta in deltas_of(Reply(message=answer.message, usage=answer.usage), PIECE):
        match delta:
            case TextDelta(text):
                yield chunk({"content": text})
            case ReasoningDelta(text):
                yield chunk({"reasoning_content": text})
            case ToolCallDelta(index, _, name, ""):
                opened = {"id": ids[index], "type": "function", "function": {"name": name, "arguments": ""}}
                yield chunk({"tool_calls": [{"index": index, **opened}]})
            case ToolCallDelta(index, _, _, text):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield chunk({}, _finish(answer))
    options = body.get("stream_options")
    if isinstance(options, Mapping) and options.get("include_usage"):
        yield None, _object("chat.completion.chunk", answer, []) | {"usage": usage_as_sent(answer.usage)}


def fault(given: Fault) -> dict[str, Any]:
    """The body of a failure, of both protocols of OpenAI."""
    if given.body is not None:
        return dict(given.body)
    return {"error": {"message": given.message, "type": given.type, "param": None, "code": given.code}}


def _finish(answer: Answer) -> str:
    return answer.own_word(_FINISH, frozenset(("function_call",)))


def _object(kind: str, answer: Answer, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": kind,
        "created": answer.created,
        "model": answer.model,
        "system_fingerprint": None,
        "choices": choices,
    }


def usage_as_sent(usage: Usage) -> dict[str, Any] | None:
    """The counts as the API tells them; None where none are known."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    sent, got = or_zero(usage.input_tokens), or_zero(usage.output_tokens)
    return {
        "prompt_tokens": sent,
        "completion_tokens": got,
        "total_tokens": sent + got,
        "prompt_tokens_details": {"cached_tokens": or_zero(usage.cached_tokens), "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": or_zero(usage.reasoning_tokens), "audio_tokens": 0},
    }


SPEAKER: Final = Speaker(CHAT, whole, events, fault, "data: [DONE]\n\n")
