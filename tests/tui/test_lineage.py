"""Where a phrase came from, by keys alone."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from debugger.analysis.document import Builder, Piece, told
from debugger.analysis.places import Places
from debugger.errors import NoRoomError, QueryCancelledError
from debugger.tui import trace_reading
from debugger.tui.screens.lineage import LineageScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.screens.traces import TracesScreen
from debugger.tui.store_session import StoreSession
from debugger.tui.widgets.line_view import LineView
from tests.support.repo import ROOT
from tests.tui.driver import NARROW, Desk, Typed, drive, key_event
from tests.tui.fake_session import FakeSession


def test_from_a_phrase_in_a_text_to_the_span_that_it_comes_from():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "H", Typed("weather in Lyon"), "enter")
        screen = desk.app.screen
        assert isinstance(screen, LineageScreen)
        assert screen.found is not None
        await desk.press("p", Typed("no such words"), "enter")
        assert "It stands nowhere in this trace." in desk.screen
        await desk.press("enter")
        assert "Put the cursor on a step" in desk.screen
        await desk.press("escape")
        assert isinstance(desk.app.screen, TraceScreen)
        for way, back in ((("t",), ("escape", "escape")), (("m", "m", "enter"), ("escape",))):
            await desk.press(*way, "H")
            assert isinstance(desk.app.screen, LineageScreen)
            assert not desk.app.screen.phrase, "the cursor is on a title, which nobody said"
            assert "made for the screen" in desk.screen
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
        await desk.press("escape")
        again = desk.app.screen
        assert isinstance(again, LineageScreen), "back to the steps while nothing else was opened"
        assert (again.phrase, again.span_id, again.found) == ("Lyon", wanted, screen.found)
        await desk.press("enter", "j", "escape")
        assert isinstance(desk.app.screen, TracesScreen), "from another span to the list"

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


class Endless(FakeSession):
    """A trace that is read until nobody waits for it any more."""

    ended: BaseException | None = None

    def places(self, trace_id: str, tell: Callable[[str, int], None]) -> Places:
        try:
            while True:
                tell("span", 7)
                Event().wait(0.001)  # the screen needs the interpreter too
        except QueryCancelledError as error:
            self.ended = error
            raise


def test_the_wait_says_how_far_it_is_and_ends_with_the_screen():
    session = Endless()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "H", Typed("Lyon"))
        desk.app.post_message(key_event("enter"))
        await desk.until(lambda: "reading the whole trace…: 7 of 12 spans   esc stops that" in desk.screen)
        await desk.press("escape")
        assert isinstance(desk.app.screen, TraceScreen)
        assert session.ended is not None

    drive(session, scene, NARROW)


def test_what_was_said_in_a_trace_is_gathered_once():
    told = []
    with StoreSession([ROOT / "sample_traces" / "travel_desk.otlp.jsonl"]) as session:
        session.load(lambda _: None, lambda: False)
        trace_id = session.traces()[0].trace_id

        def leaves(what: str, done: int) -> None:
            raise QueryCancelledError(what)

        with pytest.raises(QueryCancelledError):
            session.places(trace_id, leaves)
        made = session.places(trace_id, lambda *each: told.append(each))
        assert told == [("call", 0)]
        assert session.places(trace_id, leaves) is made


def test_a_trace_that_would_not_fit_into_memory_is_said_not_read(monkeypatch):
    monkeypatch.setattr(trace_reading, "room_for_calls", lambda: 40_000)
    with StoreSession([ROOT / "sample_traces" / "travel_desk.otlp.jsonl"]) as session:
        session.load(lambda _: None, lambda: False)
        trace_id = session.traces()[0].trace_id
        with pytest.raises(NoRoomError, match="the 14 spans of this trace"):
            session.track(trace_id)
        monkeypatch.undo()
        assert len(session.calls(trace_id)) == 14
    assert trace_reading.room_for_calls() > 100_000_000


def test_what_is_followed_is_the_words_of_the_trace():
    out = Builder()
    out.text("a.error", "the bridge\nis closed", style="error",
             first=(told("BridgeError", "error", before="✗ ", after=": "),))  # fmt: skip
    out.line(Piece("3 messages carried over", "dim"))
    out.line(Piece("! cut", "warning"))
    out.line(Piece("arguments ", "tool"), told("a\tb"))
    found = []

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "tab")
        view = desk.app.screen.query_one(LineView)
        view.show(out.document())
        await desk.settle()
        for at in range(len(view._rows)):
            view.cursor = at
            found.append(view.phrase)

    drive(FakeSession(), scene)
    assert found == ["the bridge", "is closed", "", "", "a\tb"]
