"""A replay in words."""

from __future__ import annotations

import pytest

from debugger.analysis.branches import branch_words
from runtime.messages import Call, CallKind


def call(kind: CallKind = "llm", **more: object) -> Call:
    values = {"trace_id": "b" * 32, "span_id": "1" * 16, "parent_span_id": None, "name": "run", "kind": kind}
    return Call(**(values | {"start_unix_nano": 1, "end_unix_nano": 2} | more))  # type: ignore[arg-type]


EDITS = ({"path": "model", "value": "small", "was": "large"}, {"path": "parameters.x", "value": [1], "was": None})


@pytest.mark.parametrize(("facts", "served", "short", "long"), [
    ({"replay_ended": "done"}, ["journal"], "complete", "replay of the whole trace, complete"),
    ({"replay_ended": "diverged"}, ["live", "live"], "diverged, 2 calls live",
     "replay of the whole trace, diverged, 2 calls live"),
    ({"replay_ended": "past_cut", "origin_span_id": "2" * 16, "origin_anchor": "after"}, [], "until after chat␛",
     "replay until after chat␛, came to its cut"),
    ({"replay_ended": "failed", "origin_span_id": "2" * 16, "origin_anchor": "before"}, ["supplied"],
     "failed, until before chat␛, 1 call by hand", "replay until before chat␛, failed, 1 call by hand"),
    ({"replay_ended": "done", "origin_span_id": "2" * 16, "edits": EDITS}, [], "✎ model, parameters.x, complete",
     "fork from before chat␛: ✎ model = small; ✎ parameters.x = [1], complete"),
    ({"end_unix_nano": None}, [], "unfinished", "replay of the whole trace, unfinished"),
    ({}, [], "replay", "replay of the whole trace"),
])  # fmt: skip
def test_a_replay_says_what_it_is(facts: dict[str, object], served: list[str], short: str, long: str) -> None:
    run = call("chain", origin_trace_id="a" * 32, **facts)
    words = branch_words([run, *(call(served_by=by) for by in served)], "chat\x1b")
    assert words is not None
    assert (words.short, words.long) == (short, long)


def test_a_recording_is_no_replay() -> None:
    assert branch_words([call(), call("agent")], None) is None
