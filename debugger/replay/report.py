"""A replay's report as the command line's JSON and as text."""

from __future__ import annotations

from typing import Any

from .model import ReplayReport

COUNTED = ("hits", "reused", "live", "supplied", "misses", "errors")
_STATUS_OF = {"hits": "hit", "misses": "missed", "errors": "error"}


def report_to_json(report: ReplayReport) -> dict[str, Any]:
    """The contract of ``retrospan replay --json``."""
    job = report.job
    divergence = report.first_divergence
    return {
        "origin": {
            "trace_id": job.trace_id,
            "span_id": job.span_id,
            "anchor": job.anchor if job.span_id else None,
        },
        "program": report.program,
        "edits": [edit.to_json() | {"reached": edit.is_reached} for edit in report.edits],
        "notes": list(report.notes),
        "mode": job.mode,
        "tools": job.tools,
        "trace_id": report.trace_id,
        "ended": report.ended,
        "same_output": report.same_output,
        "output": report.output,
        "recorded_output": report.recorded_output,
        "error": report.error,
        **counts(report),
        "saved_usd": None if report.saved_nano_usd is None else report.saved_nano_usd / 1e9,
        "saved_ns": report.saved_ns,
        "live_usage": {
            "input_tokens": report.live_usage.input_tokens,
            "output_tokens": report.live_usage.output_tokens,
            "cost_usd": None if report.live_usage.cost_nano_usd is None else report.live_usage.cost_nano_usd / 1e9,
        },
        "fidelity": report.fidelity,
        "first_divergence": None
        if divergence is None
        else {
            "kind": divergence.kind,
            "name": divergence.name,
            "call_id": divergence.call_id,
            "reason": divergence.reason,
            "cause": divergence.cause,
            "differences": [difference.to_json() for difference in divergence.differences],
            "nearest_span_id": divergence.nearest_span_id,
        },
        "calls": [
            {
                "call_id": call.call_id,
                "kind": call.kind,
                "name": call.name,
                "status": call.status,
                "origin_span_id": call.origin_span_id,
                "content_hash": call.content_hash,
            }
            for call in report.calls
        ],
    }


def counts(report: ReplayReport) -> dict[str, int]:
    """Calls by what became of them, under the names of the JSON contract."""
    by_status = [call.status for call in report.calls]
    return {name: sum(status == _STATUS_OF.get(name, name) for status in by_status) for name in COUNTED}


def is_yes(report: ReplayReport) -> bool:
    """True for exit code 0: the replay did what it was asked and came to the recorded end, or to its cut."""
    if report.unreached:
        return False
    if report.ended == "past_cut":
        return True
    if report.ended in ("diverged", "cancelled", "nothing"):
        return False
    if report.same_output is None:
        return report.ended == "done"
    # A recorded failure that fails in the same way again is a faithful replay.
    return report.same_output
