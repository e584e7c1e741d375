"""Restore, rule by rule (numbers as in the design: "Restore")."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from runtime.journal import JournalEntry
from runtime.messages import ErrorInfo, Outcome, Request, Usage
from runtime.snapshot import (
    Ancestry,
    RestoreMachine,
    Snapshot,
    SnapshotCursor,
    Timeline,
    restore_every,
    restore_snapshot,
)
from runtime.trace import AgentEnd, GenerationStart, ModelTurnStart, ToolEnd, TraceEvent

from .script import BOOM, Script


def tree(snapshot: Snapshot) -> dict[str, str]:
    """Call id -> status, in walking order."""
    return {frame.call_id: frame.status for _, frame in snapshot.walk()}


def notes(snapshot: Snapshot, call_id: str) -> list[tuple[str, str | None, int]]:
    return [(note.level, note.span_id, note.times) for note in snapshot.frames[call_id].fidelity]


def nested() -> Script:
    return (
        Script()
        .run()
        .agent("a", "run", input={"q": 1}, memory={})
        .turn("m1", "a", "h1")
        .agent("b", "a", memory={})
        .turn("m2", "b", "h2")
        .end("b", "b-out")
        .end("a", "a-out")
        .run_end()
    )


# Rule 2: the cut


def test_without_a_span_the_last_event_is_the_cut() -> None:
    snapshot = restore_snapshot(nested())
    assert tree(snapshot) == {"root/agent:a:0": "completed", "root/agent:a:0/agent:b:0": "completed"}
    assert snapshot.root.output == "a-out"
    assert snapshot.root.input == {"q": 1}
    assert (snapshot.provenance.span_id, snapshot.provenance.anchor) == ("run", "after")
    assert snapshot.provenance.source == "restore"
    assert snapshot.process_id.startswith("restore:latest:")


@pytest.mark.parametrize(
    ("span", "anchor", "expected"),
    [
        ("b", "before", {"root/agent:a:0": "running"}),
        ("b", "after", {"root/agent:a:0": "running", "root/agent:a:0/agent:b:0": "completed"}),
        ("m2", "after", {"root/agent:a:0": "running", "root/agent:a:0/agent:b:0": "running"}),
        ("a", "after", {"root/agent:a:0": "completed", "root/agent:a:0/agent:b:0": "completed"}),
        ("run", "after", {"root/agent:a:0": "completed", "root/agent:a:0/agent:b:0": "completed"}),
    ],
)
def test_after_includes_the_end_and_before_excludes_the_start(span: str, anchor: Any, expected: dict[str, str]) -> None:
    snapshot = restore_snapshot(nested(), span, anchor)
    assert tree(snapshot) == expected
    assert (snapshot.provenance.span_id, snapshot.provenance.anchor) == (span, anchor)


def test_a_position_includes_the_event_there() -> None:
    assert tree(restore_snapshot(nested(), position=1)) == {"root/agent:a:0": "running"}
    assert tree(restore_snapshot(nested(), position=7)) == tree(restore_snapshot(nested()))


def test_a_span_with_only_an_end_can_be_an_after() -> None:
    snapshot = restore_snapshot(nested(), "m1", "after")
    assert list(snapshot.root.journal.prompt) == ["h1"]


def test_a_span_and_a_position_together_are_refused() -> None:
    with pytest.raises(ValueError, match="either"):
        restore_snapshot(nested(), "a", position=1)
    with pytest.raises(ValueError, match="anchor"):
        restore_snapshot(nested(), "a", "during")  # type: ignore[arg-type]


def test_metadata_is_kept() -> None:
    assert restore_snapshot(nested(), metadata={"why": "test"}).metadata == {"why": "test"}


# Rule 3: who owns an event


def parallel() -> Script:
    """b and c run at once, and their ends are not nested."""
    return (
        Script()
        .agent("a", memory={})
        .span("step", "a")
        .agent("b", "step", "kid", memory={})
        .agent("c", "step", "kid", memory={})
        .turn("mb", "b", "hb")
        .turn("mc", "c", "hc")
        .memory("b", who="b")
        .end("b", "b-out")
        .memory("c", who="c")
        .turn("mc2", "c", "hc2")
        .end("c", "c-out")
        .end("a")
    )


def test_parallel_agents_are_siblings_with_their_own_entries() -> None:
    snapshot = restore_snapshot(parallel())
    b, c = snapshot.frames["root/agent:a:0/agent:kid:0"], snapshot.frames["root/agent:a:0/agent:kid:1"]
    assert snapshot.root.children == [b.call_id, c.call_id]
    assert (list(b.journal.prompt), list(c.journal.prompt)) == (["hb"], ["hc", "hc2"])
    assert (b.memory, c.memory) == ({"who": "b"}, {"who": "c"})
    assert (b.output, c.output) == ("b-out", "c-out")
    assert snapshot.fidelity_level == "exact"


@pytest.mark.parametrize("parent", [None, "not-there"])
def test_an_event_without_a_known_parent_goes_to_the_last_open_agent(parent: str | None) -> None:
    script = Script().agent("a", memory={}).agent("b", "a", memory={}).turn("m", parent, "h").end("b").end("a")
    snapshot = restore_snapshot(script)
    assert list(snapshot.frames["root/agent:a:0/agent:b:0"].journal.prompt) == ["h"]
    assert notes(snapshot, "root/agent:a:0/agent:b:0") == [("inferred", "m", 1)]
    assert snapshot.root.fidelity_level == "exact"


def test_before_a_span_whose_parent_is_missing_says_that_its_place_is_inferred() -> None:
    script = Script().agent("a", memory={})
    script.add(ModelTurnStart, "m", parent="not-there", content_hash="h").turn("m", "not-there", "h").end("a")
    before = restore_snapshot(script, "m", "before")
    assert [(note.level, note.span_id) for note in before.root.fidelity if note.level == "inferred"] == [
        ("inferred", "m")
    ]
    found = next(found for span, anchor, found in restore_every(script) if (span, anchor) == ("m", "before"))
    assert isinstance(found, Snapshot)
    assert found.root.fidelity == before.root.fidelity


def test_an_agent_without_a_known_parent_is_a_child_of_the_last_open_agent() -> None:
    snapshot = restore_snapshot(Script().agent("a", memory={}).agent("b", "gone", memory={}).end("b").end("a"))
    assert tree(snapshot) == {"root/agent:a:0": "completed", "root/agent:a:0/agent:b:0": "completed"}
    assert snapshot.frames["root/agent:a:0/agent:b:0"].fidelity_level == "inferred"


def test_a_parent_known_only_from_a_late_end_counts() -> None:
    script = Script().agent("a", memory={}).agent("x", "a", memory={}).turn("m", "step", "h")
    script.end("x").span_end("step", parent="a").end("a")
    snapshot = restore_snapshot(script)
    assert list(snapshot.root.journal.prompt) == ["h"]
    assert snapshot.root.fidelity_level == "exact"


def test_cycles_and_self_parents_end_and_keep_every_agent() -> None:
    script = Script().agent("a", "b", memory={}).agent("b", "a", memory={}).agent("c", "c", memory={})
    script.span("x", "y").span("y", "x").turn("m", "y", "h")
    snapshot = restore_snapshot(script)
    assert tree(snapshot) == {
        "root": "running",
        "root/agent:a:0": "running",
        "root/agent:a:0/agent:b:0": "running",
        "root/agent:c:0": "running",
    }


def test_an_event_stamped_before_its_agent_goes_to_the_agent_above() -> None:
    script = Script().agent("a", memory={}).turn("m", "b", "h").agent("b", "a", memory={}).end("b").end("a")
    snapshot = restore_snapshot(script)
    assert list(snapshot.root.journal.prompt) == ["h"]
    assert snapshot.root.fidelity_level == "inferred"


def test_a_call_that_no_agent_was_open_for_is_left_out_and_said() -> None:
    snapshot = restore_snapshot(Script().agent("a", memory={}).end("a").turn("m", "gone", "h"))
    assert snapshot.entry_count() == 0
    assert notes(snapshot, "root/agent:a:0") == [("missing", "m", 1)]


def test_late_events_of_an_ended_agent_still_count() -> None:
    snapshot = restore_snapshot(Script().agent("a", memory={}).end("a").turn("m", "a", "h"))
    assert list(snapshot.root.journal.prompt) == ["h"]


# Rule 4: frames open and close


def test_call_ids_are_taken_from_the_event_or_counted() -> None:
    script = Script().agent("a", memory={}, call_id="root/agent:a:7")
    for span in ("x", "y"):
        script.agent(span, "a", "kid", memory={}).end(span)
    script.agent("z", "a", "kid", memory={}, call_id="root/agent:a:7/agent:kid:1")
    snapshot = restore_snapshot(script)
    assert snapshot.root.children == [f"root/agent:a:7/agent:kid:{i}" for i in range(3)]
    assert snapshot.frames["root/agent:a:7/agent:kid:2"].fidelity_level == "inferred"


def test_a_child_that_is_open_when_its_parent_ends_has_failed_until_its_own_end() -> None:
    script = (
        Script().agent("a").agent("b", "a").agent("c", "b").end("a").end("b", "late").end("b", "later").end("a", "x")
    )
    assert tree(restore_snapshot(script, "a", "after")) == {
        "root/agent:a:0": "completed",
        "root/agent:a:0/agent:b:0": "failed",
        "root/agent:a:0/agent:b:0/agent:c:0": "failed",
    }
    b = restore_snapshot(script, "a", "after").frames["root/agent:a:0/agent:b:0"]
    assert b.error == ErrorInfo("ParentEnded", "the agent 'a' above it ended first")
    last = restore_snapshot(script)
    assert last.frames["root/agent:a:0/agent:b:0"].status == "completed"
    assert last.frames["root/agent:a:0/agent:b:0"].output == "late", "a second end changes nothing"
    assert last.frames["root/agent:a:0/agent:b:0"].error is None
    assert last.frames["root/agent:a:0/agent:b:0/agent:c:0"].status == "failed"
    assert last.root.output is None


def test_a_child_that_starts_below_an_ended_agent_is_cut_off_by_the_next_one_above() -> None:
    script = Script().agent("a").agent("b", "a").end("b").agent("c", "b").agent("d", "c").end("a")
    assert restore_snapshot(script, position=4).frames["root/agent:a:0/agent:b:0/agent:c:0"].status == "running"
    assert list(tree(restore_snapshot(script)).values()) == ["completed", "completed", "failed", "failed"]


def test_an_end_before_its_start_is_not_used_and_said() -> None:
    snapshot = restore_snapshot(Script().agent("a", memory={}).end("b", parent="a").agent("b", "a", memory={}))
    assert snapshot.frames["root/agent:a:0/agent:b:0"].status == "running"
    assert notes(snapshot, "root/agent:a:0/agent:b:0") == [("inferred", "b", 1)]


@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        (Outcome(status="ok", output=None), "completed", None),
        (Outcome(status="error", error=BOOM), "failed", BOOM),
        (Outcome(status="aborted"), "failed", ErrorInfo("Cancelled", "cancelled")),
    ],
)
def test_an_end_gives_status_and_error(outcome: Outcome, status: str, error: ErrorInfo | None) -> None:
    frame = restore_snapshot(Script().agent("a").add(AgentEnd, "a", outcome=outcome)).root
    assert (frame.status, frame.error) == (status, error)


# Rule 5: memory, journals, budget


def test_memory_starts_as_recorded_and_follows_writes_and_generations() -> None:
    script = (
        Script().agent("a", memory={"n": 0}).write("a", "n", 1).write("a", "gone", 2).write("a", "gone", deleted=True)
    )
    assert restore_snapshot(script).root.memory == {"n": 1}
    script.memory("a", only="this")
    frame = restore_snapshot(script).root
    assert (frame.memory, frame.memory_start) == ({"only": "this"}, {"n": 0})


@pytest.mark.parametrize(("run_id", "level"), [(None, "missing"), ("r1", "exact")])
def test_memory_that_is_not_recorded_is_said_for_traces_of_others(run_id: str | None, level: str) -> None:
    frame = restore_snapshot(Script(run_id=run_id).agent("a")).root
    assert (frame.memory_start, frame.fidelity_level) == ({}, level)


def test_failures_and_aborts_are_outcomes_in_the_order_of_their_starts() -> None:
    script = Script().agent("a")
    script.tool("t2", "a", "h", "second", started=20)
    script.tool("t1", "a", "h", outcome=Outcome(status="error", error=BOOM, span_id="t1", start_unix_nano=10))
    script.tool("t3", "a", "h", outcome=Outcome(status="aborted", span_id="t3", start_unix_nano=30))
    entry = restore_snapshot(script).root.journal.tool["h"]
    assert [outcome.span_id for outcome in entry.outcomes] == ["t1", "t2", "t3"]
    assert [outcome.status for outcome in entry.outcomes] == ["error", "ok", "aborted"]


def test_many_outcomes_of_one_request_are_sorted_at_each_snapshot() -> None:
    script = Script().agent("a")
    for i in range(50):
        started = None if i % 10 == 0 else 1000 - i
        script.tool(f"t{i}", "a", "h", i, started=started)
    by_insertion = JournalEntry("h")
    timeline = Timeline(script)
    machine = RestoreMachine(timeline.ancestry)
    for event in timeline.events:
        machine.feed(event)
        if isinstance(event, ToolEnd):
            by_insertion.add(event.outcome)
            entry = machine.frames()[1]["root/agent:a:0"].journal.tool["h"]
            assert entry.outcomes == by_insertion.outcomes
    assert restore_snapshot(script).root.journal.tool["h"].outcomes == by_insertion.outcomes


def test_hash_and_request_may_be_on_the_start_of_a_call() -> None:
    request = Request(messages=(), model="big", provider="p")
    script = Script().agent("a").add(ModelTurnStart, "m", parent="a", content_hash="h", request=request)
    script.turn("m", "a", None, request=None, usage=Usage(input_tokens=3))
    frame = restore_snapshot(script).root
    assert frame.journal.prompt["h"].request == request
    assert [item.name for item in frame.budget.own.items.values()] == ["big"]


def test_an_answer_without_key_or_content_is_said() -> None:
    script = Script().agent("a", memory={}).turn("m", "a", None)
    script.tool("t", "a", "h", outcome=Outcome(status="ok", lost="cut off"))
    snapshot = restore_snapshot(script)
    assert notes(snapshot, "root/agent:a:0") == [("missing", "m", 1), ("missing", "t", 1)]
    assert list(snapshot.root.journal.tool) == ["h"]


def test_a_generation_start_counts_generations() -> None:
    script = Script().agent("a").add(GenerationStart, "a", generation=2)
    assert restore_snapshot(script).root.generation == 2


def test_budget_is_rebuilt_own_and_aggregate_without_replayed_spend() -> None:
    usage = Usage(input_tokens=10, output_tokens=5, cost_nano_usd=7)
    script = Script().agent("a").turn("m1", "a", "h1", usage=usage).agent("b", "a")
    script.turn("m2", "b", "h2", usage=usage).turn("m3", "b", "h3", usage=usage, served_by="journal")
    script.turn("m4", "b", "h4", usage=usage, served_by="reused").turn("m5", "b", "h5", usage=usage, served_by="live")
    snapshot = restore_snapshot(script)
    a, b = snapshot.root.budget, snapshot.frames["root/agent:a:0/agent:b:0"].budget
    assert (a.own.call_count, a.own.total_tokens, a.own.costs) == (1, 15, {"nano_usd": 7})
    assert (b.own.call_count, b.aggregate.total_tokens) == (2, 30)
    assert (a.aggregate.call_count, a.aggregate.prompt_tokens, a.aggregate.costs) == (3, 30, {"nano_usd": 21})
    assert [(item.name, item.total_tokens) for item in a.aggregate.items.values()] == [("m", 45)]
    assert restore_snapshot(script, "m1", "after").root.budget.aggregate.call_count == 1


# Rule 6: the root


def test_several_top_level_agents_hang_under_a_run_frame() -> None:
    script = Script().run(input={"x": 1}).agent("a", "run").end("a").agent("b", "run").end("b").agent("a2", "run", "a")
    snapshot = restore_snapshot(script)
    assert tree(snapshot) == {
        "root": "running",
        "root/agent:a:0": "completed",
        "root/agent:b:0": "completed",
        "root/agent:a:1": "running",
    }
    assert (snapshot.root.agent_id, snapshot.root.input, snapshot.root.parent_id) == ("", {"x": 1}, None)
    assert snapshot.frames["root/agent:b:0"].parent_id == "root"
    assert restore_snapshot(script, "a", "after").root.parent_id is None


def test_a_run_that_did_something_itself_is_the_root() -> None:
    script = Script(run_id="r").run().value("run", "v", 42).agent("a", "run", memory={}).end("a").run_end(output="out")
    snapshot = restore_snapshot(script)
    assert tree(snapshot) == {"root": "completed", "root/agent:a:0": "completed"}
    assert snapshot.root.output == "out"
    assert snapshot.root.journal.value["v"].outcomes[0].output == 42
    assert snapshot.fidelity_level == "exact"
    assert list(restore_snapshot(script, "a", "before").frames) == ["root"]


def test_a_trace_without_agents_has_a_run_frame_with_its_calls() -> None:
    script = Script().span("chain").turn("m", "chain", "h").turn("n", "gone", "g").span_end("chain")
    snapshot = restore_snapshot(script)
    assert list(snapshot.root.journal.prompt) == ["h", "g"]
    assert (snapshot.root_id, snapshot.root.status, snapshot.root.fidelity_level) == ("root", "completed", "inferred")


def test_a_run_keeps_its_agents_when_its_parent_is_elsewhere() -> None:
    script = Script(run_id="r").run(parent="service-span").agent("a", "run", memory={}).value("run", "v", 1)
    assert restore_snapshot(script).fidelity_level == "exact"


# Rules 7 and 8: nothing shared, linear, resumable


def test_snapshot_memory_and_journal_are_not_the_events() -> None:
    script = Script().agent("a", memory={"n": 0}).memory("a", n=1).turn("m", "a", "h")
    kept = copy.deepcopy(script.events)
    frame = restore_snapshot(script).root
    frame.memory["n"] = 99
    frame.memory_start["n"] = 99  # type: ignore[index]
    frame.journal.prompt["h"].outcomes.clear()
    assert script.events == kept


def test_snapshots_of_one_machine_do_not_change_when_it_goes_on() -> None:
    timeline = Timeline(parallel())
    machine = RestoreMachine(timeline.ancestry)
    taken: list[tuple[int, Any, Any]] = []
    for i, event in enumerate(timeline.events):
        machine.feed(event)
        frames = machine.frames()[1]
        taken.append((i, frames, copy.deepcopy(frames)))
    for i, frames, then in taken:
        assert frames == then, f"the snapshot after event {i} changed later"
        assert frames == restore_snapshot(parallel(), position=i).frames


def test_every_cut_is_what_a_single_restore_gives() -> None:
    script = parallel()
    seen = [(span, anchor) for span, anchor, _ in restore_every(script)]
    assert len(seen) == len(set(seen)) == 2 * 7
    for span, anchor, found in restore_every(script):
        if isinstance(found, Snapshot):
            assert found.frames == restore_snapshot(script, span, anchor).frames
        else:
            with pytest.raises(type(found)):
                restore_snapshot(script, span, anchor)


def test_one_of_several_traces_is_restored() -> None:
    events: list[TraceEvent] = [*Script("t1").agent("a"), *Script("t2").agent("b")]
    assert restore_snapshot(events, trace_id="t2").root.agent_id == "b"


def test_deep_chains_do_not_recurse_and_stay_small() -> None:
    depth = 5_000
    spans = Script().agent("a", memory={})
    for i in range(depth):
        spans.span(f"s{i}", f"s{i - 1}" if i else "a")
    spans.turn("m", f"s{depth - 1}", "h")
    assert list(restore_snapshot(spans).root.journal.prompt) == ["h"]

    agents = Script()
    for i in range(depth):
        agents.agent(f"a{i}", f"a{i - 1}" if i else None, "x")
    agents.turn("m", f"a{depth - 1}", "h", usage=Usage(input_tokens=1))
    snapshot = restore_snapshot(agents)
    assert snapshot.frame_count == depth
    assert max(len(call_id) for call_id in snapshot.frames) < 2_000
    assert snapshot.root.budget.aggregate.prompt_tokens == 1
    assert sum(1 for _ in snapshot.walk()) == depth


def test_spans_below_a_later_agent_make_no_frame() -> None:
    script = Script().span("s").agent("a", "s")
    machine = RestoreMachine(Ancestry(script))
    machine.feed_all(list(script)[:1])
    assert not machine.has_frame


def test_a_trace_without_any_agent_or_call_has_one_frame_that_says_so() -> None:
    snapshot = restore_snapshot(Script().span("s").span_end("s"))
    assert [(frame.agent_id, frame.status) for frame in snapshot.frames.values()] == [("", "completed")]
    (note,) = snapshot.root.fidelity
    assert (note.level, "no agent is recorded" in note.what) == ("inferred", True)
    cursor = SnapshotCursor(Script().span("s").span_end("s"))
    assert cursor.at(0).frame_count == 1
