"""A file that grows while it is on the screen."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from debugger.importers import Follower
from debugger.store import Store
from debugger.tui.following import FileFollower
from debugger.tui.screens import trace_fidelity
from debugger.tui.store_session import StoreSession
from debugger.tui.widgets.line_view import LineView
from tests.debugger.test_following import CASES, grow, line
from tests.tui.driver import WIDE, Desk, drive

LONGEST_S = 60


async def until(desk: Desk, part: str) -> None:
    async with asyncio.timeout(LONGEST_S):
        while part not in desk.screen:
            await desk.pilot.pause(0.02)


def test_what_is_added_shows_up_in_the_list_and_in_the_open_trace(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    path.write_bytes(line(1, endTimeUnixNano="0") + line(2)[:60])

    async def scene(desk: Desk) -> None:
        await until(desk, "◉ following 1 file  waits for the rest of line 2 of live.jsonl")
        assert "! 1 input note" not in desk.screen
        grow(path, line(2)[60:])
        await until(desk, "  1 trace   ◉ following 1 file ")
        await desk.press("enter")
        assert "◉ live" in desk.screen
        await until(desk, "2 spans")
        await desk.press("2", "tab", "j", "j")
        reader = desk.app.screen.query_one(LineView)
        grow(path, line(3) + line(1) + line(4)[:70])
        await until(desk, "3 spans")
        assert "◉ live" not in desk.screen, "nothing is left open"
        await desk.settle()
        assert reader.cursor == 2, "who reads stays where he reads"
        await desk.press("escape", "escape")
        await until(desk, "line 5")
        await desk.press("F")
        await until(desk, "not following (F)")
        await until(desk, "! 1 input note (i)")
        await desk.press("i")
        assert "5  ends in the middle" in desk.screen
        grow(path, line(4)[70:])
        await desk.press("escape", "F")
        await until(desk, "◉ following 1 file ")
        await desk.press("enter")
        await until(desk, "4 spans")

    with StoreSession([path]) as session:
        drive(session, scene)
        assert session.issues() == []


def test_what_is_packed_says_that_it_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(line(1)))

    async def scene(desk: Desk) -> None:
        assert "following" not in desk.screen
        await desk.press("F")
        await until(desk, "compressed (gzip)")

    with StoreSession([path]) as session:
        drive(session, scene)


def test_a_fault_ends_following_and_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "live.jsonl"
    path.write_bytes(line(1))
    with Store.memory() as store:
        files = FileFollower(store, Follower([path]))
        monkeypatch.setattr("debugger.tui.following.LOOK_S", 0.0)
        files.load(lambda progress: None, lambda: False)
        monkeypatch.setattr(Store, "load_new", lambda *_, **__: json.loads("{"))
        grow(path, line(2))
        files._thread.join(LONGEST_S)
        assert "following ended: Expecting property name" in files.now.problem
        assert not files.now.is_on
        monkeypatch.undo()
        files.switch(True)
        assert files.now.is_on
        assert files._thread.is_alive(), "the thread that ended is not taken for one that follows"
        files.look()
        files.switch(False)
        assert (files.now.problem, store.traces()[0].spans) == ("", 2)


def test_the_list_and_the_header_of_a_trace_say_how_faithful_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(desk: Desk) -> None:
        await until(desk, "  missing\n")
        await desk.press("enter")
        await until(desk, "  missing · ")
        desk.app.pop_screen()
        monkeypatch.setattr(trace_fidelity, "MOST_JUDGED", 1)
        monkeypatch.setattr(session, "fidelity", lambda trace_id, tell: "exact")
        monkeypatch.setattr(trace_fidelity, "LATER_JUDGED_S", LONGEST_S)
        await desk.press("enter")
        assert "  fidelity: counting… · " in desk.screen
        desk.app.screen.fidelity._count.ask("")
        await until(desk, "  exact · ")

    with StoreSession([CASES / "09-genai-shapes.jsonl"]) as session:
        drive(session, scene, WIDE)
        assert StoreSession.fidelity(session, "a" * 31 + "1") == "missing"
