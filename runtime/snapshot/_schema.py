"""Snapshots as JSON, with the field names of the seed document.

Writing lives here; reading validates with pydantic, which is imported only then.
"""

from __future__ import annotations

from typing import Any

from ..errors import DepthExceededError
from ..journal import AnyRequest, Journal, JournalEntry
from ..messages import Json, Outcome, Request, message_to_json
from ._budget import UsageItem, UsageStats
from ._frame import MAX_DEPTH, Frame, Note, Snapshot


def snapshot_to_json(snapshot: Snapshot, with_requests: bool = False) -> dict[str, Any]:
    """The snapshot as nested JSON. Payloads are shared with it, not copied.

    Args:
        snapshot: the snapshot.
        with_requests: also write the recorded requests, so that a saved snapshot can explain a miss.

    Raises:
        DepthExceededError: frames nested deeper than ``MAX_DEPTH``.
    """
    provenance = snapshot.provenance
    out: dict[str, Any] = {
        "processId": snapshot.process_id,
        "timestamp": snapshot.timestamp,
        "root": _tree(snapshot, with_requests),
        "provenance": _known(
            traceId=provenance.trace_id,
            spanId=provenance.span_id,
            anchor=provenance.anchor,
            source=provenance.source,
        ),
        "version": snapshot.version,
    }
    if snapshot.metadata:
        out["metadata"] = dict(snapshot.metadata)
    return out


def snapshot_from_json(data: Json) -> Snapshot:
    """The snapshot that ``snapshot_to_json`` (or the seed's runtime) wrote. Unknown keys are left out.

    Raises:
        SnapshotFormatError: with every fault and its path, or because the version is newer than this program.
    """
    from ._reading import read_snapshot

    return read_snapshot(data)


def _tree(snapshot: Snapshot, with_requests: bool) -> dict[str, Any]:
    """The root with everything below it; a loop, so that depth costs no stack."""
    written: dict[str, dict[str, Any]] = {}
    for depth, frame in snapshot.walk():
        if depth >= MAX_DEPTH:
            raise DepthExceededError(depth + 1, MAX_DEPTH, frame.call_id)
        form = written[frame.call_id] = _frame(frame, with_requests)
        if depth:
            assert frame.parent_id is not None
            written[frame.parent_id]["children"][frame.call_id] = form
    return written[snapshot.root_id]


def _frame(frame: Frame, with_requests: bool) -> dict[str, Any]:
    state: dict[str, Any] = {"status": frame.status}
    if frame.status == "completed" or frame.output is not None:
        state["output"] = frame.output
    if frame.error is not None:
        state["error"] = frame.error.to_json()
    return {
        "callId": frame.call_id,
        "agentId": frame.agent_id,
        "memory": dict(frame.memory),
        "memoryAtStart": None if frame.memory_start is None else dict(frame.memory_start),
        "input": frame.input,
        "generation": frame.generation,
        "openedIn": frame.opened_in,
        "journal": _journal(frame.journal, with_requests),
        "children": {},
        "state": state,
        "budgetState": {"own": _usage(frame.budget.own), "aggregate": _usage(frame.budget.aggregate)},
        "fidelity": [_note(note) for note in frame.fidelity],
    }


def _journal(journal: Journal, with_requests: bool) -> dict[str, Any]:
    return {
        kind: {key: _entry(entry, with_requests) for key, entry in journal.map(kind).items()}
        for kind in ("prompt", "tool", "value")
    }


def _entry(entry: JournalEntry, with_requests: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"contentHash": entry.content_hash}
    version, colon, _ = entry.content_hash.partition(":")
    if colon:
        out["hashVersion"] = version
    last_ok = entry.last_ok
    if last_ok is not None:
        out["output"] = last_ok.output
    elif entry.outcomes and (error := entry.outcomes[-1].error) is not None:
        out["error"] = error.to_json()
    if len(entry.outcomes) == 1 and last_ok is not None and last_ok.lost is None and last_ok.error is None:
        origin = last_ok.to_json()
        del origin["status"], origin["output"]
        if origin:
            out["origin"] = origin
    else:
        out["outcomes"] = [_outcome(outcome) for outcome in entry.outcomes]
    if with_requests and entry.request is not None:
        out["request"] = request_to_json(entry.request)
    return out


def _outcome(outcome: Outcome) -> dict[str, Any]:
    out = outcome.to_json()
    if outcome.output is not None:
        out["output"] = outcome.output
    return out


def request_to_json(request: AnyRequest) -> dict[str, Any]:
    """The request, told apart by ``kind``."""
    if isinstance(request, Request):
        return {
            "kind": "prompt",
            "messages": [message_to_json(message) for message in request.messages],
            "tools": None if request.tools is None else [tool.to_json() for tool in request.tools],
            "outputSchema": request.output_schema,
            "model": request.model,
            "provider": request.provider,
            "parameters": dict(request.parameters),
        }
    return {"kind": "tool", "name": request.name, "arguments": request.arguments}


def _usage(stats: UsageStats) -> dict[str, Any]:
    return {
        "costs": dict(stats.costs),
        "promptTokens": stats.prompt_tokens,
        "completionTokens": stats.completion_tokens,
        "totalTokens": stats.total_tokens,
        "callCount": stats.call_count,
        "items": [_item(item) for item in stats.items.values()],
    }


def _item(item: UsageItem) -> dict[str, Any]:
    out: dict[str, Any] = {"type": item.type, "name": item.name, "costs": dict(item.costs)}
    if item.type == "tool":
        return out | _known(provider=item.provider, unit=item.unit, quantity=item.quantity)
    tokens = {"prompt": item.prompt_tokens, "completion": item.completion_tokens, "total": item.total_tokens}
    return out | _known(provider=item.provider, unit=item.unit) | {"tokens": tokens}


def _note(note: Note) -> dict[str, Any]:
    out: dict[str, Any] = {"level": note.level, "what": note.what}
    if note.span_id is not None:
        out["spanId"] = note.span_id
    if note.times != 1:
        out["times"] = note.times
    return out


def _known(**fields: Json) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
