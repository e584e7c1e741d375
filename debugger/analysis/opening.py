"""What a trace was asked, in a line: what tells it from the others of the same name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Final

from runtime.messages import Call, Message, json_safe, text_of

from .text import one_line

_LONGEST: Final = 240
"""Characters of a text that are looked at; no row has room for more."""
_ASKED: Final = ("agent", "llm", "chain")
"""Kinds of calls that a user's words reach; a tool's arguments are the model's words."""


def opening_of(calls: Sequence[Call]) -> str:
    """The words of the user that the trace begins with; empty where none were recorded.

    The first call with a message of a user says them: its last one, since a request may repeat a longer conversation
    before it. Where no message was recorded, the first input of an agent has to do.

    Args:
        calls: all calls of the trace in timeline order.
    """
    words = (_last_words(call.input_messages or ()) for call in calls if call.kind in _ASKED)
    inputs = (_input(call) for call in calls if call.kind in _ASKED)
    said = next(filter(None, chain(words, inputs)), "")[:_LONGEST]
    return one_line(" ".join(said.split()), "")


def _last_words(messages: Sequence[Message]) -> str:
    words = (text_of((message,)).strip() for message in reversed(messages) if message.role == "user")
    return next(filter(None, words), "")


def _input(call: Call) -> str:
    value = call.input
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))  # The one argument, without its name.
    if value is None or isinstance(value, str):
        return (value or "").strip()
    return json.dumps(json_safe(value)[0], ensure_ascii=False)
