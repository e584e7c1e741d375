"""From the dialog before a replay to its report: where it starts, what it says, how it is kept."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from msgspec import structs

from debugger.analysis.branches import BranchWords
from debugger.replay.model import ReplayJob, ReplayPlan
from debugger.tui.screens.editor import AskScreen
from debugger.tui.screens.notes import HelpScreen
from debugger.tui.screens.question import QuestionText
from debugger.tui.screens.replay import ReplayScreen
from debugger.tui.screens.sql import SqlScreen
from debugger.tui.screens.trace import TraceScreen
from runtime.journal import Difference, Question
from runtime.messages import Call
from tests.tui.driver import NARROW, WIDE, Desk, Typed, drive, key_event, see
from tests.tui.fake_session import FakeSession, same_report


@pytest.mark.parametrize(
    ("size", "cases"),
    [
        (WIDE, [("down a r", 2), ("down a escape down r", 2), ("down a 1 r", None), ("r w", None)]),
        (
            NARROW,
            [("down a r", 2), ("down a escape r", None), ("down a escape r w", 2), ("down a escape down tab r", 2)],
        ),
    ],
    ids=["160x50", "80x24"],
)
def test_a_replay_starts_from_a_state_only_while_that_can_be_seen(size, cases):
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        for keys, span in cases:
            await desk.press("enter", *keys.split(), "enter")
            assert session.jobs[-1].span_id == (None if span is None else f"{span:016x}"), keys
            await desk.back_to_list()
        assert len(session.jobs) == len(cases)

    drive(session, scene, size)


def text_of_dialog(desk: Desk) -> str:
    return desk.app.screen.query_one(QuestionText).document.text


def test_the_list_tells_replays_of_one_trace_apart():
    session = FakeSession()
    session.words = BranchWords("✎ model, diverged", "fork: ✎ model = gpt-4.1, diverged, 2 calls live")

    async def scene(desk: Desk) -> None:
        assert "└ ↺ ✎ model, diverged" in desk.screen
        assert "fork:" not in desk.screen
        await desk.press("down")
        assert "↺ fork: ✎ model = gpt-4.1, diverged, 2 calls live" in desk.screen.splitlines()[0]
        session.rows[-1] = structs.replace(session.rows[-1], name="cheaper")
        desk.app.screen.on_screen_resume()
        await desk.settle()
        assert "└ ↺ cheaper  ✎ model" in desk.screen, "a name that was given stays"

    drive(session, scene, NARROW)


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
        await desk.press("w", "x", "m", "m")
        assert "and lets the whole recording answer, and stops if it asks for anything else" in text_of_dialog(desk)
        await desk.press("enter")
        assert "the whole recording answers, also past the point after chat gpt-4o-mini, strict" in desk.screen
        await desk.press("escape", "r", "w", "enter")

    session = FakeSession()
    drive(session, scene, (200, 50))
    assert [job.span_id for job in session.jobs] == [f"{2:016x}", None], "w and w again is the state that is seen"


def test_a_replay_starts_from_the_span_under_the_cursor_or_where_the_playhead_stands():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "down", "r")
        assert "from       the whole trace" in desk.screen
        await desk.press("w")
        assert "before the span under the cursor" in desk.screen
        assert "from       up to the point before get_weather" in desk.screen
        await desk.press("enter", "escape", "home", "r")
        assert "w from" not in desk.screen, "nothing lies before the first span"

    session = FakeSession()
    drive(session, scene, WIDE)
    assert [(job.span_id, job.anchor) for job in session.jobs] == [(f"{3:016x}", "before")]


def test_recorded_calls_that_a_replay_did_not_reach_follow_its_own():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r", "enter")
        left = [line.split() for line in desk.screen.splitlines() if line.rstrip().endswith("not reached")]
        assert ["▲", "book_museum", "not", "reached"] in left

    drive(FakeSession(), scene, NARROW)


def test_a_branch_gets_its_name_before_it_runs():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        assert "the branch is called as the recorded run" in desk.line("n name")
        await desk.press("n", Typed("  polite  [red]tone "), "enter")
        assert "polite [red]tone" in desk.line("n name")
        await desk.press("n", "escape", "enter")

    session = FakeSession()
    drive(session, scene, NARROW)
    assert [job.name for job in session.jobs] == ["polite [red]tone"]


def test_the_plan_from_another_place_is_waited_for():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "down", "r")
        desk.app.session.the_plan = replace(desk.app.session.the_plan, problem="nothing had started yet")
        await desk.press("w")
        assert "nothing had started yet" in desk.screen
        assert "m models" not in desk.screen
        await desk.press("m", "enter", "w")
        assert "from       the whole trace" in desk.screen, "a place that cannot be replayed from leaves the others"
        await desk.press("escape")

    session = FakeSession()
    drive(session, scene, WIDE)
    assert not session.jobs


def test_a_live_replay_without_its_sdk_is_not_started():
    async def scene(desk: Desk) -> None:
        lacking = "this needs openai, not installed here"
        desk.app.session.the_plan = replace(desk.app.session.the_plan, lacking=lacking)
        await desk.press("enter", "r")
        assert lacking not in text_of_dialog(desk), "a strict replay asks nobody"
        await desk.press("m")
        assert f"! {lacking}" in text_of_dialog(desk)
        await desk.press("enter")
        assert f"Not started: {lacking}" in desk.screen
        assert desk.app.session.jobs == []
        await desk.press("m", "m", "enter")
        assert len(desk.app.session.jobs) == 1

    drive(FakeSession(), scene, NARROW)


def test_enter_on_the_report_unfolds_a_folded_text_and_else_opens_the_replay():
    def long_report(job):
        return replace(same_report(job), printed=tuple(f"line {n}" for n in range(60)))

    session = FakeSession()
    session.make_report = long_report

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r", "enter", "tab")
        result = desk.app.screen.result
        result.cursor = next(i for i, row in enumerate(result._rows) if "▾" in row[0].text)
        await desk.press("enter")
        assert isinstance(desk.app.screen, ReplayScreen)
        assert any("line 59" in line.text for line, *_ in result._rows)
        result.cursor = next(i for i, row in enumerate(result._rows) if "same output" in row[0].text)
        await desk.press("enter")
        assert isinstance(desk.app.screen, TraceScreen)
        assert desk.app.screen.row.trace_id == "d" * 32

    drive(session, scene)


def test_a_replay_can_be_saved_and_where_is_said():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        for keys in (["s"], ["enter", "s"]):
            desk.app.clear_notifications()
            await desk.press("enter", "r", "enter", *keys)
            assert "The replay is kept in travel.replay-1.otlp.jsonl" in " ".join(desk.screen.split())
            assert "It is temporary" not in desk.screen
            await desk.back_to_list()

    drive(session, scene)
    assert session.kept == ["d" * 32] * 2


def test_leaving_takes_replays_that_nobody_saved_only_when_asked_twice():
    session = FakeSession()
    session.temporary = {"d" * 32}

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "q")
        assert "1 replay not saved: s on a replay saves it. q once more leaves" in " ".join(desk.screen.split())
        assert desk.app.return_code is None
        await desk.pilot.press("q")
        assert desk.app.return_code == 0

    drive(session, scene)


def test_a_recording_is_not_saved_again():
    session = FakeSession()
    assert "a file already" in " ".join(see(session, ["enter", "s"]).split())
    assert session.kept == []


def test_the_agent_that_the_user_named_runs_and_is_shown():
    session = FakeSession()
    session.agent = "mine.py:run"

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        assert "named by you with --agent" in desk.screen
        await desk.press("enter")

    drive(session, scene)
    assert session.jobs[0].agent == "mine.py:run"


def test_a_hidden_column_that_sorts_is_named_in_the_header():
    async def scene(desk: Desk) -> None:
        await desk.press("s", "s")
        assert "sorted by tokens" in desk.screen.splitlines()[0]
        await desk.press("s", "s")
        assert "sorted by" not in desk.screen
        assert "errors ▾" in desk.screen
        await desk.pilot.resize_terminal(*WIDE)
        await desk.press("s", "s", "s", "s")
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


def test_a_branch_says_how_it_ended_where_that_is_known():
    class Session(FakeSession):
        ended: str | None = None

        def span(self, trace_id, span_id):
            found = super().span(trace_id, span_id)
            attributes = {"retrospan.replay.ended": self.ended}
            return [replace(span, attributes=attributes) for span in found] if self.ended else found

    session = Session()
    branch = session.rows[3]

    async def scene(desk: Desk) -> None:
        for ended, unfinished, said in (
            ("diverged", 0, "replay 1 of 1, diverged (v)"),
            ("done", 0, "replay 1 of 1, complete (v)"),
            (None, 2, "replay 1 of 1, unfinished (v)"),
            (None, 0, "replay 1 of 1 (v)"),
            ("[b]\x1b", 0, "replay 1 of 1 (v)"),
        ):
            session.ended = ended
            session.rows[3] = structs.replace(branch, unfinished=unfinished)
            await desk.press("enter", "v")
            assert said in desk.screen
            await desk.back_to_list()

    drive(session, scene)


def test_a_replay_that_is_asked_for_while_its_state_is_rebuilt_starts_from_that_state():
    session = FakeSession()
    session.state_gate = gate = threading.Event()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down")
        await desk.pilot.press("a", "r")
        gate.set()
        await desk.settle()
        assert "from       up to the point after chat gpt-4o-mini" in desk.screen

    drive(session, scene, NARROW)


def test_a_replay_whose_trace_could_not_be_written_says_so_and_offers_nothing():
    session = FakeSession()
    session.make_report = lambda job: replace(same_report(job), trace_path=None, trace_fault="the disk [is] full\x07")

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r", "enter")
        assert "! the replay's own trace could not be written: the disk [is] full␇" in desk.screen
        assert "enter opens it" not in desk.screen
        await desk.press("s", "enter")
        assert isinstance(desk.app.screen, ReplayScreen)
        assert "This replay left no trace." in desk.screen

    drive(session, scene)
    assert session.kept == []


def test_what_comes_too_late_asks_nothing_over_another_page():
    session = FakeSession()
    begun, gate = threading.Event(), threading.Event()
    call = session.call

    def plan(job: ReplayJob, *, priced: bool = False) -> ReplayPlan:
        begun.set()
        assert gate.wait(60)
        return session.the_plan

    def slow_call(trace_id: str, span_id: str) -> Call:
        begun.set()
        assert gate.wait(60)
        return call(trace_id, span_id)

    session.plan = plan  # type: ignore[method-assign]

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "m")
        session.call = slow_call  # type: ignore[method-assign]
        for key in "rE":
            begun.clear()
            gate.clear()
            desk.app.post_message(key_event(key))
            await desk.until(begun.is_set)
            desk.app.post_message(key_event("question_mark"))
            await desk.until(lambda: isinstance(desk.app.screen, HelpScreen))
            gate.set()
            await desk.settle()
            assert isinstance(desk.app.screen, HelpScreen)
            await desk.press("escape")
            assert isinstance(desk.app.screen, TraceScreen), "nor does it come up later"
        # What the recording cannot answer is shown with what differs, as text.
        near = Difference(part="message", path="messages[1]", recorded="check Lyon", actual="check \x1b[2JNice")
        desk.app.push_screen(AskScreen(Question(kind="llm", name="m", call_id="x", reason="new", request=[],
                                                proposal=None, differences=(near,))))  # fmt: skip
        await desk.settle()
        assert "messages[1]" in desk.screen
        assert "check [-Lyon-]{+␛[2JNice+}" in desk.screen

    drive(session, scene, WIDE)


def test_a_replay_that_runs_is_not_cancelled_by_going_elsewhere():
    session = FakeSession()
    session.gate = threading.Event()

    async def scene(desk: Desk) -> None:
        await desk.press("Q", Typed("select 1"), "enter", "enter", "r")
        desk.app.post_message(key_event("enter"))
        await desk.until(lambda: "running…" in desk.screen)
        desk.app.post_message(key_event("Q"))
        await desk.until(lambda: "A replay still runs" in desk.screen)
        session.gate.set()
        await desk.settle()
        screen = desk.app.screen
        assert isinstance(screen, ReplayScreen)
        assert screen.report is not None
        assert screen.report.ended == "done"
        await desk.press("Q")
        assert isinstance(desk.app.screen, SqlScreen)

    drive(session, scene, NARROW)
