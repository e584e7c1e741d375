"""What was read before in the same trace: each call repeats the conversation so far, which is read once."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeVar

from ._json import Json, read_json

T = TypeVar("T")

_SHORT: Final = 512
"""Bytes up to which the form itself is the key; of a longer one its digest, which is no second copy of it."""
_LISTS: Final = 8
"""Lists that are remembered: some conversations go on side by side."""
_ITEMS: Final = 2
"""A list of fewer is no conversation yet. Answers are such lists, and nothing goes on from them."""
_CHARACTERS: Final = 16 << 20
"""Of the texts of these lists together; the last one is remembered whatever its length."""


class _List(NamedTuple):
    """A list that was read."""

    stem: str
    """Its text without the closing bracket."""
    items: list[Json]
    made: dict[tuple[Callable[..., Any], str], list[Any]]
    """What was made of its first items, by how and for which role."""


class Known:
    """Messages by what they were read from.

    Equal messages are one object then, so that their digest and their JSON are made once as well.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[Callable[..., Any], str, bytes], Any] = {}
        self._lists: list[_List] = []
        """The last one first."""
        self._characters = 0
        """Of their texts together."""

    def once(self, make: Callable[[Any, str], T], item: Any, role: str) -> T:
        """What ``make`` makes of an item (a JSON value) and a role."""
        try:
            # Only ever a key, which tells 1, 1.0 and True apart. Of version 2, since later ones write the same value
            # in different ways. Some five times faster than any text.
            form = marshal.dumps(item, 2)
        except ValueError:  # nested too deep, or no plain JSON
            return make(item, role)
        key = make, role, form if len(form) <= _SHORT else blake2b(form).digest()
        if key not in self._made:
            self._made[key] = make(item, role)
        made: T = self._made[key]
        return made

    def each(self, make: Callable[[Any, str], T], items: Sequence[Json], role: str) -> list[T]:
        """What ``once`` gives for each item of a list.

        Of a list that ``read`` gave, only those items are looked at that no list had before it.
        """
        for known in self._lists:
            if known.items is items:
                made = known.made.get((make, role), [])
                made = made + [self.once(make, item, role) for item in items[len(made) :]]
                known.made[make, role] = made
                return made
        return [self.once(make, item, role) for item in items]

    def read(self, text: str) -> Json:
        """The value of a JSON text. Treated as immutable: the next one that begins like this one shares its items.

        Raises: ValueError, RecursionError: as ``read_json``.
        """
        for at, before in enumerate(self._lists):
            if text.startswith(before.stem):
                more = _after(text, len(before.stem))
                if more is not None:
                    self._forget(at)
                    return self._remember(text, before.items + more, before.made.copy())
        value = read_json(text)
        return self._remember(text, value, {}) if type(value) is list and len(value) >= _ITEMS else value

    def _remember(
        self, text: str, items: list[Json], made: dict[tuple[Callable[..., Any], str], list[Any]]
    ) -> list[Json]:
        stem = text.rstrip()[:-1]
        self._lists.insert(0, _List(stem, items, made))
        self._characters += len(stem)
        while len(self._lists) > _LISTS or (self._characters > _CHARACTERS and len(self._lists) > 1):
            self._forget(-1)
        return items

    def _forget(self, at: int) -> None:
        self._characters -= len(self._lists.pop(at).stem)


def _after(text: str, start: int) -> list[Json] | None:
    """The items of a list from a place on at which one has ended; None where that is not so, or something is wrong."""
    rest = text[start:].lstrip(" \t\r\n")
    if rest[:1] == ",":
        try:
            # A comma with nothing behind it is no JSON.
            return read_json(f"[{rest[1:]}") or None
        except (ValueError, RecursionError):
            return None
    return [] if rest.rstrip(" \t\r\n") == "]" else None
