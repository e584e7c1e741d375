"""Drives the app without a terminal: press, wait until nothing is left to do, look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from textual.pilot import Pilot

from debugger.tui.app import RetrospanApp
from debugger.tui.session import Session
from tests.support.frame import frame

WIDE = (160, 50)
NARROW = (80, 24)
LIMIT = 500
"""How often a condition is looked at before a test gives up."""


class Desk:
    """A running app and the hands of its user."""

    def __init__(self, app: RetrospanApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        """Wait until no worker runs and no message waits."""
        for _ in range(LIMIT):
            await self.pilot.pause()
            if not any(worker.is_running for worker in self.app.workers):
                await self.pilot.pause()
                if not any(worker.is_running for worker in self.app.workers):
                    return
            await asyncio.sleep(0.005)
        raise AssertionError("the app never came to rest")

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, each time waiting until all is done."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that a worker does while it runs."""
        for _ in range(LIMIT):
            await self.pilot.pause()
            if condition():
                await self.pilot.pause()
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"never came true; the screen shows:\n{self.screen}")

    @property
    def screen(self) -> str:
        """What the user sees."""
        return frame(self.app)

    @property
    def cursor(self) -> str:
        """The first line whose cursor stands at the left edge of the screen."""
        return next(line for line in self.screen.splitlines() if line.startswith("▌"))

    def line(self, part: str) -> str:
        """The only line of the screen that holds a text."""
        found = [line for line in self.screen.splitlines() if part in line]
        assert len(found) == 1, f"{part!r} is in {len(found)} lines of\n{self.screen}"
        return found[0]


def drive(
    session: Session,
    scene: Callable[[Desk], Awaitable[None]],
    size: tuple[int, int] = WIDE,
    *,
    settle: bool = True,
    ascii_only: bool = False,
) -> None:
    """Run the app over a session and play a scene on it."""

    async def play() -> None:
        app = RetrospanApp(session, ascii_only=ascii_only, clock=lambda: 0.0)
        async with app.run_test(size=size, notifications=True) as pilot:
            desk = Desk(app, pilot)
            if settle:
                await desk.settle()
            await scene(desk)

    asyncio.run(play())


def see(session: Session, keys: Iterable[str] = (), size: tuple[int, int] = WIDE) -> str:
    """The screen after some keys."""
    shown: list[str] = []

    async def scene(desk: Desk) -> None:
        await desk.press(*keys)
        shown.append(desk.screen)

    drive(session, scene, size)
    return shown[0]
