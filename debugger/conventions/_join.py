"""What a call's own span does not say but another span of its trace does: tool call ids, arguments, results, errors.

The model's own tool call is the best witness of a tool's arguments; the next request to the model holds its result.
What was taken from there is named in ``Call.inferred``. Where several calls fit equally, nothing is taken. Some
producers write the parts of one call as spans below it: how a tool's execution failed, the tool calls of an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from runtime.messages import (
    Call,
    ErrorInfo,
    Message,
    ToolCallPart,
    ToolCallResponsePart,
    canonical_json,
    json_safe,
    parse_json_text,
)

from ._asked import Asked, ByName, asked_in, printed

_OWN: Final = frozenset((None, "retrospan", "rejelly"))
ID: Final = "the tool call's id is that of the model's tool call"
ARGUMENTS: Final = "the arguments are those of the model's tool call"
RESULT: Final = "the result is the one in the next request to the model"
MESSAGE: Final = "the error's message is what the next request told the model"


def join(calls: Sequence[Call]) -> list[Call]:
    """The calls of one trace, in timeline order, with what others know of them."""
    out = _with_parts_below(calls)
    open_tools = [i for i, call in enumerate(out) if call.kind == "tool" and call.convention not in _OWN]
    if not open_tools:
        return out
    asked = list(asked_in(out))
    by_id: dict[str, Asked] = {}
    for one in asked:
        if one.part.id is not None:
            by_id.setdefault(one.part.id, one)
    by_name = ByName(asked if any(out[i].tool_call_id is None for i in open_tools) else ())
    parts: dict[int, ToolCallPart] = {}
    # Those that name their call first: what they take is not open to the others.
    for i in sorted(open_tools, key=lambda i: _turn_to_take(out[i])):
        call_id = out[i].tool_call_id
        found = by_id.get(call_id) if call_id is not None else by_name.find(out[i])
        if found is not None:
            found.is_taken = True
            out[i] = _with_request(out[i], found.part)
            parts[i] = found.part
    if any(_needs_result(out[i], parts.get(i)) for i in open_tools):
        results, nameless = _results(out)
        for i in open_tools:
            if _needs_result(out[i], parts.get(i)):
                out[i] = _with_result(out[i], results, nameless)
    return out


def _turn_to_take(call: Call) -> tuple[bool, bool, int]:
    """By start, as the calls are in timeline order; those without one last."""
    start = call.start_unix_nano
    return call.tool_call_id is None, start is None, start or 0


def _with_parts_below(calls: Sequence[Call]) -> list[Call]:
    """The calls with those of their parts that were written as spans below them."""
    below: dict[str, list[Call]] = {}
    for call in calls:
        if call.kind == "other" and call.tool_call_id is not None and call.parent_span_id is not None:
            below.setdefault(call.parent_span_id, []).append(call)
    if not below:
        return list(calls)
    return [_with_parts(call, below[call.span_id]) if call.span_id in below else call for call in calls]


def _with_parts(call: Call, parts: Sequence[Call]) -> Call:
    if call.kind == "tool" and call.error is None and not call.has_result:
        errors = [part.error for part in parts if part.error is not None and part.tool_call_id == call.tool_call_id]
        return replace(call, error=errors[0], lost=None) if errors else call
    asked = tuple(
        ToolCallPart(part.tool_call_id, part.tool_name, part.arguments) for part in parts if part.tool_name is not None
    )
    said = call.output_messages
    if call.kind != "llm" or not asked or said is None or len(said) != 1:
        return call
    if any(isinstance(part, ToolCallPart) for part in said[0].parts):
        return call
    answer = Message(said[0].role, (*said[0].parts, *asked), said[0].name, said[0].finish_reason)
    return replace(call, output_messages=(answer,))


def _with_request(call: Call, part: ToolCallPart) -> Call:
    changes: dict[str, Any] = {}
    notes: list[str] = []
    if call.tool_call_id is None and part.id is not None:
        changes["tool_call_id"] = part.id
        notes.append(ID)
    is_unnamed = not isinstance(call.arguments, Mapping) and isinstance(part.arguments, Mapping)
    if is_unnamed or (call.arguments != part.arguments and call.arguments == printed(part.arguments)):
        changes["arguments"] = part.arguments
        notes.append(ARGUMENTS)
    return replace(call, inferred=(*call.inferred, *notes), **changes) if changes else call


def _needs_result(call: Call, asked: ToolCallPart | None) -> bool:
    known = call.tool_call_id is not None or asked is not None
    return known and not call.has_result and not call.aborted and (call.error is None or _says_nothing(call.error))


def _says_nothing(error: ErrorInfo) -> bool:
    """No message, or one that only repeats the type."""
    return error.message.strip() in ("", error.type)


def _results(calls: Iterable[Call]) -> tuple[dict[str, Any], dict[bytes, list[Any]]]:
    """The results in requests: by the id of their call, and by name and arguments where calls have no ids (Gemini)."""
    by_id: dict[str, Any] = {}
    nameless: dict[bytes, list[Any]] = {}
    for call in calls:
        if call.kind != "llm":
            continue
        waiting: list[ToolCallPart] = []
        for message in call.input_messages or ():
            asked = [part for part in message.parts if isinstance(part, ToolCallPart) and part.id is None]
            waiting = asked or waiting
            for part in message.parts:
                if not isinstance(part, ToolCallResponsePart):
                    continue
                if part.id is not None:
                    by_id.setdefault(part.id, part.response)
                elif waiting:
                    told = nameless.setdefault(_request_key(waiting.pop(0)), [])
                    if len(told) < 2 and part.response not in told:  # of two nobody knows which
                        told.append(part.response)
    return by_id, nameless


def _request_key(part: ToolCallPart) -> bytes:
    return canonical_json(json_safe([part.name, parse_json_text(part.arguments)])[0])


def _with_result(call: Call, results: Mapping[str, Any], nameless: Mapping[bytes, list[Any]]) -> Call:
    if call.tool_call_id is not None:
        fits = [results[call.tool_call_id]] if call.tool_call_id in results else []
    else:
        fits = nameless.get(_request_key(ToolCallPart(None, call.tool_name or "", call.arguments)), [])
    if len(fits) != 1:
        return call
    result = parse_json_text(fits[0])
    if call.error is not None:
        return _with_message(call, call.error, result)
    lost = None if call.lost == "the result was not recorded" else call.lost
    return replace(call, result=result, has_result=True, lost=lost, inferred=(*call.inferred, RESULT))


def _with_message(call: Call, error: ErrorInfo, told: Any) -> Call:
    if isinstance(told, Mapping) and len(told) == 1 and "error" in told:
        told = told["error"]
    if not isinstance(told, str) or not told.strip():
        return call
    return replace(call, error=ErrorInfo(error.type, told), inferred=(*call.inferred, MESSAGE))
