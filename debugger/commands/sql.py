"""``retrospan sql``: a read-only question to the spans of files or of the library."""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DebuggerError
from ._input import add_input, exit_code, load_input

if TYPE_CHECKING:
    from ..store import Column, Store

    Pieces = Iterable[list[tuple[Any, ...]]]

_SHOWN: Final = 1_000
"""Rows of a table for people; JSON, CSV and files hold all."""
_WIDEST: Final = 60


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("query", metavar="QUERY", help="one SELECT or EXPLAIN over traces, calls, messages, spans, "
                        "attributes, events, logs and issues")  # fmt: skip
    add_input(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as a JSON array of objects")
    form.add_argument("--csv", action="store_true", help="as CSV with a header")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file: .parquet, .csv or .json")


def run(args: Namespace) -> int:
    """Ask, and write the rows."""
    output: Path | None = args.output
    if output is not None and output.suffix not in (".parquet", ".csv", ".json"):
        raise DebuggerError(f"-o {output}: unknown form", hint="the name ends in .parquet, .csv or .json")
    store, summary = load_input(args)
    from ..errors import QueryCancelledError

    try:
        _answer(args, store, output)
    except QueryCancelledError as fault:
        raise KeyboardInterrupt from fault
    return exit_code(args, summary)


def _answer(args: Namespace, store: Store, output: Path | None) -> None:
    with store:
        from ._input import keep_input

        keep_input(args, store)
        with store.console() as console:
            columns, pieces = console.run(args.query)
            if output is None:
                _write(sys.stdout, "json" if args.json else "csv" if args.csv else "", columns, pieces)
            elif output.suffix == ".parquet":
                from ..store import write_parquet

                write_parquet(output, columns, pieces)
            else:
                first = next(iter(pieces), [])  # a query that fails leaves no empty file behind
                with output.open("w", encoding="utf-8", newline="") as file:
                    _write(file, output.suffix[1:], columns, chain([first], pieces))


def _write(out: Any, form: str, columns: tuple[Column, ...], pieces: Pieces) -> None:
    if form == "json":
        out.writelines(_json(columns, pieces))
    elif form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        for rows in pieces:
            writer.writerows(rows)
    else:
        out.write("\n".join(_table(columns, pieces)) + "\n")


def _json(columns: tuple[Column, ...], pieces: Pieces) -> Iterator[str]:
    from ._json import dump

    names = [column.name for column in columns]
    yield "["
    before = ""
    for row in chain.from_iterable(pieces):
        yield before + dump({name: _plain(value) for name, value in zip(names, row, strict=True)})
        before = ",\n "
    yield "]\n"


def _plain(value: Any) -> Any:
    """What JSON has as it is, everything else (times, decimals, intervals) as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str | bytes) else str(value)


def _table(columns: tuple[Column, ...], pieces: Pieces) -> Iterator[str]:
    from ..analysis.text import fit, one_line, plural, width_of

    rows: list[tuple[Any, ...]] = []
    is_cut = False
    for piece in pieces:
        rows += piece
        if len(rows) > _SHOWN:
            is_cut = True
            break
    # A plan comes as one text of several lines.
    if columns and columns[0].name == "explain_key":
        for plan in rows:
            yield from (one_line(line, "") for line in str(plan[1]).splitlines())
        return
    numbers = [column.type.split("(")[0] in _NUMBERS for column in columns]
    cells = [["" if value is None else one_line(str(value), "") for value in row] for row in rows[:_SHOWN]]
    heads = [one_line(column.name, "") for column in columns]
    wide = [min(max([width_of(head), *(width_of(row[i]) for row in cells)]), _WIDEST) for i, head in enumerate(heads)]
    for line in [heads, *cells]:
        yield "  ".join(fit(text, wide[i], right=numbers[i]) for i, text in enumerate(line)).rstrip()
    if is_cut:
        yield f"… the first {plural(_SHOWN, 'row')}; --json, --csv and -o give all"
    elif not rows:
        yield "no rows"


_NUMBERS: Final = frozenset(("BIGINT", "INTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "UBIGINT", "SMALLINT"))
