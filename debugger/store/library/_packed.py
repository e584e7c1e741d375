"""The trace list of a segment as ready texts: reading rows back from them takes a sixth of asking DuckDB for them.

They lie in the table ``packed`` of the segment, some thousand traces a row, in the order of the list. The table is a
shortcut: older segments have none, and of a list whose rows had other fields, or that is damaged or not whole, nothing
is read; the tables ``ids`` and ``summary`` say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import duckdb
import msgspec

from .._database import Database, collector_off
from ..rows import TraceRow

T = TypeVar("T")
Ask: TypeAlias = Callable[[str, dict[str, Any] | None], list[tuple[Any, ...]]]
"""Puts a query file to one segment."""
_AT_ONCE: Final = 4_096
"""Traces of one text: a list of any length is written in bounded memory."""
_FORM: Final = ",".join(TraceRow.__struct_fields__)
_WIDE: Final = frozenset(("input_tokens", "output_tokens", "cost_nano_usd"))
"""Sums of 128 bits. They come as text, which takes a third of the time that DuckDB needs to make a number of one."""
# JSON, since its numbers may be wider than 64 bits.
_TRACES: Final = msgspec.json.Decoder(list[TraceRow])
_IDS: Final = msgspec.json.Decoder(list[str])


def pack_list(database: Database) -> frozenset[str]:
    """Write the texts of a segment whose ``ids`` and ``summary`` are made; returns its traces."""
    with collector_off():
        ids = frozenset(row[0] for row in database.query("library/segment_ids"))
        listed: set[str] = set()
        for place, rows in enumerate(_pieces(database)):
            listed.update(row.trace_id for row in rows)
            _append(database, place, [row.trace_id for row in rows], rows)
        # Of these there are log records only. At least this row is there, also where nothing is to be listed.
        _append(database, len(listed), sorted(ids - listed), [])
    return ids


def _pieces(database: Database) -> Iterator[list[TraceRow]]:
    first = 0
    while rows := database.query("library/summary_piece", {"first": first, "end": first + _AT_ONCE}):
        yield trace_rows(rows)
        first += _AT_ONCE


def _append(database: Database, place: int, ids: Sequence[str], rows: Sequence[TraceRow]) -> None:
    texts = (msgspec.json.encode(ids).decode(), msgspec.json.encode(rows).decode())
    database.append("packed", [(place, _FORM, *texts)])


def read_ids(ask: Ask) -> frozenset[str]:
    """The traces that a segment has something of."""
    with collector_off():
        ids = frozenset(_read(ask, "library/packed_ids", {}, _IDS))
        if len(ids) == ask("library/list_sizes", None)[0][0]:
            return ids
        return frozenset(row[0] for row in ask("library/segment_ids", None))


def read_traces(ask: Ask) -> list[TraceRow]:
    """The trace list of a segment, newest first."""
    with collector_off():
        rows = _read(ask, "library/packed_traces", {"form": _FORM}, _TRACES)
        if len(rows) == ask("library/list_sizes", None)[0][1]:
            return rows
        return trace_rows(ask("library/segment_traces", None))


def _read(ask: Ask, name: str, parameters: dict[str, Any], decoder: msgspec.json.Decoder[list[T]]) -> list[T]:
    """What the texts hold; nothing where there are none that can be read."""
    try:
        return [item for (text,) in ask(name, parameters) for item in decoder.decode(text)]
    except (duckdb.CatalogException, duckdb.BinderException, duckdb.ConversionException):
        return []  # an older version made the segment, without this table; or it has other columns
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        return []  # no text, or not the one that was written


def trace_rows(rows: list[tuple[Any, ...]]) -> list[TraceRow]:
    """Rows of ``segment_traces``."""
    wide = [i for i, name in enumerate(TraceRow.__struct_fields__) if name in _WIDE]
    made = []
    for row in rows:
        values = list(row)
        for i in wide:
            if values[i] is not None:
                values[i] = int(values[i])
        made.append(TraceRow(*values))
    return made
