"""Reading rejelly's events out of a file, whichever way they are written down, as far as the file is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ._records import Note

_ARRAY_OF_EVENTS: Final = re.compile(r'\[|\{[^\[\]{}]*"events"\s*:\s*\[')
_FRESH_LINE: Final = re.compile(r"\n(?=[{\[])")
_MOST_TRIES: Final = 1_000
_GAP: Final = re.compile(r"[\s,]*")
_FAILED: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class _Fields(Struct, gc=False):
    """What cutting events into spans needs of one."""

    type: str
    timestamp: Any = None
    schemaVersion: Any = None
    trace: Any = None
    agentId: Any = None
    name: Any = None
    success: Any = None
    error: Any = None
    duration: Any = None
    toolResults: Any = None


class _Document(Struct, gc=False):
    events: list[Raw]


_decode = msgspec.json.Decoder(_Fields).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_document = msgspec.json.Decoder(_Document).decode


class Event(Struct, gc=False):
    """One event: its text word for word, and the fields that place it."""

    text: str
    line: int | None
    type: str
    timestamp: Any
    version: Any
    trace: Any
    agent_id: Any
    name: Any
    success: Any
    error: Any
    duration: Any
    results: Any


def json_text(value: Any) -> str:
    """JSON text of a decoded value, also with the lone surrogates that JSON can write and UTF-8 cannot."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, RecursionError):
        return json.dumps(value)


def _event(text: str, line: int | None, fields: _Fields) -> Event:
    return Event(
        text, line, fields.type, fields.timestamp, fields.schemaVersion, fields.trace, fields.agentId, fields.name,
        fields.success, fields.error, fields.duration, fields.toolResults,
    )  # fmt: skip


def parse_events(data: bytes, note: Note) -> Iterator[Event]:
    """The events of a file in their order. What is damaged is noted and passed over."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    start = data.lstrip()[:1]
    try:
        items = _decode_array(data) if start == b"[" else _decode_document(data).events
        pairs = [(str(raw, "utf-8"), _decode(raw)) for raw in items]
    except _FAILED:
        yield from _lines(data, note)
        return
    for text, fields in pairs:
        yield _event(text, None, fields)


def _lines(data: bytes, note: Note) -> Iterator[Event]:
    """One event a line; from the first line that is none, the slow road of the rest."""
    place = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line and not line.isspace():
            try:
                fields = _decode(line)
                yield _event(str(line, "utf-8").strip(), number, fields)
            except _FAILED:
                yield from _Slow(data[place:], number, note).events()
                return
        place += len(line) + 1


class _Slow:
    """Values one after another, over lines or within one, as far as each can be read."""

    def __init__(self, data: bytes, first_line: int, note: Note) -> None:
        self._text = data.decode("utf-8", "replace")
        self._counted = (0, first_line)
        self._read_to = 0
        """Where the last element of an array begins that was looked at."""
        self._note = note
        self._decode = json.JSONDecoder().raw_decode

    def events(self) -> Iterator[Event]:
        """All events up to the end of the text."""
        place = self._next(0)
        tries = 0
        while place < len(self._text):
            opening = _ARRAY_OF_EVENTS.match(self._text, place)
            if opening is not None and '"type"' not in opening[0]:
                yield from self._elements(opening.end())
            value, end = self._value(place)
            if end is None:
                damaged = max(place, self._read_to)
                self._lost(damaged)
                tries += 1
                # A line of its own further on may be whole; the lines of an indented document are none. Each try may
                # read on to the end, so there is an end to trying.
                found = _FRESH_LINE.search(self._text, damaged)
                if found is None:
                    return
                if tries == _MOST_TRIES:
                    self._note(self._line(found.end()), "damaged in too many places; not read from here on", True)
                    return
                place = found.end()
            elif opening is None or '"type"' in opening[0]:
                yield from self._one(value, place, end)
            place = self._next(place if end is None else end)

    def _elements(self, place: int) -> Iterator[Event]:
        """The events of an array, up to its end or to where it is damaged."""
        place = self._next(place)
        while place < len(self._text) and self._text[place] != "]":
            self._read_to = place
            value, end = self._value(place)
            if end is None:
                return
            yield from self._one(value, place, end)
            place = self._next(end)

    def _lost(self, place: int) -> None:
        is_last = self._text.find("\n", place) < 0
        self._note(self._line(place), "ends in the middle, or is no JSON" if is_last else "no JSON", True)

    def _value(self, place: int) -> tuple[Any, int | None]:
        """The value at a place and where it ends; without an end where it is damaged."""
        try:
            return self._decode(self._text, place)
        except (ValueError, RecursionError):
            return None, None

    def _next(self, place: int) -> int:
        gap = _GAP.match(self._text, place)
        return place if gap is None else gap.end()

    def _one(self, value: Any, place: int, end: int) -> Iterator[Event]:
        if isinstance(value, dict) and isinstance(value.get("type"), str):
            known: dict[str, Any] = {key: value.get(key) for key in _Fields.__struct_fields__}
            fields = _Fields(**known)
            yield _event(self._text[place:end], self._line(place), fields)
        else:
            self._note(self._line(place), "no event", True)

    def _line(self, place: int) -> int:
        """The line of a place; places are asked for in ascending order, so the text is walked once."""
        before, line = self._counted
        line += self._text.count("\n", before, max(before, place))
        self._counted = (max(before, place), line)
        return line
