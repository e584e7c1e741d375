"""States at the playhead: what changed, which frames are shown, which cut a position is."""

from __future__ import annotations

import pytest

from debugger.analysis.document import Builder
from debugger.analysis.kept_frames import KeptPages, KeptViews
from debugger.analysis.playhead import MOST_FRAMES, States, Track, track_of
from debugger.analysis.snapshot_view import frame_pages, snapshot_document
from debugger.analysis.state_changes import changes_into, snapshot_changes
from runtime.messages import Outcome
from runtime.snapshot import Frame, SnapshotCursor
from runtime.trace import AgentEnd, AgentStart
from tests.tui.test_real_app import SAMPLES


@pytest.fixture(scope="module")
def cursor() -> SnapshotCursor:
    from debugger.store import Store

    with Store.memory() as store:
        store.load([SAMPLES / "order_watch.otlp.jsonl"])
        trace_id = store.traces()[0].trace_id
        return SnapshotCursor(store.events(trace_id), trace_id)


def text_of(changes) -> str:
    out = Builder()
    changes_into(out, changes, "changed since event 1")
    return out.document().text


def test_the_steps_add_up_to_the_whole_way(cursor):
    """Going event by event, memory and journal change by what the single steps say."""
    first = next(i for i in range(len(cursor)) if cursor.has_state(i))
    memory: dict[tuple[str, str], object] = {}
    journal = 0
    before = None
    for position in range(first, len(cursor)):
        now = cursor.at(position)
        for change in snapshot_changes(before, now):
            if change.kind == "memory":
                if change.how == "removed":
                    memory.pop((change.call_id, change.what))
                else:
                    memory[change.call_id, change.what] = change.after
            journal += (change.kind == "journal") * (1 if change.how == "added" else -1)
        before = now
    assert before is not None
    held = {(f.call_id, key): value for f in before.frames.values() for key, value in f.memory.items()}
    assert memory == held
    entries = [entry for f in before.frames.values() for _, entry in f.journal]
    assert journal == sum(len(entry.outcomes) for entry in entries)
    assert snapshot_changes(before, before) == ()


def test_going_back_says_the_opposite(cursor):
    last = len(cursor) - 1
    first = next(i for i in range(len(cursor)) if cursor.has_state(i))
    there = snapshot_changes(cursor.at(first), cursor.at(last))
    back = snapshot_changes(cursor.at(last), cursor.at(first))
    counted = {(c.kind, c.call_id, c.what) for c in there if c.kind in ("memory", "journal") and c.how == "added"}
    assert {
        (c.kind, c.call_id, c.what) for c in back if c.kind in ("memory", "journal") and c.how == "removed"
    } == counted


def test_changes_read_well(cursor):
    first = next(i for i in range(len(cursor)) if cursor.has_state(i))
    said = text_of(snapshot_changes(cursor.at(first), cursor.at(len(cursor) - 1)))
    assert "~ status  running → completed" in said
    assert "+ journal ▲ " in said
    assert text_of(()) == "changed since event 1\n  Nothing changed."


def test_positions_are_cuts_of_spans(cursor):
    track = track_of("t", cursor.timeline.events)
    for position in range(len(track)):
        edges = range(1, len(track))
        cuts = [at for at in edges if track.edges[at] == 2] + [at - 1 for at in edges if track.edges[at] == 1]
        last = max((at for at in cuts if at <= position), default=None)
        cut = track.cut_of(position)
        assert (None if cut is None else cursor.position_of(*cut)) == last
        if cut is not None and cursor.has_state(at := cursor.position_of(*cut)):
            changes = snapshot_changes(cursor.at(at), cursor.at(position))
            assert not [change for change in changes if change.kind == "journal"], "a replay from there has all answers"
        assert track.said(position, "the {name}") != ""


def test_of_very_many_frames_those_that_run_changed_or_came_last_are_shown():
    trace, events = "t" * 32, []

    def add(kind, span, parent, **more):
        at = 1_000 + len(events)
        events.append(kind(time_unix_nano=at, trace_id=trace, span_id=span, parent_span_id=parent, **more))

    add(AgentStart, "root", None, agent_id="root", input={})
    for n in range(500):
        add(AgentStart, f"a{n}", "root", agent_id="worker", input=n)
        if n != 3:
            add(AgentEnd, f"a{n}", "root", outcome=Outcome(status="ok", output=n))
    cursor = SnapshotCursor(events, trace)
    view = States(cursor.at, cursor.has_state, "f").view(len(cursor) - 1, 9, None)
    assert len(view.snapshot.frames) == MOST_FRAMES
    assert view.snapshot.left_out == 501 - MOST_FRAMES
    assert [f.input for f in view.snapshot.frames if f.status == "running" and f.depth] == [3]
    assert view.snapshot.frames[-1].input == 499


def test_what_is_kept_from_the_last_state_says_the_same_as_what_is_made_anew(cursor):
    first = next(i for i in range(len(cursor)) if cursor.has_state(i))
    there = range(first, len(cursor))
    states, pages = States(cursor.at, cursor.has_state, "f"), KeptPages()
    since = None
    for position in (*there, *reversed(there), len(cursor) - 1, first):
        kept = states.view(position, since, None)
        anew = States(cursor.at, cursor.has_state, "f").view(position, since, None)
        assert kept == anew
        one, other = (snapshot_document(kept.snapshot, "", None, kept.changes, "x", pages=of) for of in
                      (pages.of, frame_pages))  # fmt: skip
        assert one == other
        assert len({block.key for block in one.blocks}) == len(one.blocks)
        since = position


def test_only_frames_that_hold_something_else_are_made_anew():
    memory = {"n": 1}
    frames = [Frame(call_id=name, agent_id=name, memory=dict(memory)) for name in "ab"]
    views = KeptViews()
    before = views.of((0, frame) for frame in frames)
    other = frames[1].copy()
    other.memory["n"] = True  # Equal, but not the same.
    after = views.of((0, frame) for frame in (frames[0].copy(), other))
    assert after[0] is before[0]
    assert after[1].memory == {"n": True}
    assert type(after[1].memory["n"]) is bool
    spent = other.copy()
    spent.journal.record("tool", "h", Outcome(status="ok", output="x"))
    assert [entry.last for entry in views.of([(0, spent)])[0].entries] == ["x"]
    pages = KeptPages()
    assert pages.of(before)[0] is pages.of(after)[0]


def track(*events: tuple[str, str, int]) -> Track:
    spans, types, times = zip(*events, strict=True)
    return Track(trace_id="t", span_ids=spans, types=types, times=times, edges=bytes(len(events)))


def test_an_event_is_found_again_when_the_trace_has_gone_on():
    before = track(("a", "start", 0), ("b", "log", 3), ("b", "log", 5), ("b", "end", 9))
    now = track(
        ("a", "start", 0), ("c", "start", 1), ("b", "log", 3), ("b", "log", 5), ("c", "end", 7), ("a", "end", 9)
    )
    assert [now.again(before, at) for at in (0, 1, 2, 3, None)] == [0, 2, 3, 5, None], "one that is gone: where it was"
    assert [now.at(moment) for moment in (-1, 0, 6, 7, 99)] == [0, 0, 3, 4, 5]


def test_at_the_end_the_outermost_agent_is_named():
    events = [
        AgentStart(time_unix_nano=1, trace_id="t", span_id="a", parent_span_id=None, agent_id="desk", input={}),
        AgentStart(time_unix_nano=2, trace_id="t", span_id="b", parent_span_id="a", agent_id="guide", input={}),
        *(AgentEnd(time_unix_nano=at, trace_id="t", span_id=span, parent_span_id=above,
                   outcome=Outcome(status="ok", output=1)) for at, span, above in ((3, "b", "a"), (4, "a", None))),
    ]  # fmt: skip
    cursor = SnapshotCursor(events, "t")
    states = States(cursor.at, cursor.has_state, "f")
    said = [states.view(at, None, None).summary.partition(" · ")[0] for at in (1, 2, 3)]
    assert said == ["● guide running", "● desk running", "● desk completed"]
