"""``retrospan demo``: the bundled sample traces on the screen, or as text where there is no terminal."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import DebuggerError
from ..scratch import ScratchFolder
from .screen import is_terminal, open_screen

if TYPE_CHECKING:
    from ..store import Store

_SHOWN: Final = "travel_desk"
"""The sample that the text walk opens."""
_CUT_TOOL: Final = "book_museum"
_WIDTH: Final = 100


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command: only for those who want text in a terminal."""
    parser.add_argument("--text", action="store_true", help="as text, also in a terminal")


def run(args: Namespace) -> int:
    """Open the samples, or walk through the main job as text."""
    paths = sample_files()
    if is_terminal() and not args.text:
        return open_screen(paths)
    for line in walk(paths):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0


def sample_files() -> list[Path]:
    """The bundled traces. Raises DebuggerError where the installation lacks them."""
    from ..replay.entry import samples_folder

    folder = samples_folder()
    found = sorted(folder.glob("*.otlp.json*")) if folder else []
    if not found:
        raise DebuggerError("the bundled sample traces are missing", hint="reinstall retrospan")
    return found


def walk(paths: list[Path]) -> Iterator[str]:
    """The main job as text: list, one trace, a snapshot before and after a span, a replay with its report."""
    from ..store import Store
    from .list_traces import table

    width = min(shutil.get_terminal_size((_WIDTH, 24)).columns, 160)
    with Store.memory() as store:
        summary = store.load(paths)
        traces = store.traces()
        yield f"{summary.spans} spans of {len(traces)} traces in {len(paths)} sample files"
        yield from table(traces, width)
        trace_id = next(row.trace_id for row in traces if row.source.endswith(f"{_SHOWN}.otlp.jsonl"))
        yield from _timeline(store, trace_id, width)
        yield from _snapshots(store, trace_id)
        yield from _replay(store, trace_id)


def _timeline(store: Store, trace_id: str, width: int) -> Iterator[str]:
    from ..analysis.text import cut, fit, one_line
    from ..analysis.timeline import axis_of, bar_of, ruler, took
    from ..analysis.tree import build_forest
    from .show import branches

    forest = build_forest(store.spans(trace_id))
    axis = axis_of(forest.rows, forest.rows[0].start_unix_nano)
    names = 44
    bars = max(width - names - 12, 10)
    yield ""
    yield fit("the trace as a tree, with its timeline", names + 11) + " " + ruler(axis, bars)
    for i, row in enumerate(forest.rows):
        bar = bar_of(row.start_unix_nano, row.end_unix_nano, axis, bars)
        sign = "✗ " if row.has_error else ""
        name = fit(branches(forest, i) + sign + one_line(row.name), names)
        yield cut(f"{name} {fit(took(row, axis), 10, right=True)} {' ' * bar.column}{bar.text}", width).rstrip()


def _snapshots(store: Store, trace_id: str) -> Iterator[str]:
    from runtime.snapshot import restore_snapshot

    from ..analysis.text import plural

    events = store.events(trace_id)
    span = next(row for row in store.spans(trace_id) if row.tool_name == _CUT_TOOL)
    yield ""
    for anchor in ("before", "after"):
        snapshot = restore_snapshot(events, span.span_id, "before" if anchor == "before" else "after")
        yield f"the state {anchor} {span.name}"
        for depth, frame in snapshot.walk():
            counts = [plural(len(frame.journal.prompt), "model turn"), plural(len(frame.journal.tool), "tool call")]
            state = f"{frame.status}, journal: {' and '.join(counts)}, {frame.fidelity_level}"
            yield f"{'  ' * (depth + 1)}● {frame.agent_id or 'run'}  {state}"


def _replay(store: Store, trace_id: str) -> Iterator[str]:
    from dataclasses import replace

    from ..analysis.replay_view import result_document
    from ..replay.model import ReplayJob
    from ..replay.plan import plan_replay
    from ..replay.run import run_replay
    from .replay import recording_of

    recording = recording_of(store, trace_id)
    job = ReplayJob(trace_id=trace_id)
    yield ""
    yield "a replay of the whole trace, strict"
    yield plan_replay(recording, job).sentence
    with ScratchFolder() as folder:
        report = run_replay(recording, job, folder.path / "replay.otlp.jsonl")
    for call in report.calls:
        yield f"  {call.status:<6} {call.kind:<5} {call.name}"
    yield result_document(replace(report, trace_id=None)).text
    yield ""
    yield "In a terminal, `retrospan demo` opens the same traces on the screen."
