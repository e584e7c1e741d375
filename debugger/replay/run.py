"""A replay from its job to its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.journal import Difference, Divergence, ReplayRow
from runtime.messages import Call, Json, canonical_json
from runtime.snapshot import Snapshot, snapshot_to_json

from ..errors import EntryPointError, ReplayError
from .entry import EntryPoint
from .model import Ended, ReplayJob, ReplayReport
from .plan import find_entry_point
from .process import ChildProcess
from .recording import Recording


def run_replay(
    recording: Recording,
    job: ReplayJob,
    trace_file: Path,
    *,
    on_call: Callable[[ReplayRow], None] = lambda row: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> ReplayReport:
    """Run the job in a child process; blocks until it has ended.

    Args:
        recording: the trace.
        job: what to do.
        trace_file: where the replay's own trace is written.
        on_call: called with each call as it happens, and again when it settles.
        cancelled: asked often; True ends the child.

    Raises:
        RestoreError: the cut cannot be restored.
        EntryPointError: there is no function to run, or its module does not load.
        ReplayError: the trace of the replay cannot be written.
    """
    cut = recording.snapshot(job.span_id, job.anchor)
    entry = find_entry_point(recording, job)
    try:
        trace_file.write_bytes(b"")
    except OSError as fault:
        raise ReplayError(f"{trace_file}: cannot be written ({fault.strerror})") from fault
    rows: dict[str, ReplayRow] = {}
    end: dict[str, Any] | None = None
    with ChildProcess(_message(recording, job, cut, entry, trace_file), cancelled=cancelled) as child:
        for message in child.messages():
            if message["type"] == "row":
                row = ReplayRow(**message["row"])
                rows[row.call_id] = row
                on_call(row)
            else:
                end = message
    if end is not None and end["ended"] == "not_loaded":
        error = end["error"]
        raise EntryPointError(f"{entry.shown} cannot be loaded: {error['type']}: {error['message']}")
    return _report(recording, job, cut, trace_file, tuple(rows.values()), end, child)


def _message(
    recording: Recording, job: ReplayJob, cut: Snapshot, entry: EntryPoint, trace_file: Path
) -> dict[str, Any]:
    """The job as the child reads it."""
    whole_answers = job.rest_recorded or job.span_id is None
    run = recording.run
    return {
        "file": str(entry.file) if entry.file else None,
        "module": entry.module,
        "name": entry.name,
        "folder": str(entry.file.parent if entry.file else Path.cwd()),
        "input": run.input if run and isinstance(run.input, dict) else {},
        "recording": snapshot_to_json(recording.whole, with_requests=True),
        "cut": None if whole_answers else snapshot_to_json(cut),
        "mode": job.mode,
        "tools": job.tools,
        "trace_file": str(trace_file.resolve()),
        "run_name": run.name.removeprefix("invoke_workflow ") if run else None,
        "service": None,
        "origin": {"trace_id": job.trace_id, "span_id": job.span_id, "anchor": job.anchor if job.span_id else None},
    }


def _report(
    recording: Recording,
    job: ReplayJob,
    cut: Snapshot,
    trace_file: Path,
    rows: tuple[ReplayRow, ...],
    end: dict[str, Any] | None,
    child: ChildProcess,
) -> ReplayReport:
    if end is None:
        gone = f"the agent's program ended by itself (exit code {child.exit_code})"
        end = {"ended": "cancelled" if child.was_cancelled else "failed", "error": {"type": "exit", "message": gone}}
    ended: Ended = end["ended"]
    error = end.get("error")
    output = end.get("output")
    same = _same_output(recording.run, ended, output, error)
    fidelity = cut.fidelity_level
    if fidelity == "exact" and end.get("inferred"):
        fidelity = "inferred"
    return ReplayReport(
        job=job,
        trace_id=end.get("trace_id"),
        trace_path=trace_file if trace_file.stat().st_size else None,
        ended=ended,
        same_output=same,
        output=output,
        recorded_output=recording.run.result if recording.run else None,
        error=f"{error['type']}: {error['message']}" if error else None,
        recorded_error=_recorded_error(recording.run),
        calls=rows,
        first_divergence=_divergence(end.get("divergence")),
        saved_nano_usd=end.get("saved_nano_usd"),
        saved_ns=end.get("saved_ns"),
        fidelity=fidelity,
        printed=tuple(child.printed),
        # Where the run failed as it did when it was recorded, the way there is no news.
        traceback=() if same else tuple("".join(end.get("traceback", ())).splitlines()),
    )


def _recorded_error(run: Call | None) -> str | None:
    return f"{run.error.type}: {run.error.message}" if run and run.error else None


def _same_output(run: Call | None, ended: Ended, output: Json, error: dict[str, str] | None) -> bool | None:
    """Whether the replay came to the recorded end; None where either has no end to compare."""
    if run is None or ended not in ("done", "failed") or run.end_unix_nano is None:
        return None
    if run.error is not None:
        return error is not None and (error["type"], error["message"]) == (run.error.type, run.error.message)
    return ended == "done" and canonical_json(output) == canonical_json(run.result)


def _divergence(data: dict[str, Any] | None) -> Divergence | None:
    if data is None:
        return None
    return Divergence(**{**data, "differences": tuple(Difference(**d) for d in data["differences"])})
