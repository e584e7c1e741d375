"""JSON values: what counts as one, the canonical form, and a safe copy of anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any, TypeAlias
from uuid import UUID

import rfc8785

Json: TypeAlias = Any
"""A JSON value: None, bool, int, finite float, str, list of Json or dict of str to Json. Treated as immutable."""

JsonObject: TypeAlias = Mapping[str, Any]

_MAX_EXACT = 2**53
_MAX_DEPTH = 200
_MAX_BITS = 14_000
"""Python neither writes nor reads integers beyond 4300 digits."""
_MAX_FAULTS = 20
"""Faults of one value that are told one by one: they become part of a line of text."""
_MAX_TOLD = 300
"""Characters of one fault; the path to a place that is nested deep is cut in its middle."""

_plain_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False).encode
"""Asked only about values of bounded depth."""


def canonical_json(value: Json) -> bytes:
    """The one byte form of a JSON value, after RFC 8785 (JCS).

    Two deviations, so that every JSON text has a form: integers beyond 2^53 are written exactly, and lone
    surrogates are written as they are (WTF-8). The standard encoder gives the same bytes when there are no
    floats and no keys beyond the BMP, and is some 20 times faster, so it is used there.

    Raises:
        TypeError: the value holds something that is not JSON.
        ValueError: NaN or infinity, or nesting that never ends.
    Source: RFC 8785, sections 3.2.1 to 3.2.3.
    """
    text = _plain_text(value) if _is_plain(value) else _encode(value)
    return text.encode("utf-8", "surrogatepass")


def _is_plain(value: Json, depth: int = 0) -> bool:
    """True when sorting by code point and Python's integers give the canonical form."""
    kind = type(value)
    if kind is not dict and kind is not list:
        return kind in _PLAIN_SCALARS
    if depth > _MAX_DEPTH:
        return False
    items = value
    if kind is dict:
        for key in value:
            if type(key) is not str or not (key.isascii() or max(key) <= "\ud7ff"):
                return False
        items = value.values()
    # A plain loop that calls itself for what is nested only: this looks at every value of every message of a trace.
    for item in items:  # noqa: SIM110 - a generator takes twice as long
        if type(item) not in _PLAIN_SCALARS and not _is_plain(item, depth + 1):
            return False
    return True


_PLAIN_SCALARS = frozenset((str, bool, int, type(None)))


def _encode(value: Json, depth: int = 0) -> str:
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels, or within itself")
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _MAX_EXACT:
            return str(int(value))
        return rfc8785.dumps(float(value)).decode()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"object key {key!r} is not a string")
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_encode(v, depth + 1)}" for k, v in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_encode(item, depth + 1) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def read_json(text: str | bytes) -> Json:
    """The value of a JSON text.

    Python's own reader lets NaN, Infinity and numbers that overflow through as floats that are no JSON, and many
    producers write them. Here they become the text that stands there, so that every value that is read has a hash and
    can be written.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deep.
    """
    return _decode(text) if isinstance(text, str) else json.loads(text, parse_constant=str, parse_float=_finite)


def _finite(text: str) -> float | str:
    value = float(text)
    return value if isfinite(value) else text


_decode = json.JSONDecoder(parse_constant=str, parse_float=_finite).decode
"""``json.loads`` makes a new decoder for each text that it reads in this way, a third of the time for most messages."""


def parse_json_text(value: Json) -> Json:
    """A text that holds a JSON object or array as that value; anything else unchanged.

    Producers write arguments and results either as JSON or as JSON text; both mean the same thing.
    """
    if isinstance(value, str) and value[:1] in "{[" and value:
        try:
            return read_json(value)
        except (ValueError, RecursionError):
            return value
    return value


def json_safe(value: Any) -> tuple[Json, tuple[str, ...]]:
    """A deep copy of the value as JSON, with what had to be replaced. Never raises, whatever the value is.

    Models, dataclasses, dates, sets, tuples, enums, decimals, paths and UUIDs have a natural JSON form and are
    converted. What has none (functions, other objects, NaN, cycles) becomes a text such as ``[object Foo]``.

    Returns: the copy, and one ``path: reason`` per replaced place (of very many only the first); an empty tuple
    when nothing was lost.
    """
    faults: list[str] = []
    copy = _safe(value, "$", faults, ())
    told = [_shortened(each) for each in faults[:_MAX_FAULTS]]
    if len(faults) > _MAX_FAULTS:
        told.append(f"and {len(faults) - _MAX_FAULTS} more places")
    return copy, tuple(told)


def _shortened(fault: str) -> str:
    return fault if len(fault) <= _MAX_TOLD else f"{fault[:100]}…{fault[100 - _MAX_TOLD :]}"


def _safe(value: Any, path: str, faults: list[str], above: tuple[int, ...]) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _safe_int(int.__int__(value), path, faults)
    if isinstance(value, float):
        if not isfinite(value):
            faults.append(f"{path}: {float.__repr__(value)} is not a JSON number")
            return float.__repr__(value)
        return float.__float__(value)
    if id(value) in above or len(above) >= _MAX_DEPTH:
        faults.append(f"{path}: nested within itself or too deep")
        return "[cycle]"
    try:
        return _safe_object(value, path, faults, (*above, id(value)))
    except Exception as fault:  # noqa: BLE001 - the border of foreign code: an object that cannot even be looked at
        faults.append(f"{path}: {type(value).__name__} is not a JSON value ({type(fault).__name__} while it was read)")
        return f"[object {type(value).__name__}]"


def _safe_int(value: int, path: str, faults: list[str]) -> Json:
    if value.bit_length() <= _MAX_BITS:
        return value
    faults.append(f"{path}: an integer of {value.bit_length()} bits is too large to be written")
    return f"[integer of {value.bit_length()} bits]"


def _safe_object(value: Any, path: str, faults: list[str], above: tuple[int, ...]) -> Json:
    if isinstance(value, Mapping):
        out: dict[str, Json] = {}
        # A list first, since a thread may write to the mapping.
        for key, item in list(value.items()):
            if not isinstance(key, str):
                faults.append(f"{path}: key {key!r} is not a string")
            name = str.__str__(key) if isinstance(key, str) else str(key)
            out[name] = _safe(item, f"{path}.{name}", faults, above)
        return out
    if isinstance(value, list | tuple):
        return [_safe(item, f"{path}[{i}]", faults, above) for i, item in enumerate(list(value))]
    if isinstance(value, set | frozenset):
        return [_safe(item, f"{path}[{i}]", faults, above) for i, item in enumerate(sorted(value, key=repr))]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Enum):
        return _safe(value.value, path, faults, above)
    if isinstance(value, Decimal | PurePath | UUID):
        return str(value)
    if hasattr(type(value), "model_dump"):
        return _safe(value.model_dump(mode="json"), path, faults, above)
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
        return _safe(named, path, faults, above)
    faults.append(f"{path}: {type(value).__name__} is not a JSON value")
    return f"[object {type(value).__name__}]"
