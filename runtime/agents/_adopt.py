"""Sub-agents of a tool whose answer came from the recording: their frames stay, and their numbers are used up."""

from __future__ import annotations

from ._context import Context


def adopt_frames(context: Context, tool_span_id: str) -> None:
    """Keep the recorded frames that were opened inside the tool's recorded span.

    The tool was not run, so its sub-agents were not called. Their sequence numbers are taken all the same, or a later
    call of
    the same agent would get the frame of an earlier one; and a dump still shows what the tool did.
    """
    recorded = context.run.recorded_frame(context.call_id)
    if recorded is None:
        return
    for call_id in recorded.children:
        child = context.run.recorded_frame(call_id)
        if child is not None and child.opened_in == tool_span_id and call_id not in context.children:
            context.next_call_id("agent", child.agent_id)
            context.adopted.append(call_id)
