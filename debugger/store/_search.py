"""Which spans hold which texts: all texts are looked for while the spans are read once.

A call may be shown with words that do not stand on its own span, such as messages that its framework wrote on the span
around it. So in traces of a usual size what the calls say is looked through as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final, TypeAlias

from runtime.messages import Call, Json, Message, json_safe, part_to_json

from .rows import SearchPart

AskEach: TypeAlias = Callable[[str, Mapping[str, Any]], Generator[tuple[Any, ...]]]

_AT_ONCE: Final = 8
"""Needles that the query looks for in one reading."""
_SEARCHED: Final = 5_000
"""Spans of a trace whose calls are looked through: making them takes half a second."""
_PART: Final = 16_384
"""Spans that are told of together."""


def search_parts(
    each: AskEach, texts: Sequence[str], trace_id: str | None, calls: Callable[[str], Sequence[Call]]
) -> Generator[SearchPart]:
    """Look for texts, and tell of all spans part by part, in the order in which they lie.

    Args:
        each: the rows of a query one by one, as they are found.
        texts: what to look for, whatever its case.
        trace_id: only in this trace; None looks everywhere.
        calls: gives those of a trace.
    Cost: one reading for up to eight needles, which a text with quotes or foreign letters has several of.
    """
    needles = [(place, needle) for place, text in enumerate(texts) for needle in _written(text.lower())]
    readings = [needles[start : start + _AT_ONCE] for start in range(0, len(needles), _AT_ONCE)]
    is_plain = len(readings) == 1 and len(needles) == len(texts)  # The bits of the needles are those of the texts.
    before = {} if trace_id is None else _in_calls(each, needles, trace_id, calls)
    is_plain &= not before
    for number, reading in enumerate(readings, 1):
        texts_of = [_texts_of(bits, reading) for bits in range(1 << len(reading))]
        asked = {"trace_id": trace_id, "needles": [needle for _, needle in reading]}
        # Where it is left early, what it reads from is to be free at once.
        with closing(each("span_search", asked)) as rows:
            while part := list(islice(rows, _PART)):
                if is_plain:
                    yield part
                elif number == len(readings):
                    yield [(row[0], row[1], texts_of[row[2]] | before.get(row[:2], 0)) for row in part]
                else:
                    before |= {row[:2]: texts_of[row[2]] | before.get(row[:2], 0) for row in part if row[2]}


def _in_calls(
    each: AskEach, needles: Sequence[tuple[int, str]], trace_id: str, calls: Callable[[str], Sequence[Call]]
) -> dict[tuple[str, int], int]:
    """The bits of the texts that calls say, by trace id and ``seq`` of their spans; only of a trace of a usual size."""
    with closing(each("span_count", {"trace_id": trace_id})) as rows:
        spans = next(rows)[0]
    if not 0 < spans <= _SEARCHED:
        return {}
    seen: dict[int, int] = {}  # By identity: most messages of a conversation are in many calls.

    def held(text: str) -> int:
        lowered, bits = text.lower(), 0
        for place, needle in needles:
            if needle in lowered:
                bits |= 1 << place
        return bits

    found: dict[str, int] = {}
    for call in calls(trace_id):
        bits = 0
        for message in (*(call.input_messages or ()), *(call.output_messages or ())):
            if id(message) not in seen:
                seen[id(message)] = held(_written_message(message))
            bits |= seen[id(message)]
        for value in (call.input, call.arguments, call.result):
            bits |= held(_written_value(value)) if value is not None else 0
        if bits:
            found[call.span_id] = found.get(call.span_id, 0) | bits
    if not found:
        return {}
    with closing(each("span_list", {"trace_id": trace_id})) as rows:
        return {(trace_id, row[0]): found[row[2]] for row in rows if row[2] in found}


def _written_message(message: Message) -> str:
    """What its parts say, without the words that only tell what they are."""
    parts = [part_to_json(part) for part in message.parts]
    return _written_value([[value for key, value in part.items() if key != "type"] for part in parts])


def _written_value(value: Json) -> str:
    """As it would stand in an attribute."""
    return json.dumps(json_safe(value)[0], ensure_ascii=False)


def _texts_of(bits: int, needles: Sequence[tuple[int, str]]) -> int:
    """The bits of the texts for those of their needles."""
    out = 0
    for i, (place, _) in enumerate(needles):
        if bits >> i & 1:
            out |= 1 << place
    return out


def _written(text: str) -> list[str]:
    """A text in the ways in which it stands in an attribute: plain, within JSON, within JSON in a JSON text."""
    once = [json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]]
    twice = [json.dumps(part, ensure_ascii=False)[1:-1] for part in once]
    return list(dict.fromkeys([text, *once, *twice]))
