"""What a replay from a cut would do, in numbers and in plain words, before anything runs."""

from __future__ import annotations

from dataclasses import replace

from runtime.snapshot import Snapshot

from ..errors import EntryPointError
from .choice import Program, find_program, shown
from .entry import EntryPoint
from .model import Mode, ReplayJob, ReplayPlan
from .recording import Recording


def plan_replay(recording: Recording, job: ReplayJob) -> ReplayPlan:
    """The plan of a job.

    Raises: RestoreError: the cut cannot be restored.
    """
    program: Program | None = None
    problem, warning = None, None
    try:
        program = find_program(recording, job)
    except EntryPointError as fault:
        problem = f"{fault}; {fault.hint}" if fault.hint else str(fault)
    if isinstance(program, EntryPoint):
        recorded = recording.run.entry_digest if recording.run and not job.agent else None
        if recorded is not None and program.digest() != recorded:
            warning = f"{program.shown.split(':')[0]} has changed since the recording"
    elif program is not None:
        recording = program.recording
    snapshot = recording.snapshot(job.span_id, job.anchor)
    models, tools = answers_in(snapshot)
    all_models, all_tools = answers_in(recording.whole)
    later_models, later_tools = all_models - models, all_tools - tools
    plan = ReplayPlan(
        entry_point=shown(program) if program else None,
        trusted=program is not None and (not isinstance(program, EntryPoint) or program.trusted),
        problem=problem,
        warning=warning,
        model_answers=models,
        tool_answers=tools,
        later_model_calls=later_models,
        later_tool_calls=later_tools,
        sentence="",
        is_rebuilt=program is not None and not isinstance(program, EntryPoint),
        notes=() if program is None or isinstance(program, EntryPoint) else program.notes,
    )
    return replace(plan, sentence=sentence_of(job, plan))


def answers_in(snapshot: Snapshot) -> tuple[int, int]:
    """Recorded model turns and tool calls that can answer."""
    counts = {"prompt": 0, "tool": 0, "value": 0}
    for frame in snapshot.frames.values():
        for kind, entry in frame.journal:
            counts[kind] += sum(outcome.can_answer for outcome in entry.outcomes)
    return counts["prompt"], counts["tool"]


def sentence_of(job: ReplayJob, plan: ReplayPlan) -> str:
    """What the job would do, in plain words, from the numbers of its plan. Pure, so a dialog can ask at every key."""
    now, later = (plan.model_answers, plan.tool_answers), (plan.later_model_calls, plan.later_tool_calls)
    if job.span_id is None:
        answered = f"A replay of the whole trace would answer {_calls(now)} from the recording"
    else:
        answered = f"A replay from here would answer {_calls(now)} from the recording"
        answered += f", which has {_calls(later)} after this point"
    if plan.entry_point is None:
        return f"{answered}."
    program = f"It runs {plan.entry_point}{', ' if plan.is_rebuilt else ' again '}from its start"
    recorded_goes_on = job.span_id is not None and not job.rest_recorded and later != (0, 0)
    lead = " and lets the whole recording answer," if job.span_id is not None and job.rest_recorded else ""
    if job.mode == job.tools == "strict" and recorded_goes_on:
        return f"{answered}. {program} and stops at this point."
    return f"{answered}. {program}{lead} {_ON_MISS[job.mode, job.tools]}."


_ON_MISS: dict[tuple[Mode, Mode], str] = {
    ("strict", "strict"): "and stops if it asks for anything else",
    ("live", "strict"): "and then asks the real model; a new tool call stops it",
    ("strict", "live"): "and then runs tools for real; a new model request stops it",
    ("live", "live"): "and then asks the real model and runs tools for real",
}
"""How a job goes on where the recording has no answer, by what models and tools may do."""


def without_cut(plan: ReplayPlan) -> ReplayPlan:
    """The same program's plan for the whole trace: what lies after the cut answers as well."""
    return replace(
        plan,
        model_answers=plan.model_answers + plan.later_model_calls,
        tool_answers=plan.tool_answers + plan.later_tool_calls,
        later_model_calls=0,
        later_tool_calls=0,
    )


def _calls(counts: tuple[int, int]) -> str:
    kinds = zip(counts, ("model", "tool"), strict=True)
    named = [f"{number} {kind} call{'s' * (number != 1)}" for number, kind in kinds if number]
    return " and ".join(named) or "nothing"
