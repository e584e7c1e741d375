"""Resume: go on after a crash, from nothing but the trace that the run left behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ..journal import ReplayPolicy
from ..messages import JsonObject
from ..snapshot import restore_snapshot
from ..trace import RunStart, TraceEvent, read_events
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
    ended. The
    run's snapshots may have been off: the trace is enough.

    Args:
        fn: the agent or function that made the trace.
        trace: its file, or its events.
        input: keyword arguments; by default those of the recorded run.
        trace_id: the trace, where there are several.
        options: as of ``Run``.

    Returns: the function's result.

    Raises:
        RestoreError: there is nothing to resume from.
        Exception: what the function raised.
    """
    events = read_events(trace, trace_id) if isinstance(trace, str | Path) else list(trace)
    snapshot = restore_snapshot(events, trace_id=trace_id)
    start = next((e for e in events if isinstance(e, RunStart)), None)
    if input is None and start is not None and isinstance(start.input, dict):
        input = start.input
    return await run_with(
        fn,
        input=input,
        snapshot=snapshot,
        policy=ReplayPolicy(reuse_exhausted=False, retry_errors=True),
        memory_from="start",
        # Asked for by name, so it is no accident in production.
        **{"enable_snapshot": True, **options},
    )
