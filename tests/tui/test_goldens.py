"""What the screens look like, as text."""

from __future__ import annotations

import pytest

from debugger.errors import StoreError
from tests.tui.driver import NARROW, WIDE, Desk, drive, see
from tests.tui.fake_session import FakeSession, diverged_report

FRAMES = {
    "list": [],
    "trace": ["enter", "down", "down", "down", "down"],
    "attributes": ["enter", "down", "2"],
    "snapshot": ["enter", "down", "down", "a"],
    "no-state": ["enter", "b"],
    "question": ["enter", "down", "b", "r"],
    "replay-same": ["enter", "r", "enter"],
    "help": ["enter", "question_mark"],
    "compare": ["space", "c"],
    "thread": ["enter", "t"],
    "lineage": ["enter", "H", *"museum", "enter"],
    "lineage-none": ["enter", "H", *"nowhere", "enter"],
    "notebook-empty": ["B"],
    "fork": ["enter", "down", "E"],
}
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])


def golden_name(name: str, size: tuple[int, int]) -> str:
    return f"{name}-{size[0]}x{size[1]}"


@SIZES
def test_frames(size, golden):
    async def scene(desk: Desk) -> None:
        for name, keys in FRAMES.items():
            await desk.press(*keys)
            golden.check(golden_name(name, size), desk.screen)
            await desk.back_to_list()

    drive(FakeSession(), scene, size)


@SIZES
def test_an_empty_list(size, golden):
    golden.check(golden_name("list-empty", size), see(FakeSession(traces=[]), size=size))


@SIZES
def test_a_trace_without_spans_and_one_that_cannot_be_read(size, golden):
    session = FakeSession(spans=[])

    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        golden.check(golden_name("trace-empty", size), desk.screen)
        await desk.back_to_list()
        session.fail["spans"] = StoreError("the segment is damaged", hint="load the file again")
        await desk.press("enter")
        golden.check(golden_name("trace-error", size), desk.screen)

    drive(session, scene, size)


@SIZES
def test_a_replay_that_diverged(size, golden):
    session = FakeSession()
    session.make_report = diverged_report
    golden.check(golden_name("replay-diverged", size), see(session, ["enter", "r", "enter"], size))
