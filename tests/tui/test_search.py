"""Searching and filtering with keys alone: what is typed, counted, gone through, shown and ended."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event

import pytest
from textual import events
from textual.events import Paste

from debugger.analysis.filter_fields import span_filter
from debugger.analysis.matches import SpanFinder, SpanPlaces
from debugger.errors import DebuggerError
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.screens.trace_search import SearchQuestion
from debugger.tui.widgets.filter_line import FilterLine
from debugger.tui.widgets.minimap import Minimap
from debugger.tui.widgets.ruler import Ruler
from tests.tui.driver import NARROW, Desk, Typed, drive, see
from tests.tui.fake_session import FakeSession, span_row


def test_a_search_is_counted_and_gone_through():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("kind:llm"))
        assert "5 matches" in desk.line("search ▸ kind:llm")
        await desk.press("enter")
        assert "1 of 5" in desk.line("search ▸")
        assert "n next match" in desk.screen.splitlines()[-1]
        await desk.press("n", "n")
        assert "3 of 5" in desk.line("search ▸")
        assert "◆ chat gpt-4.1-nano" in desk.cursor
        await desk.press("N", "N", "N")
        assert "5 of 5" in desk.line("search ▸"), "round the beginning"
        await desk.press("escape")
        assert "search ▸" not in desk.screen
        await desk.press("n")
        assert "book_museum ✗" in desk.cursor, "without a search n goes to errors"

    drive(FakeSession(), scene)


def test_a_long_search_shows_what_it_has_found_so_far():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("kind:llm"), "enter")
        screen = desk.app.screen
        assert isinstance(screen, TraceScreen)
        forest = screen.timeline.forest
        finder = SpanFinder(forest, span_filter("kind:llm"), {})
        screen._show_matches(SearchQuestion(span_filter("kind:llm"), forest), finder.so_far())
        await desk.settle()
        assert "no match yet, searching… 0 %" in desk.line("search ▸")
        rows = [(row.trace_id, row.seq, 0) for row in forest.rows[:6]]
        next(finder.look_in([rows], SpanPlaces(forest)))
        screen._show_matches(SearchQuestion(span_filter("kind:llm"), forest), finder.so_far())
        await desk.press("n")
        assert "of 2, searching… 50 %" in desk.line("search ▸"), "the keys go through them"
        await desk.press("f")
        assert "format_plan" in desk.screen, "which are the only ones is not known yet"

    drive(FakeSession(), scene)


def test_only_matches_keep_what_is_above_them():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("kind:retriever"), "enter", "f")
        for name in ("travel_desk", "guide_writer", "search city notes"):
            assert name in desk.screen
        assert "format_plan" not in desk.screen
        assert "only these" in desk.line("search ▸")
        assert "search city notes" in desk.cursor
        await desk.press("slash", Typed(" or kind:chain"), "enter")
        assert "format_plan" in desk.screen, "what is shown follows what is typed"
        assert "get_weather" not in desk.screen
        await desk.press("x")
        assert "book_museum ✗" in desk.cursor, "a jump to a hidden span shows everything again"
        assert "get_weather" in desk.screen
        await desk.press("f", "escape")
        assert "get_weather" in desk.screen
        assert isinstance(desk.app.screen, TraceScreen)

    drive(FakeSession(), scene)


def test_folding_works_among_matches_only():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("kind:llm"), "enter", "f", "home", "down", "down", "down", "space")
        assert "guide_writer" in desk.cursor
        assert "4.1-nano" not in desk.screen.split("▏")[0]
        rows = desk.app.screen.timeline.row_indices
        assert list(rows) == [0, 1, 4, 6, 11]
        await desk.press("right")
        assert list(rows) == [0, 1, 4, 6, 7, 9, 11]
        await desk.press("e")
        assert list(desk.app.screen.timeline.row_indices) == [0]
        await desk.press("e")
        assert list(desk.app.screen.timeline.row_indices) == [0, 1, 4, 6, 7, 9, 11]

    drive(FakeSession(), scene)


def test_words_are_searched_in_messages_and_values():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed('"day in lyon"'), "enter")
        assert "1 of" in desk.line("search ▸")
        await desk.press("escape", "slash", Typed("zzz"), "enter")
        assert "no match" in desk.line("search ▸")
        assert "Nothing in this trace matches." in desk.screen

    session = FakeSession()
    drive(session, scene)
    assert "search" in session.asked


def test_a_mistake_is_marked_and_said():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("kind:lmm"))
        assert "✗ kind takes one of agent, llm, tool" in desk.screen
        await desk.press("backspace", "backspace", "tab")
        assert desk.typed == "kind:llm "

    drive(FakeSession(), scene)


def test_tab_goes_through_the_candidates():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("model:"))
        assert "gpt-4o-mini" in desk.line("tab model:")
        await desk.press("tab")
        assert desk.typed == "model:gpt-4o-mini "
        await desk.press("tab")
        assert desk.typed == "model:gpt-4.1-nano "
        await desk.press("tab")
        assert desk.typed == "model:gpt-4o-mini "
        await desk.press(Typed("zzz"), "tab", Typed("y"))
        assert desk.typed == "model:gpt-4o-mini zzzy", "the field keeps the keys"
        assert "nothing to complete" not in desk.screen
        await desk.press("tab")
        assert "nothing to complete here" in desk.screen

    drive(FakeSession(), scene)


def test_an_operator_after_a_completed_key_takes_its_place():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("tok"), "tab", Typed(">5"))
        assert desk.typed == "tokens>5"
        await desk.press(*["backspace"] * 8, Typed("tok"), "tab", Typed(">=5"))
        assert desk.typed == "tokens>=5"

    drive(FakeSession(), scene)


def test_a_search_that_fails_is_said():
    session = FakeSession()
    session.fail["search"] = DebuggerError("the \x1b[31mindex is gone")
    assert "the ␛[31mindex is gone" in see(session, ["enter", "slash", "a"])


def test_hostile_text_in_a_search_is_shown():
    spans = [span_row(1, None, "agent", "a", 0, 9), span_row(2, 1, "llm", "x\x1b[31m[b]y", 1, 2, model="m\x1b[2J[x]")]

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("model:"))
        assert "␛[2J[x]" in desk.screen
        assert "\x1b" not in desk.screen
        await desk.press("tab", "enter")
        assert "\x1b" not in desk.screen

    drive(FakeSession(spans=spans), scene)


JUMPS = {
    "m": ["◆ chat gpt-4o-mini", "◆ chat gpt-4o-mini", "◆ chat gpt-4.1-nano"],
    "o": ["get_weather", "convert_currency", "book_museum"],
    "w": ["guide_writer", "travel_desk", "guide_writer"],
    "x": ["book_museum", "book_museum"],
    "z": ["1.36 s", "790 ms", "610 ms"],
}


ROUND = {("w", "travel_desk"): "No agent comes after this: on from the first of 2."}


def test_jumps():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        for key, expected in JUMPS.items():
            for name in expected:
                await desk.press(key)
                assert name in desk.cursor, key
                assert ROUND.get((key, name), "") in desk.screen
            await desk.press("home")
        await desk.press("x", "x")
        assert "This is the only span in error." in desk.screen

    drive(FakeSession(), scene, NARROW)


def test_siblings_names_and_back_and_forth():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "J", "J")
        assert "convert_currency" in desk.cursor
        await desk.press("K")
        assert "get_weather" in desk.cursor
        await desk.press("K", "y", "y")
        assert "1.36 s" in desk.cursor, "the third call of that name"
        await desk.press("Y")
        assert "610 ms" in desk.cursor
        await desk.press("u", "u")
        assert "610 ms" in desk.cursor
        await desk.press("u")
        assert "580 ms" in desk.cursor
        await desk.press("U")
        assert "610 ms" in desk.cursor
        await desk.press("home", "K")
        assert "comes before this one" in desk.screen

    drive(FakeSession(), scene)


def test_zoom_and_pan_follow_the_span():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "n")
        whole = desk.screen
        await desk.press("full_stop")
        timeline = desk.app.screen.timeline
        assert timeline.view.length < timeline.axis.length // 20
        assert "▸" in desk.line("format_plan"), "what lies outside is pointed at"
        await desk.press("minus", "greater_than_sign", "less_than_sign", "0")
        assert desk.screen == whole
        await desk.press("plus", "equals_sign")
        assert timeline.view.length == timeline.axis.length // 4

    drive(FakeSession(), scene)


def test_the_critical_path_is_drawn_and_explained():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "C")
        assert "decided how long it took" in desk.screen
        assert "░" in desk.cursor
        assert "█" not in desk.line("convert_currency").partition("100 ms")[2][:40]
        desk.app.screen._open.ask(desk.app.screen.row.trace_id)
        await desk.settle()
        assert "░" in desk.cursor, "also when the trace has gone on"
        await desk.press("C")
        assert "░" not in desk.cursor

    drive(FakeSession(), scene)


def test_the_minimap_takes_clicks_and_the_wheel():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        timeline = desk.app.screen.timeline
        await desk.pilot.click("#minimap", offset=(30, 0))
        assert timeline.view.length == timeline.axis.length // 4
        start = timeline.view.start
        drawn = "".join(piece.text for piece in desk.app.screen.query_one(Minimap).pieces)
        assert drawn.index("[") < 30 < drawn.index("]"), "the window has edges that need no colour"
        await desk.pilot.click("#minimap", offset=(60, 0))
        assert timeline.view.start > start
        await desk.press("0")
        assert timeline.view == timeline.axis
        assert not any(piece.text == "[" for piece in desk.app.screen.query_one(Minimap).pieces)
        minimap, ruler = desk.app.screen.query_one(Minimap), desk.app.screen.query_one(Ruler)
        held = [minimap.moment_at(x) for x in (20, 50)]
        await desk.pilot.mouse_down(minimap, offset=(50, 0))
        await desk.pilot.mouse_up(minimap, offset=(20, 0))
        assert [timeline.view.start, timeline.view.end] == held, "what was drawn over is shown"
        x = desk.line("call").index("took") + 20
        under = ruler.moment_at(x)
        for turn in (events.MouseScrollUp, events.MouseScrollUp, events.MouseScrollDown):
            ruler.post_message(wheel(turn, ruler, x))
        await desk.settle()
        assert timeline.view.length == pytest.approx((held[1] - held[0]) / 2, abs=4)
        assert ruler.moment_at(x) == pytest.approx(under, abs=timeline.view.length // 20), "it stays under the mouse"
        before = timeline.view
        timeline.post_message(wheel(events.MouseScrollDown, timeline, x, shift=True))
        await desk.settle()
        assert timeline.view.start > before.start
        assert timeline.view.length == before.length
        timeline.post_message(wheel(events.MouseScrollDown, timeline, x, ctrl=True))
        timeline.post_message(wheel(events.MouseScrollDown, timeline, x, ctrl=True))
        await desk.settle()
        assert timeline.view.length == pytest.approx(4 * before.length, abs=8)

    drive(FakeSession(), scene)


def wheel(kind, widget, x, **held: bool):
    keys = {"shift": False, "meta": False, "ctrl": False} | held
    return kind(widget, x=x, y=0, delta_x=0, delta_y=0, button=0, **keys)


def test_a_click_on_the_sign_before_a_span_folds_it():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        timeline = desk.app.screen.timeline
        before = len(timeline.row_indices)
        sign = desk.cursor.index("▾")
        await desk.pilot.click(timeline, offset=(sign, 0))
        assert len(timeline.row_indices) == 1
        await desk.pilot.click(timeline, offset=(sign, 0))
        assert len(timeline.row_indices) == before
        await desk.pilot.click(timeline, offset=(sign + 4, 2))
        assert (len(timeline.row_indices), timeline.cursor) == (before, 2), "elsewhere it moves the cursor"

    drive(FakeSession(), scene)


# The list of traces.


def test_the_list_is_filtered_by_keys_and_marks_mistakes():
    async def scene(desk: Desk) -> None:
        await desk.press("slash", Typed("tokens>2k"))
        assert "1 shown" in desk.screen
        assert "researcher" in desk.screen
        assert "poller" not in desk.screen
        await desk.press(Typed(" llm>x"))
        assert "llm takes a number" in desk.screen
        await desk.press("ctrl+u")
        assert desk.screen.count("29 Nov") == 4
        line = desk.app.screen.query_one(FilterLine)
        for text in ("text:", "text:trip"):  # Faster than the screen hears of it.
            line.text = text
        await desk.settle()
        assert "✗ text takes" not in desk.screen

    drive(FakeSession(), scene)


def test_a_filter_is_edited_at_its_caret():
    async def scene(desk: Desk) -> None:
        line = desk.app.screen.query_one(FilterLine)
        await desk.press("slash", Typed("pollr"), "left", Typed("e"))
        assert desk.typed == "poller"
        assert "1 shown" in desk.screen
        await desk.press("ctrl+a", "delete", "delete", Typed("日本"), "end", Typed("!"))
        assert desk.typed == "日本ller!"
        await desk.press("home")
        at = desk.app.cursor_position.x
        await desk.press("right")
        assert desk.app.cursor_position.x == at + 2, "a wide character is two cells"
        await desk.press("ctrl+k")
        assert desk.typed == "日"
        await desk.press("ctrl+e", Typed(" kind two"), "ctrl+w")
        assert desk.typed == "日 kind "
        await desk.press("ctrl+left", "ctrl+u")
        assert desk.typed == "kind "
        desk.app.screen.focused.post_message(Paste("\x1b[31mred\u202e\nsecond line"))
        await desk.settle()
        assert line.text == "\x1b[31mred\u202ekind ", "kept as it is, its first line"
        assert "filter ▸ ␛[31mred\ufffdkind" in desk.screen
        line.text = "x" * 490
        desk.app.screen.focused.post_message(Paste("y" * 100))
        await desk.settle()
        assert line.text == "x" * 490 + "y" * 10
        line.text = "source:travel"
        await desk.press("home", Typed("tok"), "tab")
        assert desk.typed == "tokens>source:travel", "what is before the caret is completed"

    drive(FakeSession(), scene)


def test_the_list_searches_what_was_recorded():
    async def scene(desk: Desk) -> None:
        await desk.press("slash", Typed("text:lyon"))
        assert "1 shown" in desk.screen
        assert "poller" not in desk.screen
        await desk.press("ctrl+u", Typed("not lyon"))
        assert "3 shown" in desk.screen
        search, begun, go_on = session.search, Event(), Event()

        def slow(texts: Iterable[str], trace_id: str | None) -> dict[str, frozenset[tuple[str, int]]]:
            begun.set()
            assert go_on.wait(60)
            return search(texts, trace_id)

        session.search = slow  # type: ignore[method-assign]
        desk.app.screen.query_one(FilterLine).text = "lyon"
        await desk.until(lambda: "0 shown, searching…" in desk.screen and begun.is_set())
        assert "Looking in everything that was recorded…" in desk.screen
        go_on.set()
        await desk.until(lambda: "1 shown" in desk.screen and "searching…" not in desk.screen)

    session = FakeSession()
    drive(session, scene)


def test_only_the_matches_stay_when_the_trace_goes_on():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "slash", Typed("kind:tool"), "enter", "f")
        screen = desk.app.screen
        assert isinstance(screen, TraceScreen)
        assert screen.timeline.shows_only_matches
        screen._open.ask(screen.row.trace_id)
        await desk.settle()
        assert screen.timeline.shows_only_matches
        await desk.press("m")
        screen._open.ask(screen.row.trace_id)
        await desk.settle()
        assert not screen.timeline.shows_only_matches, "a jump to a hidden span had shown everything"
        await desk.press("f", "f")
        screen._open.ask(screen.row.trace_id)
        await desk.settle()
        assert not screen.timeline.shows_only_matches

    drive(session, scene)
