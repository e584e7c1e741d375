"""Somebody who knows nothing but ``?`` finds what people look for; the keys are taken from the help itself."""

from __future__ import annotations

import shutil

from debugger.tui.keymap import _DISPLAY
from debugger.tui.screens.notes import HelpScreen
from debugger.tui.store_session import StoreSession
from debugger.tui.widgets.line_view import LineView
from tests.tui.driver import NARROW, Desk, Typed, drive
from tests.tui.test_real_app import SAMPLES

KEYS = {shown: key for key, shown in _DISPLAY.items()}


async def look_up(desk: Desk, words: str) -> str:
    """Open the help, find a sentence in it, and close it again: the key that the sentence explains."""
    await desk.press("question_mark")
    assert isinstance(desk.app.screen, HelpScreen)
    await desk.press("slash", Typed(words), "enter")
    view = desk.app.screen.query_one(LineView)
    line = view._rows[view.cursor].line.text
    assert words in line, f"the help says nothing about {words!r}"
    await desk.press("escape", "escape")
    shown = line.split()[0]
    return KEYS.get(shown, shown)


def test_the_slowest_model_call():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        await desk.press(await look_up(desk, "slowest model call"))
        assert "◆" in desk.cursor
        assert "Number 1 of 6 model calls" in " ".join(desk.screen.split())

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene, NARROW)


def test_the_first_error():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        await desk.press(await look_up(desk, "next span in error"))
        assert "▲ book_museum ✗" in desk.cursor
        await desk.press("enter")
        assert "booking service returned 503" in desk.screen

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene, NARROW)


def test_the_message_that_introduced_a_phrase():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        await desk.press(await look_up(desk, "conversation of the whole trace"))
        await desk.press("slash", Typed("returned 503"), "enter")
        assert "1 of" in desk.line("find ▸")
        await desk.press(await look_up(desk, "at the call that this is from"))
        assert "▲ book_museum ✗" in desk.cursor, "the tool said it first, long before any model repeated it"

    with StoreSession([SAMPLES / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene, NARROW)


def test_the_memory_before_a_tool_ran():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        next_tool = await look_up(desk, "next tool call")
        before = await look_up(desk, "state just before this")
        await desk.press(next_tool, next_tool, before)
        assert "state before order_status" in desk.screen
        await desk.press("slash", Typed("memory"), "enter")
        assert '"seen": ["packed"]' in desk.screen
        assert '"looks": 1' in desk.screen

    with StoreSession([SAMPLES / "order_watch.otlp.jsonl"]) as session:
        drive(session, scene, NARROW)


def test_where_a_replay_diverges(tmp_path):
    source = (SAMPLES / "travel_desk.py").read_text(encoding="utf-8")
    (tmp_path / "travel_desk.py").write_text(source.replace("report failures honestly", "never mention failures"))
    shutil.copy(SAMPLES / "travel_desk.otlp.jsonl", tmp_path)

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        await desk.press(await look_up(desk, "Run the agent again"))
        assert "has changed since the recording" in desk.screen
        await desk.press("enter")
        assert "diverged from the recording" in desk.screen
        assert "✗ missed" in desk.screen
        assert "messages[0].parts[0].content" in desk.screen
        assert "{+never mention+}" in desk.screen
        await desk.press("enter", "x", "enter")
        assert "this request was not in the recording" in desk.app.screen.detail.document("conversation").text
        await desk.press("x")
        assert isinstance(desk.app.focused, LineView), "the jumps work where enter led to"
        await desk.press("c")
        assert "the right replay diverged, the rest was not run" in desk.screen

    with StoreSession([tmp_path / "travel_desk.otlp.jsonl"]) as session:
        drive(session, scene)
