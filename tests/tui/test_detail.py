"""Call detail with keys alone: tabs, folding, finding, copying, files, and the conversation as one thread."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import structs

from debugger.analysis import thread_view
from debugger.tui.screens.thread import ThreadScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.widgets.line_view import LineView
from tests.tui.driver import NARROW, Desk, Typed, drive
from tests.tui.fake_session import FakeSession


def view(desk: Desk) -> LineView:
    return desk.app.screen.query_one(LineView)


def test_request_and_events_have_tabs():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "4", "tab")
        assert "[Request]" in desk.screen
        assert '"model": "gpt-4o-mini"' in desk.screen
        assert '"messages": [' in desk.screen
        await desk.press("5")
        assert "[Events]" in desk.screen
        assert "+7 ms" in desk.screen, "log records stand among the events"
        assert desk.screen.index("+5 ms") < desk.screen.index("+7 ms")
        assert "info" in desk.screen

    drive(FakeSession(), scene)


def test_context_growth_is_drawn():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "end")
        assert "context ▄▅█  212 → 402 tok over 3 calls of this agent" in desk.screen

    drive(FakeSession(), scene)


def test_json_folds_where_the_cursor_is():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "4", "tab", "down", "enter")
        assert "{ … " in desk.screen
        assert '"model"' not in desk.screen
        await desk.press("enter")
        assert '"model"' in desk.screen
        await desk.press("down", "down", "down", "enter")
        folded = desk.screen
        assert "[ … " in folded
        await desk.press("1", "4")
        assert desk.screen == folded, "a tab is found as it was left"
        await desk.press("e")
        assert "[ … " not in desk.screen

    drive(FakeSession(), scene)


def test_a_text_is_found_counted_and_unfolded():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "end", "enter", "slash", Typed("number 4"))
        assert "1 of 8" in desk.line("find ▸ number 4")
        await desk.press("enter", "n")
        assert "2 of 8" in desk.line("find ▸")
        assert "stop number 40" in desk.screen, "what is folded away opens"
        await desk.press("N", "N")
        assert "8 of 8" in desk.line("find ▸")
        await desk.press("escape")
        assert "find ▸" not in desk.screen
        assert isinstance(desk.app.screen, TraceScreen)

    drive(FakeSession(), scene)


def test_the_help_can_be_searched():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "question_mark", "slash", Typed("slowest model"), "enter")
        row = view(desk)._rows[view(desk).cursor]
        assert "slowest model call" in row.line.text
        await desk.press("escape", "home", "down", "down", "pagedown")
        page = view(desk).size.height - 1
        assert (view(desk).scroll_offset.y, view(desk).cursor) == (page, page + 2), "the page turns under the cursor"
        await desk.press("pageup")
        assert (view(desk).scroll_offset.y, view(desk).cursor) == (0, 2)

    drive(FakeSession(), scene, NARROW)


def test_copying_takes_what_is_folded_and_goes_through_the_terminal():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "end", "enter", "slash", Typed("here is your"), "enter", "y")
        copied = desk.app.clipboard
        assert copied.startswith("Here is your day in Lyon.\n8:00")
        assert copied.endswith("47:00  stop number 47")
        assert "Copied the text under the cursor" in desk.screen
        await desk.press("slash", "ctrl+u", Typed("plan a day"), "enter", "y")
        asked = desk.app.clipboard
        assert asked.startswith("Plan a day")
        await desk.press("up", "y")
        assert desk.app.clipboard == asked, "on a heading: what stands below it"
        await desk.press("Y")
        assert "thinking" in desk.app.clipboard or "system" in desk.app.clipboard

    drive(FakeSession(), scene)


def test_a_page_is_written_to_a_new_file_each_time():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "end", "enter", "ctrl+s", "ctrl+s")
        assert "Written to" in desk.screen
        here = Path.cwd()
        gone = here / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        await desk.press("ctrl+s")
        os.chdir(here)
        assert "could not be written" in desk.screen

    drive(FakeSession(), scene)
    names = sorted(path.name for path in Path.cwd().iterdir())
    assert names == ["chat-gpt-4o-mini-2.txt", "chat-gpt-4o-mini.txt"]
    assert "stop number 47" in Path(names[0]).read_text("utf-8")


def test_the_whole_conversation_as_one_thread_and_back():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "down", "down", "down", "t")
        assert isinstance(desk.app.screen, ThreadScreen)
        assert "◆ gpt-4o-mini   610 ms" in desk.cursor, "the cursor begins at the selected call"
        assert "carried over" in desk.screen
        await desk.press("J")
        assert "▲ book_museum" in desk.cursor
        await desk.press("t")
        assert isinstance(desk.app.screen, TraceScreen)
        assert "▲ book_museum ✗" in desk.cursor
        await desk.press("t", "home", "slash", Typed("129.6"), "enter", "o")
        assert isinstance(desk.app.screen, TraceScreen)
        assert "chat gpt-4o-mini" in desk.cursor

    drive(FakeSession(), scene)


def test_a_thread_of_very_many_calls_goes_on_beyond_those_that_are_shown(monkeypatch):
    monkeypatch.setattr(thread_view, "MOST_CALLS", 4)

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "t")
        assert "Calls 1 to 4 of 11 are shown" in desk.screen
        await desk.press("J", "J", "J", "J")
        assert "Calls 3 to 6 of 11 are shown" in desk.screen
        assert "◆ gpt-4o-mini   610 ms" in desk.cursor
        await desk.press("K", "K", "K")
        assert "Calls 1 to 4 of 11 are shown" in desk.screen
        assert "◆ gpt-4o-mini   580 ms" in desk.cursor

    drive(FakeSession(), scene)


def test_new_spans_of_a_running_trace_arrive_and_can_be_followed():
    session = FakeSession()
    session.is_library = True
    every = session.span_rows
    session.span_rows = every[:6]

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "F")
        assert "following" in desk.screen.splitlines()[0]
        session.span_rows = every
        session.rows[0] = structs.replace(session.rows[0], spans=13)
        session.changes += 1
        desk.app.screen._look()
        await desk.settle()
        assert "13 spans" in desk.screen
        assert "1.36 s" in desk.cursor, "the cursor is on the span that started last"
        await desk.press("F", "home", "down", "left")
        session.rows[0] = structs.replace(session.rows[0], spans=14)
        session.changes += 1
        desk.app.screen._look()
        await desk.settle()
        assert "580 ms" in desk.cursor or "travel_desk" in desk.cursor

    drive(session, scene)
