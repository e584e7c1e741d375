"""OpenLIT 1.34: the whole prompt as one text, and an answer's tool calls side by side in three attributes.

The prompt has a line ``role: text`` for each message; where one is no text, Python printed the whole list of messages
instead, and that list is then the conversation. Source: OpenLIT, Python SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import Message, TextPart, ToolCallPart, parse_json_text

from ._draft import Draft
from ._facts import Facts
from ._record import python_value
from ._view import View, text
from .shapes import messages_of

name: Final = "openlit"
version: Final = 2

marks: Final = frozenset(("gen_ai.request.is_stream", "gen_ai.sdk.version"))
scopes: Final = frozenset[str]()
keys: Final = marks | {"error.type"}

_LINE: Final = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)


def recognises(view: View) -> bool:
    """Attributes that only it writes."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """Nothing beyond the common names."""


def fill(draft: Draft) -> None:
    """The conversation, and the tool calls of the answer."""
    if draft.kind != "llm":
        return
    prompt = text(draft.attributes.get("gen_ai.prompt"))
    if prompt is not None and "gen_ai.input.messages" not in draft.attributes and _LINE.match(prompt):
        draft.inputs = _conversation(prompt)
    asked = _tool_calls(draft.attributes)
    if asked and not any(isinstance(part, ToolCallPart) for message in draft.outputs or () for part in message.parts):
        said = tuple(part for message in draft.outputs or () for part in message.parts)
        draft.outputs = (Message("assistant", (*said, *asked)),)


def _conversation(prompt: str) -> tuple[Message, ...]:
    starts = list(_LINE.finditer(prompt))
    ends = [match.start() - 1 for match in starts[1:]] + [len(prompt)]
    lines = [(match[1], prompt[match.end() : end]) for match, end in zip(starts, ends, strict=True)]
    whole: tuple[Message, ...] = ()
    for role, said in lines:
        printed = python_value(said) if said.startswith("[{'role'") else None
        if isinstance(printed, list) and all(isinstance(item, Mapping) and "role" in item for item in printed):
            whole = messages_of(printed, role)  # a later one holds all of an earlier one
    return whole or tuple(Message(role, (TextPart(said),)) for role, said in lines)


def _tool_calls(attributes: Mapping[str, Any]) -> tuple[ToolCallPart, ...]:
    """Names, ids and arguments, each joined by commas; none where they do not belong together.

    Arguments are JSON, or printed by Python (Anthropic, of whose calls in one answer only one is written).
    """
    names, ids, given = (text(attributes.get(f"gen_ai.tool.{field}")) for field in ("name", "call.id", "args"))
    if names is None or ids is None or given is None:
        return ()
    arguments = python_value(parse_json_text(f"[{given}]"))
    if not isinstance(arguments, list) or not len(names.split(", ")) == len(ids.split(", ")) == len(arguments):
        return ()
    return tuple(map(ToolCallPart, ids.split(", "), names.split(", "), arguments))
