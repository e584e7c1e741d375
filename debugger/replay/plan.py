"""What a replay from a cut would do, in numbers and in plain words, before anything runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from runtime.messages import Call, Usage
from runtime.snapshot import Snapshot

from ..errors import EditError, EntryPointError, ReplayError, install_hint
from .choice import Program, find_program, shown
from .edits import resolve
from .entry import EntryPoint
from .model import Edit, Mode, ReplayJob, ReplayPlan
from .paths import touched_by
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
    snapshot = recording.whole if job.edits else recording.snapshot(job.span_id, job.anchor)
    edits: tuple[Edit, ...] = ()
    try:
        _, edits = resolve(recording, job, is_rebuilt=program is not None and not isinstance(program, EntryPoint))
    except EditError as fault:
        problem = f"{fault}; {fault.hint}" if fault.hint else str(fault)
    lacking = None if program is None else lacking_sdks(recording, job, program)
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
        edits=edits,
        later_usage=usage_of(calls_after(recording, job)),
        all_usage=usage_of(calls_after(recording, replace(job, span_id=None))),
        lacking=None if lacking is None else f"{lacking}; {lacking.hint}",
    )
    return replace(plan, sentence=sentence_of(job, plan))


def lacking_sdks(recording: Recording, job: ReplayJob, program: Program) -> ReplayError | None:
    """Why the trace's models could not be asked for real, where packages for that are not installed.

    To be told before the start, rather than by a rebuilt agent that fails midway. A program brings its own SDK.
    """
    if isinstance(program, EntryPoint):
        return None
    from .reconstruct.live import lacking_extras  # loads the models, which only a live replay needs

    lacking = lacking_extras(calls_after(recording, job), os.environ)
    return (
        ReplayError(
            f"a live replay of this trace needs {' and '.join(lacking)}, not installed here",
            hint=install_hint(*lacking),
        )
        if lacking
        else None
    )


def answers_in(snapshot: Snapshot) -> tuple[int, int]:
    """Recorded model turns and tool calls that can answer."""
    counts = {"prompt": 0, "tool": 0, "value": 0}
    for frame in snapshot.frames.values():
        for kind, entry in frame.journal:
            counts[kind] += sum(outcome.can_answer for outcome in entry.outcomes)
    return counts["prompt"], counts["tool"]


def calls_after(recording: Recording, job: ReplayJob) -> list[Call]:
    """The recorded model calls from the cut on; all where there is none."""
    since = recording.time_of(job.span_id, job.anchor) if job.span_id else None
    return [c for c in recording.calls if c.kind == "llm" and (c.start_unix_nano or 0) >= (since or 0)]


def usage_of(calls: Sequence[Call]) -> Usage:
    """What recorded calls used together; what none of them told stays unknown."""
    known = {name: [v for c in calls if (v := getattr(c.usage, name)) is not None] for name in Usage.__slots__}
    return Usage(**{name: sum(values) for name, values in known.items() if values})


def sentence_of(job: ReplayJob, plan: ReplayPlan, models_key: str | None = None) -> str:
    """What the job would do, in plain words, from the numbers of its plan. Pure, so a dialog can ask at every key.

    Args: models_key: the key that changes what models may do, where there is one.
    """
    now, later = (plan.model_answers, plan.tool_answers), (plan.later_model_calls, plan.later_tool_calls)
    if job.edits:
        return _fork_sentence(job, plan, models_key)
    if job.span_id is None:
        answered = f"A replay of the whole trace would answer {_calls(now)} from the recording"
    else:
        answered = f"A replay from here would answer {_calls(now)} from the recording"
        answered += f", which has {_calls(later)} after this point"
    if plan.entry_point is None:
        return f"{answered}."
    recorded_goes_on = job.span_id is not None and not job.rest_recorded and later != (0, 0)
    lead = " and lets the whole recording answer," if job.span_id and job.rest_recorded else ""
    if job.mode == job.tools == "strict" and recorded_goes_on:
        return f"{answered}. {_runs(plan)} and stops at this point."
    return f"{answered}. {_runs(plan)}{lead} {_on_miss(job, plan)}.{_price(job, plan)}"


def _fork_sentence(job: ReplayJob, plan: ReplayPlan, models_key: str | None) -> str:
    """What a fork would do: a changed request is a new one, and there ends what the recording alone can tell."""
    count = len(job.edits)
    fork = f"A fork with {count} change{'s' * (count != 1)}"
    fork += " at this point" if job.span_id is not None else " from the start on"
    answers = _calls((plan.model_answers, plan.tool_answers))
    kinds = {touched_by(edit.path) for edit in job.edits}
    if "request" in kinds:
        said = f"{fork} asks the model something that was not recorded, so the recording has no answer to it"
        ends = "and stops at the first request that is changed, as diverged"
        way = " To go on from there, let models be live (really asked) or ask (you give the answer)"
        way += f": {models_key} switches." if models_key else "."
    else:
        ends, way = _on_miss(job, plan), ""
        said = f"{fork} is answered by the recording, {answers}, as long as it asks the same"
        if kinds == {"answer"}:
            said = f"{fork} touches only what was answered, so that requests after it may still match. It"
            said += f" is answered by the recording, {answers}; a request that holds what was changed is a new one"
    if plan.entry_point is None:
        return f"{said}."
    if job.mode != "strict":
        ends, way = _on_miss(job, plan), _price(job, plan)
    return f"{said}. {_runs(plan)} {ends}.{way}"


def _runs(plan: ReplayPlan) -> str:
    return f"It runs {plan.entry_point}{', ' if plan.is_rebuilt else ' again '}from its start"


def _price(job: ReplayJob, plan: ReplayPlan) -> str:
    return _estimate(plan.later_usage) + plan.later_price if job.mode == "live" else ""


def estimate_of(recording: Recording, job: ReplayJob) -> str:
    """What a job's real model calls may use at most, as a sentence after another; empty where the trace tells none."""
    return _estimate(usage_of(calls_after(recording, job)))


def _estimate(usage: Usage) -> str:
    """What real answers may cost at most, if they are like the recorded ones."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    tokens = f"{usage.input_tokens or 0:,} tokens in and {usage.output_tokens or 0:,} out"
    money = "" if usage.cost_nano_usd is None else f", ${usage.cost_nano_usd / 1e9:.4f}"
    return f" If all these model calls are really asked, that is about {tokens}{money}, as recorded."


_MODEL_MISS: dict[Mode, str] = {
    "strict": "a new model request stops it",
    "live": "asks the real model",
    "ask": "asks you for the model's answer",
}
_TOOL_MISS: dict[Mode, str] = {
    "strict": "a new tool call stops it",
    "live": "runs tools for real",
    "ask": "asks you for the tool's result",
}


def is_without_code(job: ReplayJob, plan: ReplayPlan) -> bool:
    """Whether tools are to run for real, and none can: a rebuilt agent has only what was given for it."""
    return plan.is_rebuilt and job.tools == "live" and not job.named_tools


def _on_miss(job: ReplayJob, plan: ReplayPlan) -> str:
    """How a job goes on where the recording has no answer, by what models and tools may do."""
    if job.mode == job.tools == "strict":
        return "and stops if it asks for anything else"
    tool = _TOOL_MISS[job.tools]
    if is_without_code(job, plan):
        if job.mode == "strict":
            return "and stops if it asks for anything else: no tool's code was given, so none can run for real"
        return f"and then {_MODEL_MISS[job.mode]}; {_TOOL_MISS['strict']}, as no tool's code was given"
    if plan.is_rebuilt and job.tools == "live":
        tool = f"runs {', '.join(job.named_tools)} for real, with the code that was given"
    if job.mode == "strict":
        return f"and then {tool}; {_MODEL_MISS['strict']}"
    if job.tools == "strict":
        return f"and then {_MODEL_MISS[job.mode]}; {_TOOL_MISS['strict']}"
    return f"and then {_MODEL_MISS[job.mode]} and {tool}"


def without_cut(plan: ReplayPlan) -> ReplayPlan:
    """The same program's plan for the whole trace: what lies after the cut answers as well."""
    return replace(
        plan,
        model_answers=plan.model_answers + plan.later_model_calls,
        tool_answers=plan.tool_answers + plan.later_tool_calls,
        later_model_calls=0,
        later_tool_calls=0,
        later_usage=plan.all_usage,
        later_price=plan.all_price,
    )


def _calls(counts: tuple[int, int]) -> str:
    kinds = zip(counts, ("model", "tool"), strict=True)
    named = [f"{number} {kind} call{'s' * (number != 1)}" for number, kind in kinds if number]
    return " and ".join(named) or "nothing"
