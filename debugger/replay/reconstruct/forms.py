"""How a program writes an answer or a result into the next request: learned from the recorded one, used for new ones.

A value and the form in which it was recorded tell how another value would have been written: as JSON text, within a
sentence, under a key. Where they do not, the new value is written as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from runtime.messages import Json, canonical_json, json_safe, parse_json_text

_WRITERS: Final[tuple[Callable[[Json], str], ...]] = (
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    lambda value: json.dumps(value),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    str,
)
"""JSON as programs write it, and Python's own form of a value."""


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same, written as JSON or as JSON text."""
    return _canonical(one) == _canonical(other)


def _canonical(value: Json) -> bytes:
    return canonical_json(json_safe(parse_json_text(value))[0])


def rewritten(form: Json, was: Json, now: Json) -> Json:
    """The form of the recorded value, for another value.

    Args:
        form: how the recorded value was written.
        was: the recorded value.
        now: the value to write in the same way.
    """
    if same(was, now):
        return form
    if isinstance(form, str):
        return _as_text(form, was, now)
    if same(form, was):
        return now
    return _within(form, was, now)[0]


def is_form_of(form: Json, was: Json) -> bool:
    """Whether the form shows the value at all, so that another value can be written in the same way."""
    if same(form, was):
        return True
    if isinstance(form, str):
        return any(text and text in form for text in _texts(was))
    return _within(form, was, was)[1]


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value, value.strip()]
    return [write(value) for write in _WRITERS]


def _as_text(form: str, was: Json, now: Json) -> str:
    if not isinstance(was, str):
        for write in _WRITERS:
            if (text := write(was)) and text in form:
                return form.replace(text, now if isinstance(now, str) else write(now))
    elif was.strip() and was.strip() in form:
        return form.replace(was.strip(), _plain(now).strip())
    return _plain(now)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _within(form: Json, was: Json, now: Json) -> tuple[Json, bool]:
    """The form with the value in it replaced, at any depth; the new value itself where it is not in there."""
    found = False

    def change(place: Json, depth: int) -> Json:
        nonlocal found
        if depth > 100:
            return place
        if type(place) is type(was) and place == was:
            found = True
            return now
        if isinstance(place, str) and isinstance(was, str) and was.strip() and was.strip() in place:
            found = True
            return place.replace(was.strip(), _plain(now).strip())
        if isinstance(place, dict):
            return {key: change(item, depth + 1) for key, item in place.items()}
        return [change(item, depth + 1) for item in place] if isinstance(place, list) else place

    changed = change(form, 0)
    return (changed, True) if found else (now, False)
