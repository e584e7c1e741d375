"""The cursor gives at every position what a restore up to there gives, in any order of asking."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.messages import Usage
from runtime.snapshot import (
    NoFrameError,
    PositionError,
    RestoreError,
    Snapshot,
    SnapshotCursor,
    SpanNotEndedError,
    UnknownSpanError,
    _cursor,
    restore_snapshot,
    snapshot_to_json,
)
from runtime.trace import TraceEvent

from .script import Script
from .test_snapshot_properties import at_least, programs, traces


@pytest.fixture(autouse=True)
def close_way_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few events from one way point to the next, so that small traces have many, with and without a table."""
    monkeypatch.setattr(_cursor, "_CLOSEST", 3)
    monkeypatch.setattr(_cursor, "_TABLES", 2)


def facts(snapshot: Snapshot) -> Any:
    """All of a snapshot but the moment at which it was made."""
    return snapshot.root_id, snapshot.frames, snapshot.provenance, list(snapshot.frames)


def outcome_of(work: Any) -> Any:
    try:
        return facts(work())
    except RestoreError as fault:
        return type(fault), str(fault), fault.nearest


def check(events: list[TraceEvent], positions: list[int]) -> None:
    cursor = SnapshotCursor(events)
    assert len(cursor) == len(events)
    for position in positions:
        assert outcome_of(lambda: cursor.at(position)) == outcome_of(  # noqa: B023 - called at once
            lambda: restore_snapshot(events, position=position)  # noqa: B023
        )


@given(programs(), st.randoms(use_true_random=False))
@settings(max_examples=at_least(20), deadline=None)
def test_at_any_position_of_a_program_as_restore(events: list[TraceEvent], chance: random.Random) -> None:
    positions = list(range(len(events)))
    chance.shuffle(positions)
    check(events, positions)


@given(traces, st.randoms(use_true_random=False))
@settings(max_examples=at_least(30), deadline=None)
def test_at_any_position_of_any_trace_as_restore(events: list[TraceEvent], chance: random.Random) -> None:
    positions = list(range(len(events))) * 2
    chance.shuffle(positions)
    check(events, positions)


def test_the_same_agent_span_twice_and_turns_before_any_agent() -> None:
    """Many starts of a run at one time, a turn of the run's own, and an agent's span that starts again."""
    script = Script()
    for i in range(7):
        script.run(f"r{i % 2}", at=1, input=i)
    script.turn("m", "r0", "h", at=1, usage=Usage(input_tokens=1)).agent("a", "r0", at=1).span("s", "a", at=1)
    script.turn("n", "s", "h", at=1, usage=Usage(input_tokens=2)).agent("a", "s", name="b", at=1)
    script.turn("o", "s", "h", at=1, usage=Usage(input_tokens=4)).end("a", at=1)
    positions = list(range(len(script.events)))
    check(script.events, positions + positions[::-1])


def test_budgets_of_frames_deeper_than_the_limit() -> None:
    script = Script().agent("a0")
    for i in range(1, 130):
        script.agent(f"a{i}", parent=f"a{i - 1}")
        script.turn(f"t{i}", f"a{i}", "h", usage=Usage(input_tokens=i, output_tokens=1))
    check(script.events, [len(script.events) - 1, 150, 3])


def test_a_snapshot_does_not_change_when_the_cursor_moves() -> None:
    script = Script().agent("a")
    for i in range(20):
        script.turn(f"t{i}", "a", "same", output=i)
        script.write("a", f"k{i % 3}", i)
    cursor = SnapshotCursor(script)
    kept = {i: (snapshot_to_json(cursor.at(i))["root"], cursor.at(i)) for i in range(len(cursor))}
    for i in reversed(range(len(cursor))):
        cursor.at(i)
    assert all(snapshot_to_json(snapshot)["root"] == before for before, snapshot in kept.values())


def test_unchanged_frames_are_shared() -> None:
    script = Script().agent("root")
    for i in range(10):
        script.agent(f"a{i}", parent="root").end(f"a{i}")
    cursor = SnapshotCursor(script)
    one, other = cursor.at(18), cursor.at(20)
    assert one.frames["root/agent:root:0/agent:a0:0"] is other.frames["root/agent:root:0/agent:a0:0"]


def test_places_and_errors() -> None:
    script = Script().span("s").agent("a", parent="s").span_end("s")
    cursor = SnapshotCursor(script)
    assert cursor.position_of("s", "after") == 2
    assert cursor.position_of("a", "before") == 0
    with pytest.raises(NoFrameError):
        cursor.at(0)
    for position in (-1, 3):
        with pytest.raises(PositionError):
            cursor.at(position)
    with pytest.raises(UnknownSpanError):
        cursor.position_of("z", "after")
    with pytest.raises(SpanNotEndedError):
        cursor.position_of("a", "after")
