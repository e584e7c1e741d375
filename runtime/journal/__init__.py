"""The journal, the one matcher and the replay session."""

from ._difference import Cause, Difference, cause_of, differences_between, json_differences
from ._edits import Edits, MemoryPatch, PatchKind, RequestPatch, edited_message
from ._journal import AnyRequest, Journal, JournalEntry, JournalKind
from ._matcher import Abort, Form, Hit, Matcher, Miss, ordinal
from ._rows import (
    MISS_TYPE,
    STRICT,
    Divergence,
    MissMode,
    Question,
    ReplayPolicy,
    ReplayRow,
    RowStatus,
    Supplied,
    ToolMode,
)
from ._session import ReplaySession

__all__ = [
    "MISS_TYPE",
    "STRICT",
    "Abort",
    "AnyRequest",
    "Cause",
    "Difference",
    "Divergence",
    "Edits",
    "Form",
    "Hit",
    "Journal",
    "JournalEntry",
    "JournalKind",
    "Matcher",
    "MemoryPatch",
    "Miss",
    "MissMode",
    "PatchKind",
    "Question",
    "ReplayPolicy",
    "ReplayRow",
    "ReplaySession",
    "RequestPatch",
    "RowStatus",
    "Supplied",
    "ToolMode",
    "cause_of",
    "differences_between",
    "edited_message",
    "json_differences",
    "ordinal",
]
