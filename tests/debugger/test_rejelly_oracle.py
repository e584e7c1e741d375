"""Restore against the recorded behaviour of the original (tests/data/oracle), over the whole road from its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from debugger.store import Store
from runtime.snapshot import RestoreError, restore_snapshot, snapshot_to_json
from runtime.trace import TraceEvent

FOLDER = Path(__file__).parents[1] / "data" / "oracle"

LATE_END = "a child's own end after its parent's corrects its status (rule 4)"
OWNER = "an event goes to the frame of its enclosing agent, not to the top of the stack (rule 3)"
SEVERAL = "a second top-level agent does not replace the first: both hang under the run (rule 6)"

DIFFERENT_ON_PURPOSE: dict[str, tuple[str, set[tuple[str | None, str]]]] = {
    "edge.late_child_end": (LATE_END, {(None, "after"), ("C", "after")}),
    "edge.memory_wrong_agent": (OWNER, {(None, "after"), ("P", "after"), ("C", "after"), ("g1", "after")}),
    "two_top_level": (
        SEVERAL,
        {(None, "after"), ("1939ba8ac9bd1093", "after"), ("e0001c38a3886704", "after")}
        | {
            (span, anchor)
            for span in (
                "c65592c9afdb5515", "41049e3066b26c21", "91e8adcd5862484b", "3bcadfd7f5273c5a", "932952a03b0d0a35",
                "eb5adab0a998183a", "065bcf8157a571d9", "9638f8743489b4c2", "8ecb3a4443a9b09a",
            )
            for anchor in ("before", "after")
        },
    ),
}  # fmt: skip
"""File -> why ours differs, and at which cuts. Everywhere else the frames must be equal."""

ERRORS = {
    "not found in trace": {"UnknownSpanError", "SpanNotEndedError", "SpanNotStartedError"},
    "at the beginning": {"NothingBeforeError"},
    "not created": {"NoFrameError"},
}


def plain(frame: dict[str, Any]) -> dict[str, Any]:
    """What both kinds of snapshot must agree on; failures are recorded only by ours."""
    state, journal = frame["state"], frame["journal"]
    return {
        "callId": frame["callId"],
        "agentId": frame["agentId"],
        "memory": frame["memory"],
        "status": state["status"],
        "output": state.get("output") if state["status"] == "completed" else None,
        **{
            kind: {key: entry.get("output") for key, entry in journal[kind].items() if not entry.get("error")}
            for kind in ("prompt", "tool")
        },
        "children": {key: plain(child) for key, child in frame["children"].items()},
    }


@cache
def events_of(name: str) -> list[TraceEvent]:
    """The trace events of a file, as the debugger loads it."""
    with Store.memory() as store:
        store.load([FOLDER / f"{name}.json"])
        (row,) = store.traces()
        return list(store.events(row.trace_id))


def cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        for case in data["cases"]:
            options = case["options"] or {}
            if case["options"] is not None and (not options.get("spanId") or "metadata" in options):
                continue
            cut = (options.get("spanId"), options.get("anchor", "after"))
            yield pytest.param(path.stem, data, case, cut, id=f"{path.stem}-{cut[0]}-{cut[1]}")


@pytest.mark.parametrize(("name", "data", "case", "cut"), list(cases()))
def test_restore_agrees_with_the_original(name: str, data: Any, case: Any, cut: tuple[str | None, Any]) -> None:
    events = events_of(name)
    if "error" in case:
        with pytest.raises(RestoreError) as caught:
            restore_snapshot(events, *cut)
        message = case["error"]["message"]
        expected = next(classes for words, classes in ERRORS.items() if words in message)
        assert type(caught.value).__name__ in expected
        return
    ours = plain(snapshot_to_json(restore_snapshot(events, *cut))["root"])
    theirs = plain(data["frames"][case["snapshot"]["root"]["$frame"]])
    reason, different = DIFFERENT_ON_PURPOSE.get(name, ("", set()))
    if cut in different:
        assert ours != theirs, f"no longer different: {reason}"
    else:
        assert ours == theirs


def test_each_listed_difference_is_a_recorded_case() -> None:
    recorded = {(case.values[0], case.values[3]) for case in cases()}
    listed = {(name, cut) for name, (_, cuts) in DIFFERENT_ON_PURPOSE.items() for cut in cuts}
    assert listed <= recorded
    assert len(recorded) > 150
