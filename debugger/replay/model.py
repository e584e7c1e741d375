"""What a replay is asked to do, what it reports while it runs, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from runtime.journal import Difference, Divergence, ReplayRow, RowStatus
from runtime.messages import Json, Usage

Mode: TypeAlias = Literal["strict", "live", "ask"]
"""What happens when the recording has no answer: stop (a divergence), do it for real, or ask the user."""
Anchor: TypeAlias = Literal["before", "after"]
CallStatus: TypeAlias = RowStatus
ReplayCall: TypeAlias = ReplayRow
"""One row of the report: a call of the replay."""
__all__ = [
    "Anchor",
    "CallStatus",
    "Difference",
    "Divergence",
    "Edit",
    "Ended",
    "LiveUse",
    "Mode",
    "ReplayCall",
    "ReplayJob",
    "ReplayPlan",
    "ReplayReport",
]

Ended: TypeAlias = Literal["done", "past_cut", "diverged", "failed", "cancelled", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change that a fork begins with."""

    path: str
    """As ``edits`` reads it."""
    value: Json
    was: Json = None
    """What stands there in the recording; None until it was looked up, and where nothing does."""
    is_reached: bool = True
    """False once a replay has ended before the change took effect."""

    def to_json(self) -> dict[str, Json]:
        """``{"path", "value", "was"}``."""
        return {"path": self.path, "value": self.value, "was": self.was}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayJob:
    """A replay to be run. No span means the whole trace."""

    trace_id: str
    span_id: str | None = None
    anchor: Anchor = "after"
    agent: str | None = None
    """``FILE.py:NAME`` or ``MODULE:NAME``; None takes the entry point that the trace names."""
    input: Mapping[str, Json] | None = None
    """Keyword arguments for the agent; None takes those of the recorded run."""
    mode: Mode = "strict"
    tools: Mode = "strict"
    compare_parameters: bool = False
    """A sampling parameter (temperature, say) that was recorded otherwise is a divergence too."""
    rest_recorded: bool = False
    """Let the whole trace answer on past the cut, instead of stopping there."""
    output: Path | None = None
    """Where the replay's own trace is written, as OTLP/JSON lines; None keeps it temporary."""
    rebuild: bool = False
    """Run the agent that the trace implies, also where its program is at hand."""
    edits: tuple[Edit, ...] = ()
    """With edits it is a fork: it begins at the cut, and the whole recording answers as long as requests match."""
    named_tools: Mapping[str, str] = field(default_factory=dict)
    """What implements a tool of a rebuilt agent, by its name: ``FILE.py:FUNCTION`` or ``!COMMAND``."""
    name: str | None = None
    """What the branch is called; None takes the name of the recorded run."""
    keep_inputs: bool = True
    """Give a rebuilt agent the later messages of the user, also after it took another way than recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """What a replay from a cut would do, before it is started."""

    entry_point: str | None
    """The function that would run, as ``FILE.py:NAME``; None when there is none."""
    trusted: bool
    """True when the entry point lies beside the trace file or in the bundled samples, so that it needs no consent."""
    problem: str | None
    """Why no replay is possible, in one sentence with a way on; None when it is."""
    warning: str | None
    """Something to know before starting (the source has changed since the recording); None if nothing."""
    model_answers: int
    """Recorded model turns up to the cut, that would answer."""
    tool_answers: int
    later_model_calls: int
    """Recorded model turns after the cut, that a run on from here would ask for."""
    later_tool_calls: int
    sentence: str
    """All of this in plain words, for the snapshot pane."""
    is_rebuilt: bool = False
    """True for an agent rebuilt from the trace: then no program of the user's runs."""
    notes: tuple[str, ...] = ()
    """What a rebuilt agent lacks, or takes as recorded; one sentence each."""
    edits: tuple[Edit, ...] = ()
    """The job's, with what stands there in the recording."""
    later_usage: Usage = field(default_factory=Usage)
    """What the model calls after the cut had used, or all of them where there is none."""
    all_usage: Usage = field(default_factory=Usage)
    """What all model calls of the trace had used."""
    later_price: str = ""
    """What the calls of ``later_usage`` would cost by a price list, as a sentence; empty where nobody has asked one."""
    all_price: str = ""
    lacking: str | None = None
    """Why no model can be asked for real, in one sentence with a way on; None when one can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUse:
    """What one model call used that was done for real."""

    provider: str | None
    model: str | None
    start_unix_nano: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The result of a replay."""

    job: ReplayJob
    trace_id: str | None
    """The replay's own trace."""
    trace_path: Path | None
    """The file that holds it; None where it could not be written."""
    ended: Ended
    same_output: bool | None
    """None when the run did not come to its end."""
    output: Json
    recorded_output: Json
    error: str | None
    """``Type: message`` of a failed run, or why it could not start."""
    recorded_error: str | None = None
    """``Type: message`` of the recorded run, where that failed."""
    calls: tuple[ReplayCall, ...] = ()
    first_divergence: Divergence | None = None
    saved_nano_usd: int | None = None
    saved_ns: int | None = None
    fidelity: str = "exact"
    printed: tuple[str, ...] = field(default=())
    """What the agent's program printed, line by line."""
    traceback: tuple[str, ...] = ()
    """Where a run failed that had not failed in this way when it was recorded."""
    trace_fault: str | None = None
    """Why the replay's own trace could not be written; None when it was."""
    program: str | None = None
    """What ran: ``FILE.py:NAME``; None for an agent rebuilt from the trace."""
    notes: tuple[str, ...] = ()
    """Why the state at the cut is not exact; what a rebuilt agent lacked or took as recorded; one sentence each."""
    edits: tuple[Edit, ...] = ()
    """The job's, with what stands there in the recording."""
    live: tuple[LiveUse, ...] = ()
    """The model calls that were done for real."""

    @property
    def live_usage(self) -> Usage:
        """What they used together; None for what no answer told."""
        spent = [each.usage for each in self.live]
        known = {name: [v for each in spent if (v := getattr(each, name)) is not None] for name in Usage.__slots__}
        return Usage(**{name: sum(values) for name, values in known.items() if values})

    @property
    def unreached(self) -> tuple[str, ...]:
        """The paths of the edits that never took effect."""
        return tuple(edit.path for edit in self.edits if not edit.is_reached)

    def count(self, status: CallStatus) -> int:
        """Calls with that status."""
        return sum(call.status == status for call in self.calls)
