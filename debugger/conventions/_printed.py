"""Objects of an SDK as Python prints them, which an instrumentation wrote where a part's text should stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from runtime.messages import Message, Part, TextPart

from .shapes import part_of

SCOPES: Final = frozenset(("opentelemetry.instrumentation.openai_agents",))
"""The instrumentations that do so."""
_STARTS: Final = ("ResponseFunctionToolCall(", "ResponseReasoningItem(", "{'annotations': ")
_LONGEST: Final = 1_000_000
_EXECUTION: Final = re.compile(
    r"status='(success|failure)' result=(.*) error=(.*?)(?: updated_session_state=.*)?", re.DOTALL
)


def unprinted(messages: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The messages with printed objects read again, as far as they can be."""
    if messages is None:
        return None
    return tuple(replace(m, parts=tuple(_part(part) for part in m.parts)) for m in messages)


def _part(part: Part) -> Part:
    if not isinstance(part, TextPart) or not part.content.startswith(_STARTS) or len(part.content) > _LONGEST:
        return part
    try:
        value = _value(ast.parse(part.content, mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return part
    return part_of(value) if isinstance(value, Mapping) else part


def _value(node: ast.expr) -> Any:
    """The value of a printed object: a constructor's call is a mapping of its keywords."""
    if isinstance(node, ast.Call):
        return {each.arg: _value(each.value) for each in node.keywords if each.arg}
    if isinstance(node, ast.List):
        return [_value(each) for each in node.elts]
    return ast.literal_eval(node)


_CHAT: Final = re.compile(r"ChatMessage\(_role=<ChatRole\.\w+: '(\w+)'>, ")


def chat_messages(printed: Any) -> list[dict[str, Any]] | None:
    """Messages of Haystack in its own JSON form, from a list of printed ones; None where one cannot be read."""
    if not isinstance(printed, list):
        return None
    messages: list[dict[str, Any]] = []
    for each in printed:
        found = _CHAT.match(each) if isinstance(each, str) and len(each) <= _LONGEST else None
        if found is None:
            return None
        try:
            # The role is the only value that Python does not print as it reads it.
            fields = _value(ast.parse(f"ChatMessage({each[found.end() :]}", mode="eval").body)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        meta = fields.get("_meta")
        reason = meta.get("finish_reason") if isinstance(meta, dict) else None
        content = fields.get("_content")
        messages.append(
            {
                "role": found[1],
                "content": [_chat_part(part) for part in content] if isinstance(content, list) else content,
                "name": fields.get("_name"),
                "finish_reason": reason,
            }
        )
    return messages


_FUNCTION: Final = ", function=<"


def offered_tools(printed: Any) -> list[Any] | None:
    """Haystack's tools as objects, from a list of printed ones; None where one cannot be read."""
    tools: list[Any] = []
    for each in printed if isinstance(printed, list) else ():
        if not isinstance(each, str) or not each.startswith("Tool(name=") or len(each) > _LONGEST:
            return None
        try:
            # What comes behind the schema is the function, which cannot be read and is not sent to the model.
            fields = _value(ast.parse(f"{each.partition(_FUNCTION)[0]})", mode="eval").body)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        tools.append(fields)
    return tools or None


def _chat_part(part: Any) -> Any:
    if isinstance(part, Mapping) and "tool_name" in part:
        return {"tool_call": part}
    return {"tool_call_result": part} if isinstance(part, Mapping) and "origin" in part else part


class Execution(NamedTuple):
    """How the call of a tool went, by an object of Agno that was printed."""

    failed: bool
    result: Any
    error: str | None


def execution(printed: Any) -> Execution | None:
    """The printed object's fields; None where it is something else."""
    if not isinstance(printed, str) or not printed.startswith("status='") or len(printed) > _LONGEST:
        return None
    found = _EXECUTION.fullmatch(printed)
    if found is None:
        return None
    error = _literal(found[3])
    return Execution(found[1] == "failure", _literal(found[2]), error if isinstance(error, str) else None)


def _literal(printed: str) -> Any:
    try:
        return ast.literal_eval(printed)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return printed
