"""The main job through the real app: real files, a real store, a real restore, and a child process that replays."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import OptionList, TextArea

from debugger.cli import main
from debugger.commands import screen
from debugger.errors import ReplayError
from debugger.replay.model import ReplayJob
from debugger.replay.run import stop_here
from debugger.store import Library
from debugger.tui.store_session import StoreSession
from tests.tui.driver import NARROW, Desk, drive

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def test_open_move_restore_before_and_after_replay_save_and_see_the_result(tmp_path):
    for name in ("travel_desk.py", "travel_desk.otlp.jsonl"):
        shutil.copy(SAMPLES / name, tmp_path)

    async def scene(desk: Desk) -> None:
        assert "travel_desk" in desk.cursor
        await desk.press("enter", *["down"] * 6)
        assert "▲ book_museum ✗" in desk.cursor
        await desk.press("tab")
        assert "booking service returned 503" in desk.screen
        assert '"day": "2026-05-04"' in desk.screen
        await desk.press("b")
        assert "state before book_museum" in desk.screen
        assert "● travel_desk  ◌ running  ◆2 ▲2" in desk.screen
        await desk.press("a")
        assert "state after book_museum" in desk.screen
        assert "● travel_desk  ◌ running  ◆2 ▲3" in desk.screen
        await desk.press("b", "r")
        assert "travel_desk.py:travel_desk" in desk.screen
        assert "2 model calls and 2 tool calls" in desk.screen
        await desk.press("enter")
        assert "came to the cut" in desk.screen
        assert desk.screen.count("✓ hit") == 4
        await desk.press("s")
        assert any("travel_desk.replay-1.otlp.jsonl" in notice.message for notice in desk.app._notifications)
        await desk.press("s", "escape", "1", "escape", "home")
        # The whole trace: from the list, where no state is shown.
        await desk.press("escape", "enter", "r", "enter")
        assert "✓ same output as recorded" in desk.screen
        await desk.press("tab", "end")
        assert "It is temporary" in desk.screen
        await desk.press("enter")
        assert "↺" in desk.screen
        # The trace of a replay says itself how that ended.
        assert "replay 2 of 2, complete (v)" in desk.screen
        await desk.press("v", "v")
        assert "replay 1 of 2, came to its cut (v)" in desk.screen

    with StoreSession([tmp_path / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene, NARROW)
        origin = next(row for row in session.traces() if row.origin_trace_id is None)
        branches = session.branches(origin.trace_id)
        assert [row.spans for row in branches] == [7, 14]
        with pytest.raises(ReplayError, match="a file already"):
            session.keep(origin.trace_id)
    kept = sorted(path.name for path in tmp_path.glob("*.replay-*"))
    assert kept == ["travel_desk.replay-1.otlp.jsonl"], "saved once, and the other one is gone"
    with StoreSession([tmp_path]) as session:
        session.load(lambda progress: None, lambda: False)
        assert [row.spans for row in session.branches(origin.trace_id)] == [7]


def test_a_trace_of_another_framework_is_replayed_with_an_agent_rebuilt_from_it(monkeypatch):
    monkeypatch.setattr("debugger.analysis.prices._installed", lambda: "1.2.3")

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        assert "an agent rebuilt from the trace" in desk.screen
        assert "no program runs" in desk.screen
        await desk.press("m")
        said = " ".join(desk.screen.split())
        assert "tokens in and" in said
        assert "by genai-prices 1.2.3" in said
        await desk.press("m", "m", "enter")
        assert "✓ same output as recorded" in desk.screen

    with StoreSession([SAMPLES / "genai_langchain.otlp.jsonl"]) as session:
        drive(session, scene)


def test_a_fork_from_a_tool_result_is_edited_asked_about_and_shown():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "down", "down")
        assert "convert_currency" in desk.screen
        await desk.press("E")
        assert "Change something and run on" in desk.screen
        await desk.press("ctrl+a", "9", "9", "tab", "down", "up")
        assert desk.app.screen.query_one(TextArea).text.startswith("99"), (
            "what was typed is kept while others are looked at"
        )
        await desk.press("ctrl+s")
        assert "This is no JSON" in desk.screen
        assert "✎ result" in desk.screen, "a changed path is marked"
        await desk.press("ctrl+s")
        assert "A fork with 1 change" in desk.screen
        assert "✎ result" in desk.screen
        await desk.press("enter")
        assert "✎ supplied" in desk.screen
        assert "tool result" in desk.screen
        await desk.press("escape", "escape")
        assert len(desk.app.session.traces()) == 2, "the fork is a branch in the list"
        await desk.press("down", "d")
        assert "once more removes travel_desk for good" in desk.screen
        await desk.press("d")
        assert [row.origin_trace_id for row in desk.app.session.traces()] == [None], "an unsaved fork is thrown away"

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene)


def test_a_replay_of_a_sample_is_saved_outside_the_samples_and_keeps_its_service(tmp_path, monkeypatch):
    monkeypatch.setenv("RETROSPAN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with StoreSession([SAMPLES / "refund_desk.otlp.jsonl"]) as session:
        session.load(lambda progress: None, lambda: False)
        job = ReplayJob(trace_id=session.traces()[0].trace_id, rebuild=True)
        first = session.replay(job, lambda call: None, lambda: False, stop_here).trace_id
        job = replace(job, trace_id=first)
        second = session.replay(job, lambda call: None, lambda: False, stop_here).trace_id
        session.remove(first)
        kept = session.keep(second)
        assert kept == tmp_path / "refund_desk.replay-1.otlp.jsonl", "found by way of the replay that was thrown away"
        Library.open().close()
        session._kept.clear()
        assert session.keep(second).is_relative_to(tmp_path / "home"), "there is a library by now"
        assert len({row.service for row in session.traces()}) == 1


def test_a_fork_takes_every_text_that_was_changed():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "down", "E")
        await desk.press("A", "tab", "down", "down", "tab", "B", "tab", "up", "tab", "C", "backspace")
        texts = desk.app.screen.query_one(OptionList)
        signs = [str(texts.get_option_at_index(i).prompt)[:2] for i in range(3)]
        assert signs == [" ✎", "▸ ", " ✎"], "what was typed and taken back is no change"
        await desk.press("ctrl+s")
        assert "A fork with 2 changes" in desk.screen
        assert [edit.path for edit in desk.app.screen.job.edits] == ["messages[0].text", "messages[+]"]
        await desk.press("escape")
        assert len(desk.app.screen.drafts) == 2, "the question leads back to the editor, with what was typed"
        await desk.press("escape")
        assert "esc once more throws 2 changes away" in desk.screen
        await desk.press("escape", "E")
        assert desk.app.screen.drafts == {}

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene)


def test_a_fork_may_ask_for_what_the_recording_lacks():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "E", "x", "ctrl+s", "m", "m")
        assert "else you give the answer" in desk.screen
        await desk.pilot.press("enter")
        await desk.until(lambda: "What comes of this call?" in desk.screen)
        await desk.pilot.press("ctrl+a", "d", "o", "n", "e")
        await desk.press("ctrl+s")
        assert "✎ supplied" in desk.screen
        assert "came to its end" in desk.screen or "another output" in desk.screen

    with StoreSession([SAMPLES / "genai_langchain.otlp.jsonl"]) as session:
        drive(session, scene)


def test_the_screen_takes_an_agent_for_traces_that_name_none():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "r")
        assert "runs       travel_desk.py:travel_desk" in desk.screen
        assert "named by you with --agent" in desk.screen

    agent = f"{SAMPLES / 'travel_desk.py'}:travel_desk"
    with StoreSession([SAMPLES / "genai_langchain.otlp.jsonl"], agent) as session:
        drive(session, scene)


def test_the_agent_of_the_command_line_reaches_the_screen_and_a_wrong_one_is_said_at_once(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    monkeypatch.setattr(screen, "open_screen", lambda *given: opened.append(given) or 0)
    trace, agent = str(SAMPLES / "travel_desk.otlp.jsonl"), f"{SAMPLES / 'travel_desk.py'}:travel_desk"
    assert main([trace, "--agent", agent]) == 0
    assert main(["--agent", agent, trace]) == 0
    assert [given[:2] for given in opened] == [([trace], agent)] * 2
    assert main([trace, "--agent", "nowhere.py:run"]) == 2
    assert "there is no file 'nowhere.py'" in capsys.readouterr().err
    assert len(opened) == 2
