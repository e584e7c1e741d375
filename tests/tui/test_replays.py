"""From the dialog before a replay to its report: where it starts, what it says, how it is kept."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from msgspec import structs

from debugger.tui.screens.question import QuestionText
from debugger.tui.screens.replay import ReplayScreen
from debugger.tui.screens.trace import TraceScreen
from tests.tui.driver import NARROW, WIDE, Desk, drive, see
from tests.tui.fake_session import FakeSession, same_report, travel_traces


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
        await desk.press("w", "x", "m", "m")
        assert "and lets the whole recording answer, and stops if it asks for anything else" in text_of_dialog(desk)
        await desk.press("enter")
        assert "the whole recording answers, also past the point after chat gpt-4o-mini, strict" in desk.screen

    drive(FakeSession(), scene, (200, 50))


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
        assert any("line 59" in line.text for line, *_ in desk.app.screen.result._rows)

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

    session = Session([*travel_traces()[:3], structs.replace(travel_traces()[3], unfinished=unfinished)])
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
