"""The notebook: pinned by keys from every place, kept, edited, moved, exported; and links that open a span."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from debugger.analysis.markdown import conversation_markdown, escaped, fenced, notebook_markdown, span_link
from debugger.importers import LogRecord
from debugger.store.notebook import Note, Notebook, notebook_beside
from debugger.tui.app import RetrospanApp
from debugger.tui.screens.notebook import NotebookScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.store_session import notebook_of
from tests.support.repo import ROOT
from tests.tui.driver import HANG_S, NARROW, Desk, Typed, drive
from tests.tui.fake_session import TRAVEL, FakeSession, travel_call


def test_findings_are_pinned_edited_moved_deleted_and_exported_by_keys():
    async def scene(desk: Desk) -> None:
        await desk.press("B")
        assert "Nothing is pinned yet." in desk.screen
        await desk.press("x", "d", "E", "J", "enter", "escape")
        await desk.press("enter", "m", "P")
        assert "Pinned: chat gpt-4o-mini" in desk.screen
        await desk.press("H", Typed("Lyon"), "enter", "P", "escape", "enter", "P", "B")
        screen = desk.app.screen
        assert isinstance(screen, NotebookScreen)
        assert [note.kind for note in screen.notes] == ["span", "lineage", "text"]
        await desk.press("a", Typed("mine"), "ctrl+s", "K")
        assert [note.kind for note in screen.notes] == ["span", "lineage", "note", "text"]
        await desk.press("E", "!", "ctrl+s")
        assert screen.notes[2].body == "!mine"
        await desk.press("G", "d", "d")
        assert [note.kind for note in screen.notes] == ["span", "lineage", "note"]
        await desk.press("x", "g", "enter")
        assert isinstance(desk.app.screen, TraceScreen)
        selected = desk.app.screen.timeline.selected
        assert selected is not None
        assert selected.span_id == TRAVEL[1].span_id
        written = Path("notebook.md").read_text(encoding="utf-8")
        assert f"--trace {'a' * 32} --span {TRAVEL[1].span_id}" in written

    drive(FakeSession(), scene, NARROW)


class SlowToTell(FakeSession):
    """The logs of a span, and with them its details, come when the gate opens."""

    details = threading.Event()

    def logs(self, trace_id: str, span_id: str) -> list[LogRecord]:
        assert self.details.wait(HANG_S)
        return super().logs(trace_id, span_id)


def test_what_is_pinned_belongs_to_its_span_also_while_the_pane_holds_another():
    session = SlowToTell()
    session.details.set()

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        session.details.clear()
        await desk.pilot.press("m", "P")
        await desk.until(lambda: bool(session.notebook.notes()))
        await desk.pilot.press("enter", "P")
        await desk.until(lambda: len(session.notebook.notes()) == 2)
        session.details.set()
        await desk.settle()
        whole, line = session.notebook.notes()
        assert whole.span_id == TRAVEL[1].span_id
        assert "You are the travel desk" in whole.body
        assert line.span_id == TRAVEL[0].span_id, "the pane still showed that one"

    drive(session, scene)


def test_the_command_of_a_link_opens_the_screen_at_its_span():
    async def play(start: tuple[str, str]) -> str:
        app = RetrospanApp(FakeSession(), clock=lambda: 0.0, start=start)
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            desk = Desk(app, pilot)
            await desk.settle()
            return desk.screen

    screen = asyncio.run(play(("aaaa", "0000000000000003")))
    assert next(line for line in screen.splitlines() if line.startswith("▌")).split()[1:3] == ["▲", "get_weather"]
    assert "with ffff." in asyncio.run(play(("ffff", "")))


def test_a_note_is_kept_in_a_hidden_file_beside_the_trace(tmp_path):
    book = Notebook(notebook_beside(tmp_path / "t.jsonl"))
    assert book.notes() == []
    assert not book.path.exists()
    first = book.add(Note(kind="note", title="a", body="1"))
    second = book.add(Note(kind="note", title="b", body="2"))
    book.move(second, -1)
    book.move(second, -1)
    book.edit(first, "one")
    assert [(note.title, note.body) for note in Notebook(book.path).notes()] == [("b", "2"), ("a", "one")]
    assert book.path.name.startswith(".")


def test_notes_on_the_bundled_samples_lie_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RETROSPAN_HOME", str(tmp_path / "home"))
    book = Notebook(notebook_of(ROOT / "sample_traces" / "travel_desk.otlp.jsonl"))
    book.add(Note(kind="note", title="a", body="1"))
    assert book.path.parent == tmp_path / "home"
    assert [note.title for note in Notebook(book.path).notes()] == ["a"]
    assert notebook_of(tmp_path / "t.jsonl").parent == tmp_path


def test_text_of_a_trace_is_no_markup_in_markdown():
    hostile = "\x1b[31m# no\n```\n<script>![x](http://e)</script>"
    assert "\x1b" not in fenced(hostile)
    assert fenced(hostile).startswith("````")
    assert escaped("[a](b) <i> `c`") == "\\[a\\]\\(b\\) \\<i\\> \\`c\\`"
    note = Note(kind="text", title=hostile, body=hostile, source="a b.jsonl", trace_id="t", span_id="s")
    text = notebook_markdown([note])
    assert "retrospan 'a b.jsonl' --trace t --span s" in text
    assert text.count("\n````") == 2, "one fence around the body, longer than the one within"
    assert span_link("", "t", "") == "retrospan --trace t"


def test_a_conversation_as_markdown_says_each_message_once():
    text = conversation_markdown([travel_call(row) for row in TRAVEL], "travel *desk*")
    assert text.startswith("# travel \\*desk\\*")
    assert text.count("Plan a day in Lyon") <= 2
    assert "## ▲ get\\_weather" in text
