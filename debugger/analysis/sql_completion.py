"""How a query can go on at the cursor: views after FROM and JOIN, a view's columns after its name, else what fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .filter_language import Completion

_WORDS: Final = (
    "all and as asc between by case cast cross desc distinct else end except exists explain false filter "
    "first from group having ilike in inner interval is join last left like limit not null nulls offset "
    "on or order over partition qualify replace sample select then true union unnest using when where "
    "with"
)
KEYWORDS: Final = tuple(_WORDS.split())
_PIECE: Final = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<text>'(?:[^']|'')*(?:'|\Z))|(?P<name>\"(?:[^\"]|\"\")*(?:\"|\Z))"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<sign>\S)",
    re.DOTALL,
)
_AFTER_THESE_A_VIEW: Final = frozenset(("from", "join"))
_NO_ALIAS: Final = frozenset(KEYWORDS)


@dataclass(frozen=True, slots=True)
class SqlNames:
    """What a query can name."""

    tables: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """Views, each with its columns and their types."""
    functions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    return [_Token(str(m.lastgroup), m.group(), m.start(), m.end()) for m in _PIECE.finditer(text)]


def complete_sql(text: str, cursor: int, names: SqlNames) -> Completion:
    """How the query can go on.

    Args:
        text: the whole query; what stands behind the cursor says which views are asked.
        cursor: the place in it, in characters.
        names: what can be named.

    Returns: candidates for the word that ends at the cursor, the likeliest first; none within texts and comments, and
        none where nothing is begun, but behind FROM, JOIN and a dot.
    Cost: one pass over the query.
    """
    nothing = Completion(cursor, ())
    before = _tokens(text[:cursor])
    last = before[-1] if before else None
    if last is not None and last.kind in ("comment", "text", "name", "number") and last.end == cursor:
        return nothing
    word, start = "", cursor
    if last is not None and last.kind == "word" and last.end == cursor:
        word, start = last.text.lower(), last.start
        before.pop()
    asked = _asked(_tokens(text), names)
    if before and before[-1].text == ".":
        owner = before[-2].text.lower() if len(before) > 1 else ""
        columns = [name for name, _ in names.tables.get(asked.get(owner, owner), ())]
        return Completion(start, _fitting(word, columns))
    if before and _wants_view(before):
        return Completion(start, _fitting(word, names.tables))
    if not word:
        return nothing
    tables = dict.fromkeys(asked.values()) or names.tables
    types = {name: (kind, table) for table in tables for name, kind in names.tables[table]}
    hint = ""
    if word in types:
        kind, table = types[word]
        hint = f"{kind.lower()}, of {table}"
    found = (*_fitting(word, types), *_fitting(word, KEYWORDS), *_fitting(word, [f"{n}(" for n in names.functions]))
    return Completion(start, tuple(dict.fromkeys((*found, *_fitting(word, names.tables)))), hint)


def _fitting(word: str, offered: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in offered if name.lower().startswith(word) and name.lower() != word)


def _wants_view(before: Sequence[_Token]) -> bool:
    """Whether a view is named next: behind FROM or JOIN, or behind a comma between views."""
    at = len(before) - 1
    while at >= 0 and before[at].text == ",":
        at -= 1
        while at >= 0 and before[at].kind in ("word", "name") and before[at].text.lower() not in _NO_ALIAS:
            at -= 1
    return at >= 0 and before[at].text.lower() in _AFTER_THESE_A_VIEW


def _asked(tokens: Sequence[_Token], names: SqlNames) -> dict[str, str]:
    """The views that a query asks, by their names and aliases."""
    out: dict[str, str] = {}
    for at, token in enumerate(tokens):
        table = token.text.lower()
        if token.kind != "word" or table not in names.tables or not _wants_view(tokens[:at]):
            continue
        out[table] = table
        after = [t for t in tokens[at + 1 : at + 3] if t.text.lower() != "as"]
        if after and after[0].kind == "word" and after[0].text.lower() not in _NO_ALIAS:
            out[after[0].text.lower()] = table
    return out
