"""How much is drawn per key: counts, never times."""

from __future__ import annotations

import pytest

from debugger.analysis.document import Builder, Document
from debugger.tui.widgets.line_view import LineView
from debugger.tui.widgets.timeline import Timeline
from debugger.tui.widgets.trace_list import TraceList
from tests.tui.driver import NARROW, WIDE, Desk, drive
from tests.tui.fake_session import FakeSession, span_row

MANY = [span_row(1, None, "agent", "root", 0, 99_999)] + [
    span_row(n, 1 if n % 10 == 2 else n - (n - 2) % 10, "llm" if n % 3 else "tool", f"call {n}", n, n + 5)
    for n in range(2, 20_000)
]


@pytest.mark.parametrize("size", [NARROW, pytest.param(WIDE, marks=pytest.mark.thorough)], ids=["80x24", "160x50"])
def test_a_key_draws_what_changed_and_never_more_than_a_page(size):
    page = size[1] - 3

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        timeline = desk.app.screen.query_one(Timeline)
        assert timeline.rows_made <= 3 * page

        async def drawn(key: str) -> tuple[int, int]:
            painted, made = timeline.lines_painted, timeline.rows_made
            await desk.press(key)
            return timeline.lines_painted - painted, timeline.rows_made - made

        assert await drawn("down") == (2, 2)
        assert await drawn("up") <= (2, 2)
        for key in ("pagedown", "pagedown", "end", "home", "space", "e", "e", "n", "left"):
            painted, made = await drawn(key)
            assert painted <= 3 * page, key
            assert made <= page + 2, key
        await desk.press("home", "e")
        painted, made = await drawn("e")
        assert painted <= 2 * page
        assert made <= 2, "what was seen before comes back as it was"
        await desk.press("e")
        await desk.press("home", "right")
        for _ in range(page + 3):
            await desk.press("down")
        painted, made = await drawn("down")
        assert painted <= 2 * page, "a scroll draws the page"
        assert made <= 3, "but makes only the new row and the two of the cursor"

    drive(FakeSession(spans=MANY), scene, size)


def test_a_long_document_draws_only_the_page():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "end", "enter", "e")
        view = desk.app.screen.query_one(LineView)
        painted, made = view.lines_painted, view.rows_made
        await desk.press("down")
        assert view.lines_painted - painted <= 2
        assert view.rows_made - made <= 2
        out = Builder()
        out.line("said before all else")
        made = view.rows_made
        view.show(Document(blocks=(*out.document().blocks, *view.document.blocks)))
        await desk.settle()
        assert "said before all else" in desk.screen
        assert view.rows_made - made <= 3, "what only moved is not made again"

    drive(FakeSession(), scene)


def test_what_changes_behind_a_screen_draws_nothing_on_it(monkeypatch: pytest.MonkeyPatch):
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        listed, shown = desk.app.screen_stack[-2:]
        dirty: list[object] = []
        monkeypatch.setattr(shown, "refresh", lambda *regions, **_: dirty.append(regions))
        listed._dirty_widgets.add(listed.query_one(TraceList))
        listed._on_timer_update()
        assert not dirty
        monkeypatch.undo()
        await desk.press("escape")
        assert desk.app.screen is listed
        assert "travel" in desk.screen

    drive(FakeSession(), scene)
