"""What a replay from a cut would do, in numbers and in plain words, before anything runs."""

from __future__ import annotations

from runtime.snapshot import Snapshot

from ..errors import EntryPointError
from .entry import EntryPoint, named_by_trace, named_by_user
from .model import ReplayJob, ReplayPlan
from .recording import Recording


def find_entry_point(recording: Recording, job: ReplayJob) -> EntryPoint:
    """The function that the job would run.

    Raises: EntryPointError.
    """
    if job.agent:
        return named_by_user(job.agent)
    if recording.run is None and any(call.convention == "retrospan" for call in recording.calls):
        raise EntryPointError(
            "the span of the run itself is missing from this trace, so nothing says which program made it",
            hint="name the agent with --agent FILE.py:NAME, or use the snapshot",
        )
    if recording.run is None:
        raise EntryPointError(
            "no agent of this trace was written with Retrospan's runtime, so there is no program to run again",
            hint="name one with --agent FILE.py:NAME, or use the snapshot",
        )
    return named_by_trace(recording.run.entry_point, recording.sources)


def plan_replay(recording: Recording, job: ReplayJob) -> ReplayPlan:
    """The plan of a job.

    Raises: RestoreError: the cut cannot be restored.
    """
    snapshot = recording.snapshot(job.span_id, job.anchor)
    entry, problem, warning = None, None, None
    try:
        entry = find_entry_point(recording, job)
        recorded = recording.run.entry_digest if recording.run and not job.agent else None
        if recorded is not None and entry.digest() != recorded:
            warning = f"{entry.shown.split(':')[0]} has changed since the recording"
    except EntryPointError as fault:
        problem = f"{fault}; {fault.hint}" if fault.hint else str(fault)
    models, tools = answers_in(snapshot)
    all_models, all_tools = answers_in(recording.whole)
    later_models, later_tools = all_models - models, all_tools - tools
    return ReplayPlan(
        entry_point=entry.shown if entry else None,
        trusted=bool(entry and entry.trusted),
        problem=problem,
        warning=warning,
        model_answers=models,
        tool_answers=tools,
        later_model_calls=later_models,
        later_tool_calls=later_tools,
        sentence=_sentence(job, entry, (models, tools), (later_models, later_tools)),
    )


def answers_in(snapshot: Snapshot) -> tuple[int, int]:
    """Recorded model turns and tool calls that can answer."""
    counts = {"prompt": 0, "tool": 0, "value": 0}
    for frame in snapshot.frames.values():
        for kind, entry in frame.journal:
            counts[kind] += sum(outcome.can_answer for outcome in entry.outcomes)
    return counts["prompt"], counts["tool"]


def _sentence(job: ReplayJob, entry: EntryPoint | None, now: tuple[int, int], later: tuple[int, int]) -> str:
    answered = f"A replay from here would answer {_calls(now)} from the recording"
    rest = "nothing is recorded after this point" if later == (0, 0) else f"{_calls(later)} come after it"
    if entry is None:
        return f"{answered}; {rest}."
    program = f"It runs {entry.shown} again from its start"
    match job.mode, job.tools, job.rest_recorded:
        case _, _, True:
            after = f"and lets the whole recording answer ({rest})"
        case "strict", "strict", _:
            after = "and stops at this point" if later != (0, 0) else "and stops if it asks for anything else"
        case "live", "strict", _:
            after = "and then asks the real model; tools stop it"
        case "strict", "live", _:
            after = "and then runs tools for real; a new model request stops it"
        case _:
            after = "and then asks the real model and runs tools for real"
    return f"{answered}; {rest}. {program} {after}."


def _calls(counts: tuple[int, int]) -> str:
    models, tools = counts
    return f"{models} model call{'s' * (models != 1)} and {tools} tool call{'s' * (tools != 1)}"
