"""The journal, the one matcher and the replay session."""

from ._difference import Difference, differences_between
from ._journal import AnyRequest, Journal, JournalEntry, JournalKind
from ._matcher import Abort, Form, Hit, Matcher, Miss, ordinal
from ._session import STRICT, Divergence, MissMode, ReplayPolicy, ReplayRow, ReplaySession, RowStatus, ToolMode

__all__ = [
    "STRICT",
    "Abort",
    "AnyRequest",
    "Difference",
    "Divergence",
    "Form",
    "Hit",
    "Journal",
    "JournalEntry",
    "JournalKind",
    "Matcher",
    "Miss",
    "MissMode",
    "ReplayPolicy",
    "ReplayRow",
    "ReplaySession",
    "RowStatus",
    "ToolMode",
    "differences_between",
    "ordinal",
]
