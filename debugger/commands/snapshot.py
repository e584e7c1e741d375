"""``retrospan snapshot``: the state of a trace's agents before or after a span, as JSON."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DebuggerError
from ..whole_file import whole_file
from ._input import add_input, exit_code, id_word, keep_input, load_input

if TYPE_CHECKING:
    from ..store import Store


class SeveralTracesError(DebuggerError):
    """The input holds more than one trace and none was chosen."""

    def __init__(self, trace_ids: list[str]) -> None:
        self.trace_ids = trace_ids
        shown = ", ".join(trace_ids[:5]) + (f" and {len(trace_ids) - 5} more" if len(trace_ids) > 5 else "")
        super().__init__(f"the input holds {len(trace_ids)} traces: {shown}", hint="choose one with --trace")


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    add_input(parser)
    add_cut(parser)
    parser.add_argument("--every", action="store_true", help="before and after every span, as JSON lines")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry; a snapshot is always JSON")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write there instead of to standard output")


def add_cut(parser: ArgumentParser) -> None:
    """``--trace``, ``--span`` and ``--anchor``: where on which timeline."""
    parser.add_argument(
        "--trace", metavar="T", type=id_word, help="the trace: its id, the first digits of it, or its name"
    )
    parser.add_argument(
        "--span", metavar="S", type=id_word, help="the span of the cut: its id, or the first digits of it"
    )
    parser.add_argument(
        "--anchor", choices=("before", "after"), default="after", help="cut before or after the span (default: after)"
    )


def run(args: Namespace) -> int:
    """Write the snapshot, or one line for each cut."""
    store, summary = load_input(args)
    with store:
        keep_input(args, store)
        trace_id = chosen_trace(store, args.trace)
        lines = _lines(args, store, trace_id)
        # The first line is made before the file is opened: a cut that cannot be restored leaves no empty file behind.
        first = next(lines)
        if args.output is None:
            sys.stdout.writelines(chain([first], lines))
        else:
            with whole_file(args.output) as path, path.open("w", encoding="utf-8") as out:
                out.writelines(chain([first], lines))
    return exit_code(args, summary)


def chosen_trace(store: Store, text: str | None) -> str:
    """The id of the wanted trace.

    Raises: SeveralTracesError: there are several and none is named; UnknownTraceError, AmbiguousIdError.
    """
    if text is not None:
        return store.resolve_trace(text)
    traces = store.traces()
    if len(traces) > 1:
        raise SeveralTracesError([row.trace_id for row in traces])
    if not traces:
        raise DebuggerError("the library is empty", hint="`retrospan load FILE` brings a trace in")
    return traces[0].trace_id


def _lines(args: Namespace, store: Store, trace_id: str) -> Iterator[str]:
    from runtime.snapshot import RestoreError, restore_every, restore_snapshot, snapshot_to_json

    from ..analysis.fidelity import records_memory, with_conversation
    from ._json import compact, indented

    events, is_own = store.events(trace_id), records_memory(store.calls(trace_id))
    if args.every:
        for span_id, anchor, found in restore_every(events, trace_id):
            line: dict[str, Any] = {"span_id": span_id, "anchor": anchor}
            if isinstance(found, RestoreError):
                line["error"] = found.to_json()
            else:
                line["snapshot"] = snapshot_to_json(with_conversation(found, is_own=is_own))
            yield compact(line) + "\n"
        return
    wanted = store.resolve_span(trace_id, args.span) if args.span else None
    snapshot = restore_snapshot(events, wanted, args.anchor, trace_id=trace_id)
    yield from indented(snapshot_to_json(with_conversation(snapshot, is_own=is_own)))
    yield "\n"
