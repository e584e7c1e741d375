"""What the child of a replay says, read by its parent.

The child runs the user's code, which can write to every descriptor of its process. So a line is taken only when it is
a whole message of the right form; anything else on the pipe is passed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from runtime.journal import Difference, Divergence, Question, ReplayRow
from runtime.messages import Json

from .model import LiveUse


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildError:
    """Why a run failed, or its module did not load."""

    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The closing message."""

    ended: Literal["done", "past_cut", "diverged", "failed", "cancelled", "not_loaded"]
    output: Json = None
    error: ChildError | None = None
    traceback: tuple[str, ...] = ()
    trace_id: str | None = None
    divergence: Divergence | None = None
    inferred: bool = False
    reached: tuple[str, ...] | None = None
    """What of the edits took effect, as ``Edits.uses`` names it; None where the run could not tell."""
    changed_parameters: tuple[Difference, ...] = ()
    """Parameters that were recorded with another value."""
    saved_nano_usd: int | None = None
    saved_ns: int | None = None
    live: tuple[LiveUse, ...] = ()
    """The model calls that were done for real."""
    trace_fault: str | None = None
    """Why the replay's own trace could not be written; None when it was."""
    waits: bool = False
    """The child stays, and waits for its next job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The child waits for what the user says to a call."""

    id: int
    question: Question


def read_news(line: bytes) -> ReplayRow | Ask | End | None:
    """The message of a line; None where it is none of ours."""
    try:
        message: Any = json.loads(line)
        if not isinstance(message, dict):
            return None
        if message.get("type") == "row":
            return msgspec.convert(message.get("row"), ReplayRow)
        if message.get("type") == "ask":
            return msgspec.convert(message, Ask)
        return msgspec.convert(message, End) if message.get("type") == "end" else None
    except (ValueError, RecursionError):
        # msgspec.ValidationError is a ValueError.
        return None
