"""The order of the trace list: sorting, groups that fold, the cursor while rows arrive."""

from __future__ import annotations

from msgspec import structs

from debugger.tui.latest import Latest
from debugger.tui.screens.traces import TracesScreen
from debugger.tui.widgets.trace_list import TraceList
from tests.tui.driver import Desk, drive
from tests.tui.fake_session import FakeSession, travel_traces


def test_the_list_is_grouped_and_turned_round():
    async def scene(desk: Desk) -> None:
        await desk.press("u")
        assert "demo-agent  1 trace" in desk.screen
        assert "travel_desk" in desk.cursor, "the cursor stays on its trace"
        await desk.press("home", "enter")
        assert isinstance(desk.app.screen, TracesScreen), "a heading opens nothing"
        assert desk.cursor.startswith("▌▸ "), "it folds"
        table = desk.app.screen.query_one(TraceList)
        before = len(table.lines)
        table.show(table.traces[1:])
        await desk.settle()
        assert desk.cursor.startswith("▌▸ "), "the cursor stays on its heading when rows come or go"
        table.show(session.rows)
        await desk.press("right")
        assert len(table.lines) > before
        await desk.press("e")
        assert len(table.lines) == len(table.groups)
        await desk.press("e", "down", "space", "left")
        assert "✓ 1 marked" in desk.screen
        assert desk.cursor.startswith("▌▸ "), "the trace is in the group that was folded"
        await desk.press("space")
        assert "This is a group" in desk.screen
        await desk.press("u")
        assert "trip  3 traces" in desk.screen
        await desk.press("u", "u", "S")
        assert "started ▴" in desk.screen
        assert desk.screen.index("researcher") < desk.screen.index("poller")
        await desk.press("left")
        assert "no groups to fold" in desk.screen

    session = FakeSession()
    drive(session, scene)


def test_a_click_on_a_column_sorts_by_it_and_turns_round():
    async def scene(desk: Desk) -> None:
        heads = desk.app.screen.query_one("#columns")
        await desk.pilot.click(heads, offset=(desk.line("tokens in/out").index("took"), 0))
        await desk.settle()
        assert "took ▾" in desk.screen
        await desk.pilot.click(heads, offset=(desk.line("tokens in/out").index("took"), 0))
        await desk.settle()
        assert "took ▴" in desk.screen
        await desk.pilot.click(heads, offset=(0, 0))
        assert "took ▴" in desk.screen, "beside all columns nothing happens"

    drive(FakeSession(), scene)


def test_new_rows_above_leave_the_page_in_place():
    first = FakeSession().rows[0]
    many = [structs.replace(first, trace_id=f"{n:032x}", start_unix_nano=n) for n in range(200, 100, -1)]

    async def scene(desk: Desk) -> None:
        table = desk.app.screen.query_one(TraceList)
        await desk.press("end", "up")
        before = table.cursor - table.scroll_offset.y
        table.show([structs.replace(first, trace_id="f" * 32, start_unix_nano=999), *many])
        await desk.settle()
        assert table.selected is not None
        assert table.selected.start_unix_nano == 102
        assert table.cursor - table.scroll_offset.y == before

    drive(FakeSession(traces=many), scene)


def test_sorting_by_name():
    rows = FakeSession().rows
    session = FakeSession(traces=[structs.replace(rows[0], name="zebra"), rows[1]])

    async def scene(desk: Desk) -> None:
        await desk.press(*"sssss")
        assert desk.screen.index("poller") < desk.screen.index("zebra")

    drive(session, scene)


def test_the_end_of_a_load_brings_the_rows_by_itself(monkeypatch):
    ask = Latest.ask
    monkeypatch.setattr(Latest, "ask", lambda self, what: None if self._name == "list" else ask(self, what))

    async def scene(desk: Desk) -> None:
        assert "researcher" in desk.screen
        assert not desk.app.screen.is_reading

    drive(FakeSession(), scene)


def test_headings_stand_over_their_columns_also_beside_a_scrollbar():
    async def scene(desk: Desk) -> None:
        head, row = desk.line(" started "), desk.cursor
        assert desk.app.screen.query_one(TraceList).show_vertical_scrollbar
        assert head.index("took") + 4 == row.index(" 4.21 s") + 7
        assert head.index("cost") + 4 == row.index("$0.0042") + 7

    first = travel_traces()[0]
    rows = [structs.replace(first, trace_id=f"{n:032x}") for n in range(1, 40)]
    drive(FakeSession(traces=rows), scene, (120, 20))
