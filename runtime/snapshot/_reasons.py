"""What the notes of a restored frame say."""

from __future__ import annotations

from ..messages import ErrorInfo


def parent_ended(agent_id: str) -> ErrorInfo:
    """Why a frame failed that was still running when an agent above it ended."""
    return ErrorInfo("ParentEnded", f"the agent {agent_id!r} above it ended first")


LOST_PARENT = "the parent span is not in the trace; placed by time"
NO_PARENT = "no parent span is recorded; placed by time"
BEFORE_START = "stamped before the start of its agent; placed in the frame above"
ENDED_FIRST = "its end is stamped before its start, so the end was not used"
CALL_ID_TAKEN = "its recorded call id was taken already, so another was counted"
NO_MEMORY = "the memory at the start is not recorded"
NO_HASH = "the request is not recorded, so the answer has no key in the journal"
NO_ANSWER = "the answer is not recorded"
NO_AGENT_OPEN = "the parent span is not in the trace and no agent was open; left out"
NO_AGENT = "no agent is recorded; one frame is made for the whole trace"
NO_RUN = "the run itself is not recorded; its status is that of its agents"
