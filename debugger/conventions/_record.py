"""Spans that hold one value for what went in and one for what came out, whatever it was: read alike for all producers.

Which attributes those are, and how a span's kind is told, stays in each producer's module.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from runtime.messages import parse_json_text

from ._draft import Draft
from ._view import text, whole
from .shapes import decoded, tool_definitions_of

_NO_PARAMETERS = frozenset(
    ("messages", "contents", "model", "tools", "input", "prompt", "system", "instructions", "docs", "output")
)


class _Inputs(msgspec.Struct, gc=False):
    model: Any = None


_inputs = msgspec.json.Decoder(_Inputs).decode


def asked_model(inputs: Any) -> str | None:
    """The model's name in a request that is written as JSON text; the rest of it is not kept."""
    if type(inputs) is not str or '"model"' not in inputs:
        return None
    try:
        return text(_inputs(inputs).model)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def details(value: Any) -> Mapping[str, Any]:
    """A small object that is written as JSON text; empty where there is none."""
    parsed = parse_json_text(value)
    return parsed if isinstance(parsed, Mapping) else {}


def inner(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """The object at a path; empty where there is none."""
    for key in path:
        below = value.get(key)
        if isinstance(below, list):
            below = below[0] if below else None
        if not isinstance(below, Mapping):
            return {}
        value = below
    return value


def first_count(values: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of several counts that is there."""
    return next((count for key in names if (count := whole(values.get(key))) is not None), None)


def fill_record(draft: Draft, given: Any, got: Any) -> None:
    """The call from what went in and what came out; a failed call has no result.

    Args:
        draft: the call so far.
        given: what went in, with JSON text parsed.
        got: what came out, likewise; None where it was not recorded.
    """
    failed = draft.span.status_code == 2 or draft.facts.error_type is not None
    if draft.kind == "llm":
        _fill_llm(draft, given, got)
    elif draft.kind == "tool":
        if draft.arguments is None:
            draft.arguments = tool_arguments(given)
        told = tool_result(got)
        draft.tool_call_id = draft.tool_call_id or told.call_id
        draft.take_result(None if failed else told.value)
    elif draft.kind == "agent":
        if draft.input is None:
            draft.input = given
        draft.take_result(None if failed else got)


def _fill_llm(draft: Draft, given: Any, got: Any) -> None:
    if draft.inputs is None and given is not None:
        draft.inputs = draft.content.messages_in(given, "user")
    if isinstance(given, Mapping):
        if draft.tools is None and "tools" in given:
            draft.tools = tool_definitions_of(given["tools"])
        for key, value in given.items():
            if key not in _NO_PARAMETERS:
                draft.parameters.setdefault(key, value)
    if draft.outputs is None and got is not None:
        draft.outputs = draft.content.messages_in(got, "assistant")
    if isinstance(got, Mapping):
        draft.response_model = draft.response_model or text(got.get("model"))


class ToolResult(NamedTuple):
    """A tool's result out of its wrapper, with the id of the call where the wrapper has it."""

    value: Any
    call_id: str | None = None


def tool_result(value: Any) -> ToolResult:
    """The result itself: LangChain wraps it in a tool message, and that in an object with one key."""
    value = decoded(value)
    inside = value
    if isinstance(value, Mapping) and set(value) <= {"output", "kwargs"} and "output" in value:
        inside = value["output"]
    if isinstance(inside, Mapping):
        for key in ("kwargs", "data"):
            message = inside.get(key)
            if (
                isinstance(message, Mapping)
                and "content" in message
                and ("lc" in inside or inside.get("type") == "tool")
            ):
                return ToolResult(parse_json_text(message["content"]), text(message.get("tool_call_id")))
        if inside.get("type") == "tool" and "content" in inside:
            return ToolResult(parse_json_text(inside["content"]), text(inside.get("tool_call_id")))
    return ToolResult(parse_json_text(inside) if inside is not value else value)


def tool_arguments(value: Any) -> Any:
    """The arguments by name: without a decorator's ``args`` and ``kwargs``, or LangChain's Python text."""
    if isinstance(value, Mapping):
        if set(value) == {"args", "kwargs"}:
            args, kwargs = value["args"], value["kwargs"]
            return (
                kwargs if not args else args[0] if not kwargs and isinstance(args, list) and len(args) == 1 else value
            )
        if isinstance(value.get("inputs"), Mapping):
            return value["inputs"]
        for key in ("input_str", "input"):
            if isinstance(value.get(key), str) and set(value) <= {key, "inputs"}:
                return python_value(value[key])
    return value


def python_value(value: Any) -> Any:
    """A dict or list that was printed by Python; any other text as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return parse_json_text(value)
