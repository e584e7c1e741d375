"""``retrospan list``: the traces in files and folders, or in the library."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ._input import add_input, exit_code, load_input

if TYPE_CHECKING:
    from runtime.messages import Call

    from ..store import Store, TraceRow

_FEW_SPANS: Final = 2_000
"""All of them are read and their traces restored in a moment."""
_FIDELITY: Final = 9
"""The column."""
_ID_LENGTH: Final = 12
_NAME_LEAST: Final = 16
_FALLBACK_SIZE: Final = (120, 24)


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    add_input(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--fidelity",
        action="store_true",
        help=f"say how exactly each trace can be restored, which is told unasked for up to {_FEW_SPANS:,} spans only "
        "(with --json only when asked)",
    )


def run(args: Namespace) -> int:
    """List the traces, newest first."""
    from ._json import dump, trace_to_json

    store, summary = load_input(args)
    with store:
        traces = store.traces()
        asked = args.fidelity or (not args.json and sum(row.spans for row in traces) <= _FEW_SPANS)
        levels = {row.trace_id: _level(store, row.trace_id) for row in traces} if asked else None
        replays = {row.trace_id: _calls_of_replay(store, row) for row in traces if row.origin_trace_id is not None}
    if not traces:
        sys.stderr.write("retrospan: the library is empty; `retrospan load FILE` brings a trace in\n")
    if args.json:
        found = [trace_to_json(row, replays.get(row.trace_id, ())) for row in traces]
        for document in found if levels else ():
            document["fidelity"] = levels[document["trace_id"]] if levels else None
        sys.stdout.write(dump(found) + "\n")
    elif traces:
        width = shutil.get_terminal_size(_FALLBACK_SIZE).columns
        sys.stdout.write("\n".join(table(traces, width, levels, replays)) + "\n")
    return exit_code(args, summary)


def _level(store: Store, trace_id: str) -> str | None:
    from ..analysis.fidelity import level_of

    return level_of(lambda: store.events(trace_id), store.calls(trace_id), trace_id)


def _calls_of_replay(store: Store, row: TraceRow) -> Sequence[Call]:
    """What says of what a replay is one, and how it went; of a long one the roots, among which the run is."""
    if row.spans <= _FEW_SPANS:
        return store.calls(row.trace_id)
    return [store.call(row.trace_id, span.span_id) for span in store.spans(row.trace_id) if not span.parent_span_id]


def table(
    traces: list[TraceRow],
    width: int,
    levels: Mapping[str, str | None] | None = None,
    replays: Mapping[str, Sequence[Call]] | None = None,
) -> list[str]:
    """The list as lines of at most ``width`` cells; the name takes what the numbers leave. A replay has two lines.

    Args:
        traces: the rows.
        width: of the terminal.
        levels: fidelity by trace id; without it there is no such column.
        replays: calls of those that are replays, by trace id.
    """
    from ..analysis.text import clock, cost, count, cut, duration, fit, one_line
    from ..analysis.traces import trace_name

    heads = ("TRACE", "STARTED", "LENGTH", "SPANS", "LLM", "TOOLS", "ERRORS", "TOKENS IN/OUT", "COST", "FIDELITY")
    rows = [
        (
            one_line(row.trace_id)[:_ID_LENGTH],
            clock(row.start_unix_nano, with_year=True),
            duration(row.duration_ns),
            count(row.spans),
            count(row.llm_calls),
            count(row.tool_calls),
            count(row.errors),
            f"{count(row.input_tokens)}/{count(row.output_tokens)}",
            cost(row.cost_nano_usd),
            (levels or {}).get(row.trace_id) or "",
        )
        for row in traces
    ]
    wide = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    # On a narrow screen the columns that say least go first: cost, tools, model calls, start, fidelity, tokens, length.
    shown = list(range(len(heads) if levels else len(heads) - 1))
    for column in (8, 5, 4, 1, _FIDELITY, 7, 2):
        if column in shown and sum(wide[i] + 2 for i in shown) + _NAME_LEAST > width:
            shown.remove(column)
    name_width = max(width - sum(wide[i] + 2 for i in shown), _NAME_LEAST)
    out = []
    origins = [_origin((replays or {}).get(row.trace_id, ())) for row in traces]
    names = ("NAME", *(trace_name(row.name) for row in traces))
    for line, name, origin in zip((heads, *rows), names, (None, *origins), strict=True):
        cells = [fit(line[i], wide[i], right=1 < i < _FIDELITY) for i in shown]
        out.append(cut("  ".join([cells[0], fit(name, name_width), *cells[1:]]), width).rstrip())
        if origin is not None:
            out.append(cut(origin, width))
    return out


def _origin(calls: Sequence[Call]) -> str | None:
    """Of which trace a replay is one, and what sets it apart."""
    from ..analysis.branches import branch_words
    from ..analysis.text import one_line

    words = branch_words(calls, None)
    if words is None:
        return None
    origin = next(call.origin_trace_id for call in calls if call.origin_trace_id is not None)
    return f"{'':{_ID_LENGTH}}  ↺ of {one_line(origin)[:_ID_LENGTH]}, {words.long}"
