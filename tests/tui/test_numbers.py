"""Numbers on the screen, the way from them to the calls, and conditions in SQL within filters."""

from __future__ import annotations

from pathlib import Path

from debugger.tui.screens.numbers import NumbersScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.store_session import StoreSession
from debugger.tui.widgets.filter_line import FilterLine
from debugger.tui.widgets.trace_list import TraceList
from tests.tui.driver import NARROW, Desk, drive
from tests.tui.fake_session import FakeSession

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def test_numbers_lead_to_the_traces_and_spans_that_they_count():
    async def scene(desk: Desk) -> None:
        await desk.press("space", "number_sign")
        assert "1 trace, marked" in desk.screen
        await desk.press("escape", "home", "space", "number_sign")
        screen = desk.app.screen
        assert isinstance(screen, NumbersScreen)
        assert "2 traces, all" in desk.screen
        await desk.press("right", "s", "s", "s", "home")
        assert "sorted by errors" in desk.screen
        assert "book_museum" in desk.cursor
        assert "✗1 100 %" in desk.cursor
        await desk.press("enter")
        assert "1 shown" in desk.screen
        await desk.press("enter", "number_sign", "right", "right")
        assert "[Agents]" in desk.screen
        await desk.press("down", "enter")
        assert isinstance(desk.app.screen, TraceScreen)
        assert "search ▸ kind:agent agent=" in desk.screen
        assert "1 of 1" in desk.screen
        # A condition in the trace's own filter, and a mistake in it.
        line = desk.app.screen.query_one("#search", FilterLine)
        line.text = "sql:\"is_error and kind = 'tool'\""
        await desk.press("slash")
        assert "1 match" in desk.screen
        line.text = 'sql:"is_eror"'
        await desk.settle()
        assert '✗ Binder Error: Referenced column "is_eror" not found' in desk.screen

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl", SAMPLES / "research_team.otlp.jsonl"]) as session:
        drive(session, scene, NARROW)


def test_what_a_replay_answered_from_the_recording_is_not_counted():
    async def scene(desk: Desk) -> None:
        def counted() -> set[str]:
            screen = desk.app.screen
            assert isinstance(screen, NumbersScreen)
            assert not screen.scope.is_all
            return {row.trace_id[0] for row in screen.scope.rows}

        await desk.press("number_sign")
        assert "3 traces, all; 1 replay left out" in desk.screen
        assert counted() == {"a", "b", "c"}
        await desk.press("escape")
        desk.app.screen.query_one(TraceList).mark("d" * 32)
        await desk.press("number_sign")
        assert "1 replay, marked" in desk.screen
        assert counted() == {"d"}

    drive(FakeSession(), scene, NARROW)


def test_a_condition_is_asked_again_when_traces_have_come():
    async def scene(desk: Desk) -> None:
        line = desk.app.screen.query_one("#filter", FilterLine)
        line.text = "sql:is_error"
        await desk.settle()
        assert "1 shown" in desk.screen
        session.sql.matches |= {"b" * 32}
        session.has_changed.set()
        await desk.until(lambda: "2 shown" in desk.screen)

    session = FakeSession()
    session.is_library = True
    drive(session, scene, NARROW)
