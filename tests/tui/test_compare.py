"""Two traces compared on the screen, by keys alone."""

from __future__ import annotations

import threading
from dataclasses import replace

from debugger.tui.screens.compare import CompareScreen
from debugger.tui.widgets.drawn import OneLine
from runtime.messages import Call, Message, TextPart
from tests.tui.driver import HANG_S, NARROW, WIDE, Desk, drive
from tests.tui.fake_session import FakeSession


class TwoTraces(FakeSession):
    """The second trace has an answer of another model, with an escape and a markup tag, and lacks the last call."""

    broken = False
    read = threading.Event()

    def calls(self, trace_id: str, *_: object) -> list[Call]:
        assert self.read.wait(HANG_S)
        if self.broken:
            raise OSError("the disk is gone")
        calls = super().calls(trace_id)
        if trace_id == self.rows[0].trace_id:
            return calls
        answer = Message(role="assistant", parts=(TextPart(content="[bold]Lyon[/] \x1b[31m is wet"),))
        at = next(i for i, call in enumerate(calls) if call.kind == "llm")
        other = replace(calls[at], model="other-model", output_messages=(answer,))
        return [*calls[:at], other, *calls[at + 1 : -1]]


def test_two_marked_traces_are_compared_and_the_first_difference_is_in_view():
    async def scene(desk: Desk) -> None:
        await desk.press("space", "space", "c")
        screen = desk.app.screen
        assert isinstance(screen, CompareScreen)
        assert screen.calls.selected is not None
        assert screen.calls.selected.status == "changed"
        assert screen.calls.position == "difference 1 of 2"
        row = "".join(piece.text for piece in screen.calls.row_pieces(screen.calls.cursor, 78))
        assert row.index("◆ gpt-4o-mini") < row.index("◆ other-model"), "each side has its own name"
        assert "{+[bold]Lyon[/]" in screen.detail.document.text
        assert "\x1b" not in desk.screen
        await desk.press("n")
        assert screen.calls.selected.status == "removed"
        assert "only left" in desk.screen
        await desk.press("N", "f")
        assert screen.calls.row_total == 2
        left, right = screen.left, screen.right
        session.read.clear()
        await desk.pilot.press("s")
        await desk.until(lambda: "comparing…" in desk.screen)
        assert screen.calls.row_total == 0, "the rows of the other order are not taken for those of this one"
        session.read.set()
        await desk.settle()
        assert (screen.left, screen.right) == (right, left)
        assert screen.calls.row_total == 2
        await desk.press("enter", "escape")
        assert screen.focused is screen.calls
        await desk.press("escape")
        assert "✓" in desk.screen, "the marks are still there"

    session = TwoTraces()
    session.read.set()
    drive(session, scene, NARROW)


def test_what_cannot_be_read_or_compared_is_said():
    async def scene(desk: Desk) -> None:
        await desk.press("c")
        assert not isinstance(desk.app.screen, CompareScreen), "one trace alone cannot be compared"
        await desk.press("space", "c")
        assert "the disk is gone" in desk.screen
        await desk.press("n", "f")
        session.broken = False
        await desk.press("s")
        assert "not compared" not in desk.screen
        totals = desk.app.screen.query_one("#totals", OneLine)
        assert totals.pieces
        session.broken = True
        await desk.press("s")
        assert "not compared" in desk.screen
        assert not totals.pieces, "the numbers of the comparison before are gone with it"
        await desk.press("escape", "escape")

    session = TwoTraces()
    session.read.set()
    session.broken = True
    drive(session, scene, WIDE)
