"""Edits for people: what of a call can be changed, and what was typed for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runtime.messages import Call, Json, read_json, text_of
from runtime.trace import outcome_of

from ..errors import EditError
from .edits import read_set
from .model import Edit


def editable(call: Call, memory: Mapping[str, Json] | None = None) -> list[tuple[str, str]]:
    """What of a call can be edited, by path, with the text that stands there; empty for calls that cannot.

    Args:
        call: a model call or a tool call.
        memory: of its agent at that point, where code runs that reads it.
    """
    if call.kind == "tool":
        recorded = outcome_of(call)
        return [("result", _as_text(recorded.output)), ("error", recorded.error.message if recorded.error else "")]
    if call.kind != "llm" or call.input_messages is None:
        return []
    messages = call.input_messages
    out = [(f"messages[{i}].text", text_of([message])) for i, message in enumerate(messages)]
    out.append(("messages[+]", ""))
    out.append(("answer.text", text_of(call.output_messages[:1]) if call.output_messages else ""))
    out.append(("next", ""))
    out.append(("model", call.model or ""))
    params = {"temperature": None, **call.parameters}
    out.extend((f"params.{name}", _as_text(value)) for name, value in params.items())
    for tool in call.tool_definitions or ():
        out.append((f"tools.{tool.name}.description", tool.description or ""))
        out.append((f"tools.{tool.name}.parameters", _as_text(tool.parameters)))
    out.append(("schema", _as_text(call.output_schema)))
    out.extend((f"memory.{key}", _as_text(value)) for key, value in (memory or {}).items())
    return out


def typed(path: str, text: str) -> Edit:
    """The edit of a text that was typed for a path; JSON is read where the path takes it.

    Raises: EditError: the path takes an object, and the text is none.
    """
    if path == "schema" or (path.startswith("tools.") and path.endswith(".parameters")):
        if not text.strip():
            return Edit(path=path, value=None)
        try:
            value = read_json(text)
        except (ValueError, RecursionError) as fault:
            raise EditError(f"{path}: this is not JSON: {fault}") from fault
        if not isinstance(value, Mapping):
            raise EditError(f"{path}: this is not a JSON object")
        return Edit(path=path, value=value)
    if takes_json(path):
        return replace(read_set(f"x={text}"), path=path)
    return Edit(path=path, value=text)


def takes_json(path: str) -> bool:
    """Whether what is typed for a path is JSON where it can be read as that, else a text."""
    return path == "result" or path.startswith(("params.", "memory."))


def broken_json(text: str) -> str | None:
    """Why a text that begins like a JSON object or list is none; None where it is, or means to be plain text."""
    if text.strip()[:1] not in ("{", "["):
        return None
    try:
        read_json(text)
    except (ValueError, RecursionError) as fault:
        return str(fault)
    return None


def spoilt_json(old: str, text: str) -> str | None:
    """Why a text that is put in the place of JSON is none any more; None where it is, or where none stood there."""
    try:
        was = read_json(old)
    except (ValueError, RecursionError):
        return broken_json(text)
    if not isinstance(was, Mapping | Sequence) or isinstance(was, str):
        return broken_json(text)
    try:
        read_json(text)
    except (ValueError, RecursionError) as fault:
        return str(fault)
    return None


def supplied_value(kind: str, text: str) -> Json:
    """What was typed as the outcome of a call: a tool's result as JSON or text; a model's answer as its text.

    A model's answer may also be a whole message as JSON, with tool calls; any other JSON is what the model said.
    """
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        return text
    is_message = isinstance(value, Mapping) and isinstance(value.get("parts"), list)
    return value if kind != "llm" or is_message else text


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)
