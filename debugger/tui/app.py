"""The app: holds the session and the themes, pushes screens, and nothing else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import events
from textual.binding import BindingType
from textual.command import Provider
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen

from ..analysis.text import plural, visible
from ..errors import UnwritableError
from .keymap import bindings, key_of
from .keys_in_turn import KeysInTurn
from .palette import KeyCommands
from .query_book import QueryBook
from .screens.base import PaneScreen
from .screens.editor import EditorScreen
from .screens.notebook import NotebookScreen
from .screens.notes import HelpScreen
from .screens.question import QuestionScreen
from .screens.replay import ReplayScreen
from .screens.sql import SqlScreen
from .screens.traces import TracesScreen
from .session import Session
from .settings import Settings
from .theme import DARK, LIGHT, fallback_variables
from .widgets.drawn import LOOKS, HasAscii
from .without_color import WithoutColor

_WITHOUT_COLOR: Final = WithoutColor()
"""One for all: what a line is without colours is kept by the filter that took them away."""

_READ_S: Final = 2.0
"""A warning may come from work in the background, between two keys of somebody who types on."""


class RetrospanApp(HasAscii, KeysInTurn, inherit_bindings=False):
    """Retrospan's screen.

    Args:
        session: everything behind the screen.
        settings: theme and keys; None takes the defaults and remembers nothing.
        ascii_only: draw our own signs in ASCII; None decides by the encoding of the terminal.
        start: the trace to open once all is loaded, by the beginning of its id, and the span to go to.
        clock: seconds, for the rate of a load.
    """

    TITLE = "Retrospan"
    CSS_PATH = "styles.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    COMPONENT_CLASSES: ClassVar[set[str]] = set(LOOKS)
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {KeyCommands}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    NOTIFICATION_TIMEOUT = 8

    def __init__(
        self,
        session: Session,
        *,
        settings: Settings | None = None,
        ascii_only: bool | None = None,
        start: tuple[str, str] = ("", ""),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.session = session
        self.ascii_only = not _can_encode_signs() if ascii_only is None else ascii_only
        self._clock = clock
        self._start = start
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self._told_unsaved: set[str] = set()
        """Replays that the user is leaving behind knowingly."""
        self._settings = settings or Settings()
        self.keys = self._settings.keys
        self.set_keymap(dict(self.keys))
        self.theme = DARK.name if self._settings.theme == "dark" else LIGHT.name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our variables, for themes that do not have them."""
        return fallback_variables(dark=self.current_theme.dark)

    def get_driver_class(self) -> type[Driver]:
        """What draws and reads keys: on a terminal of a POSIX system one that stands it when that is closed."""
        found = super().get_driver_class()
        if sys.platform == "win32" or found.__name__ != "LinuxDriver":  # Another system, or a page of `retrospan web`.
            return found
        from .terminal import TerminalDriver

        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What a line goes through on its way to the terminal: our colours are true ones, to be sent as they are."""
        return (_WITHOUT_COLOR,) if self.no_color else ()

    def on_mount(self) -> None:
        """Show the list of traces, and what was wrong with the settings."""
        self.push_screen(TracesScreen(self.session, self._clock, self._start))
        for problem in self._settings.problems:
            self.notify(visible(problem), severity="warning", markup=False, timeout=12)

    async def on_event(self, event: events.Event) -> None:
        """A notice goes with the next key; a warning only once it could be read, or with escape."""
        if isinstance(event, events.Key):
            read_before = time.time() - _READ_S
            for notice in list(self._notifications):
                is_news = notice.severity != "information" and notice.raised_at > read_before
                if event.key == "escape" or not is_news:
                    self._unnotify(notice)
        await super().on_event(event)

    def on_unmount(self) -> None:
        """The user leaves: nobody waits for what is still asked."""
        self.session.stop()

    def action_help(self) -> None:
        """Explain the keys of the screen."""
        screen = self.screen
        if isinstance(screen, HelpScreen):
            screen.action_help()
        elif isinstance(screen, PaneScreen | QuestionScreen | EditorScreen):
            self.push_screen(HelpScreen(screen.help_nodes()))

    def action_notebook(self) -> None:
        """Open the notebook."""
        if isinstance(self.screen, PaneScreen):
            self.push_screen(NotebookScreen(self.session.notebook, self._go_to))

    def action_sql(self) -> None:
        """Open the SQL console, or go back to the one that is open."""
        if not isinstance(self.screen, PaneScreen) or isinstance(self.screen, SqlScreen):
            return
        console = next((screen for screen in self.screen_stack if isinstance(screen, SqlScreen)), None)
        if console is not None:
            self._back_to(console)
        else:
            path = None if self._settings.path is None else self._settings.path.with_name("queries.json")
            self.push_screen(SqlScreen(self.session, QueryBook(path), self._open_above, self._clock))

    @property
    def _listed(self) -> TracesScreen:
        return next(screen for screen in self.screen_stack if isinstance(screen, TracesScreen))

    def _open_above(self, trace_id: str, span_id: str) -> bool:
        """Show a span of a trace that is listed, above the present screen; False where it is not."""
        return self._listed.open_trace(trace_id, span_id)

    def _go_to(self, trace_id: str, span_id: str) -> bool:
        """Leave the page for a span of a trace; False where the trace is not listed."""
        listed = self._listed
        if not listed.lists(trace_id):
            return False
        if self._back_to(listed):
            listed.open_trace(trace_id, span_id)
        return True

    def _back_to(self, wanted: Screen[None]) -> bool:
        """Leave all that lies above a screen; False, and a notice, where a replay runs there: leaving it cancels it."""
        above = self.screen_stack[self.screen_stack.index(wanted) + 1 :]
        if any(isinstance(screen, ReplayScreen) and not screen.has_ended for screen in above):
            cancels = key_of("replay.cancel", self.keys)
            said = f"A replay still runs, and leaving its page would end it; {cancels} there cancels it."
            self.notify(said, severity="warning", markup=False)
            return False
        while self.screen is not wanted:
            self.pop_screen()
        return True

    def action_toggle_dark(self) -> None:
        """The other theme, also the next time."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name
        try:
            self._settings.remember_theme("dark" if self.current_theme.dark else "light")
        except UnwritableError as fault:
            self.notify(visible(f"The theme is not kept: {fault}"), severity="warning", markup=False)

    async def action_quit(self) -> None:
        """Leave; where replays would go as well that nobody saved, only when asked once more."""
        lists = [screen for screen in self.screen_stack if isinstance(screen, TracesScreen)]
        unsaved = {trace_id for screen in lists for trace_id in screen.temporary()}
        if unsaved <= self._told_unsaved:
            await super().action_quit()
            return
        self._told_unsaved = unsaved
        save, leave = key_of("trace.save", self.keys), key_of("app.quit", self.keys)
        many = plural(len(unsaved), "replay")
        self.notify(
            f"{many} not saved: {save} on a replay saves it. {leave} once more leaves, without saving.", markup=False
        )

    def action_interrupt(self) -> None:
        """Many people press Ctrl+C to leave; in a terminal program it is too easily pressed by mistake."""
        # Whoever presses it again and again is told once, not until the screen is full.
        self.clear_notifications()
        self.notify(f"{key_of('app.quit', self.keys)} leaves Retrospan.", markup=False)


def _can_encode_signs() -> bool:
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    try:
        "●◆▲■█▏⏎".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
