"""What holds for every program: snapshots restored from its trace, its trace file, and its replays."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from debugger.store import Store
from runtime import Run, dump_snapshot, read_events
from runtime.errors import ReplayStop
from runtime.journal import STRICT, JournalKind
from runtime.messages import ValueRequest
from runtime.snapshot import Frame, RestoreError, Snapshot, restore_snapshot, snapshot_from_json, snapshot_to_json
from runtime.trace import TraceEvent, events_of

from .random_programs import Program, World, random_program

PROGRAMS = int(os.environ.get("RETROSPAN_PROGRAMS", "12"))
"""How many programs each property is tested on in ordinary runs; more of them where the variable says so."""
THOROUGH = [pytest.param(seed, marks=pytest.mark.thorough) for seed in range(PROGRAMS, 40)]

each_program = pytest.mark.parametrize("seed", [*range(PROGRAMS), *THOROUGH])


def run(program: Program, world: World | None = None, **options: Any) -> tuple[Run, Any]:
    """Run the program to its end; what came of it: its output, or the error as type and message."""
    world = world or World()
    made = options.pop("made", None) or Run(enable_snapshot=True, approve=world.approve, **options)

    async def execute() -> Any:
        return await asyncio.wait_for(made.execute(world.build(program)), 30)

    try:
        return made, ("output", json.loads(json.dumps(asyncio.run(execute()))))
    except ReplayStop:
        raise
    except Exception:  # noqa: BLE001 - programs fail in every way; the trace says how
        error = next(e for e in made.events if e.type == "run.end").outcome.error
        return made, ("error", error.type, error.message)


T = TypeVar("T")

KINDS: tuple[JournalKind, ...] = ("prompt", "tool", "value")
BODY = ValueRequest(name="tool.body").content_hash
"""What a tool's function did to the frame; a replay takes it over as it is."""


def some(items: Sequence[T], seed: int, most: int = 40) -> list[T]:
    """All of few, a random choice of many; the last one always."""
    if len(items) <= most:
        return list(items)
    return [*random.Random(seed).sample(items[:-1], most - 1), items[-1]]


def inside_tools(events: list[TraceEvent]) -> tuple[set[str], set[str]]:
    """The tools whose functions a replay does not run; the model turns and tools that those functions called.

    An agent that was offered as a tool is no such tool: its frame replays from within.
    """
    tools = {e.span_id for e in events if e.type == "tool.start" and e.request.name != "helper"}
    calls = {e.span_id for e in events if e.opens and e.type != "agent.start" and e.parent_span_id in tools}
    return tools, calls


def journal(frame: Frame, tools: Set[str] = frozenset(), calls: Set[str] = frozenset()) -> dict[str, Any]:
    """The outcomes by kind and key, without those of the calls and without the values taken in the tools."""
    out: dict[str, Any] = {}
    for kind, entry in frame.journal:
        without = tools | calls if kind == "value" and entry.content_hash != BODY else calls
        kept = [(o.status, o.output, o.error, o.lost) for o in entry.outcomes if o.span_id not in without]
        if kept:
            out.setdefault(kind, {})[entry.content_hash] = kept
    return out


def state(frame: Frame, tools: Set[str] = frozenset(), calls: Set[str] = frozenset()) -> dict[str, Any]:
    """What a replay has to come to again; the journal as above."""
    return {
        "agent": frame.agent_id,
        "status": frame.status,
        "output": frame.output,
        "error": frame.error,
        "memory": frame.memory,
        "memory_start": frame.memory_start,
        "input": frame.input,
        "generation": frame.generation,
        "journal": journal(frame, tools, calls),
    }


def whole(frame: Frame) -> dict[str, Any]:
    """Everything that a dump and a restore have to agree on."""
    return state(frame) | {
        "parent": frame.parent_id,
        "children": frame.children,
        "opened_in": frame.opened_in,
        "journal": {kind: {key: e.outcomes for key, e in frame.journal.map(kind).items()} for kind in KINDS},
        "budget": (frame.budget.own, frame.budget.aggregate),
    }


def agents_of(snapshot: Snapshot, form: Any) -> dict[str, Any]:
    """The frames of agents; the root has two shapes, and is left out together with the pointers to it."""
    frames = {key: form(frame) for key, frame in snapshot.frames.items() if frame.agent_id}
    for frame in frames.values():
        if frame and frame.get("parent") == "root":
            frame["parent"] = None
    return frames


@each_program
def test_a_dump_is_what_restore_makes_of_the_events_until_then(seed: int) -> None:
    """At random events, so also while parallel siblings run, and after an agent left some of its own behind."""
    program = random_program(seed, loose=True)
    world = World()
    made = Run(enable_snapshot=True, approve=world.approve)
    dumps: list[tuple[int, Snapshot]] = []

    rng = random.Random(seed)

    def dump(event: TraceEvent) -> None:
        count = len(made.events)
        if event.type not in ("run.start", "run.end") and (count < 20 or rng.random() < 0.2):
            dumps.append((count, dump_snapshot()))

    made.subscribe("*", dump)
    run(program, world, made=made)
    events = made.events
    assert dumps
    for count, snapshot in dumps:
        try:
            restored = restore_snapshot(events[:count])
        except RestoreError:
            assert not agents_of(snapshot, whole)
            continue
        assert agents_of(snapshot, whole) == agents_of(restored, whole), (count, events[count - 1])


@each_program
def test_a_strict_replay_does_nothing_for_real_and_comes_to_the_same_end(seed: int) -> None:
    program = random_program(seed)
    recorded, first = run(program)
    snapshot = restore_snapshot(recorded.events)
    world = World()
    again, second = run(program, world, snapshot=snapshot, memory_from="start", policy=STRICT)
    assert second == first
    assert world.real == []
    assert {row.status for row in again.session.rows} <= {"hit"}
    tools, calls = inside_tools(recorded.events)
    replayed = agents_of(restore_snapshot(again.events), state)
    expected = agents_of(snapshot, lambda f: None if f.opened_in in tools else state(f, tools, calls))
    beneath = tuple(f"{key}/" for key, form in expected.items() if form is None)
    assert replayed == {key: form for key, form in expected.items() if form and not key.startswith(beneath)}


@each_program
def test_the_trace_file_and_the_debugger_give_the_same_snapshot(tmp_path: Path, seed: int) -> None:
    program = random_program(seed)
    path = tmp_path / "t.jsonl"
    made, _ = run(program, trace_file=path)
    expected = agents_of(restore_snapshot(made.events), state)
    read = sorted(read_events(path), key=lambda e: e.seq)
    assert [untimed(e) for e in read] == [untimed(e) for e in made.events]
    assert agents_of(restore_snapshot(read), state) == expected
    with Store.memory() as store:
        store.load([path])
        (trace,) = store.traces()
        assert agents_of(restore_snapshot(events_of(store.calls(trace.trace_id))), state) == expected


def untimed(event: TraceEvent) -> TraceEvent:
    """The event without the times of its outcome, which a file keeps as those of the span."""
    outcome = getattr(event, "outcome", None)
    if outcome is None:
        return event
    return replace(event, outcome=replace(outcome, start_unix_nano=None, duration_ns=None, trace_id=None, span_id=None))


@each_program
def test_any_prefix_restores_and_any_snapshot_survives_json(seed: int) -> None:
    program = random_program(seed, loose=True)
    made, _ = run(program)
    events = made.events
    for count in some(range(1, len(events) + 1), seed):
        try:
            snapshot = restore_snapshot(events[:count])
        except RestoreError:
            assert count <= 1
            continue
        form = json.loads(json.dumps(snapshot_to_json(snapshot, with_requests=True)))
        assert snapshot_from_json(form) == snapshot
    shuffled = random.Random(seed).sample(events, len(events))
    assert restore_snapshot(shuffled).frames == restore_snapshot(events).frames


@each_program
def test_the_default_mode_repeats_an_unchanged_program_without_a_real_call(seed: int) -> None:
    program = random_program(seed, reads_memory=False, races=False)
    recorded, first = run(program)
    world = World()
    _, second = run(program, world, snapshot=restore_snapshot(recorded.events))
    assert second == first
    assert world.real == []
