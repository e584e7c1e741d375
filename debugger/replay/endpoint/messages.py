"""Anthropic's messages as a server speaks them.

Source: the API reference of Anthropic, "Messages" and "Streaming messages".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.messages import OtherPart, ReasoningPart, TextPart, ToolCallPart, Usage
from runtime.models.wire import MESSAGES

from .speaking import PIECE, Answer, Event, Fault, Finish, Speaker, or_zero, refusal_of

_STOP: Final[dict[Finish, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool": "tool_use",
    "filter": "refusal",
}
_OTHER_STOPS: Final = frozenset(("stop_sequence", "pause_turn", "model_context_window_exceeded"))

_ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def whole(answer: Answer) -> dict[str, Any]:
    """The answer as one object."""
    stop = answer.own_word(_STOP, _OTHER_STOPS)
    words = next((w for part in answer.message.parts if (w := refusal_of(part)) is not None), None)
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": list(_blocks(answer)),
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "explanation": words} if words is not None else None,
        "usage": _usage(answer.usage),
    }


def _blocks(answer: Answer) -> Iterator[dict[str, Any]]:
    parts = answer.parts()
    for number, part in enumerate(parts):
        match part:
            case TextPart(text):
                yield {"type": "text", "text": text, "citations": None}
            case ToolCallPart(id_, name, arguments):
                # Arguments that are no object did not come over this protocol, which has only objects.
                given = arguments if isinstance(arguments, Mapping) else {"malformed_arguments": arguments}
                yield {"type": "tool_use", "id": id_, "name": name, "input": given}
            case ReasoningPart(text):
                following = parts[number + 1] if number + 1 < len(parts) else None
                signed = isinstance(following, OtherPart) and following.type == "anthropic.thinking"
                signature = following.data.get("signature") if isinstance(following, OtherPart) and signed else ""
                yield {"type": "thinking", "thinking": text, "signature": signature}
            case OtherPart("anthropic.thinking", data):
                if number == 0 or not isinstance(parts[number - 1], ReasoningPart):
                    yield {"type": "thinking", "thinking": "", "signature": data.get("signature")}
            case OtherPart(kind, data) if kind.startswith("anthropic."):
                yield {**data, "type": kind.removeprefix("anthropic.")}


def events(answer: Answer, body: Mapping[str, Any]) -> Iterator[Event]:
    """The answer as events."""
    for event in _events(whole(answer)):
        yield event["type"], event


def _events(last: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = last | {"content": [], "stop_reason": None, "stop_details": None}
    yield {"type": "message_start", "message": begun | {"usage": last["usage"] | {"output_tokens": 0}}}
    for index, block in enumerate(last["content"]):
        match block["type"]:
            case "text":
                empty = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            case "thinking":
                empty = block | {"thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"] or ""})
            case "tool_use" | "server_tool_use":
                empty = block | {"input": {}}
                text = json.dumps(block.get("input", {}), ensure_ascii=False)
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(text)]
            case _:
                empty, deltas = block, []
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {key: last[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    yield {"type": "message_delta", "delta": ended, "usage": last["usage"]}
    yield {"type": "message_stop"}


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + PIECE] for i in range(0, len(text), PIECE))


def _usage(usage: Usage) -> dict[str, Any]:
    # The API counts what the cache gave apart from the input.
    cached = or_zero(usage.cached_tokens)
    out: dict[str, Any] = {
        "input_tokens": max(0, or_zero(usage.input_tokens) - cached),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": or_zero(usage.output_tokens),
    }
    if usage.reasoning_tokens is not None:
        out["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return out


def fault(given: Fault) -> dict[str, Any]:
    """The body of a failure."""
    if given.body is not None:
        return dict(given.body)
    own = given.type if given.type.endswith("_error") else _ERROR_TYPES.get(given.status, "api_error")
    return {"type": "error", "error": {"type": own, "message": given.message}, "request_id": None}


SPEAKER: Final = Speaker(MESSAGES, whole, events, fault)
