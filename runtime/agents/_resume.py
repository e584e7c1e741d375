"""Resume: go on after a crash, from nothing but the trace that the run left behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..journal import ReplayPolicy
from ..messages import JsonObject
from ..trace import RunStart, TraceEvent, read_events
from ._chain import chain_of, restore_chain
from ._run import run_with

R = TypeVar("R")


async def resume(
    fn: Callable[..., Awaitable[R]],
    trace: str | Path | Iterable[TraceEvent],
    *,
    input: JsonObject | None = None,
    trace_id: str | None = None,
    **options: Any,
) -> R:
    """Run the function again, with every call that had ended answered from the trace, and the rest done for real.

    No finished model or tool call happens twice. Calls that had failed are tried again, and so are calls that had not
    ended; of those it cannot be known how far they got. The run's snapshots may have been off: the trace is enough.

    The new run names the trace that it goes on from. So a resumed run that was killed in its turn is resumed from both
    traces: give the file that holds them both (``trace_file`` may be the same file again), or the events of all files.

    Args:
        fn: the agent or function that made the trace.
        trace: its file, or its events.
        input: keyword arguments; by default those of the recorded run.
        trace_id: the trace, where there are several that do not go on from each other.
        options: as of ``Run``. A ``policy`` may say more, such as ``skip_completed``; failures are tried again anyway.

    Returns: the function's result. A run that was killed before its first call is run from the start.

    Raises:
        RestoreError: there is nothing to resume from.
        Exception: what the function raised.
    """
    events = read_events(trace) if isinstance(trace, str | Path) else list(trace)
    chain = chain_of(events, trace_id)
    snapshot = restore_chain(events, chain)
    start = next((e for e in events if isinstance(e, RunStart) and chain[-1] in (None, e.trace_id)), None)
    resumed = start.trace_id if start else chain[-1]
    if input is None and start is not None and isinstance(start.input, dict):
        input = start.input
    policy = options.pop("policy", None) or ReplayPolicy(reuse_exhausted=False)
    return await run_with(
        fn,
        input=input,
        snapshot=snapshot,
        policy=replace(policy, retry_errors=True),
        memory_from="start",
        # Asked for by name, so it is no accident in production.
        **{"enable_snapshot": True, "origin": {"trace_id": resumed, "span_id": None, "anchor": None}, **options},
    )
