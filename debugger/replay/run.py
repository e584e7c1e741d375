"""A replay from its job to its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.journal import Question, ReplayRow, Supplied
from runtime.messages import Call, Json, canonical_json, json_safe, text_of
from runtime.snapshot import Snapshot, snapshot_to_json

from ..errors import EntryPointError, ReplayError
from ..whole_file import whole_file
from .choice import Program, find_program, shown
from .compared import change_note
from .edits import resolve
from .model import ReplayJob, ReplayReport
from .news import Ask, ChildError, End
from .process import ChildProcess, Children
from .reconstruct.build import Rebuilt
from .reconstruct.script import RecordedEnd, script_to_json
from .recording import Recording


def stop_here(question: Question) -> Supplied:
    """What is said to a question where nobody is there to ask."""
    return Supplied(kind="stop")


def run_replay(
    recording: Recording,
    job: ReplayJob,
    trace_file: Path,
    *,
    on_call: Callable[[ReplayRow], None] = lambda row: None,
    cancelled: Callable[[], bool] = lambda: False,
    on_ask: Callable[[Question], Supplied] = stop_here,
    children: Children | None = None,
) -> ReplayReport:
    """Run the job in a child process; blocks until it has ended.

    Args:
        recording: the trace.
        job: what to do.
        trace_file: where the replay's own trace is written, when it is whole.
        on_call: called with each call as it happens, and again when it settles.
        cancelled: asked often; True ends the child.
        on_ask: in ``ask`` mode, what the user says to a call that the recording cannot answer; blocks as long as it
            takes.
        children: where the child comes from that runs rebuilt agents, if there are many; their jobs are of one mode.

    Raises:
        RestoreError: the cut cannot be restored.
        EntryPointError: there is no function to run, or its module does not load.
        ReplayError: the trace of the replay would overwrite the recording.
        UnwritableError: the trace of the replay cannot be written.
    """
    program = find_program(recording, job)
    if isinstance(program, Rebuilt):
        recording = program.recording
    # A fork is answered by the whole recording, so it may also begin where there is no state to restore.
    cut = recording.whole if job.edits else recording.snapshot(job.span_id, job.anchor)
    edits, job_edits = resolve(recording, job, is_rebuilt=isinstance(program, Rebuilt))
    job = replace(job, edits=job_edits)
    if any(is_same_file(trace_file, source) for source in recording.sources):
        raise ReplayError(f"{trace_file} is the recording itself", hint="name another file for the replay's own trace")
    with whole_file(trace_file) as unfinished:
        message = _message(recording, job, cut, program, unfinished) | {"edits": edits.to_json()}
        told = program.shown_by if isinstance(program, Rebuilt) else {}
        rows: dict[str, ReplayRow] = {}
        end: End | None = None
        # Code of the user's gets a process of its own: what it leaves behind there must not reach the next replay.
        shares = children is not None and isinstance(program, Rebuilt) and not job.named_tools
        with children.one() if children is not None and shares else ChildProcess() as child:
            for news in child.run(message | {"then_waits": shares}, cancelled=cancelled):
                if isinstance(news, End):
                    end = _end_with_spans(news, told)
                elif isinstance(news, Ask):
                    child.answer(news.id, on_ask(news.question))
                else:
                    row = _row_with_span(news, told)
                    rows[row.call_id] = row
                    on_call(row)
        if end is not None and end.ended == "not_loaded":
            why = f"{end.error.type}: {end.error.message}" if end.error else "no reason was given"
            raise EntryPointError(f"{shown(program)} cannot be loaded: {why}")
        report = _report(recording, job, cut, unfinished, tuple(rows.values()), end, child, program)
        if end is not None and end.reached is not None:
            told_of = zip(report.edits, edits.uses, strict=True)
            report = replace(report, edits=tuple(replace(e, is_reached=use in end.reached) for e, use in told_of))
        if report.trace_fault and unfinished.is_file():
            unfinished.unlink()  # half a trace is none
    return replace(report, trace_path=trace_file if report.trace_path else None)


def _row_with_span(row: ReplayRow, told: Mapping[str, str]) -> ReplayRow:
    """What has no span of its own is answered by the span that shows it."""
    return replace(row, origin_span_id=told.get(row.origin_span_id or "", row.origin_span_id))


def _end_with_spans(end: End, told: Mapping[str, str]) -> End:
    if end.divergence is None:
        return end
    nearest = end.divergence.nearest_span_id
    return replace(end, divergence=replace(end.divergence, nearest_span_id=told.get(nearest or "", nearest)))


def _message(recording: Recording, job: ReplayJob, cut: Snapshot, program: Program, trace_file: Path) -> dict[str, Any]:
    """The job as the child reads it."""
    # A fork runs on from its cut; without edits it would only be the recording again.
    whole_answers = job.rest_recorded or job.span_id is None or bool(job.edits)
    run = recording.run
    entry = None if isinstance(program, Rebuilt) else program
    return {
        "file": str(entry.file) if entry and entry.file else None,
        "module": entry.module if entry else None,
        "name": entry.name if entry else None,
        "named_by_trace": entry.named_by_trace if entry else False,
        "folder": str(entry.file.parent if entry and entry.file else Path.cwd()),
        "script": script_to_json(program.script) if isinstance(program, Rebuilt) else None,
        "keep_inputs": job.keep_inputs,
        "named_tools": dict(job.named_tools),
        "input": _input(recording, job) if entry else _told(recording),
        "recording": snapshot_to_json(recording.whole, with_requests=True),
        # A run that was killed or cancelled goes on no further than that, and is no divergence from there.
        "open_ended": run is None or run.end_unix_nano is None or run.aborted if entry else not _has_ended(program),
        "cut": None if whole_answers else snapshot_to_json(cut),
        "mode": job.mode,
        "compare_parameters": job.compare_parameters,
        "tools": job.tools,
        "trace_file": str(trace_file.resolve()),
        "run_name": job.name or _run_name(recording, program),
        "service": recording.service or (_run_name(recording, program) if job.name else None),
        "origin": {
            "trace_id": job.trace_id,
            "span_id": job.span_id,
            "anchor": job.anchor if job.span_id else None,
            "edits": [edit.to_json() for edit in job.edits],
        },
    }


def _run_name(recording: Recording, program: Program) -> str | None:
    if isinstance(program, Rebuilt):
        return program.script.name
    return recording.run.name.removeprefix("invoke_workflow ") if recording.run else None


def _has_ended(program: Program) -> bool:
    return isinstance(program, Rebuilt) and program.end.is_known


def _input(recording: Recording, job: ReplayJob) -> dict[str, Json]:
    if job.input is not None:
        return dict(job.input)
    return recording.run.input if recording.run and isinstance(recording.run.input, dict) else {}


def _told(recording: Recording) -> dict[str, Json]:
    """What a rebuilt agent was told: the input of a run of ours, else the user's words in the first request."""
    if recording.run is not None and isinstance(recording.run.input, dict):
        return recording.run.input
    first = next((call for call in recording.calls if call.kind == "llm" and call.input_messages), None)
    words = [message for message in first.input_messages or () if message.role == "user"] if first else []
    said = text_of(words[-1:])
    return {"input": said} if said else {}


def _report(
    recording: Recording,
    job: ReplayJob,
    cut: Snapshot,
    trace_file: Path,
    rows: tuple[ReplayRow, ...],
    end: End | None,
    child: ChildProcess,
    program: Program,
) -> ReplayReport:
    if end is None:
        gone = f"the agent's program ended by itself (exit code {child.exit_code})"
        end = End(ended="cancelled" if child.was_cancelled else "failed", error=ChildError(type="exit", message=gone))
    ended = "failed" if end.ended == "not_loaded" else end.ended
    recorded = recorded_end(recording.run, program)
    same = _same_output(recorded, end)
    fidelity = cut.fidelity_level
    if isinstance(program, Rebuilt) and program.lacks_content:
        fidelity = "missing"
    elif fidelity == "exact" and (end.inferred or (isinstance(program, Rebuilt) and program.notes)):
        fidelity = "inferred"
    fault = end.trace_fault or (None if _has_content(trace_file) else "it is empty or gone")
    return ReplayReport(
        job=job,
        trace_id=end.trace_id,
        trace_path=None if fault else trace_file,
        trace_fault=fault,
        ended=ended,
        same_output=same,
        output=end.output,
        recorded_output=recorded.output,
        error=f"{end.error.type}: {end.error.message}" if end.error else None,
        recorded_error=": ".join(recorded.error) if recorded.error else None,
        calls=rows,
        first_divergence=end.divergence,
        saved_nano_usd=end.saved_nano_usd,
        saved_ns=end.saved_ns,
        fidelity=fidelity,
        printed=child.printed,
        # Where the run failed as it did when it was recorded, the way there is no news.
        traceback=() if same else end.traceback,
        program=None if isinstance(program, Rebuilt) else program.shown,
        notes=(
            *_state_note(cut, job, is_rebuilt=isinstance(program, Rebuilt)),
            *(program.notes if isinstance(program, Rebuilt) else ()),
            *change_note(end.changed_parameters, is_divergence=job.compare_parameters),
        ),
        edits=job.edits,
        live=end.live,
    )


def _state_note(cut: Snapshot, job: ReplayJob, *, is_rebuilt: bool) -> tuple[str, ...]:
    """Why the state is not exact, as one sentence: the worst of what restore noted in its frames."""
    level = cut.fidelity_level
    has_cut = job.span_id is not None and not job.edits
    # A rebuilt agent has no memory to begin with, so only that of a cut is anybody's business.
    if level == "exact" or (is_rebuilt and not has_cut):
        return ()
    which = "at the cut" if has_cut else "that was recorded"
    reasons = dict.fromkeys(note.what for _, frame in cut.walk() for note in frame.fidelity if note.level == level)
    return (f"the state {which} is {level}: {'; '.join(reasons)}",)


def recorded_end(run: Call | None, program: Program) -> RecordedEnd:
    """How the recorded run came out, as far as the trace tells."""
    if isinstance(program, Rebuilt):
        return program.end
    if run is None:
        return RecordedEnd(is_known=False)
    error = (run.error.type, run.error.message) if run.error else None
    return RecordedEnd(is_known=run.end_unix_nano is not None, output=run.result, error=error)


def _has_content(trace_file: Path) -> bool:
    try:
        return trace_file.stat().st_size > 0
    except OSError:
        # The agent's code may do with files what it likes.
        return False


def is_same_file(one: Path, other: Path) -> bool:
    """True where both names lead to one file that is there."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def _same_output(recorded: RecordedEnd, end: End) -> bool | None:
    """Whether the replay came to the recorded end; None where either has no end to compare."""
    if not recorded.is_known or end.ended not in ("done", "failed"):
        return None
    if recorded.error is not None:
        return end.error is not None and (end.error.type, end.error.message) == recorded.error
    return end.ended == "done" and _canonical(end.output) == _canonical(recorded.output)


def _canonical(value: Json) -> bytes:
    # A recorded output may hold what JSON does not have (NaN), and nest deeper than anybody compares.
    return canonical_json(json_safe(value)[0])
