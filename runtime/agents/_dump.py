"""Dump: the live contexts of a run as a snapshot."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import SnapshotDisabledError
from ..messages import JsonObject, json_safe
from ..snapshot import Budget, Frame, Note, Provenance, Snapshot, UsageStats, parent_ended
from ._context import Context, current_context, current_span

if TYPE_CHECKING:
    from ._run import Run


def dump_snapshot(*, metadata: JsonObject | None = None) -> Snapshot:
    """The state of the whole run at this moment, running parallel siblings included.

    The snapshot shares nothing with the run that can change. Values that are not JSON are replaced by a text instead of
    making the dump fail.

    Args:
        metadata: labels of the user's own.

    Raises:
        ContextNotFoundError: outside a run.
        SnapshotDisabledError: snapshots are off in this run.
    Source: the seed document on snapshots, ``dumpSnapshot``.
    """
    context = current_context("dump_snapshot()")
    run = context.run
    if not run.enable_snapshot:
        raise SnapshotDisabledError
    # Blocking tools write memory and take values from threads of their own.
    with run.lock:
        return _dump(run, metadata)


def _dump(run: Run, metadata: JsonObject | None) -> Snapshot:
    frames: dict[str, Frame] = {}
    order: list[Context] = [run.root]
    for each in order:
        frames[each.call_id] = _frame(each)
        order.extend(each.children.values())
        _add_adopted(each, frames)
    for each in reversed(order):
        budget = frames[each.call_id].budget
        budget.aggregate.merge(budget.own)
        if each.parent is not None:
            frames[each.parent.call_id].budget.aggregate.merge(budget.aggregate)
    return Snapshot(
        process_id=run.trace_id,
        timestamp=time.time_ns() // 1_000_000,
        provenance=Provenance(trace_id=run.trace_id, span_id=current_span.get() or None, source="dump"),
        root_id=run.root.call_id,
        frames=frames,
        metadata=json_safe(dict(metadata or {}))[0],
    )


def _frame(context: Context) -> Frame:
    above = _ended_above(context)
    return Frame(
        call_id=context.call_id,
        agent_id=context.agent_id,
        parent_id=context.parent.call_id if context.parent else None,
        children=[*context.children, *context.adopted],
        opened_in=context.opened_in or None,
        memory=json_safe(context.memory)[0],
        memory_start=json_safe(context.memory_start)[0],
        journal=context.journal.copy(),
        status="failed" if above else context.status,
        output=json_safe(context.output)[0],
        error=parent_ended(above.agent_id) if above else context.error,
        budget=Budget(own=context.spent.copy(), aggregate=UsageStats()),
        input=json_safe(context.input)[0],
        generation=context.generation,
        fidelity=[Note("missing", why, context.span_id) for what, why in context.lost.items() if what == "output"],
    )


def _ended_above(context: Context) -> Context | None:
    """The agent above a running one that ended first while it ran; restore can only take such a frame for failed."""
    if context.status != "running":
        return None
    first: tuple[int, Context] | None = None
    above = context.parent
    while above is not None and above.parent is not None:
        ended = above.ended
        if ended is not None and ended > context.started and (first is None or ended < first[0]):
            first = ended, above
        above = above.parent
    return first[1] if first else None


def _add_adopted(context: Context, frames: dict[str, Frame]) -> None:
    """The recorded frames of sub-agents inside replayed tools, with everything below them."""
    pending = list(context.adopted)
    for call_id in pending:
        recorded = context.run.recorded_frame(call_id)
        if recorded is not None:
            frames[call_id] = replace(recorded, children=list(recorded.children), journal=recorded.journal.copy())
            pending.extend(recorded.children)
