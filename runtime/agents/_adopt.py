"""What a tool did when it was recorded, taken over by a replay that answers it without running it."""

from __future__ import annotations

from ._body import REQUEST, recorded_body
from ._context import Context
from ._memory import write_memory
from ._values import keep_value


def adopt(context: Context, recorded_span_id: str, span_id: str, attempt: int) -> None:
    """Take over what the tool's function did beside its result.

    - The frames of the sub-agents that it called stay in dumps, and their call ids are taken, or a later call of the
      same agent would get the frame of an earlier one.
    - The memory that it wrote is written again.
    - The answers that it got from models, tools and the runtime are used up, or a later equal request would get them.

    Args:
        context: the frame that called the tool.
        recorded_span_id: the tool's span in the recording.
        span_id: the tool's span in this run.
        attempt: which run of the function within the call, from 0.
    """
    recorded = context.run.recorded_frame(context.call_id)
    if recorded is None:
        return
    for call_id in recorded.children:
        child = context.run.recorded_frame(call_id)
        if child is not None and child.opened_in == recorded_span_id and call_id not in context.children:
            context.adopted[call_id] = None
    inside: list[str] = []
    body = recorded_body(context, recorded_span_id, attempt)
    if body is not None:
        inside.extend(span for span in body.get("spans") or () if isinstance(span, str))
        for write in body.get("writes") or ():
            if isinstance(write, list) and write and isinstance(write[0], str):
                write_memory(context, write)
        keep_value(context, REQUEST, body, span_id)
    if context.run.session is not None:
        context.run.session.use_up(context.call_id, recorded_span_id, inside)
