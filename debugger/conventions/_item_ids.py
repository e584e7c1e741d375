"""Tool calls of the Responses API that were recorded under the id of their item instead of the call's own.

OpenLLMetry writes ``fc_...`` on the call and ``call_...`` on its result. A later request has both, calls and results in
the same order: where every call of a turn has its result, the call's own id is the result's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from runtime.messages import Call, Message, ToolCallPart, ToolCallResponsePart

_ITEM: Final = "fc_"
ITEM_ID: Final = "the id of a tool call is that of its result"


def with_call_ids(calls: Sequence[Call]) -> list[Call]:
    """The calls of a trace, with the ids that results use on the tool calls that they answer."""
    out = list(calls)
    asking = [i for i, call in enumerate(out) if call.kind == "llm" and _names_items(call.output_messages)]
    if not asking:
        return out
    known: dict[str, str] = {}
    for call in out[asking[0] :]:
        if call.kind == "llm":
            known |= _learned(call.input_messages or ())
    for i, call in enumerate(out):
        if known and call.kind == "llm":
            given, said = (_renamed(side, known) for side in (call.input_messages, call.output_messages))
            if given is not call.input_messages or said is not call.output_messages:
                notes = (*call.inferred, ITEM_ID)
                out[i] = replace(call, input_messages=given, output_messages=said, inferred=notes)
    return out


def _names_items(messages: Iterable[Message] | None) -> bool:
    return any(_is_item(part) for message in messages or () for part in message.parts)


def _is_item(part: object) -> bool:
    return isinstance(part, ToolCallPart) and part.id is not None and part.id.startswith(_ITEM)


def _learned(messages: Iterable[Message]) -> dict[str, str]:
    known: dict[str, str] = {}
    asked: list[str] = []
    told: list[str] = []
    for part in [part for message in messages for part in message.parts] + [None]:
        if isinstance(part, ToolCallResponsePart):
            told.append(part.id or "")
            continue
        if told:  # the turn's results are complete
            fits = len(asked) == len(told) and all(told) and not set(asked) & set(told)
            known |= dict(zip(asked, told, strict=True)) if fits else {}
            asked, told = [], []
        if isinstance(part, ToolCallPart):
            asked.append(part.id or "")
    return {item: call_id for item, call_id in known.items() if item.startswith(_ITEM)}


def _renamed(messages: tuple[Message, ...] | None, known: dict[str, str]) -> tuple[Message, ...] | None:
    if not _names_items(messages):
        return messages
    return tuple(
        replace(
            message,
            parts=tuple(
                replace(part, id=known.get(part.id or "", part.id)) if isinstance(part, ToolCallPart) else part
                for part in message.parts
            ),
        )
        for message in messages or ()
    )
