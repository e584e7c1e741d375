"""What the screens look like, as text, in every state and on a narrow and a wide screen."""

from __future__ import annotations

import threading

import pytest
from textual import events

from debugger.tui.screens.traces import TracesScreen
from debugger.tui.widgets.filter_line import FilterLine
from tests.tui.driver import NARROW, WIDE, Desk, Typed, drive
from tests.tui.fake_session import FakeSession
from tests.tui.states import FAULT, STATES, State, session
from tests.tui.test_dialogs import DIALOGS, SCREENS


async def bring(desk: Desk, state: State, was: dict[str, object]) -> None:
    """Bring the app into a state; what was changed for the one before is as it was."""
    app, made = desk.app, desk.app.session
    assert isinstance(made, FakeSession)
    if not state.stays:
        await desk.back_to_list()
        if app.screen.query_one(FilterLine).text:
            await desk.press("escape")
    for name, value in (was | dict(state.given)).items():
        setattr(made, name, value)
    made.fail = {state.fails: FAULT} if state.fails else {}
    if state.prepare is not None:
        state.prepare(desk)
    if {"rows", "issue_rows"} & state.given.keys() or state.fails == "traces" or not state.stays:
        app.screen.post_message(events.ScreenResume())
        await desk.settle()
    if state.until:
        made.gate = threading.Event()
        for key in state.keys:
            await desk.pilot.press(*(key if isinstance(key, Typed) else [key]))
        await desk.until(lambda: state.until in desk.screen)
    else:
        await desk.press(*state.keys)
        made.gate = None


WIDE_TOO = {"traces", "trace", "thread", "lineage", "compare", "notebook", "query", "numbers", "question"}
"""The screens that draw more where there is room; the others look as they do on 80 cells, in the middle."""


def sizes():
    for place in STATES:
        yield pytest.param(place, NARROW, id=f"{place}-80x24")
        marks = () if place in WIDE_TOO else pytest.mark.thorough
        yield pytest.param(place, WIDE, id=f"{place}-160x50", marks=marks)


def test_every_screen_and_dialog_is_seen_with_data_without_and_in_error():
    assert len(STATES) == len(SCREENS) + len(DIALOGS) + len(("palette",))
    assert set(STATES) > set(SCREENS)
    for place in WIDE_TOO - {"question"}:
        named = {name.rpartition("-")[2] for name in STATES[place]}
        assert named & {"empty", "none"}, place
        assert "error" in named, place


@pytest.mark.parametrize(("place", "size"), sizes())
def test_frames(place, size, golden):
    async def scene(desk: Desk) -> None:
        made = desk.app.session
        was = {name: getattr(made, name) for state in STATES[place].values() for name in state.given}
        for name, state in STATES[place].items():
            await bring(desk, state, was)
            assert not isinstance(desk.app.screen, TracesScreen) or place == "traces", name
            golden.check(f"{name}-{size[0]}x{size[1]}", desk.screen)

    drive(session(), scene, size)
