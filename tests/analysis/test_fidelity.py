"""How faithful a restored trace is, and the conversation that stands in for a memory that is not recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from debugger.analysis.fidelity import CONVERSATION, fidelity_of, trace_fidelity, with_conversation
from debugger.store import Store
from runtime.snapshot import restore_snapshot

DATA = Path(__file__).parents[1] / "data"
SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.fixture
def store() -> Store:
    return Store.memory()


def test_our_own_runs_are_exact(store: Store) -> None:
    store.load([SAMPLES / "travel_desk.otlp.jsonl"])
    (trace,) = store.traces()
    told = trace_fidelity(store.events(trace.trace_id), store.calls(trace.trace_id), trace.trace_id)
    assert (told.level, told.problem, told.reasons) == ("exact", None, ())
    assert all(frame.level == "exact" for frame in told.frames)


def test_the_conversation_stands_in_for_a_memory_that_is_not_recorded(store: Store) -> None:
    store.load([DATA / "zoo" / "google_adk_legacy.otlp.jsonl.gz"])
    (trace,) = store.traces()
    events = store.events(trace.trace_id)
    before = restore_snapshot(events)
    snapshot = with_conversation(before, is_own=False)
    desk = snapshot.frames["root/agent:travel_desk:0"]
    assert before.frames["root/agent:travel_desk:0"].memory == {}, "the snapshot given stays as it is"
    roles = [message["role"] for message in desk.memory["messages"]]
    assert roles[:2] == ["system", "user"]
    assert roles[-2:] == ["assistant", "tool"], "with the result of the last tool"
    assert [(note.level, note.what) for note in desk.fidelity] == [("inferred", CONVERSATION)]
    told = fidelity_of(snapshot)
    assert told.level == "inferred"
    assert f"{CONVERSATION} (2 times)" in told.reasons
    assert [frame["agent_name"] for frame in told.to_json()["frames"]] == [None, "travel_desk", "guide_writer"]


def test_the_conversation_is_that_of_the_cut(store: Store) -> None:
    store.load([DATA / "zoo" / "google_adk_legacy.otlp.jsonl.gz"])
    (trace,) = store.traces()
    calls = store.calls(trace.trace_id)
    first = next(call for call in calls if call.kind == "llm")
    snapshot = with_conversation(restore_snapshot(store.events(trace.trace_id), first.span_id, "before"), is_own=False)
    assert all(not frame.memory for frame in snapshot.frames.values()), "nothing was said yet"
    assert fidelity_of(snapshot).level == "missing"


def test_content_that_was_not_captured_is_missing(store: Store) -> None:
    store.load([DATA / "zoo" / "openai_v2_latest_event.otlp.jsonl.gz"])
    levels = {}
    for trace in store.traces():
        told = trace_fidelity(store.events(trace.trace_id), store.calls(trace.trace_id), trace.trace_id)
        if trace.name.startswith("embeddings"):
            assert (told.problem, told.level) == (None, "inferred")
            assert told.reasons == ("no agent is recorded; one frame is made for the whole trace",)
            continue
        elif trace.llm_calls > 1:
            assert any("the answer is not recorded" in reason for reason in told.reasons)
        levels[trace.name] = told.level
    assert set(levels.values()) == {"missing"}
