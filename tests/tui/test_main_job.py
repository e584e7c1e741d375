"""The main job on the screen: open, move, restore, replay, see the branch."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from debugger.errors import DebuggerError
from debugger.store.rows import IssueRow
from debugger.tui.screens.notes import NotesScreen
from debugger.tui.screens.question import QuestionText
from debugger.tui.screens.replay import ReplayScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.screens.traces import TracesScreen
from debugger.tui.widgets.line_view import LineView
from tests.tui.driver import NARROW, WIDE, Desk, drive, see
from tests.tui.fake_session import PLAN, TRAVEL, FakeSession, diverged_report, same_report, trace_row, travel_traces

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
        assert "2 model turns and 3" in desk.screen
        assert "● travel_desk  ◌ running  ◆1 ▲2  memory: 2 keys" in desk.screen
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
        assert "└ ↺ travel_desk" in desk.screen

    drive(session, scene, size)
    job = session.jobs[0]
    assert (job.span_id, job.anchor, job.mode, job.tools, job.agent) == (f"{5:016x}", "after", "strict", "strict", None)


def test_a_replay_without_a_shown_state_takes_the_whole_trace():
    session = FakeSession()
    see(session, ["enter", "b", "1", "r", "enter"])
    assert session.jobs[0].span_id is None


def test_a_replay_can_be_made_live_and_go_past_the_cut():
    session = FakeSession()
    shown = see(session, ["enter", "down", "a", "r", "m", "x"])
    assert "may cost money" in shown
    assert "the recording answers past the cut" in shown
    assert "from       the whole recording answers, also past the point after chat" in shown
    assert "stops at this point" not in shown
    session = FakeSession()
    see(session, ["enter", "down", "a", "r", "m", "o", "x", "enter"])
    job = session.jobs[0]
    assert (job.mode, job.tools, job.rest_recorded) == ("live", "live", True)


def test_escape_starts_no_replay():
    session = FakeSession()
    see(session, ["enter", "r", "escape"])
    assert session.jobs == []


def test_an_untrusted_entry_point_is_named_and_then_counts_as_named_by_the_user():
    session = FakeSession()
    session.the_plan = replace(PLAN, trusted=False, entry_point="/somewhere/else.py:run")
    assert "run it only if you trust" in see(session, ["enter", "r"])
    see(session, ["enter", "r", "enter"])
    assert session.jobs[0].agent == "/somewhere/else.py:run"


def test_a_trace_that_cannot_be_replayed_says_why_and_does_not_start():
    session = FakeSession()
    session.the_plan = replace(PLAN, problem="No agent of this trace was written with the runtime.")
    shown = see(session, ["enter", "r", "enter"])
    assert "Not possible" in shown
    assert "No agent of this trace" in shown
    assert "--agent" in shown
    assert session.jobs == []


@SIZES
def test_a_divergence_is_shown_with_the_words_that_differ(size):
    session = FakeSession()
    session.make_report = diverged_report
    shown = see(session, ["enter", "r", "enter"], size)
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


@pytest.mark.parametrize(
    ("what", "keys", "said"),
    [
        ("load", [], "the input could not be loaded"),
        ("traces", [], "the traces could not be listed"),
        ("spans", ["enter"], "this trace could not be opened"),
        ("call", ["enter"], "this span could not be read"),
        ("snapshot", ["enter", "down", "a"], "there is no state after"),
        ("plan", ["enter", "r"], "no replay could be planned"),
        ("replay", ["enter", "r", "enter"], "the replay could not run"),
        ("branches", ["enter"], "this trace could not be opened"),
    ],
)
def test_every_failure_behind_the_screen_is_shown_and_the_app_goes_on(what, keys, said):
    session = FakeSession()
    error = DebuggerError("the [disk] is \x1b[31mgone")
    error.hint = "put it back"
    session.fail[what] = error
    shown = see(session, keys)
    assert said in shown
    assert "the [disk] is ␛[31mgone" in shown
    assert "put it back" in shown


def test_n_goes_through_the_errors_and_round():
    session = FakeSession(spans=[*TRAVEL[:8], replace(TRAVEL[8], status_code=2), *TRAVEL[9:]])

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "n")
        assert "book_museum ✗" in desk.cursor
        await desk.press("n")
        assert "search city notes ✗" in desk.cursor
        await desk.press("n")
        assert "book_museum ✗" in desk.cursor
        await desk.press("N")
        assert "search city notes ✗" in desk.cursor

    drive(session, scene)


def test_an_error_below_a_collapsed_span_is_opened():
    session = FakeSession(spans=[*TRAVEL[:8], replace(TRAVEL[8], status_code=2), *TRAVEL[9:]])

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "e")
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
        assert "filter ▸ pol_" in desk.screen
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
        assert "loading travel.jsonl: 12 spans, 50 % of 977 KB" in desk.screen
        await desk.pilot.press("enter")
        await desk.until(lambda: "book_museum" in desk.screen)
        await desk.pilot.press("escape")
        await desk.until(lambda: isinstance(desk.app.screen, TracesScreen))
        await desk.pilot.press("escape")
        await desk.settle()
        assert "Loading was stopped" in desk.screen

    drive(session, scene, settle=False)


def test_what_was_odd_in_the_input_is_counted_and_listed():
    session = FakeSession()
    session.issue_rows = [IssueRow(path="a.jsonl", line=7, reason="half a [JSON] value\x07")]
    assert "! 1 input note (i)" in see(session)
    for keys in (["i"], ["enter", "i"]):
        shown = see(session, keys)
        assert "7  half a [JSON] value␇" in shown


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


@pytest.mark.parametrize(
    ("keys", "size", "span"),
    [
        (["enter", "down", "a", "r"], WIDE, 2),
        (["enter", "down", "a", "escape", "down", "r"], WIDE, 2),
        (["enter", "down", "a", "1", "r"], WIDE, None),
        (["enter", "down", "a", "r"], NARROW, 2),
        (["enter", "down", "a", "escape", "r"], NARROW, None),
        (["enter", "down", "a", "escape", "down", "tab", "r"], NARROW, 2),
        (["enter", "down", "a", "r", "w"], WIDE, None),
        (["enter", "down", "a", "r", "w", "w"], WIDE, 2),
        (["enter", "r", "w"], WIDE, None),
    ],
)
def test_a_replay_starts_from_a_state_only_while_that_can_be_seen(keys, size, span):
    session = FakeSession()
    see(session, [*keys, "enter"], size)
    assert session.jobs[0].span_id == (None if span is None else f"{span:016x}")


def text_of_dialog(desk: Desk) -> str:
    return desk.app.screen.query_one(QuestionText).document.text


def test_the_dialog_follows_its_options():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "a", "r")
        assert "from       up to the point after chat gpt-4o-mini" in desk.screen
        assert "and stops at this point" in text_of_dialog(desk)
        await desk.press("w")
        assert "from       the whole trace" in desk.screen
        assert "A replay of the whole trace would answer 5 model calls" in text_of_dialog(desk)
        assert "at the cut" not in desk.screen
        await desk.press("m")
        assert "and then asks the real model; a new tool call stops it" in text_of_dialog(desk)
        await desk.press("w", "x", "m")
        assert "and lets the whole recording answer, and stops if it asks for anything else" in text_of_dialog(desk)
        await desk.press("enter")
        assert "the whole recording answers, also past the point after chat gpt-4o-mini, strict" in desk.screen

    drive(FakeSession(), scene, (200, 50))


def test_enter_on_a_line_of_the_report_that_folds_nothing_opens_the_replay():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r", "enter", "tab", "end", "enter")
        assert isinstance(desk.app.screen, TraceScreen)
        assert desk.app.screen.row.trace_id == "d" * 32

    drive(FakeSession(), scene)


def test_enter_on_a_folded_text_of_the_report_unfolds_it():
    def long_report(job):
        return replace(same_report(job), printed=tuple(f"line {n}" for n in range(60)))

    session = FakeSession()
    session.make_report = long_report

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r", "enter", "tab")
        desk.app.screen.result.cursor = next(
            i for i, row in enumerate(desk.app.screen.result._rows) if "▾" in row[0].text
        )
        await desk.press("enter")
        assert isinstance(desk.app.screen, ReplayScreen)
        assert "line 59" in view_text(desk.app.screen.result)

    drive(session, scene)


@pytest.mark.parametrize("keys", [["enter", "r", "enter", "s"], ["enter", "r", "enter", "enter", "s"]])
def test_a_replay_can_be_saved_and_where_is_said(keys):
    session = FakeSession()
    shown = see(session, keys)
    assert session.kept == ["d" * 32]
    assert "The replay is kept in travel.replay-1.otlp.jsonl" in " ".join(shown.split())
    assert "It is temporary" not in shown


def test_a_recording_is_not_saved_again():
    session = FakeSession()
    assert "a file already" in " ".join(see(session, ["enter", "s"]).split())
    assert session.kept == []


def test_the_agent_that_the_user_named_runs_and_is_shown():
    session = FakeSession()
    session.agent = "mine.py:run"
    shown = see(session, ["enter", "r"])
    assert "named by you with --agent" in shown
    see(session, ["enter", "r", "enter"])
    assert session.jobs[0].agent == "mine.py:run"


def test_a_hidden_column_that_sorts_is_named_in_the_header():
    async def scene(desk: Desk) -> None:
        await desk.press("s", "s")
        assert "sorted by tokens" in desk.screen.splitlines()[0]
        await desk.press("s", "s")
        assert "sorted by" not in desk.screen
        assert "errors ▾" in desk.screen
        await desk.pilot.resize_terminal(*WIDE)
        await desk.press("s", "s", "s")
        assert "sorted by" not in desk.screen
        assert "tokens in/out ▾" in desk.screen

    drive(FakeSession(), scene, NARROW)


def test_a_collapsed_span_counts_the_errors_that_it_hides():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "left")
        assert "▸ ● travel_desk +11 ✗1" in desk.cursor
        await desk.press("right", "end", "up", "up", "up", "left", "left")
        assert "▸ ● guide_writer +3  " in desk.cursor

    drive(FakeSession(), scene)


@pytest.mark.parametrize(
    ("ended", "unfinished", "said"),
    [
        ("diverged", 0, "replay 1 of 1, diverged (v)"),
        ("done", 0, "replay 1 of 1, complete (v)"),
        (None, 2, "replay 1 of 1, unfinished (v)"),
        (None, 0, "replay 1 of 1 (v)"),
        ("[b]\x1b", 0, "replay 1 of 1 (v)"),
    ],
)
def test_a_branch_says_how_it_ended_where_that_is_known(ended, unfinished, said):
    class Session(FakeSession):
        def span(self, trace_id, span_id):
            found = super().span(trace_id, span_id)
            return [replace(span, attributes={"retrospan.replay.ended": ended}) for span in found] if ended else found

    session = Session([*travel_traces()[:3], replace(travel_traces()[3], unfinished=unfinished)])
    assert said in see(session, ["enter", "v"])


def test_a_replay_that_is_asked_for_while_its_state_is_rebuilt_starts_from_that_state():
    gate = threading.Event()

    class Session(FakeSession):
        def snapshot(self, trace_id, span_id, anchor):
            gate.wait(5)
            return super().snapshot(trace_id, span_id, anchor)

    session = Session()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down")
        await desk.pilot.press("a", "r")
        gate.set()
        await desk.settle()
        assert "from       up to the point after chat gpt-4o-mini" in desk.screen

    drive(session, scene, NARROW)
