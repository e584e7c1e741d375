"""``retrospan show``: the calls of traces, as a tree or as JSON."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..errors import DebuggerError
from ._input import add_input, exit_code, id_word, load_input

if TYPE_CHECKING:
    from ..analysis.tree import Forest
    from ..store import Store, TraceRow

_FALLBACK_SIZE: Final = (160, 24)
"""Where the output is no terminal, so that nothing has to be cut: wide enough for the span ids."""
_MOST_INDENT: Final = 20
"""Levels that are drawn; deeper ones say their depth as a number."""
_NAME_LEAST: Final = 24
_WIDE_ENOUGH_FOR_IDS: Final = 140
"""From this width on there is room for the span ids, which ``--span`` takes."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    add_input(parser)
    parser.add_argument(
        "--trace", metavar="T", type=id_word, help="only this trace: its id, the first digits of it, or its name"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Show each trace; in the order of ``list``."""
    from ..analysis.text import plural
    from ..store import collector_off

    store, summary = load_input(args)
    with store:
        traces = store.traces()
        if not args.paths and not traces:
            raise DebuggerError("the library is empty", hint="`retrospan load FILE` brings a trace in")
        if not args.paths and args.trace is None and len(traces) > 1:
            raise DebuggerError(
                f"the library holds {plural(len(traces), 'trace')}", hint="name one with --trace, or a PATH to read"
            )
        if args.trace is not None:
            wanted = store.resolve_trace(args.trace)
            traces = [row for row in traces if row.trace_id == wanted]
        pieces = _json(store, traces) if args.json else _text(store, traces)
        with collector_off():  # all that is made here stays to the end, or is freed at once
            for piece in pieces:
                sys.stdout.write(piece)
    return exit_code(args, summary)


def _json(store: Store, traces: list[TraceRow]) -> Iterator[str]:
    """The document piece by piece: whole traces in memory are enough."""
    from ..analysis.fidelity import trace_fidelity
    from ._json import CallWriter, dump, issue_to_json

    yield '{"traces": ['
    for i, row in enumerate(traces):
        calls = store.calls(row.trace_id)
        fidelity = trace_fidelity(store.events(row.trace_id), calls, row.trace_id).to_json()
        yield f'{", " if i else ""}{{"trace_id": {dump(row.trace_id)}, "name": {dump(row.name)}, '
        yield f'"fidelity": {dump(fidelity)}, "calls": ['
        writer = CallWriter()
        for j, call in enumerate(calls):
            yield (", " if j else "") + writer.text(call)
        yield "]}"
    yield f'], "issues": {dump([issue_to_json(row) for row in store.issues()])}}}\n'


def _text(store: Store, traces: list[TraceRow]) -> Iterator[str]:
    from ..analysis.fidelity import OF_AGENTS, trace_fidelity
    from ..analysis.text import clock, duration, one_line, plural
    from ..analysis.tree import build_forest

    width = shutil.get_terminal_size(_FALLBACK_SIZE).columns
    for i, row in enumerate(traces):
        facts = [clock(row.start_unix_nano, with_year=True), duration(row.duration_ns), plural(row.spans, "span")]
        facts += [plural(row.errors, "error")] if row.errors else []
        head = f"{one_line(row.name)}  {(row.service and one_line(row.service)) or ''}".rstrip()
        yield ("\n" if i else "") + _filled(head, width)
        yield _filled(f"trace {one_line(row.trace_id)}  {', '.join(facts)}", width)
        calls = store.calls(row.trace_id)
        fidelity = trace_fidelity(store.events(row.trace_id), calls, row.trace_id)
        # A trace without anything of an agent has no state, and nobody misses it.
        if fidelity.level != "exact" and any(call.kind in OF_AGENTS for call in calls):
            yield _filled(f"{fidelity.level}: {one_line('; '.join(fidelity.reasons))}", width)
        for line in tree_lines(build_forest(store.spans(row.trace_id)), width):
            yield line + "\n"


def _filled(text: str, width: int) -> str:
    """What is said of the whole trace, in as many rows as it takes: unlike a row of the tree nothing says it again."""
    from ..analysis.text import wrap_at

    rows = [text[start:end].rstrip() for start, end in wrap_at(text, width, hang=2)]
    return "\n  ".join(rows) + "\n"


def tree_lines(forest: Forest, width: int) -> Iterator[str]:
    """One line per span, of at most ``width`` cells: the tree on the left, length and tokens on the right."""
    from ..analysis.text import count, cut, duration, fit, one_line
    from ..analysis.timeline import length_of

    for i, row in enumerate(forest.rows):
        length = "unfinished" if row.end_unix_nano is None and row.start_unix_nano else duration(length_of(row))
        tokens = ""
        if row.input_tokens is not None or row.output_tokens is not None:
            tokens = f"{count(row.input_tokens)}/{count(row.output_tokens)}"
        right = f"  {length:>10}  {tokens:>11}"
        if width >= _WIDE_ENOUGH_FOR_IDS:
            right += f"  {one_line(row.span_id)}"
        marks = [mark.text for mark in forest.marks_of(i)]
        label = f"{row.kind:<9} {one_line(row.name)}"
        if row.has_error:
            label += f"  ! {one_line(row.error_type or row.status_message, 'error')}"
        if marks:
            label += f"  ({one_line(', '.join(marks))})"
        room = width - len(right)
        if room < _NAME_LEAST:
            right, room = "", width
        yield cut(fit(branches(forest, i) + label, room) + right, width).rstrip()


def branches(forest: Forest, index: int) -> str:
    """The lines that tie a span to its parent."""
    depth = forest.depth[index]
    if depth == 0:
        return ""
    if depth > _MOST_INDENT:
        return f"{'  ' * _MOST_INDENT}[{depth}] "
    parts = ["└ " if forest.last_child(index) else "├ "]
    above = forest.parent[index]
    while forest.depth[above] > 0:
        parts.append("  " if forest.last_child(above) else "│ ")
        above = forest.parent[above]
    return "".join(reversed(parts))
