"""Doubled spans over two traces: a call that nothing encloses leaves a trace for each instrumentation that saw it.

Only two producers are known to do so: the SDK of Anthropic beside any other instrumentation, and Logfire, which writes
a stream's answer as a span of its own when it has ended. As in ``_twins``, narrow facts decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from ._twins import ANTHROPIC_SDK, STREAMED, Narrow, is_twin_beside, same_model

_LOOKED_BACK: Final = 100
"""How many calls before a stream's end may be the one that began it."""


def lone_twins(calls: Sequence[tuple[str, Narrow]]) -> list[int]:
    """Which of these model calls are another one of a second trace.

    Args: calls: trace id and facts of calls that no span of the same trace encloses, in the order of time.
    """
    open_ones: list[int] = []
    asked: deque[int] = deque(maxlen=_LOOKED_BACK)
    twins: set[int] = set()
    paired: set[int] = set()
    for i, (trace_id, call) in enumerate(calls):
        if _is_stream(call):
            began = next((o for o in reversed(asked) if o not in twins and _began(calls[o], trace_id, call)), None)
            if began is not None:
                twins.add(began)  # the later one holds the request and the answer
            continue
        start = call.start_unix_nano or 0
        open_ones = [o for o in open_ones if (calls[o][1].end_unix_nano or 0) >= start]
        if call.scope_name.startswith(ANTHROPIC_SDK):
            asked.append(i)
            outer = None
            if call.parent_span_id is None and call.end_unix_nano is not None:
                beside = (o for o in open_ones if o not in paired and calls[o][0] != trace_id)
                outer = next((o for o in beside if is_twin_beside(calls[o][1], call)), None)
            if outer is not None:
                paired.add(outer)
                twins.add(i)
        elif call.end_unix_nano is not None:
            open_ones.append(i)
            if call.convention == "logfire":
                asked.append(i)
    return sorted(twins)


def _is_stream(call: Narrow) -> bool:
    return call.convention == "logfire" and call.name.lower().startswith(STREAMED)


def _began(earlier: tuple[str, Narrow], trace_id: str, stream: Narrow) -> bool:
    """Whether an earlier call is the request of a stream that ended in another trace."""
    call = earlier[1]
    if earlier[0] == trace_id or not same_model(call.model, stream.model):
        return False
    if call.convention == "logfire":
        return call.output_tokens is None
    return call.output_tokens is not None and call.output_tokens == stream.output_tokens
