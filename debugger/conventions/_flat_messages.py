"""Flattened messages as OpenInference writes them, and producers that took the form over under other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart, parse_json_text

from ._draft import Draft
from ._flat import flat_items
from ._view import text
from .shapes import decoded, part_of, tool_calls_of


def flat_messages(draft: Draft, prefix: str, *, asked: bool = False) -> tuple[Message, ...] | None:
    """The messages under ``prefix.N.message.*``; None where there are none.

    Args: asked: they are the request's, of which an attribute limit may have dropped some unseen.
    """
    items = flat_items(draft.attributes, prefix)
    if not items:
        return None
    dropped = draft.span.extra.get("droppedAttributesCount")
    if next(iter(items)) != 0 or len(items) != max(items) + 1 or (dropped and asked):
        draft.content.lose("messages were dropped by a limit on the number of attributes")
    out = []
    for item in items.values():
        fields = item.get("message") if isinstance(item, Mapping) else None
        if isinstance(fields, Mapping):
            out.append(_function_results(item) or draft.content.known.once(_message, fields, "unknown"))
    return tuple(out) or None


def _function_results(item: Mapping[str, Any]) -> Message | None:
    """AutoGen's results of several calls, which its instrumentation writes beside the message they belong in."""
    results = item.get("function")
    if not isinstance(results, list):
        return None
    read = [result for result in map(decoded, results) if isinstance(result, Mapping) and "call_id" in result]
    parts = [ToolCallResponsePart(text(r["call_id"]), parse_json_text(r.get("content"))) for r in read]
    return Message("tool", tuple(parts)) if parts else None


def _message(fields: Mapping[str, Any], default_role: str) -> Message:
    role = str(fields.get("role") or default_role)
    role = "assistant" if role == "model" else role
    content, call_id = fields.get("content"), text(fields.get("tool_call_id"))
    contents = fields.get("contents")
    parts: list[Part] = []
    for item in contents if isinstance(contents, list) else []:
        parts.extend(_content_parts(item))
    if isinstance(content, str) and content and not any(isinstance(p, TextPart) for p in parts):
        parts.append(TextPart(content))
    if role == "tool" or (call_id is not None and role == "user"):
        text_parts = [part.content for part in parts if isinstance(part, TextPart)]
        value = "\n".join(text_parts) if text_parts else content
        return Message(role, (ToolCallResponsePart(call_id, parse_json_text(value)),))
    calls = tool_calls_of(fields.get("tool_calls") or [_old_function_call(fields)])
    if calls:
        parts = [*(part for part in parts if not isinstance(part, ToolCallPart)), *calls]
    return Message(role, tuple(parts), text(fields.get("name")), text(fields.get("finish_reason")))


def _old_function_call(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": fields.get("function_call_name"), "arguments": fields.get("function_call_arguments_json")}


def _content_parts(item: Any) -> list[Part]:
    if not isinstance(item, Mapping):
        return []
    if isinstance(item.get("tool_call"), Mapping):
        return tool_calls_of([item["tool_call"]])
    inner = item.get("message_content")
    if not isinstance(inner, Mapping):
        return []
    if inner.get("type") == "reasoning":
        return [ReasoningPart(str(inner.get("text", "")))]
    return [part_of(inner)]
