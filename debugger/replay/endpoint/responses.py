"""Responses as a server speaks them.

Source: the API reference of OpenAI, "Responses" and "Streaming events".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.messages import OtherPart, Part, ReasoningPart, TextPart, ToolCallPart, Usage
from runtime.models.wire import RESPONSES, to_text

from .chat import fault
from .speaking import PIECE, Answer, Event, Finish, Speaker, or_zero, refusal_of

_REASONS: Final[dict[Finish, str]] = {"length": "max_output_tokens", "filter": "content_filter"}
"""Why a response is incomplete."""


def whole(answer: Answer) -> dict[str, Any]:
    """The answer as one object."""
    reason = _REASONS.get(answer.finish)
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": answer.created,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": list(_items(answer)),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "truncation": "disabled",
        "usage": _usage(answer.usage),
    }


def _items(answer: Answer) -> Iterator[dict[str, Any]]:
    """Texts side by side are one message; calls and thoughts are items of their own."""
    parts = answer.parts()
    content: list[dict[str, Any]] = []
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        item = _item(part, following, f"{answer.id}_{number}")
        if isinstance(part, TextPart):
            content.append({"type": "output_text", "text": part.content, "annotations": [], "logprobs": []})
        elif (words := refusal_of(part)) is not None:
            content.append({"type": "refusal", "refusal": words})
        elif item is not None:
            if content:
                yield _message(content, f"msg_{answer.id}_{number}")
                content = []
            yield item
    if content or not parts:
        yield _message(content, f"msg_{answer.id}_{len(parts)}")


def _message(content: list[dict[str, Any]], id_: str) -> dict[str, Any]:
    return {"id": id_, "type": "message", "role": "assistant", "status": "completed", "content": content}


def _item(part: Part, following: Part | None, id_: str) -> dict[str, Any] | None:
    match part:
        case ToolCallPart(call_id, name, arguments):
            called = {"call_id": call_id, "name": name, "arguments": to_text(arguments)}
            return {"id": f"fc_{id_}", "type": "function_call", "status": "completed", **called}
        case ReasoningPart(text):
            if isinstance(following, OtherPart) and following.type == "openai.reasoning":
                return None  # The item that follows holds the same text, as the API gave it.
            return {"id": f"rs_{id_}", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        case OtherPart(kind, data) if kind.startswith("openai."):
            return {"id": f"it_{id_}", "summary": [], **data, "type": kind.removeprefix("openai.")}
    return None


def events(answer: Answer, body: Mapping[str, Any]) -> Iterator[Event]:
    """The answer as events, numbered."""
    for number, event in enumerate(_events(whole(answer))):
        yield event["type"], {**event, "sequence_number": number}


def _events(last: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = last | {"output": [], "status": "in_progress", "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for at, item in enumerate(last["output"]):
        where = {"output_index": at, "item_id": item["id"]}
        match item["type"]:
            case "message":
                empty = item | {"content": [], "status": "in_progress"}
                inner = _message_events(item, where)
            case "function_call":
                empty = item | {"arguments": "", "status": "in_progress"}
                inner = _call_events(item, where)
            case "reasoning":
                empty = item | {"summary": []}
                inner = _thought_events(item, where)
            case _:
                empty, inner = item, iter(())
        yield {"type": "response.output_item.added", "output_index": at, "item": empty}
        yield from inner
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": f"response.{last['status']}", "response": last}


def _message_events(item: dict[str, Any], where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index, part in enumerate(item["content"]):
        place = {**where, "content_index": index}
        kind, key = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
        yield {"type": "response.content_part.added", "part": part | {key: ""}, **place}
        more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
        for piece in _pieces(part[key]):
            yield {"type": f"response.{kind}.delta", "delta": piece, **more, **place}
        yield {"type": f"response.{kind}.done", key: part[key], **more, **place}
        yield {"type": "response.content_part.done", "part": part, **place}


def _call_events(item: dict[str, Any], where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in _pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", "delta": piece, **where}
    named = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **named, **where}


def _thought_events(item: dict[str, Any], where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index, part in enumerate(item["summary"]):
        text = part.get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str):
            place = {**where, "summary_index": index}
            yield {"type": "response.reasoning_summary_part.added", "part": part | {"text": ""}, **place}
            for piece in _pieces(text):
                yield {"type": "response.reasoning_summary_text.delta", "delta": piece, **place}
            yield {"type": "response.reasoning_summary_text.done", "text": text, **place}
            yield {"type": "response.reasoning_summary_part.done", "part": part, **place}


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + PIECE] for i in range(0, len(text), PIECE))


def _usage(usage: Usage) -> dict[str, Any] | None:
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    sent, got = or_zero(usage.input_tokens), or_zero(usage.output_tokens)
    return {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": or_zero(usage.cached_tokens), "cache_write_tokens": 0},
        "output_tokens": got,
        "output_tokens_details": {"reasoning_tokens": or_zero(usage.reasoning_tokens)},
        "total_tokens": sent + got,
    }


SPEAKER: Final = Speaker(RESPONSES, whole, events, fault)
