"""The screen on a library: it follows what others load, removes on the second press, keeps replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from debugger.replay.model import ReplayJob
from debugger.store import Library, Store
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.store_session import StoreSession
from tests.support.repo import ROOT

from .driver import Desk, drive, see
from .fake_session import FakeSession

SAMPLES = ROOT / "sample_traces"


def test_an_empty_library_says_how_to_fill_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Store, "memory")  # No database is made in memory before there is something to put there.
    with StoreSession([], library=Library.open(tmp_path / "library")) as session:
        shown = see(session)
    assert "The library is empty." in shown
    assert "retrospan load FILE" in shown


def test_it_shows_what_another_process_loads_and_removes_on_the_second_press(tmp_path: Path) -> None:
    home = tmp_path / "library"
    with StoreSession([], library=Library.open(home)) as session, Library.open(home) as other:

        async def scene(desk: Desk) -> None:
            other.load([SAMPLES / "travel_desk.otlp.jsonl"])
            await desk.until(lambda: "travel_desk" in desk.screen)
            await desk.press("d")
            assert "d once more removes travel_desk" in desk.screen
            assert len(other.reader().traces()) == 1
            await desk.press("d")
            await desk.until(lambda: "The library is empty." in desk.screen)
            assert other.reader().traces() == []

        drive(session, scene)


def test_a_trace_that_is_removed_elsewhere_while_it_is_open_is_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, said = tmp_path / "library", "This trace was removed from the library"
    heard: list[str] = []
    say = TraceScreen.say

    def hear(screen: TraceScreen, text: str, *, warning: bool = False) -> None:
        heard.append(text)
        say(screen, text, warning=warning)

    monkeypatch.setattr(TraceScreen, "say", hear)
    with Library.open(home) as other:
        other.load([SAMPLES / "travel_desk.otlp.jsonl"])
        with StoreSession([], library=Library.open(home)) as session:
            (row,) = session.traces()

            async def scene(desk: Desk) -> None:
                await desk.until(lambda: "travel_desk" in desk.screen)
                await desk.press("space")
                assert "1 marked" in desk.screen
                await desk.press("enter")
                screen = desk.app.screen
                assert isinstance(screen, TraceScreen)
                other.remove([row.trace_id])
                await desk.until(lambda: any(said in text for text in heard))
                for key in ("b", "r"):
                    await desk.press(key)
                    assert f"no trace '{row.trace_id}'" in desk.screen
                await desk.press("escape")
                other.load([SAMPLES / "vercel_ai.otlp.jsonl"])
                await desk.until(lambda: screen._version == session.version())
                await desk.settle()
                assert sum(said in text for text in heard) == 1
                await desk.back_to_list()
                await desk.until(lambda: "travel_desk" not in desk.screen)
                assert "marked" not in desk.screen

            drive(session, scene)


def test_traces_of_one_name_are_told_by_what_they_were_asked(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        await desk.until(lambda: "Plan a day in Lyon: che" in desk.screen)
        await desk.until(lambda: "exact" in desk.screen)

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene, (180, 20))


def test_files_are_never_removed() -> None:
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("d", "d")
        assert "Only replays made here and not saved can be removed" in desk.screen
        assert "remove" not in session.asked

    drive(session, scene)


def test_a_kept_replay_goes_into_the_library(tmp_path: Path) -> None:
    home = tmp_path / "library"
    with Library.open(home) as other:
        other.load([SAMPLES / "travel_desk.otlp.jsonl"])
        with StoreSession([], library=Library.open(home)) as session:
            (origin,) = session.traces()
            report = session.replay(ReplayJob(trace_id=origin.trace_id), lambda call: None, lambda: False)
            assert report.trace_id is not None
            assert [row.trace_id for row in session.branches(origin.trace_id)] == [report.trace_id]
            assert len(other.reader().traces()) == 1
            kept = session.keep(report.trace_id)
            assert session.keep(report.trace_id) == kept
            assert kept.parent == home / "replays"
            assert [row.trace_id for row in session.branches(origin.trace_id)] == [report.trace_id]
        (branch,) = [row for row in other.reader().traces() if row.origin_trace_id == origin.trace_id]
        assert branch.source == str(kept)
