"""Where a phrase came from, by keys alone."""

from __future__ import annotations

from debugger.tui.screens.lineage import LineageScreen
from debugger.tui.screens.trace import TraceScreen
from tests.tui.driver import NARROW, Desk, Typed, drive
from tests.tui.fake_session import FakeSession


def test_from_a_phrase_in_a_text_to_the_span_that_it_comes_from():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "H", Typed("weather in Lyon"), "enter")
        screen = desk.app.screen
        assert isinstance(screen, LineageScreen)
        assert screen.found is not None
        before = session.asked.count("calls")
        await desk.press("p", Typed("no such words"), "enter")
        assert "It stands nowhere in this trace." in desk.screen
        assert session.asked.count("calls") == before, "the trace is read once"
        await desk.press("enter")
        assert "Put the cursor on a step" in desk.screen
        await desk.press("escape")
        assert isinstance(desk.app.screen, TraceScreen)
        for way, back in ((("t",), ("escape", "escape")), (("m", "m", "enter"), ("escape",))):
            await desk.press(*way, "H")
            assert isinstance(desk.app.screen, LineageScreen)
            assert not desk.app.screen.phrase, "the cursor is on a title, which nobody said"
            assert "Type a phrase that stands in a message" in desk.screen
            await desk.press(*back)
        await desk.press("slash", Typed("Lyon"), "enter", "H")
        screen = desk.app.screen
        assert isinstance(screen, LineageScreen)
        assert screen.phrase == "Lyon"
        assert screen.found is not None
        assert screen.found.steps
        await desk.press("G", "K")
        wanted = screen.span_id
        await desk.press("enter")
        assert isinstance(desk.app.screen, TraceScreen)
        selected = desk.app.screen.timeline.selected
        assert selected is not None
        assert selected.span_id == wanted

    drive(session, scene, NARROW)


def test_an_error_is_a_page_with_a_way_back():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        session.fail["calls"] = RuntimeError("\x1b[31mgone")
        await desk.press("H", "x", "enter")
        assert "the phrase could not be followed" in desk.screen
        assert "␛[31mgone" in desk.screen
        await desk.press("escape")
        assert isinstance(desk.app.screen, TraceScreen)

    drive(session, scene)
