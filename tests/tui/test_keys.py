"""Keys: all of them on all screens, with and without data, and the help that lists them."""

from __future__ import annotations

import pytest
from textual.binding import Binding

from debugger.store.rows import IssueRow
from debugger.tui.keymap import _KEYS, display
from debugger.tui.screens.base import PaneScreen, own_bindings
from debugger.tui.screens.notes import HelpScreen, help_document
from debugger.tui.screens.question import QuestionScreen
from debugger.tui.screens.trace import TraceScreen
from tests.tui.driver import NARROW, WIDE, Desk, Typed, drive, key_event
from tests.tui.fake_session import FakeSession

PLACES = {
    "traces": [],
    "filter": ["slash"],
    "trace": ["enter"],
    "detail": ["enter", "tab"],
    "snapshot": ["enter", "down", "a"],
    "question": ["enter", "r"],
    "replay": ["enter", "r", "enter"],
    "result": ["enter", "r", "enter", "tab"],
    "compare": ["space", "c"],
    "help": ["question_mark"],
    "issues": ["i"],
    "lineage": ["enter", "H", "x", "enter"],
    "notebook": ["B"],
    "query": ["Q"],
    "numbers": ["number_sign"],
    "thread": ["enter", "t"],
}

WITHIN = {"filter", "detail", "snapshot", "result"}
"""Places on a screen that stands above with another one."""

SMALL = (60, 16)

LEAVING = {"q", "ctrl+q"}


def keys_of(nodes: list[object], *, aliases: bool = False) -> list[str]:
    """The key of every binding of the nodes, or all keys where one is bound to several."""
    found = [binding.key.split(",") for node in nodes for binding in own_bindings(node)]
    keys = [key for bound in found for key in (bound if aliases else bound[:1])]
    return [key for key in dict.fromkeys(keys) if key not in LEAVING]


def nodes_of(desk: Desk, place: str = "") -> list[object]:
    screen = desk.app.screen
    if place in WITHIN:
        # What belongs to the screen is pressed at its first place.
        return [node for node in screen.help_nodes() if node is not screen and node is not desk.app]
    if isinstance(screen, PaneScreen):
        return list(screen.help_nodes())
    return [screen, *screen.query("*")]


async def press_every_key(desk: Desk, place: str, *, aliases: bool = False) -> None:
    """What a key opened is closed again, and the way to the place is walked again if the key led away."""
    here, depth = desk.app.screen, len(desk.app.screen_stack)
    for key in keys_of(nodes_of(desk, place), aliases=aliases):
        await desk.press(key)
        while len(desk.app.screen_stack) > depth:
            desk.app.pop_screen()
        await desk.settle()
        if desk.app.screen is not here:
            await desk.back_to_list()
            await desk.press(*PLACES[place])
            here, depth = desk.app.screen, len(desk.app.screen_stack)
    assert desk.app.is_running


def assert_help_lists_what_is_active(desk: Desk, place: str) -> None:
    screen = desk.app.screen
    active = screen.active_bindings
    if isinstance(screen, PaneScreen):
        text = help_document(screen.help_nodes()).text
        for bound in active.values():
            assert bound.binding.tooltip, f"{bound.binding.key} explains nothing"
            assert bound.binding.tooltip in text, f"{bound.binding.key} is not in the help of {place}"
    assert {key for key in leaving(place) if active[key].binding.action.endswith("quit")} == leaving(place)


def leaving(place: str) -> set[str]:
    """In a field q is a letter."""
    return LEAVING if place not in ("filter", "query") else LEAVING - {"q"}


@pytest.mark.parametrize("place", PLACES)
def test_every_key_is_in_the_help_can_be_pressed_and_the_last_one_leaves(place):
    async def scene(desk: Desk) -> None:
        await desk.press(*PLACES[place])
        assert_help_lists_what_is_active(desk, place)
        await press_every_key(desk, place)
        await desk.back_to_list()
        await desk.press(*PLACES[place])
        await desk.pilot.press(min(leaving(place), key=len))
        await desk.until(lambda: desk.app._exit)

    session = FakeSession()
    session.issue_rows = [IssueRow(path="a.jsonl", line=7, reason="half a value")]
    drive(session, scene, NARROW)


# Without a trace the ways into one lead nowhere.
@pytest.mark.parametrize("place", ["traces", "filter", "issues"])
def test_every_key_can_be_pressed_without_data(place):
    async def scene(desk: Desk) -> None:
        await desk.press(*PLACES[place])
        await press_every_key(desk, place)

    drive(FakeSession(traces=[], spans=[]), scene, NARROW)


@pytest.mark.thorough
@pytest.mark.parametrize("place", PLACES)
def test_every_key_that_means_the_same_can_be_pressed_on_a_wide_screen(place):
    async def scene(desk: Desk) -> None:
        await desk.press(*PLACES[place])
        await press_every_key(desk, place, aliases=True)

    drive(FakeSession(), scene, WIDE)


def test_a_trace_without_spans_takes_every_key():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        assert "This trace has no spans." in desk.screen
        for key in keys_of(nodes_of(desk)):
            if key != "escape":
                await desk.press(key)
        assert desk.app.is_running

    drive(FakeSession(spans=[]), scene, WIDE)


def test_the_question_shows_its_keys_itself():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "down", "a", "r")
        assert isinstance(desk.app.screen, QuestionScreen)
        for size in (SMALL, NARROW, WIDE):
            await desk.pilot.resize_terminal(*size)
            await desk.settle()
            for words in ("w from", "m models", "o tools", "x at the cut", "⏎ start", "esc cancel", "? keys"):
                assert words in desk.screen, size
        await desk.press("question_mark")
        assert isinstance(desk.app.screen, HelpScreen)
        for binding in own_bindings(QuestionScreen):
            assert binding.tooltip in desk.app.screen.document.text
        await desk.press("escape")
        assert isinstance(desk.app.screen, QuestionScreen)

    drive(FakeSession(), scene, SMALL)


def test_the_key_line_offers_the_most_useful_keys_on_80_cells_and_none_twice():
    walk = [
        ((), ["⏎ open", "/ filter", "s sort", "i input notes"]),
        (("slash", "p"), ["⏎ keep", "esc clear"]),
        (("enter",), ["⏎ open", "/ filter"]),
        (("escape", "enter"), ["⏎ details", "b before", "a after", "r replay", "tab pane"]),
        (("tab",), ["⏎ unfold", "→ tabs", "b before", "a after", "r replay", "tab pane"]),
        (("r", "enter"), ["esc cancel / back", "⏎ open replay", "s save", "tab pane"]),
        (("tab",), ["⏎ unfold / open replay", "esc cancel / back", "s save"]),
    ]

    async def scene(desk: Desk) -> None:
        for keys, offered in walk:
            await desk.press(*keys)
            last = desk.screen.splitlines()[-1]
            always = ["f1 keys", "^q quit"] if keys == ("slash", "p") else ["? keys", "q quit"]
            for words in [*offered, *always]:
                assert words in last
            assert last.count("⏎") == 1
            assert last.count("esc") <= 1

    drive(FakeSession(), scene, NARROW)


def test_esc_is_offered_only_while_it_clears_something():
    async def scene(desk: Desk) -> None:
        assert "esc" not in desk.screen.splitlines()[-1]
        await desk.press("slash", "p", "enter")
        assert desk.screen.splitlines()[-1].count("esc") == desk.screen.count("esc clear filter") == 1
        await desk.press("escape")
        assert "esc" not in desk.screen.splitlines()[-1]
        assert desk.screen.count("29 Nov") == 4

    drive(FakeSession(), scene)


def test_the_help_begins_with_what_the_signs_mean():
    async def scene(desk: Desk) -> None:
        await desk.press("enter", "question_mark")
        assert "● agent" in "\n".join(desk.screen.splitlines()[:4])

    drive(FakeSession(), scene, SMALL)


def test_q_is_a_letter_in_the_filter_also_when_it_comes_at_once_with_the_key_that_opens_it():
    async def scene(desk: Desk) -> None:
        await desk.press(Typed("/q?"))
        assert desk.typed == "q?"
        desk.app.post_message(key_event("escape"))
        await desk.press(Typed("/travel"))
        for key in ("enter", "enter", "down"):
            desk.app.post_message(key_event(key))
        await desk.settle()
        assert isinstance(desk.app.screen, TraceScreen)
        assert "chat gpt-4o-mini" in desk.cursor

    drive(FakeSession(), scene)


def test_ids_are_unique_and_everything_is_explained():
    found = [binding for group in _KEYS.values() for binding in group]
    assert len({binding.id for binding in found}) == len(found)
    assert all(binding.id and binding.description and binding.tooltip for binding in found)


def test_no_key_means_two_things_in_one_pane():
    for group in _KEYS.values():
        keys = [key for binding in group for key in binding.key.split(",")]
        assert len(set(keys)) == len(keys)


def test_a_click_on_the_key_line_presses_the_key():
    async def scene(desk: Desk) -> None:
        x = desk.screen.splitlines()[-1].index("? keys")
        await desk.pilot.click(offset=(x, WIDE[1] - 1))
        await desk.settle()
        assert isinstance(desk.app.screen, HelpScreen)

    drive(FakeSession(), scene)


def test_clicks_choose_and_open():
    async def scene(desk: Desk) -> None:
        await desk.pilot.click("#traces", offset=(20, 2))
        await desk.settle()
        assert "poller" in desk.cursor
        await desk.pilot.click("#traces", offset=(20, 2), times=2)
        await desk.settle()
        await desk.pilot.click("#tabs", offset=(20, 0))
        await desk.settle()
        assert "[Attributes]" in desk.screen

    drive(FakeSession(), scene)


def test_keys_are_written_for_people():
    assert display("down,j") == "↓ j"
    assert display("q,ctrl+q") == "q ^q"
    assert all(isinstance(binding, Binding) for group in _KEYS.values() for binding in group)


def test_ctrl_c_again_and_again_says_how_to_leave_once():
    async def scene(desk: Desk) -> None:
        await desk.press(*["ctrl+c"] * 5)
        assert desk.app.is_running
        assert len(desk.app._notifications) == 1
        # It stands where the keys are, not over what is read, and goes with the next key.
        assert desk.screen.splitlines()[-1].startswith("▌q leaves Retrospan.")
        assert "q quit" not in desk.screen
        await desk.press("down")
        assert "q quit" in desk.screen.splitlines()[-1]
        desk.app.notify("from afar", severity="warning")
        await desk.press("down")
        assert "from afar" in desk.screen.splitlines()[-1]
        await desk.press("escape")
        assert not desk.app._notifications

    drive(FakeSession(), scene, NARROW)
