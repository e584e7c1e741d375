"""``retrospan diff``: what differs between two traces, or between two snapshots."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DebuggerError, UnknownTraceError
from ._input import add_library, id_word, load_input, open_library, path_word

if TYPE_CHECKING:
    from runtime.journal import Difference
    from runtime.messages import Call
    from runtime.snapshot import Snapshot

    from ..analysis.compare import ComparedCall, Comparison

_HEAD: Final = 65_536
"""Bytes of a file that tell a snapshot from a trace."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    what = "file of a trace or of a snapshot, or the id of a trace of the library"
    parser.add_argument("left", metavar="A", type=path_word, help=what)
    parser.add_argument("right", metavar="B", type=path_word, help="what to compare it with")
    parser.add_argument("--left-trace", metavar="T", type=id_word, help="the trace of A, where it holds several")
    parser.add_argument("--right-trace", metavar="T", type=id_word, help="the trace of B, where it holds several")
    add_library(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Compare; 0 where both are the same, else 1."""
    left, right = _read(args, args.left, args.left_trace), _read(args, args.right, args.right_trace)
    if isinstance(left, list) and isinstance(right, list):
        return _traces(args, left, right)
    if isinstance(left, list) or isinstance(right, list):
        trace, other = (args.left, args.right) if isinstance(left, list) else (args.right, args.left)
        raise DebuggerError(
            f"{trace} is a trace and {other} a snapshot", hint="`retrospan snapshot` makes a snapshot of a trace"
        )
    return _snapshots(args, left, right)


def _read(args: Namespace, word: str, trace: str | None) -> list[Call] | Snapshot:
    path = Path(word)
    if _is_snapshot(path):
        return _snapshot(path)
    from .snapshot import chosen_trace

    if word == "-" or path.exists() or "/" in word:
        store, _ = load_input(Namespace(paths=[word], library=None))
        with store:
            return store.calls(chosen_trace(store, trace))
    try:
        with open_library(args, make=False).reader() as store:
            return store.calls(store.resolve_trace(word))
    except UnknownTraceError as fault:
        raise DebuggerError(f"no file {word!r}, and no trace of the library has that id", hint=fault.hint) from None


def _is_snapshot(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD)
    # Within the texts of a trace these words stand behind backslashes.
    return (
        head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"callId"' in head and b'"resourceSpans"' not in head
    )


def _snapshot(path: Path) -> Snapshot:
    from runtime.snapshot import snapshot_from_json

    try:
        data = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise DebuggerError(f"{path}: not a snapshot ({fault})") from fault
    return snapshot_from_json(data)


def _traces(args: Namespace, left: list[Call], right: list[Call]) -> int:
    from ..analysis.compare import compare_traces
    from ..analysis.compare_view import trace_document
    from ._json import dump

    found = compare_traces(left, right)
    if args.json:
        sys.stdout.write(dump(comparison_to_json(found, left[0].trace_id, right[0].trace_id)) + "\n")
    else:
        names = (f"{word}  trace {calls[0].trace_id}" for word, calls in ((args.left, left), (args.right, right)))
        sys.stdout.write(trace_document(found, *names).text + "\n")
    return 0 if found.is_same else 1


def _snapshots(args: Namespace, left: Snapshot, right: Snapshot) -> int:
    from runtime.snapshot import snapshot_to_json

    from ..analysis.compare_snapshots import compare_snapshots
    from ..analysis.compare_view import snapshot_document
    from ._json import dump

    found = compare_snapshots(snapshot_to_json(left), snapshot_to_json(right))
    if args.json:
        out = {"kind": "snapshot", "same": not found, "differences": [_difference(item) for item in found]}
        sys.stdout.write(dump(out) + "\n")
    else:
        sys.stdout.write(snapshot_document(found, args.left, args.right).text + "\n")
    return 1 if found else 0


def _difference(item: Difference) -> dict[str, Any]:
    return {"part": item.part, "path": item.path, "left": item.recorded, "right": item.actual}


def comparison_to_json(found: Comparison, left: str, right: str) -> dict[str, Any]:
    """A comparison of traces as ``diff --json`` gives it."""
    from ._json import usd

    def side(trace_id: str, totals: dict[str, Any]) -> dict[str, Any]:
        cost, saved = totals.pop("cost_nano_usd"), totals.pop("saved_nano_usd")
        return {"trace_id": trace_id, **totals, "cost_usd": usd(cost), "saved_usd": usd(saved)}

    differing = found.differing
    return {
        "kind": "trace",
        "same": found.is_same,
        "left": side(left, asdict(found.left)),
        "right": side(right, asdict(found.right)),
        "first_difference": differing[0] if differing else None,
        "rows": [_row(row) for row in found.rows],
    }


def _row(row: ComparedCall) -> dict[str, Any]:
    from ..analysis.compare import label_of

    def of(call: Call | None) -> dict[str, Any] | None:
        if call is None:
            return None
        return {"span_id": call.span_id, "name": label_of(call), "duration_ns": call.duration_ns}

    return {
        "status": row.status,
        "kind": row.kind,
        "name": row.label,
        "depth": row.depth,
        "left": of(row.left),
        "right": of(row.right),
        "differences": [_difference(item) for item in row.differences],
    }
