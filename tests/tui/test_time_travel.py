"""The playhead with keys and mouse: states event by event, what changed, two positions compared."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from msgspec import structs

from debugger.analysis.playhead import StateView
from debugger.errors import QueryCancelledError
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.store_session import StoreSession
from debugger.tui.widgets.ruler import Ruler
from tests.support.repo import ROOT
from tests.tui.driver import HANG_S, NARROW, WIDE, Desk, drive, key_event
from tests.tui.fake_session import FakeSession, span_row

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])


@SIZES
def test_the_playhead_steps_event_by_event(size):
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "right_square_bracket")
        assert "event 2 of 24" in desk.screen
        assert "chat gpt-4o-mini starts" in desk.screen
        await desk.press("right_square_bracket")
        assert "event 3 of 24" in desk.screen
        assert "chat gpt-4o-mini ends" in desk.screen
        await desk.press("right_square_bracket")
        assert "▲ get_weather" in desk.cursor, "the cursor goes where the event is"
        if size == WIDE:
            assert "changed since event 3" in desk.screen
            assert "a walk at event [-2-]{+3+}" in desk.screen
            assert "┃" in desk.line("call  ")
        await desk.press("left_square_bracket", "right_curly_bracket", "left_curly_bracket", "left_curly_bracket")
        assert "event 1 of 24" in desk.screen
        await desk.press("left_square_bracket")
        assert "This is the first event." in desk.screen

    drive(FakeSession(), scene, size)


def test_before_and_after_move_the_playhead_too():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "n", "b")
        assert "state before book_museum" in desk.screen
        before = desk.line(" of 24 ")
        await desk.press("a")
        assert "state after book_museum" in desk.screen
        assert desk.line(" of 24 ") != before
        assert "changed since event" in desk.screen
        await desk.press("right_square_bracket")
        assert "state after event" in desk.screen

    drive(FakeSession(), scene)


def test_a_marked_state_is_compared_with_another_one():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "d")
        assert "Go to a state first" in desk.screen
        await desk.press("down", "right_square_bracket", "d")
        assert "Event 2 is marked" in desk.screen
        await desk.press(*["right_square_bracket"] * 5, "d")
        assert "changed since event 2, which is marked" in desk.screen
        assert "a walk at event [-1-]{+6+}" in desk.screen
        assert "⚑" in desk.screen
        await desk.press("D")
        assert "⚑" not in desk.screen

    drive(FakeSession(), scene)


def test_moving_never_waits_for_the_state():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "right_square_bracket")
        session.state_gate = threading.Event()
        for _ in range(6):
            await desk.pilot.press("right_square_bracket")
        await desk.until(lambda: "event 8 of 24" in desk.screen)
        asked = session.asked.count("snapshot")
        session.state_gate.set()
        await desk.settle()
        assert session.asked.count("snapshot") <= asked + 1, "what was passed over is not asked for"
        assert "state after event 8" in desk.screen

    drive(session, scene)


class SlowToRead(FakeSession):
    """A trace that is read for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.is_slow = True
        self.stopped: list[Exception] = []

    def prepare(self, trace_id: str, tell: Callable[[str, int], None]) -> None:
        pause = threading.Event()
        try:
            while self.is_slow:
                tell("span", 3)
                pause.wait(0.01)
        except QueryCancelledError as end:
            self.stopped.append(end)
            raise


@pytest.mark.parametrize("key", ["right_square_bracket", "r"])
def test_what_the_first_state_and_a_replay_read_is_told_and_stopped(key):
    session = SlowToRead()

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        desk.app.post_message(key_event(key))
        await desk.until(lambda: "reading the whole trace…: 3 of " in desk.screen)
        await desk.press("escape")
        assert "reading the whole trace" not in desk.screen
        assert "Reading the trace was stopped" in desk.screen
        assert len(session.stopped) == 1
        assert "Snapshot" in desk.screen, "the trace is still there"
        session.is_slow = False
        await desk.press("right_square_bracket")
        assert "event 1 of 24" in desk.screen

    drive(session, scene)


def test_a_replay_starts_at_the_playhead():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "right_square_bracket", "right_square_bracket", "r", "enter")

    drive(session, scene)
    assert (session.jobs[0].span_id, session.jobs[0].anchor) == (f"{2:016x}", "after")


def test_the_mouse_moves_the_playhead():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "right_square_bracket")
        line = desk.line(" of 24 ")
        await desk.pilot.click("#playhead", offset=(line.index("▶"), 0))
        await desk.settle()
        assert "event 3 of 24" in desk.screen
        await desk.pilot.click("#playhead", offset=(1, 0))
        await desk.settle()
        assert "event 2 of 24" in desk.screen
        await desk.pilot.click("#playhead", offset=(line.index("─") + 10, 0))
        await desk.settle()
        assert "event 2 of 24" not in desk.screen

    drive(FakeSession(), scene)


def test_the_playhead_stays_while_the_trace_goes_on_and_steps_on_from_its_event():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "right_square_bracket", "d", "right_square_bracket", "right_square_bracket")
        assert "event 4 of 24" in desk.screen
        screen = desk.app.screen
        assert isinstance(screen, TraceScreen)
        first = session.span_rows[0]
        begin = first.start_unix_nano or 0
        early = structs.replace(first, span_id="0" * 16, kind="tool", start_unix_nano=begin, end_unix_nano=begin + 1)
        session.span_rows.append(early)
        screen.row = structs.replace(screen.row, spans=len(session.span_rows))
        await desk.press("right_square_bracket")
        assert "event 7 of 26" in desk.screen, "two events have come before it"
        assert screen.mark == 3
        await desk.press("left_square_bracket")
        assert "event 6 of 26" in desk.screen

    drive(session, scene)


def test_the_ruler_is_clicked_and_drawn_along_to_move_the_playhead():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        ruler = desk.app.screen.query_one(Ruler)
        _, left, cells = ruler.time_cells()
        await desk.pilot.click(ruler, offset=(left - 4, 0))
        await desk.settle()
        assert desk.app.screen.position is None, "beside the times a click means nothing"
        await desk.pilot.click(ruler, offset=(left + cells // 2, 0))
        await desk.settle()
        middle = desk.app.screen.position
        assert f"event {middle + 1} of 24" in desk.screen, "also where the playhead was not used before"
        assert "┃" in desk.line(" took ")
        await desk.pilot.mouse_down(ruler, offset=(left + cells // 2, 0))
        await desk.pilot.hover(ruler, offset=(left + cells // 4, 0))
        await desk.settle()
        assert desk.app.screen.position < middle, "it follows the mouse"
        await desk.pilot.mouse_up(ruler, offset=(left + cells - 1, 0))
        await desk.settle()
        assert desk.app.screen.position > middle

    drive(FakeSession(), scene)


def test_where_no_agent_runs_yet_the_playhead_begins_at_the_first_state_and_a_replay_at_the_last_cut():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "b")
        assert "starts the trace, so there is nothing before" in desk.screen
        await desk.press("right_square_bracket")
        assert "state after event 3 of 32" in desk.screen
        await desk.press(*["right_square_bracket"] * 4)
        assert "event 7 of 32: convert_currency is called" in desk.screen
        await desk.press("r")
        assert "up to the point before convert_currency" in desk.screen
        assert "the state that is shown" in desk.line("w from")

    with StoreSession([ROOT / "sample_traces" / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene)


def test_a_state_of_a_trace_that_went_on_meanwhile_is_not_the_last_word():
    session = FakeSession()
    session.is_library = True
    gate, state = threading.Event(), session.state

    def held(trace_id: str, position: int, since: int | None) -> StateView:
        assert gate.wait(HANG_S)
        return state(trace_id, position, since)

    session.state = held  # type: ignore[method-assign]

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down")
        screen = desk.app.screen
        assert isinstance(screen, TraceScreen)
        desk.app.post_message(key_event("right_square_bracket"))
        await desk.until(lambda: "track" in session.asked)
        session.span_rows.append(span_row(13, 1, "tool", "late", 4202, 4208))
        session.rows[0] = structs.replace(session.rows[0], spans=13)
        session.has_changed.set()
        await desk.until(lambda: len(screen.timeline.forest) == 13)
        gate.set()
        await desk.settle()
        assert "event 2 of 26" in desk.screen

    drive(session, scene)
