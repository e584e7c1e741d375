"""What can be filtered by: the keys of spans and of traces, how their values are read, and how a text can go on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import partial
from math import isfinite
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal, TypeAlias, cast, get_args

from runtime.messages import CallKind

from ..store.rows import SpanRow, TraceRow
from .filter_language import (
    Completion,
    Condition,
    Filter,
    FilterError,
    Found,
    Test,
    Token,
    last_word,
    parse_filter,
    quoted,
)
from .timeline import length_of

FieldKind: TypeAlias = Literal["name", "choice", "number", "time", "money", "flag", "text", "sql"]

_TAKES: dict[FieldKind, str] = {
    "name": "a text; * stands for anything",
    "choice": "one of a few words",
    "number": "a number such as 200 or 5k",
    "time": "a time such as 300ms, 2s or 1m",
    "money": "dollars such as 0.01",
    "flag": "true or false",
    "text": "a text, looked for in everything that was recorded",
    "sql": 'a condition in quotes, such as "is_error and duration_ns > 2e9"',
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ":": eq, "=": eq, "!=": ne, ">": gt, ">=": ge, "<": lt, "<=": le,
}  # fmt: skip
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)([kKmMgG]?)")
_TIME = re.compile(r"(-?\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_TIMES = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_MONEY = re.compile(r"\$?(\d+(?:\.\d+)?|\.\d+)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a filter."""

    kind: FieldKind
    read: Callable[[Any], Any]
    """Takes a row, gives the value as the kind has it; several texts for ``name``; None where it is not known."""
    about: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """All keys of one kind of row."""

    by_key: Mapping[str, Field]
    names: Callable[[Any], str]
    """What a bare word is looked for in at once, in lower case; then in everything that was recorded."""
    key: Callable[[Any], Any]
    """What names a row in ``Found``."""
    id: Callable[[Any], str]
    """What names a row for a condition in SQL."""


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _span_names(row: SpanRow) -> str:
    parts = (row.name, row.agent_name, row.tool_name, row.model, row.error_type, row.status_message)
    return "\n".join([part for part in parts if part]).casefold()


SPAN_FIELDS = Fields(
    by_key={
        "kind": Field("choice", lambda row: row.kind, "kind of call", get_args(CallKind)),
        "name": Field("name", lambda row: row.name, "name of the span"),
        "agent": Field("name", lambda row: row.agent_name, "name of the agent"),
        "model": Field("name", lambda row: row.model, "model that was asked"),
        "tool": Field("name", lambda row: row.tool_name, "name of the tool"),
        "provider": Field("name", lambda row: row.provider, "provider of the model"),
        "tokens": Field("number", lambda row: _sum(row.input_tokens, row.output_tokens), "input and output tokens"),
        "input": Field("number", lambda row: row.input_tokens, "input tokens"),
        "output": Field("number", lambda row: row.output_tokens, "output tokens"),
        "cost": Field("money", lambda row: row.cost_nano_usd, "cost in dollars"),
        "duration": Field("time", length_of, "how long it took"),
        "error": Field("flag", lambda row: row.has_error, "true: only what failed"),
        "unfinished": Field("flag", lambda row: row.end_unix_nano is None, "true: only what has no end"),
        "id": Field("name", lambda row: row.span_id, "span id"),
        "text": Field("text", _span_names, "anything that was recorded"),
        "sql": Field("sql", _span_names, "condition on the columns of spans"),
    },
    names=_span_names,
    key=lambda row: row.seq,
    id=lambda row: row.span_id,
)


def _trace_names(row: TraceRow) -> str:
    return f"{row.name}\n{row.service or ''}\n{row.trace_id}\n{row.source}".casefold()


def _trace_kinds(row: TraceRow) -> tuple[str, ...]:
    counted = (("llm", row.llm_calls), ("tool", row.tool_calls), ("agent", row.agents))
    return tuple(kind for kind, number in counted if number)


TRACE_FIELDS = Fields(
    by_key={
        "name": Field("name", lambda row: row.name, "name of the trace"),
        "service": Field("name", lambda row: row.service, "service that recorded it"),
        "source": Field("name", lambda row: row.source, "file it was loaded from"),
        "id": Field("name", lambda row: row.trace_id, "trace id"),
        "kind": Field("choice", _trace_kinds, "has such calls", ("agent", "llm", "tool")),
        "tokens": Field("number", lambda row: _sum(row.input_tokens, row.output_tokens), "input and output tokens"),
        "input": Field("number", lambda row: row.input_tokens, "input tokens"),
        "output": Field("number", lambda row: row.output_tokens, "output tokens"),
        "cost": Field("money", lambda row: row.cost_nano_usd, "cost in dollars"),
        "duration": Field("time", lambda row: row.duration_ns, "how long it took"),
        "spans": Field("number", lambda row: row.spans, "number of spans"),
        "llm": Field("number", lambda row: row.llm_calls, "number of model calls"),
        "tools": Field("number", lambda row: row.tool_calls, "number of tool calls"),
        "agents": Field("number", lambda row: row.agents, "number of agents"),
        "errors": Field("number", lambda row: row.errors, "number of spans in error"),
        "error": Field("flag", lambda row: row.errors > 0, "true: only with spans in error"),
        "unfinished": Field("flag", lambda row: row.unfinished > 0, "true: only with spans that have no end"),
        "replay": Field("flag", lambda row: row.origin_trace_id is not None, "true: only replays"),
        "text": Field("text", _trace_names, "anything that was recorded"),
        "sql": Field("sql", _trace_names, "has spans for which it holds"),
    },
    names=_trace_names,
    key=lambda row: row.trace_id,
    id=lambda row: row.trace_id,
)


def span_filter(text: str) -> Filter:
    """A filter of spans. Raises FilterError."""
    return parse_filter(text, partial(_make, SPAN_FIELDS))


def trace_filter(text: str) -> Filter:
    """A filter of traces. Raises FilterError."""
    return parse_filter(text, partial(_make, TRACE_FIELDS))


def _make(fields: Fields, token: Token) -> tuple[Test, Sequence[str]]:
    if not token.operator:
        return _text_test(fields, token.text.casefold())
    known = fields.by_key.get(token.key)
    if known is None:
        keys = ", ".join(fields.by_key)
        raise FilterError(f"there is no key {token.key!r}; quote the word to search for it; keys: {keys}",
                          token.start, token.start + len(token.key))  # fmt: skip
    if not token.value:
        raise FilterError(f"{token.key} takes {_takes(known)}", token.start, token.end)
    match known.kind:
        case "text":
            _only(token, ":", "=")
            return _text_test(fields, token.value.casefold())
        case "sql":
            _only(token, ":")
            return _condition_test(fields, token)
        case "name":
            return _name_test(known, token), ()
        case "choice":
            return _choice_test(known, token), ()
        case "flag":
            return _flag_test(known, token), ()
        case _:
            return _amount_test(known, token), ()


def _takes(known: Field) -> str:
    return f"one of {', '.join(known.choices)}" if known.choices else _TAKES[known.kind]


def _only(token: Token, *operators: str) -> None:
    if token.operator not in operators:
        at = token.start + len(token.key)
        raise FilterError(f"{token.key} cannot be compared with {token.operator}; write {token.key}:…",
                          at, at + len(token.operator))  # fmt: skip


def _text_test(fields: Fields, wanted: str) -> tuple[Test, Sequence[str]]:
    names, key = fields.names, fields.key
    if not wanted:
        return (lambda row, found: True), ()

    def test(row: Any, found: Found) -> bool:
        return key(row) in found.get(wanted, ()) or wanted in names(row)

    return test, (wanted,)


def _condition_test(fields: Fields, token: Token) -> tuple[Test, Sequence[str]]:
    wanted, named = Condition(token.value, token.end - len(token.value) - (token.text[-1:] == '"')), fields.id
    return (lambda row, found: named(row) in found.get(wanted.key, ())), (wanted,)


def _name_test(known: Field, token: Token) -> Test:
    """Holds a text, or looks like a pattern where there is a ``*``; ``=`` means the whole name."""
    _only(token, ":", "=", "!=")
    read = known.read
    tests: list[Callable[[str], bool]] = []
    for choice in token.value.casefold().split(","):
        if "*" in choice or token.operator != ":":
            # Only * is special: a [ or ? in a name is that character.
            pattern = re.compile(translate(choice.replace("[", "[[]").replace("?", "[?]")))
            tests.append(partial(_matches, pattern))
        elif choice:
            tests.append(partial(_contains, choice))
    denied = token.operator == "!="

    def test(row: Any, found: Found) -> bool:
        value = read(row)
        return (value is not None and any(one(value.casefold()) for one in tests)) != denied

    return test


def _matches(pattern: re.Pattern[str], value: str) -> bool:
    return pattern.match(value) is not None


def _contains(part: str, value: str) -> bool:
    return part in value


def _choice_test(known: Field, token: Token) -> Test:
    _only(token, ":", "=", "!=")
    wanted = frozenset(token.value.lower().split(","))
    wrong = next((word for word in token.value.lower().split(",") if word not in known.choices), None)
    if wrong is not None:
        raise FilterError(f"{token.key} takes one of {', '.join(known.choices)}; not {wrong!r}",
                          token.value_at, token.end)  # fmt: skip
    read, denied = known.read, token.operator == "!="

    def test(row: Any, found: Found) -> bool:
        value = read(row)
        has = value in wanted if isinstance(value, str) else not wanted.isdisjoint(value)
        return has != denied

    return test


def _flag_test(known: Field, token: Token) -> Test:
    _only(token, ":", "=")
    words = {"true": True, "yes": True, "false": False, "no": False}
    wanted = words.get(token.value.lower())
    if wanted is None:
        raise FilterError(f"{token.key} takes true or false, not {token.value!r}", token.value_at, token.end)
    read = known.read
    return lambda row, found: read(row) == wanted


def _amount_test(known: Field, token: Token) -> Test:
    wanted = _amount(known.kind, token.value)
    if wanted is None:
        raise FilterError(f"{token.key} takes {_TAKES[known.kind]}, not {token.value!r}", token.value_at, token.end)
    read, compare = known.read, _COMPARE[token.operator]

    def test(row: Any, found: Found) -> bool:
        value = read(row)
        return value is not None and compare(value, wanted)

    return test


def _amount(kind: FieldKind, text: str) -> int | None:
    """A number, a time in nanoseconds, or money in billionths of a dollar."""
    amount = None
    if kind == "number" and (match := _NUMBER.fullmatch(text)):
        amount = float(match[1]) * _FACTORS[match[2].lower()]
    elif kind == "time" and (match := _TIME.fullmatch(text)):
        amount = float(match[1]) * _TIMES[match[2]]
    elif kind == "money" and (match := _MONEY.fullmatch(text)):
        amount = float(match[1]) * 1_000_000_000
    return round(amount) if amount is not None and isfinite(amount) else None


# Completion.

_MOST_VALUES = 200
"""Different values of one key that are offered, the most frequent first."""

_OPERATORS: dict[FieldKind, str] = {"number": ">", "time": ">", "money": ">"}


def span_values(rows: Iterable[SpanRow]) -> dict[str, tuple[str, ...]]:
    """The values that occur in some spans, by key. Cost: one pass; call it in a worker."""
    return _values(rows, ("name", "agent", "model", "tool", "provider"), SPAN_FIELDS)


def trace_values(rows: Iterable[TraceRow]) -> dict[str, tuple[str, ...]]:
    """The values that occur in some traces, by key."""
    return _values(rows, ("name", "service", "source"), TRACE_FIELDS)


def _values(rows: Iterable[Any], keys: Sequence[str], fields: Fields) -> dict[str, tuple[str, ...]]:
    listed = list(rows)
    out = {}
    for key in keys:
        counted = Counter(map(fields.by_key[key].read, listed))
        counted.pop(None, None)
        out[key] = tuple(cast(str, value) for value, _ in counted.most_common(_MOST_VALUES))
    return out


def complete(text: str, fields: Fields, values: Mapping[str, Sequence[str]]) -> Completion:
    """How the text can go on: keys, then the values of a key."""
    word = last_word(text)
    if word is None:
        if text and not text[-1].isspace() and text[-1] not in "()":
            return Completion(len(text), ())
        return Completion(len(text), tuple(_written(key, known) for key, known in fields.by_key.items()))
    if not word.operator:
        begun = word.text.lower()
        keys = [_written(key, known) for key, known in fields.by_key.items() if key.startswith(begun)]
        joining = [other for other in ("and ", "or ", "not ") if other.startswith(begun) and other.strip() != begun]
        return Completion(word.start, (*keys, *joining))
    known = fields.by_key.get(word.key)
    if known is None:
        return Completion(len(text), ())
    offered = ("true", "false") if known.kind == "flag" else known.choices or tuple(values.get(word.key, ()))
    begun = word.value.casefold()
    fitting = [value for value in offered if value.casefold().startswith(begun)]
    fitting += [value for value in offered if begun in value.casefold() and value not in fitting]
    head = f"{word.key}{word.operator}"
    return Completion(
        word.start,
        tuple(f"{head}{quoted(value)} " for value in fitting),
        f"{known.about}: {', '.join(known.choices) or _TAKES[known.kind]}",
    )


def _written(key: str, known: Field) -> str:
    return key + _OPERATORS.get(known.kind, ":")
