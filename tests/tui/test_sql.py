"""The SQL console through the real app: typed, completed, answered, stopped, saved, written, and followed to a span."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from textual.widgets import TextArea

from debugger.errors import QueryCancelledError
from debugger.store import Store
from debugger.store.examples import example_queries
from debugger.tui.app import RetrospanApp
from debugger.tui.query_book import BookError, QueryBook
from debugger.tui.screens.notes import NotesScreen
from debugger.tui.screens.sql import SqlScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.settings import Settings
from debugger.tui.sql_answers import SqlAnswers
from debugger.tui.store_session import StoreSession
from tests.tui.driver import NARROW, Desk, Typed, drive, key_event
from tests.tui.fake_session import FakeSession

DESK = Path(__file__).resolve().parents[2] / "sample_traces" / "travel_desk.otlp.jsonl"
ENDLESS = "select count(*) from range(1000000000000) a, range(1000000000) b"


def test_a_query_is_typed_completed_asked_and_followed_to_its_span(tmp_path):
    async def scene(desk: Desk) -> None:
        await desk.press("Q")
        screen = desk.app.screen
        assert isinstance(screen, SqlScreen)
        assert "The slowest model calls" in desk.screen
        await desk.press(Typed("from ca"), "tab")
        assert screen.edit.text == "from calls"
        screen.edit.put("select tool_name, trace_id, span_id from calls where kind = 'tool' and is_")
        await desk.press("e")
        assert "is_error" in desk.screen.splitlines()[4]
        await desk.press("tab", "enter")
        assert "1 row" in desk.screen
        assert "book_museum" in desk.cursor
        await desk.press("right", "left", "h", "space")
        assert isinstance(desk.app.screen, NotesScreen)
        assert "book_museum" in desk.screen
        await desk.press("escape", "enter")
        shown = desk.app.screen
        assert isinstance(shown, TraceScreen)
        assert "▲ book_museum ✗" in desk.cursor
        await desk.press("Q")  # Back to the console that is open, as it was.
        assert desk.app.screen is screen
        assert "book_museum" in desk.cursor
        # A mistake, with its place; the cursor goes there.
        screen.edit.put("select nme from calls")
        await desk.press("escape", "enter")
        assert "not answered" in desk.screen
        assert "^ here" in desk.screen
        assert screen.edit.place == 7
        # The queries that were asked come back, and the one that was being typed.
        await desk.press("ctrl+u", Typed("mine"), "ctrl+up", "ctrl+up")
        assert screen.edit.text.startswith("select tool_name")
        await desk.press("ctrl+down", "ctrl+down")
        assert screen.edit.text == "mine"
        # Saved under a name, found again, deleted.
        await desk.press("ctrl+s", Typed("[b]q"), "enter")
        assert "Saved as [b]q." in desk.screen
        await desk.press("ctrl+o", "home", "down")
        assert "[b]q" in desk.cursor
        await desk.press("d", "d")
        assert "[b]q" not in desk.cursor
        # Views and columns; a name goes into the query.
        await desk.press("escape", "ctrl+u", "ctrl+b", "down", "space", "enter")
        assert screen.edit.text == "calls "
        for before, after in (
            ("a", "a calls "),
            ("a,", "a, calls "),
            ("f(", "f(calls "),
            ("t.", "t.calls "),
            ('"', '"calls '),
        ):
            screen.edit.put(before)
            screen.edit.write_name("calls")
            assert screen.edit.text == after
        # A plan is a page; rows are written; a file that is there is asked about.
        screen.edit.put("explain select 1")
        await desk.press("enter")
        assert "the plan" in desk.screen
        screen.edit.put("from calls select name limit 2")
        await desk.press("f5", "ctrl+e", "enter")
        assert "2 rows written to" in desk.screen
        assert Path("result.csv").read_text(encoding="utf-8").splitlines()[0] == "name"
        await desk.press("ctrl+e")
        desk.app.screen.query_one(TextArea).load_text("result.csv")
        await desk.press("ctrl+s")
        assert "is there already" in desk.screen
        await desk.press("escape")
        # A query that would never end is stopped, and what is asked next is answered.
        screen.edit.put(ENDLESS)
        await desk.press("escape")
        desk.app.post_message(key_event("enter"))
        await desk.until(lambda: "running…" in desk.screen)
        assert "esc stop" in desk.screen
        await desk.press("ctrl+c")
        assert "stopped" in desk.screen
        assert desk.app.is_running
        screen.edit.put("select 41 + 1 as n")
        await desk.press("enter")
        assert "42" in desk.cursor
        await desk.press("escape", "escape")
        assert not isinstance(desk.app.screen, SqlScreen)

    with StoreSession([DESK]) as session:
        drive(session, scene, NARROW)


def test_the_examples_answer():
    assert len(example_queries()) == 5
    with Store.memory() as store:
        store.load([DESK])
        with store.console() as console:
            for title, text in example_queries():
                assert [row for piece in console.run(text)[1] for row in piece], title


def test_the_answers_follow_what_is_loaded_and_stop_while_they_copy(tmp_path):
    with Store.memory() as store:
        answers = SqlAnswers(lambda: ([store], ()), lambda: store.generation)
        assert answers.ask("select count(*) from calls").rows == [(0,)]
        store.load([DESK])
        assert answers.ask("select count(*) from calls").rows == [(14,)]
        assert {"calls", "traces"} <= answers.names().tables.keys()
        made = tmp_path / "rows.json"
        assert answers.write("from calls select kind", made, overwrites=False) == 14
        assert json.loads(made.read_text(encoding="utf-8"))[0].keys() == {"kind"}
        timer = threading.Timer(0.1, answers.stop)
        timer.start()
        with pytest.raises(QueryCancelledError):
            answers.write(ENDLESS, tmp_path / "none.csv", overwrites=False)
        timer.join()
        assert [path.name for path in tmp_path.iterdir()] == ["rows.json"]
        answers.close()


def test_the_book_remembers_across_runs_and_leaves_a_broken_file_alone(tmp_path):
    path = tmp_path / "new" / "queries.json"
    QueryBook(path).save("a", "select 1")
    QueryBook(path).remember("select 2")
    QueryBook(path).remember("select 3")
    found = QueryBook(path).remember("select 2")
    assert (found.saved, found.asked) == ({"a": "select 1"}, ("select 2", "select 3"))
    assert QueryBook(path).delete("a").saved == {}
    path.write_text("{", encoding="utf-8")
    with pytest.raises(BookError, match="cannot be read"):
        QueryBook(path).save("a", "select 1")
    assert path.read_text(encoding="utf-8") == "{"

    async def play() -> None:
        app = RetrospanApp(FakeSession(), clock=lambda: 0.0, settings=Settings(tmp_path / "new" / "settings.toml"))
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            desk = Desk(app, pilot)
            await desk.press("Q")
            assert any("cannot be read as saved queries" in said.message for said in app._notifications)

    asyncio.run(play())
