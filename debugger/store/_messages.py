"""What the view ``messages`` of the SQL console is made of: each message's texts once, and where it stands.

Model calls repeat the conversation so far, so that a trace of a hundred thousand spans has a million messages and a
tenth of it in texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from runtime.messages import Call, Message, TextPart, json_safe, message_to_json

PIECE: Final = 4_096
"""Rows that are handed on together."""

Tell: TypeAlias = Callable[[int, int], None]
"""Is told how many spans of how many are read, every so often. What it raises ends the reading."""


class MessageRows(NamedTuple):
    """Rows for the two tables behind the view."""

    texts: list[tuple[int, str, str, str]]
    """Message id, role, text, the parts as JSON text."""
    uses: list[tuple[str, str, str, int, int]]
    """Trace id, span id, ``input`` or ``output``, place from 0, message id."""


def message_rows(traces: Iterable[Iterable[Call]]) -> Iterator[MessageRows]:
    """The messages of some traces.

    Args: traces: the calls of one trace after the other. Equal messages of a trace are mostly one object.
    """
    texts: list[tuple[int, str, str, str]] = []
    uses: list[tuple[str, str, str, int, int]] = []
    number = 0
    for calls in traces:
        # By identity, which costs no digest. The messages are kept: of one that is gone another could take the id.
        known: dict[int, tuple[int, Message]] = {}
        for call in calls:
            for direction, messages in (("input", call.input_messages), ("output", call.output_messages)):
                for place, message in enumerate(messages or ()):
                    kept = known.get(id(message))
                    if kept is None:
                        number += 1
                        kept = known[id(message)] = number, message
                        texts.append((number, *_texts(message)))
                    uses.append((call.trace_id, call.span_id, direction, place, kept[0]))
            if len(uses) >= PIECE:
                yield MessageRows(texts, uses)
                texts, uses = [], []
    if uses:
        yield MessageRows(texts, uses)


def _texts(message: Message) -> tuple[str, str, str]:
    parts = json.dumps(json_safe(message_to_json(message)["parts"])[0])
    return message.role, "\n".join(part.content for part in message.parts if isinstance(part, TextPart)), parts
