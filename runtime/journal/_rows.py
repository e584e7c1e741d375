"""What a replay is told to do on a miss, and the rows of its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..messages import ErrorInfo, Json
from ._difference import Cause, Difference

MissMode: TypeAlias = Literal["strict", "live", "ask"]
"""On a miss: stop (a divergence), do the call for real, or ask the user what comes of it."""
ToolMode: TypeAlias = Literal["strict", "safe", "live", "ask"]
"""As ``MissMode``; ``safe`` does for real what changes nothing in the world by what the tool declares of itself, and
stops at the rest. That is a ``pure`` tool, and an ``idempotent`` one whose same call stands in the recording."""
RowKind: TypeAlias = Literal["llm", "tool", "value", "agent"]
RowStatus: TypeAlias = Literal["running", "hit", "reused", "live", "supplied", "missed", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPolicy:
    """What a replay does where the recording has no answer. The default is the seed's ``run_with``."""

    models: MissMode = "live"
    tools: ToolMode = "live"
    reuse_exhausted: bool = True
    """Give the last outcome again when a hash is asked more often than recorded."""
    compare_parameters: bool = False
    """A sampling parameter that both sides tell, with another value, is a miss too."""
    retry_errors: bool = False
    """Run recorded failures again instead of replaying them; resume after a crash wants that."""
    skip_completed: bool = False
    """Give the recorded output of sub-agents that had completed, without running them, where their input is the
    same."""


STRICT = ReplayPolicy(models="strict", tools="strict", reuse_exhausted=False)
"""The debugger's default: nothing runs that the recording cannot answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """One call of the replay, as the report shows it."""

    call_id: str
    kind: RowKind
    name: str
    status: RowStatus
    origin_span_id: str | None = None
    """The recorded span that answered."""
    content_hash: str | None = None


MISS_TYPE: Final = "retrospan_no_recorded_answer"
"""The error type on the span of the call at which a replay diverged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first request of a replay that the recording does not hold."""

    kind: RowKind
    name: str
    call_id: str
    reason: str
    """One sentence."""
    differences: tuple[Difference, ...] = ()
    nearest_span_id: str | None = None
    cause: Cause = "extra call"
    """The class of what differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the user is asked where the recording has no answer."""

    kind: RowKind
    name: str
    call_id: str
    reason: str
    """One sentence: why the recording does not answer."""
    request: Json
    """Tool: its arguments. Model turn: its messages (``message_to_json``)."""
    proposal: Json = None
    """What the nearest recorded call had given."""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplied:
    """What the user says to that."""

    kind: Literal["result", "error", "live", "stop"]
    """A result or an error to go on with; do it for real; or end the replay here."""
    value: Json = None
    """The result: of a model turn a message (``message_to_json``) or its text."""
    error: ErrorInfo | None = None
