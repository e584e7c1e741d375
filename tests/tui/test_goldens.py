"""What the screens look like, as text."""

from __future__ import annotations

import pytest

from tests.tui.driver import NARROW, WIDE, see
from tests.tui.fake_session import FakeSession, diverged_report

FRAMES = {
    "list": ([], {}),
    "list-empty": ([], {"rows": []}),
    "trace": (["enter", "down", "down", "down", "down"], {}),
    "attributes": (["enter", "down", "2"], {}),
    "snapshot": (["enter", "down", "down", "a"], {}),
    "no-state": (["enter", "b"], {}),
    "question": (["enter", "down", "b", "r"], {}),
    "replay-same": (["enter", "r", "enter"], {}),
    "replay-diverged": (["enter", "r", "enter"], {"make_report": diverged_report}),
    "help": (["enter", "question_mark"], {}),
}


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])
@pytest.mark.parametrize("name", FRAMES)
def test_frame(name, size, golden):
    keys, changes = FRAMES[name]
    session = FakeSession()
    for attribute, value in changes.items():
        setattr(session, attribute, value)
    golden.check(f"{name}-{size[0]}x{size[1]}", see(session, keys, size))
