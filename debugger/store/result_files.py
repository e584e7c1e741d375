"""Rows of a query as CSV, JSON or Parquet, written as they come, so that their number does not matter."""

from __future__ import annotations

import csv
import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, Literal, Protocol, TypeAlias, cast

from runtime.messages import json_safe

from ..errors import SqlError
from ..whole_file import whole_file

Pieces: TypeAlias = Iterable[list[tuple[Any, ...]]]
"""Rows, some at a time."""
Form: TypeAlias = Literal["csv", "json"]
ENDINGS: Final = (".csv", ".parquet", ".json")
"""Of the names of files that can be written."""


class ColumnLike(Protocol):
    """What is known of a column."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def type(self) -> str:
        """As DuckDB calls it."""


def write_result(path: Path, columns: Sequence[ColumnLike], pieces: Pieces) -> int:
    """Write rows to a file in the form that its name ends in, one of ``ENDINGS``; how many there were.

    The file is there when it is whole, and not before: what ends early leaves what was there.

    Raises: UnwritableError; SqlError: Parquet has no form for a value.
    """
    counted = _Counted(pieces)
    first = next(counted, [])
    with whole_file(path) as unfinished:
        if path.suffix == ".parquet":
            if unfinished.is_fifo():  # DuckDB would wait for a reader, and hear nothing
                raise OSError("a Parquet file cannot go into a named pipe")
            _write_parquet(unfinished, columns, chain([first], counted))
        else:
            with unfinished.open("w", encoding="utf-8", newline="") as file, drop_unwritten(file):
                write_text(file, cast(Form, path.suffix[1:]), columns, chain([first], counted))
    return counted.rows


@contextmanager
def drop_unwritten(file: IO[str]) -> Iterator[None]:
    """Where a signal ends the block, drop what the file has not taken: a pipe that stands still would hold us again."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        null = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):  # no file of the system stands behind it
            os.dup2(null, file.fileno())
        os.close(null)
        raise


class _Counted(Iterator[list[tuple[Any, ...]]]):
    def __init__(self, pieces: Pieces) -> None:
        self._pieces = iter(pieces)
        self.rows = 0

    def __next__(self) -> list[tuple[Any, ...]]:
        piece = next(self._pieces)
        self.rows += len(piece)
        return piece


def write_text(
    out: IO[str],
    form: Form,
    columns: Sequence[ColumnLike],
    pieces: Pieces,
    shown: Callable[[str], str] | None = None,
) -> None:
    """Write rows as CSV with a header, or as a JSON array of objects.

    Args: shown: what a text looks like in CSV where a person looks at it; else it is written exactly.
    """
    if form == "json":
        out.writelines(_json_lines(columns, pieces))
        return
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([shown(column.name) if shown else column.name for column in columns])
    for rows in pieces:
        for row in rows:
            cells = [value if type(value) in _AS_IT_IS else _cell(value) for value in row]
            writer.writerow([shown(cell) if shown and isinstance(cell, str) else cell for cell in cells])


_AS_IT_IS: Final = frozenset((str, int, float, type(None)))


def _cell(value: Any) -> Any:
    """A value that is no text as CSV holds it: lists and structures as JSON, bytes in base64."""
    value = _plain(value)
    return dump(value) if isinstance(value, dict | list) else value


def _json_lines(columns: Sequence[ColumnLike], pieces: Pieces) -> Iterator[str]:
    names = [column.name for column in columns]
    yield "["
    before = ""
    for row in chain.from_iterable(pieces):
        yield before + dump({name: _plain(value) for name, value in zip(names, row, strict=True)})
        before = ",\n "
    yield "]\n"


def _plain(value: Any) -> Any:
    """What JSON has as it is, bytes in base64, everything else (times, decimals, intervals) as text."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def dump(value: Any, indent: int | None = None) -> str:
    """The value as JSON text in ASCII; what JSON does not have (NaN, bytes) as text, and what is too deep cut off."""
    try:
        return _encode(value) if indent is None else json.dumps(value, allow_nan=False, indent=indent)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(json_safe(value)[0], allow_nan=False, indent=indent)


_encode = json.JSONEncoder(allow_nan=False).encode
"""``json.dumps`` would make a new encoder for each value."""


def _write_parquet(path: Path, columns: Sequence[ColumnLike], pieces: Pieces) -> None:
    """By a database that knows nothing of the query, since the query's own may write no file."""
    import duckdb

    from ._database import append_rows, connect, first_line, is_full, quoted

    with closing(connect(":memory:")) as connection:
        names = _unique([column.name for column in columns])
        types = [column.type if column.type not in ("NULL", '"NULL"') else "VARCHAR" for column in columns]
        fields = ", ".join(f'"{name}" {kind}' for name, kind in zip(names, types, strict=True))
        try:
            connection.execute(f"create table result ({fields})")
            append_rows(connection, "result", chain.from_iterable(pieces))
            connection.execute(f"copy result to '{quoted(path)}' (format parquet)")
        except (duckdb.IOException, duckdb.OutOfMemoryException) as fault:
            raise OSError("No space left on device" if is_full(fault) else first_line(fault)) from fault
        except duckdb.Error as fault:
            raise SqlError(
                f"the rows cannot be written as Parquet: {first_line(fault)}",
                hint="cast what is nested, as in COLUMN::json, or write a .json file",
            ) from fault


def _unique(names: Sequence[str]) -> list[str]:
    out: list[str] = []
    for name in names:
        new, n = name.replace('"', '""'), 2
        while new.casefold() in {known.casefold() for known in out}:
            new, n = f"{name}_{n}".replace('"', '""'), n + 1
        out.append(new)
    return out
