"""What a replay runs: the user's own program, or the agent that the trace implies."""

from __future__ import annotations

from typing import TypeAlias

from ..errors import EntryPointError, NothingToReplayError, ReplayError
from .entry import EntryPoint, named_by_trace, named_by_user
from .model import ReplayJob
from .reconstruct.build import Rebuilt, rebuild
from .recording import Recording

Program: TypeAlias = EntryPoint | Rebuilt


def find_program(recording: Recording, job: ReplayJob) -> Program:
    """What the job would run: what the user named, else what the trace names, else the agent that it implies.

    Raises:
        NothingToReplayError: the trace names no program, and holds no model call.
        EntryPointError: none of these is there; names the reason of each.
    """
    if job.agent:
        return named_by_user(job.agent)
    why: EntryPointError | None = None
    if not job.rebuild:
        try:
            return find_entry_point(recording)
        except EntryPointError as fault:
            why = fault
    try:
        return rebuild(recording)
    except ReplayError as fault:
        if isinstance(fault, NothingToReplayError) and recording.run is None:
            raise
        if why is None or recording.run is None:
            raise EntryPointError(str(fault), hint=fault.hint) from fault
        raise why from fault


def find_entry_point(recording: Recording) -> EntryPoint:
    """The function that the trace names.

    Raises: EntryPointError: it names none, or one that is not found where it may be looked for.
    """
    if recording.run is None and any(call.convention == "retrospan" for call in recording.calls):
        raise EntryPointError("the span of the run itself is missing, so nothing says which program made the trace")
    if recording.run is None:
        raise EntryPointError("no agent of this trace was written with Retrospan's runtime")
    return named_by_trace(recording.run.entry_point, recording.sources)


def shown(program: Program) -> str:
    """What runs, in a few words."""
    if isinstance(program, EntryPoint):
        return program.shown
    names = program.names
    who = f": {', '.join(names[:3])}{', …' if len(names) > 3 else ''}" if names else ""
    return f"an agent rebuilt from the trace{who}"
