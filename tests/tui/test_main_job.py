"""The main job on the screen: open, move, restore, replay, see the branch."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from msgspec import structs

from debugger.errors import DebuggerError
from debugger.store.rows import IssueRow
from debugger.tui.screens.notes import NotesScreen
from debugger.tui.screens.replay import ReplayScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.screens.traces import TracesScreen
from debugger.tui.widgets.line_view import LineView
from tests.tui.driver import NARROW, WIDE, Desk, drive, see
from tests.tui.fake_session import PLAN, TRAVEL, FakeSession, diverged_report, trace_row, travel_traces

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])


@SIZES
def test_a_span_is_read_restored_and_replayed(size):
    session = FakeSession()
    narrow = size == NARROW

    async def scene(desk: Desk) -> None:
        assert "travel_desk" in desk.cursor
        await desk.press("enter", "down", "down", "down", "down")
        assert "◆ chat gpt-4o-mini" in desk.cursor
        if narrow:
            assert "Plan a day in Lyon" not in desk.screen
            await desk.press("tab")
        assert "3 messages carried over, 2 new (+), +65 input tokens" in desk.screen
        assert "Plan a day in Lyon" in desk.screen
        assert narrow or "▲ book_museum" in desk.screen
        await desk.press("b")
        assert "state before chat gpt-4o-mini" in desk.screen
        assert narrow or "2 model turns and 3" in desk.screen
        assert "● travel_desk  ◌ running  ◆1 ▲3  memory: 2 keys" in desk.screen
        await desk.press("a")
        assert "state after chat gpt-4o-mini" in desk.screen
        await desk.press("r")
        assert "travel.py:desk" in desk.screen
        assert "models     strict what is not recorded stops it" in desk.screen
        await desk.press("enter")
        assert "same output as recorded" in desk.screen
        assert "✓ hit" in desk.screen
        assert "saved 4.19 s and $0.0042" in desk.screen
        await desk.press("enter")
        assert "replay 1 of 1" in desk.screen
        await desk.press("v")
        assert "recorded ↺ 1 branch" in desk.screen
        await desk.press("escape", "escape", "escape")
        assert "└ ↺ travel_de" in desk.screen

    drive(session, scene, size)
    job = session.jobs[0]
    assert (job.span_id, job.anchor, job.mode, job.tools, job.agent) == (f"{5:016x}", "after", "strict", "strict", None)


def test_a_replay_without_a_shown_state_takes_the_whole_trace():
    session = FakeSession()
    see(session, ["enter", "b", "1", "r", "enter"])
    assert session.jobs[0].span_id is None


def test_a_replay_can_be_made_live_and_go_past_the_cut():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "a", "r", "m", "x")
        assert "may cost money" in desk.screen
        assert "the recording answers past the cut" in desk.screen
        assert "from       the whole recording answers, also past the point after chat" in desk.screen
        assert "stops at this point" not in desk.screen
        await desk.press("o", "enter")

    session = FakeSession()
    drive(session, scene)
    job = session.jobs[0]
    assert (job.mode, job.tools, job.rest_recorded) == ("live", "live", True)


def test_escape_starts_no_replay():
    session = FakeSession()
    see(session, ["enter", "r", "escape"])
    assert session.jobs == []


def test_an_untrusted_entry_point_is_named_and_then_counts_as_named_by_the_user():
    session = FakeSession()
    session.the_plan = replace(PLAN, trusted=False, entry_point="/somewhere/else.py:run")

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        assert "run it only if you trust" in desk.screen
        await desk.press("enter")

    drive(session, scene)
    assert session.jobs[0].agent == "/somewhere/else.py:run"


def test_a_trace_that_cannot_be_replayed_says_why_and_does_not_start():
    session = FakeSession()
    session.the_plan = replace(PLAN, problem="No agent of this trace was written with the runtime.")
    shown = see(session, ["enter", "r", "enter"])
    assert "Not possible" in shown
    assert "No agent of this trace" in shown
    assert "--agent" in shown
    assert session.jobs == []


def test_a_divergence_is_shown_with_the_words_that_differ():
    session = FakeSession()
    session.make_report = diverged_report
    shown = see(session, ["enter", "r", "enter"])
    assert "✗ diverged from the recording" in shown
    assert "[-report-]" in shown
    assert "{+never mention+}" in shown
    assert "▌◆ ≈ chat gpt-4o-mini" in shown, "the cursor stands on the call that missed, beside what comes near"


def test_calls_are_marked_as_they_happen_and_a_replay_can_be_cancelled():
    session = FakeSession()
    session.gate = threading.Event()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        await desk.pilot.press("enter")
        await desk.until(lambda: "… running" in desk.screen)
        assert "running…" in desk.screen
        await desk.pilot.press("enter")
        await desk.until(lambda: "still running" in desk.screen)
        await desk.pilot.press("escape")
        await desk.settle()
        assert "cancelled" in desk.screen
        await desk.press("escape")
        assert isinstance(desk.app.screen, TraceScreen)

    drive(session, scene)


def test_leaving_while_a_replay_runs_ends_it():
    session = FakeSession()
    session.gate = threading.Event()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        await desk.pilot.press("enter")
        await desk.until(lambda: isinstance(desk.app.screen, ReplayScreen) and "… running" in desk.screen)
        await desk.pilot.press("q")

    drive(session, scene)


def test_a_state_that_cannot_be_restored_is_a_readable_panel_with_a_way_on():
    shown = see(FakeSession(), ["enter", "b"], NARROW)
    assert "there is no state before travel_desk" in shown
    assert "there is nothing before it" in shown
    assert "before chat gpt-4o-mini" in shown


def failure() -> DebuggerError:
    error = DebuggerError("the [disk] is \x1b[31mgone")
    error.hint = "put it back"
    return error


@pytest.mark.parametrize(
    ("what", "said"), [("load", "the input could not be loaded"), ("traces", "the traces could not be listed")]
)
def test_a_failure_that_leaves_nothing_to_list_is_shown(what, said):
    session = FakeSession()
    session.fail[what] = failure()
    shown = see(session)
    assert said in shown
    assert "the [disk] is ␛[31mgone" in shown
    assert "put it back" in shown


FAILURES = [
    ("spans", [], "this trace could not be opened"),
    ("call", [], "this span could not be read"),
    ("snapshot", ["down", "a"], "there is no state after"),
    ("plan", ["r"], "no replay could be planned"),
    ("replay", ["r", "enter"], "the replay could not run"),
    ("branches", [], "this trace could not be opened"),
]


def test_every_failure_behind_the_screen_is_shown_and_the_app_goes_on():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        for what, keys, said in FAILURES:
            session.fail = {what: failure()}
            desk.app.clear_notifications()
            await desk.press("enter", *keys)
            assert said in desk.screen
            assert "the [disk] is ␛[31mgone" in desk.screen, what
            assert "put it back" in desk.screen, what
            await desk.back_to_list()

    drive(session, scene)


def test_n_goes_through_the_errors_and_round_and_opens_what_hides_one():
    session = FakeSession(spans=[*TRAVEL[:8], structs.replace(TRAVEL[8], status_code=2), *TRAVEL[9:]])

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "n")
        assert "book_museum ✗" in desk.cursor
        await desk.press("n")
        assert "search city notes ✗" in desk.cursor
        await desk.press("n")
        assert "book_museum ✗" in desk.cursor
        await desk.press("N")
        assert "search city notes ✗" in desk.cursor
        await desk.press("home", "e")
        assert "+11" in desk.cursor
        assert "get_weather" not in desk.screen
        await desk.press("n")
        assert "book_museum" in desk.cursor
        assert "search city" not in desk.screen
        await desk.press("n")
        assert "search city notes" in desk.cursor

    drive(session, scene)


def test_left_and_right_walk_the_tree():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "down", "left")
        assert "▾ ● travel_desk" in desk.cursor
        await desk.press("left")
        assert "▸ ● travel_desk +11" in desk.cursor
        await desk.press("right")
        assert "▾ ● travel_desk" in desk.cursor
        await desk.press("right")
        assert "├── ◆ chat gpt-4o-mini" in desk.cursor

    drive(FakeSession(), scene)


def test_the_filter_narrows_as_it_is_typed():
    async def scene(desk: Desk) -> None:
        await desk.press("slash", "p", "o", "l", "q")
        assert "No trace matches" in desk.screen
        await desk.press("backspace")
        assert desk.typed == "pol"
        assert "poller" in desk.line("29 Nov")
        await desk.press("enter")
        await desk.press("enter")
        assert isinstance(desk.app.screen, TraceScreen)
        assert desk.app.screen.row.name == "poller"
        await desk.press("escape", "escape")
        assert desk.screen.count("29 Nov") == 4

    drive(FakeSession(), scene)


def test_sorting_changes_the_order_and_says_so():
    async def scene(desk: Desk) -> None:
        await desk.press("s")
        assert "took ▾" in desk.screen
        first = next(line for line in desk.screen.splitlines() if "29 Nov" in line)
        assert "researcher" in first
        assert "travel_desk" in desk.cursor, "the cursor stays on its trace"

    drive(FakeSession(), scene)


def test_traces_can_be_used_while_the_rest_is_loading():
    session = FakeSession()
    session.load_gate = threading.Event()

    async def scene(desk: Desk) -> None:
        await desk.until(lambda: "poller" in desk.screen)
        assert "reading: 50 % of 977 KB, 12 spans   travel.jsonl" in desk.screen
        await desk.pilot.press("enter")
        await desk.until(lambda: "book_museum" in desk.screen)
        await desk.pilot.press("i")
        await desk.until(lambda: "The input is still being read; nothing odd was found so far." in desk.screen)
        await desk.pilot.press("escape")
        await desk.pilot.press("escape")
        await desk.until(lambda: isinstance(desk.app.screen, TracesScreen))
        await desk.pilot.press("escape")
        await desk.settle()
        assert "Loading was stopped" in desk.screen

    drive(session, scene, settle=False)


def test_a_trace_that_is_wanted_before_it_is_there_opens_once_it_is():
    session = FakeSession(traces=[])
    session.load_gate = threading.Event()

    async def scene(desk: Desk) -> None:
        await desk.until(lambda: "12 spans   travel.jsonl" in desk.screen)
        await desk.pilot.press("enter")
        session.rows = travel_traces()[:1]
        session.load_gate.set()
        await desk.until(lambda: "book_museum" in desk.screen)

    drive(session, scene, settle=False)


def test_what_was_odd_in_the_input_is_counted_and_listed():
    session = FakeSession()
    session.issue_rows = [IssueRow(path="a.jsonl", line=7, reason="half a [JSON] value\x07")]

    async def scene(desk: Desk) -> None:
        assert "! 1 input note (i)" in desk.screen
        await desk.press("i")
        assert "7  half a [JSON] value␇" in desk.screen
        await desk.press("escape", "enter", "i")
        assert "7  half a [JSON] value␇" in desk.screen

    drive(session, scene)


def test_only_the_newest_selection_is_loaded():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        screen = desk.app.screen
        before = screen._details.asked
        timeline = screen.timeline
        for row in range(1, 10):
            timeline.cursor = row
        await desk.settle()
        assert screen._details.asked - before <= 3
        assert "search city notes" in desk.screen

    drive(session, scene)


def test_the_focus_and_the_tabs_survive_a_resize():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "tab", "2")
        await desk.pilot.resize_terminal(*NARROW)
        await desk.settle()
        assert "[Attributes]" in desk.screen
        assert "took" in desk.screen
        await desk.pilot.resize_terminal(40, 10)
        await desk.settle()
        await desk.press("tab")
        assert "travel_desk" in desk.screen
        await desk.pilot.resize_terminal(*WIDE)
        await desk.settle()
        assert "[Attributes]" in desk.screen
        assert "├── ◆ chat gpt-4o-mini" in desk.cursor

    drive(FakeSession(), scene)


def test_long_text_folds_and_unfolds():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "end", "enter")
        view = desk.app.screen.query_one(LineView)
        assert "17 more lines" in desk.screen
        assert "40:00" not in view_text(view)
        await desk.press("e", "end")
        assert "47:00  stop number 47" in desk.screen
        await desk.press("e")
        assert "17 more lines" in view_text(view)

    drive(FakeSession(), scene)


def view_text(view: LineView) -> str:
    return "\n".join(line.text for line, *_ in view._rows)


def test_help_opens_and_closes_with_the_same_key():
    async def scene(desk: Desk) -> None:
        await desk.press("question_mark")
        assert isinstance(desk.app.screen, NotesScreen)
        await desk.press("question_mark")
        assert isinstance(desk.app.screen, TracesScreen)

    drive(FakeSession(), scene)


def test_signs_can_be_plain_ascii():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "n")
        assert "* travel_desk" in desk.screen
        assert "^ book_museum x" in desk.screen
        assert not set("●◆▲■✗▾█▌├") & set(desk.screen)

    drive(FakeSession(), scene, ascii_only=True)


def test_a_replay_whose_origin_is_not_loaded_stands_on_its_own():
    session = FakeSession(traces=[trace_row("d" * 32, "travel_desk", 0, origin_trace_id="e" * 32)])
    shown = see(session, ["enter"])
    assert "↺ travel_desk" in shown
    assert len(travel_traces()) == 4
