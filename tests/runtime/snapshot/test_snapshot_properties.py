"""What holds for every trace: nothing undocumented is raised, order of input is nothing, cuts named as working work."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.messages import ErrorInfo, Outcome, Request, ToolRequest, Usage
from runtime.snapshot import (
    RestoreError,
    Snapshot,
    restore_every,
    restore_snapshot,
    snapshot_from_json,
    snapshot_to_json,
)
from runtime.trace import (
    AgentEnd,
    AgentStart,
    GenerationEnd,
    GenerationStart,
    Log,
    MemoryWrite,
    ModelTurnEnd,
    ModelTurnStart,
    RunEnd,
    RunStart,
    SpanEnd,
    SpanStart,
    ToolEnd,
    ToolStart,
    TraceEvent,
    ValueTaken,
)


def at_least(examples: int) -> int:
    """So many in every run, and more where a profile that searches asks for more."""
    return max(examples, settings().max_examples)


# Few names, so that spans meet each other in every possible way.
spans = st.sampled_from(["a", "b", "c", "d", "run", ""])
parents = st.one_of(st.none(), spans, st.just("gone"))
names = st.sampled_from(["x", "y", "a/b:0"])
hashes = st.sampled_from([None, "", "h1", "sha256.1:h2"])
text = st.text(max_size=5)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(text, values, max_size=2)
errors = st.builds(ErrorInfo, text, text)
tokens = st.none() | st.integers(min_value=0, max_value=10**20)
usages = st.builds(Usage, tokens, tokens, tokens, tokens, tokens)
about: dict[str, Any] = {
    "trace_id": st.none() | text,
    "span_id": st.none() | text,
    "usage": usages,
    "start_unix_nano": st.none() | st.integers(0, 50),
    "duration_ns": st.none() | st.integers(0, 50),
    "lost": st.none() | text,
}
outcomes = st.one_of(
    st.builds(Outcome, status=st.just("ok"), output=values, **about),
    st.builds(Outcome, status=st.sampled_from(["error", "aborted"]), error=st.none() | errors, **about),
)
requests = st.none() | st.builds(
    Request, messages=st.just(()), model=st.none() | text, provider=st.none() | text, parameters=objects
)
tool_requests = st.builds(ToolRequest, name=text, arguments=values)
memories = st.none() | objects

kinds: list[tuple[type[TraceEvent], dict[str, Any]]] = [
    (RunStart, {"name": text, "input": values, "memory": memories}),
    (RunEnd, {"outcome": outcomes}),
    (AgentStart, {"agent_id": names, "call_id": st.none() | st.sampled_from(["root", "root/agent:x:0", "id"]),
                  "input": values, "memory": memories}),
    (AgentEnd, {"outcome": outcomes}),
    (GenerationStart, {"generation": st.integers(0, 3)}),
    (GenerationEnd, {"generation": st.integers(0, 3), "memory": memories}),
    (ModelTurnStart, {"content_hash": hashes, "request": requests}),
    (ModelTurnEnd, {"content_hash": hashes, "outcome": outcomes, "request": requests,
                    "served_by": st.sampled_from([None, "journal", "live"])}),
    (ToolStart, {"request": tool_requests, "content_hash": hashes}),
    (ToolEnd, {"content_hash": hashes, "request": tool_requests, "outcome": outcomes}),
    (MemoryWrite, {"key": text, "value": values, "deleted": st.booleans()}),
    (ValueTaken, {"name": text, "content_hash": st.sampled_from(["v1", "v2"]), "value": values}),
    (SpanStart, {"name": text}),
    (SpanEnd, {}),
    (Log, {"message": text}),
]  # fmt: skip
common: dict[str, Any] = {
    "time_unix_nano": st.integers(0, 20),
    "seq": st.none() | st.integers(0, 20),
    "run_id": st.none() | st.sampled_from(["r1", "r2"]),
    "trace_id": st.just("t"),
    "span_id": spans,
    "parent_span_id": parents,
}
any_event: st.SearchStrategy[TraceEvent] = st.one_of(
    *(st.builds(kind, **common, **fields) for kind, fields in kinds)  # type: ignore[arg-type]
)
traces = st.lists(any_event, min_size=1, max_size=25)


@st.composite
def programs(draw: st.DrawFn) -> list[TraceEvent]:
    """Well-formed runs with parallel agents: any open agent may go on at any time; every event at its own time."""
    events: list[TraceEvent] = []
    parent_of: dict[str, str | None] = {}
    open_agents: list[str] = []

    def add(kind: type[TraceEvent], span: str, **fields: Any) -> None:
        events.append(
            kind(
                time_unix_nano=len(events) + 1,
                trace_id="t",
                span_id=span,
                parent_span_id=parent_of[span],
                **fields,
            )
        )

    for i in range(draw(st.integers(1, 25))):
        span = f"s{i}"
        step = draw(st.sampled_from(["agent", "agent", "turn", "tool", "memory", "end"])) if open_agents else "agent"
        owner = draw(st.sampled_from(open_agents)) if open_agents else None
        parent_of[span] = owner
        if step == "agent":
            add(AgentStart, span, agent_id=draw(names), memory={}, input=i)
            open_agents.append(span)
        elif step == "turn":
            add(ModelTurnEnd, span, content_hash=f"h{i % 3}", outcome=draw(outcomes), served_by=None)
        elif step == "tool":
            request = ToolRequest(name="t", arguments={})
            add(ToolEnd, span, content_hash=f"h{i % 3}", request=request, outcome=draw(outcomes))
        else:
            assert owner is not None
            if step == "memory":
                add(MemoryWrite, owner, key=draw(text), value=i)
            else:
                add(AgentEnd, owner, outcome=draw(outcomes))
                open_agents.remove(owner)
    return events


def attempt(events: list[TraceEvent], **options: Any) -> Snapshot | RestoreError:
    try:
        return restore_snapshot(events, **options)
    except RestoreError as error:
        return error


@given(traces)
@settings(max_examples=at_least(20), deadline=None)
def test_any_prefix_of_any_trace_restores_or_is_refused_by_name(events: list[TraceEvent]) -> None:
    for end in range(len(events) + 1):
        found = attempt(events[:end])
        assert isinstance(found, Snapshot | RestoreError)
        if isinstance(found, Snapshot):
            assert {frame.call_id for _, frame in found.walk()} == set(found.frames)


@given(traces)
@settings(max_examples=at_least(20), deadline=None)
def test_every_cut_is_what_one_restore_gives_and_nearest_cuts_work(events: list[TraceEvent]) -> None:
    for span, anchor, found in restore_every(events):
        if not span:
            continue  # an empty id means no span, as in the seed
        single = attempt(events, span_id=span, anchor=anchor)
        assert type(single) is type(found)
        if isinstance(found, Snapshot):
            assert isinstance(single, Snapshot)
            assert found.frames == single.frames
            assert found.root_id == single.root_id
        else:
            assert isinstance(single, RestoreError)
            assert single.nearest == found.nearest
            for cut in found.nearest:
                if cut.span_id:
                    restore_snapshot(events, *cut)


@given(programs(), st.randoms(use_true_random=False))
@settings(max_examples=at_least(20), deadline=None)
def test_the_order_of_input_does_not_matter_when_times_differ(events: list[TraceEvent], rng: Any) -> None:
    expected = restore_snapshot(events)
    shuffled = events[:]
    rng.shuffle(shuffled)
    assert restore_snapshot(shuffled).frames == expected.frames


@given(programs())
@settings(max_examples=at_least(20), deadline=None)
def test_well_formed_runs_restore_exactly(events: list[TraceEvent]) -> None:
    """Against the plainest possible fold, which needs no stack since every event names its agent."""
    snapshot = restore_snapshot(events)
    agents = [event for event in events if isinstance(event, AgentStart)]
    by_input = {frame.input: frame for frame in snapshot.frames.values() if frame.agent_id}
    assert len(by_input) == len(agents)
    for start in agents:
        frame = by_input[start.input]
        inside = [event for event in events if event.parent_span_id == start.span_id and event.closes]
        turns = [event for event in inside if isinstance(event, ModelTurnEnd)]
        tools = [event for event in inside if isinstance(event, ToolEnd)]
        assert sum(len(entry.outcomes) for entry in frame.journal.prompt.values()) == len(turns)
        assert sum(len(entry.outcomes) for entry in frame.journal.tool.values()) == len(tools)
        assert frame.budget.own.call_count == len(turns)
        memory = {
            event.key: event.value
            for event in events
            if isinstance(event, MemoryWrite) and event.span_id == start.span_id
        }
        assert frame.memory == memory
        ends = [event for event in events if isinstance(event, AgentEnd) and event.span_id == start.span_id]
        if ends:
            assert frame.status == ("completed" if ends[0].outcome.status == "ok" else "failed")
        parent = next((other for other in agents if other.span_id == start.parent_span_id), None)
        if parent is not None:
            assert frame.parent_id == by_input[parent.input].call_id
    root = snapshot.root.budget.aggregate
    assert root.call_count == sum(isinstance(event, ModelTurnEnd) for event in events)
    assert root.prompt_tokens == sum(
        event.outcome.usage.input_tokens or 0 for event in events if isinstance(event, ModelTurnEnd)
    )


@given(st.one_of(traces, programs()))
@settings(max_examples=at_least(20), deadline=None)
def test_snapshot_to_json_and_back_is_identity(events: list[TraceEvent]) -> None:
    snapshot = attempt(events, metadata={"k": [1]})
    if isinstance(snapshot, Snapshot):
        form = json.loads(json.dumps(snapshot_to_json(snapshot, with_requests=True)))
        assert snapshot_from_json(form) == snapshot
