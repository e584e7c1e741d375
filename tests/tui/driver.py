"""Drives the app without a terminal: press, wait until nothing is left to do, look."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Iterable

from textual import events
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot

from debugger.tui.app import RetrospanApp
from debugger.tui.session import Session
from debugger.tui.settings import Settings
from debugger.tui.widgets.filter_line import FilterLine
from tests.support.frame import frame

WIDE = (160, 50)
NARROW = (80, 24)
HANG_S = 120
"""After how long a test gives up: far beyond what anything takes on a machine that does ten other things."""
LIMIT = HANG_S * 100
"""How often a condition is looked at, at most every 10 ms, before a test gives up."""


class Typed(str):
    """A text for ``Desk.press`` that is typed faster than the app follows: it comes to rest after the last letter."""


class Desk:
    """A running app and the hands of its user."""

    def __init__(self, app: RetrospanApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        """Wait until no worker runs, no message waits and nothing is left to draw.

        Textual's own pilot guesses that from the processor time of the process, in steps of 20 ms and up to a second
        when other work keeps the machine busy; asked directly, the same is known at once.
        """
        async with asyncio.timeout(HANG_S):
            was_quiet = False
            while self.app.is_running and not (was_quiet and self._is_quiet()):
                was_quiet = await self._come_to_rest()

    async def _come_to_rest(self) -> bool:
        """Let everything go on until it looks done; True once every pump has said that it does nothing any more."""
        while self.app.is_running and not self._is_quiet():
            await self.app.animator.wait_until_complete()
            if not self._are_pumps_quiet():
                await asyncio.sleep(0)
            elif self._has_to_draw():
                self.app.screen._on_timer_update()
                await asyncio.sleep(0)
            else:
                await asyncio.sleep(0.002)  # A worker's thread is at work.
        # A pump that is in the middle of a message holds none.
        return await self.pilot._wait_for_screen()

    def _is_quiet(self) -> bool:
        """Whether nothing is to be done as far as can be seen from outside."""
        return (
            self._are_pumps_quiet()
            and not self._has_to_draw()
            and not any(worker.is_running for worker in self.app.workers)
        )

    def _are_pumps_quiet(self) -> bool:
        """Whether no pump holds a message or a callback."""
        pumps = [self.app, *self.app.screen.walk_children(with_self=True)]
        return all(pump._message_queue.empty() and not pump._next_callbacks for pump in pumps)

    def _has_to_draw(self) -> bool:
        """Whether something on the screen changed since it was drawn."""
        screen = self.app.screen
        return bool(
            screen._layout_required or screen._scroll_required or screen._repaint_required
            or screen._recompose_required or screen._dirty_widgets or screen._callbacks
        )  # fmt: skip

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, each time waiting until all is done."""
        for key in keys:
            for pressed in key if isinstance(key, Typed) else (key,):
                self.app.post_message(key_event(pressed))
            await self.settle()

    async def back_to_list(self) -> None:
        """From wherever the user is: leave all that was opened above the list of traces."""
        while len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        await self.settle()
        self.app.screen.set_focus(self.app.screen.query_one("#traces"))
        await self.settle()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that a worker does while it runs."""
        for _ in range(LIMIT):
            await self.pilot._wait_for_screen()
            self.app.screen._on_timer_update()
            if condition():
                await self.pilot._wait_for_screen()
                self.app.screen._on_timer_update()
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"never came true; the screen shows:\n{self.screen}")

    @property
    def screen(self) -> str:
        """What the user sees."""
        return frame(self.app)

    @property
    def typed(self) -> str:
        """What stands in the line that is typed into, which the screen shows."""
        text = next(line.text for line in self.app.screen.query(FilterLine) if line.is_typed_into)
        assert f" ▸ {text.rstrip()}" in self.screen, self.screen
        return text

    @property
    def cursor(self) -> str:
        """The first line whose cursor stands at the left edge of the screen."""
        return next(line for line in self.screen.splitlines() if line.startswith("▌"))

    def line(self, part: str) -> str:
        """The only line of the screen that holds a text."""
        found = [line for line in self.screen.splitlines() if part in line]
        assert len(found) == 1, f"{part!r} is in {len(found)} lines of\n{self.screen}"
        return found[0]


def key_event(key: str) -> events.Key:
    """What a terminal sends for a key: its name and, for a key that writes, its character."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        character = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        character = key if len(key) == 1 else None
    return events.Key(name, character)


def drive(
    session: Session,
    scene: Callable[[Desk], Awaitable[None]],
    size: tuple[int, int] = WIDE,
    *,
    settle: bool = True,
    ascii_only: bool = False,
    settings: Settings | None = None,
) -> None:
    """Run the app over a session and play a scene on it."""

    async def play() -> None:
        app = RetrospanApp(session, settings=settings, ascii_only=ascii_only, clock=lambda: 0.0)
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
