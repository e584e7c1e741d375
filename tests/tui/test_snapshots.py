"""A few pictures, for what text cannot show: colours, both themes, the dialog."""

from __future__ import annotations

import pytest

from debugger.tui.app import RetrospanApp
from tests.tui.fake_session import FakeSession, diverged_report


def app(**changes: object) -> RetrospanApp:
    session = FakeSession()
    for name, value in changes.items():
        setattr(session, name, value)
    return RetrospanApp(session, ascii_only=False, clock=lambda: 0.0)


@pytest.mark.parametrize(
    ("keys", "size", "changes"),
    [
        pytest.param([], (120, 20), {}, id="list"),
        pytest.param(["enter", "down", "down", "down", "down"], (140, 36), {}, id="trace"),
        pytest.param(["T", "enter", "down", "a"], (140, 40), {}, id="state-light"),
        pytest.param(["enter", "r"], (100, 30), {}, id="question"),
        pytest.param(["enter", "r", "enter"], (120, 30), {"make_report": diverged_report}, id="diverged"),
    ],
)
def test_picture(snap_compare, keys, size, changes):
    async def play(pilot) -> None:
        for key in ["", *keys]:
            if key:
                await pilot.press(key)
            for _ in range(3):
                await pilot.app.workers.wait_for_complete()
                await pilot.pause()

    assert snap_compare(app(**changes), terminal_size=size, run_before=play)
