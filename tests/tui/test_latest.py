"""Keys faster than answers: of changes each is done, of questions nobody waits for one that is no longer wanted."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from typing import Any

from debugger.store.notebook import Note
from debugger.store.rows import SearchPart
from debugger.tui.screens.notebook import NotebookScreen
from debugger.tui.screens.traces import TracesScreen
from debugger.tui.widgets.filter_line import FilterLine
from tests.tui.driver import HANG_S, NARROW, Desk, Typed, drive
from tests.tui.fake_session import FakeSession


def test_each_of_some_changes_is_done_however_fast_they_are_asked_for():
    async def scene(desk: Desk) -> None:
        for title in "abcd":
            session.notebook.add(Note(kind="note", title=title, body=title))
        await desk.press("B", Typed("JJJ"))
        screen = desk.app.screen
        assert isinstance(screen, NotebookScreen)
        assert [note.title for note in screen.notes] == ["b", "c", "d", "a"]

    session = FakeSession()
    drive(session, scene, NARROW)


def test_nobody_waits_for_an_answer_that_is_no_longer_wanted():
    gate = threading.Event()

    def held(answer: Any) -> Any:
        def answered(*given: Any) -> Any:
            assert gate.wait(HANG_S)
            return answer(*given)

        return answered

    async def scene(desk: Desk) -> None:
        line = desk.app.screen.query_one(FilterLine)
        line.text = "text:lyon"
        await desk.until(lambda: "searching…" in desk.screen)
        line.text = "name:poller"
        await desk.until(lambda: "1 shown" in desk.screen)
        assert "searching…" not in desk.screen
        line.text = ""
        gate.set()
        await desk.press("enter")
        gate.clear()
        line = desk.app.screen.query_one("#search", FilterLine)
        line.text = "lyon"
        await desk.until(lambda: "searching…" in desk.screen)
        line.text = "kind:lmm"
        await desk.until(lambda: "searching…" not in desk.screen)
        gate.set()
        await desk.press("escape", "escape", "number_sign")
        gate.clear()
        await desk.pilot.press("right")
        await desk.until(lambda: "counting…" in desk.screen)
        await desk.pilot.press("left")
        await desk.until(lambda: "counting…" not in desk.screen)
        await desk.pilot.press("escape")
        await desk.until(lambda: isinstance(desk.app.screen, TracesScreen))
        gate.set()

    session = FakeSession()
    session.search = held(session.search)  # type: ignore[method-assign]
    gate.set()
    session.sql.numbers = held(session.sql.numbers)  # type: ignore[method-assign]
    gate.clear()
    drive(session, scene, NARROW)


def test_a_search_ends_when_nobody_waits_for_it_any_more():
    ended, over = threading.Event(), threading.Event()

    def endless(texts: Sequence[str], trace_id: str | None) -> Generator[SearchPart]:
        try:
            while not over.wait(0.001):
                yield []
        finally:
            ended.set()

    async def scene(desk: Desk) -> None:
        try:
            line = desk.app.screen.query_one(FilterLine)
            line.text = "lyon"
            await desk.until(lambda: "searching…" in desk.screen)
            line.text = ""
            await desk.until(ended.is_set)
            ended.clear()
            await desk.press("enter")
            desk.app.screen.query_one("#search", FilterLine).text = "lyon"
            await desk.until(lambda: "searching…" in desk.screen)
            desk.app.pop_screen()
            await desk.until(ended.is_set)
        finally:
            over.set()

    session = FakeSession()
    session.search = endless  # type: ignore[method-assign]
    drive(session, scene, NARROW)
