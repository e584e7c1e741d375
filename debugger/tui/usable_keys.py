"""Which keys of the settings file can be used: those that a terminal can send, and that mean one thing where they work.

Names of keys are Textual's: a letter stands for itself, a sign has the name of its Unicode character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Final

from textual.binding import Binding, BindingType
from textual.keys import KEY_ALIASES, KEY_NAME_REPLACEMENTS, Keys

from .keymap import Group, all_bindings, bindings, jumps

_MODIFIERS: Final = frozenset({"alt", "ctrl", "hyper", "meta", "shift", "super"})
_RARE: Final = frozenset({"pause", "menu", "print_screen", "scroll_lock", *(f"f{number}" for number in range(25, 36))})
"""Keys that only terminals with the Kitty protocol send."""
_SIGNS: Final = (range(0x21, 0x180), range(0x2010, 0x20D0))
"""Where the signs of keyboards stand in Unicode: Latin, punctuation and currencies."""
_QUOTED_LIMIT: Final = 40
"""Characters of a key that a sentence repeats."""


def usable_keys(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keys that can be used, and what is wrong with the others.

    A key that would mean two things in one place is a conflict: the one of the settings that brings it is left out.
    """
    known = {binding.id: binding.key for binding in all_bindings() if binding.id}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for name, value in wanted.items():
        words = [word.strip() for word in value.split(",") if word.strip()]
        unknown = next((word for word in words if key_name(word) is None), None)
        if name not in known:
            problems.append(f"keys: {_quoted(name)} is nothing that a key does; docs/settings.md lists the names")
        elif not words:
            problems.append(f"keys: {name!r} has no key")
        elif unknown is not None:
            problems.append(
                f"keys: {_quoted(unknown)} for {name!r} is no key; docs/settings.md says how they are written"
            )
        else:
            # A single sign stays as it was written: so it is shown.
            keys[name] = ",".join(word if len(word) == 1 else key_name(word) or word for word in words)
    # One that is left out has its old key again, which another one may have been given: so until nothing changes.
    while True:
        now = {id_: _pressed(keys.get(id_, key)) for id_, key in known.items()}
        found = next(((name, other) for name in keys if (other := _conflict(name, now)) is not None), None)
        if found is None:
            return keys, problems
        name, other = found
        problems.append(f"keys: {_quoted(keys[name])} for {name!r} is the key of {other!r} already")
        del keys[name]


def key_name(word: str) -> str | None:
    """What Textual calls a key, modifiers in its order; None for what is no key."""
    before, _, last = word.rpartition("+") if len(word) > 1 else ("", "", word)
    modifiers = sorted(before.split("+")) if before else []
    if len(last) == 1:
        name = _sign(last) if last.isprintable() and not last.isspace() else None
    else:
        last = KEY_NAME_REPLACEMENTS.get(last, last)
        name = last if last in _names() else None
    if name is None or not _MODIFIERS.issuperset(modifiers) or len({*modifiers}) < len(modifiers):
        return None
    return "+".join((*modifiers, name))


def _sign(char: str) -> str:
    if char.isalnum():
        return char
    name = unicodedata.name(char, char).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


@cache
def _names() -> frozenset[str]:
    """All names of keys that are longer than a letter."""
    named = {str(key.value) for key in Keys if key.value.isalnum() and len(key.value) > 1}
    signs = {_sign(char) for char in map(chr, chain(*_SIGNS)) if char.isprintable() and not char.isalnum()}
    return frozenset(named | signs | _RARE)


def _quoted(text: str) -> str:
    """A text of the file within a sentence: whatever is in it is seen, and it is short."""
    return repr(text if len(text) <= _QUOTED_LIMIT else f"{text[:_QUOTED_LIMIT]}…")


def _pressed(keys: str) -> frozenset[str]:
    """What is pressed for the keys of a binding: a terminal sends Tab for Ctrl+I, so they are one."""
    real = {alias: key for key, aliases in KEY_ALIASES.items() for alias in aliases}
    names = (key_name(key) or key for key in keys.split(","))
    return frozenset(real.get(name, name) for name in names)


def _conflict(name: str, now: Mapping[str, frozenset[str]]) -> str | None:
    """What else one of the keys does in the same place."""
    mine = now[name]
    near = _nearby()[name]
    return next((other for other, taken in now.items() if other in near and mine & taken), None)


def _ids(found: list[BindingType]) -> frozenset[str]:
    return frozenset(each.id for each in found if isinstance(each, Binding) and each.id)


def places() -> Iterator[frozenset[str]]:
    """The names of what keys do at once, place by place: in a pane, on its screen and everywhere.

    Lines to type in are no such place: there the keys for typing hide those of the screen, as letters do.
    """
    panes: tuple[tuple[Group, ...], ...] = (
        ("rows", "traces"), ("timeline", "rows", "trace"), ("thread", "text", "rows"), ("replay", "rows"),
        ("compare", "rows"), ("compare", "text", "rows"), ("lineage", "text", "rows"), ("notebook", "text", "rows"),
        ("notes", "text", "rows"), ("numbers", "rows"), ("numbers", "text", "rows"), ("sql", "result", "rows"),
        ("sql", "queries", "rows"), ("sql", "schema", "rows"), ("sql", "text", "rows"), ("sql", "query"),
    )  # fmt: skip
    for pane in panes:
        yield _ids(bindings(*pane, "screen", "app"))
    yield _ids(bindings("detail", "text", "rows", "trace", "screen", "app") + jumps())
    yield _ids(bindings("report", "rows", "replay", "screen", "app") + bindings("text")[2:])
    dialogs: tuple[Group, ...] = ("fork", "ask", "note", "export", "file", "name")
    for dialog in dialogs:
        yield _ids(bindings(dialog, "editor"))


@cache
def _nearby() -> Mapping[str, frozenset[str]]:
    """What else works where something works, by name.

    Two that share a key from the start do so on purpose, the one of the nearer pane first, so they are not meant.
    """
    known = {binding.id: binding for binding in all_bindings() if binding.id}
    everywhere = _ids(bindings("app"))
    near: dict[str, set[str]] = {}
    for name in known:
        group = name.partition(".")[0]
        near[name] = {other for other in known if other.partition(".")[0] == group} | everywhere
    for place in places():
        for name in place:
            near[name] |= place
    pressed = {name: _pressed(binding.key) for name, binding in known.items()}
    return {
        name: frozenset(other for other in others if other != name and not pressed[name] & pressed[other])
        for name, others in near.items()
    }
