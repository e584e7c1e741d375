"""``retrospan PATH …``: the screen on files and folders; without a path on the library."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import DebuggerError
from ._input import add_library, id_word, open_library, path_word
from ._signals import ENDING, exit_code_of, hearing

if TYPE_CHECKING:
    from textual.app import App

    from ..store import Library

_LOOK_S: Final = 1.0
_GRACE_S: Final = 5.0


class NoTerminalError(DebuggerError):
    """The screen was asked for where there is none."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("paths", metavar="PATH", nargs="*", type=path_word, help="file, folder, .gz or .zip")
    add_library(parser)
    parser.add_argument("--trace", metavar="ID", type=id_word, help="open this trace; the first digits of its id do")
    parser.add_argument("--span", metavar="ID", type=id_word, help="and go to this span of it")
    parser.add_argument(
        "--agent",
        metavar="FILE.py:NAME",
        help="the agent that replays run, or MODULE:NAME; default: the one that each trace names",
    )


def run(args: Namespace) -> int:
    """Open the screen on the paths, or on the library."""
    check(args)
    if not is_terminal() and not is_served():
        raise NoTerminalError(
            "the screen needs a terminal, and this is none", hint="`retrospan show FILE` prints the calls as text"
        )
    start = ((args.trace or "").lower(), (args.span or "").lower())
    return open_screen(args.paths, args.agent, None if args.paths else open_library(args), start)


def check(args: Namespace) -> None:
    """Say what is wrong with the words before a screen opens.

    Raises: DebuggerError.
    """
    missing = next((path for path in args.paths if path != "-" and not Path(path).exists()), None)
    if missing is not None:
        raise DebuggerError(f"{missing}: no such file or folder", hint=_meant(missing))
    if args.paths and args.library:
        raise DebuggerError("PATH and --library say two things to open", hint="name one of them")
    if "-" in args.paths:
        raise DebuggerError("the screen reads keys from standard input, so a trace cannot come from there",
                            hint="save it to a file first")  # fmt: skip
    if args.agent:
        from ..replay.entry import named_by_user

        named_by_user(args.agent)  # Raises here and now, not at the first replay.
    if args.span and not args.trace:
        raise DebuggerError("--span needs the trace that it is in", hint="name it with --trace")


def _meant(word: str) -> str:
    """A command that the word may have been meant for."""
    from difflib import get_close_matches

    from . import COMMANDS

    near = get_close_matches(word, [command.name for command in COMMANDS], n=1)
    return f"did you mean `retrospan {near[0]}`?" if near else ""


def is_terminal() -> bool:
    """True where keys can be read and a screen drawn.

    Textual draws on standard error, so that has to be the terminal as well.
    """
    stands = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
    # One that moves no cursor would show the screen as a flood of escape sequences.
    return stands and os.environ.get("TERM") != "dumb"


def is_served() -> bool:
    """True in a process of ``retrospan web``, which draws for a browser through its pipes."""
    return os.environ.get("TEXTUAL_DRIVER", "").endswith("web_driver:WebDriver")


def _end_with(server: int) -> None:
    """A page's process ends when the server was killed: nobody sees it any more, and its pipes do not say so."""
    while os.getppid() == server:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)  # It did not leave by itself: it draws, or waits for who has gone.


def open_screen(
    paths: Sequence[str | Path],
    agent: str | None = None,
    library: Library | None = None,
    start: tuple[str, str] = ("", ""),
) -> int:
    """Run the app until the user leaves it; its exit code."""
    import asyncio

    from ..tui.app import RetrospanApp
    from ..tui.settings import read_settings, settings_path
    from ..tui.store_session import StoreSession

    if is_served():
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    leaving = _Leaving()
    with hearing(leaving.hear, ENDING), StoreSession(paths, agent, library) as session:
        app = RetrospanApp(session, settings=read_settings(settings_path()), start=start)
        asyncio.run(leaving.run(app))
    return (app.return_code or 0) if leaving.heard is None else exit_code_of(leaving.heard)


class _Leaving:
    """Ends the app for a signal as the user would, so that the terminal is put back, and asks nothing."""

    def __init__(self) -> None:
        self.heard: int | None = None
        self._leave: Callable[[], object] | None = None

    def hear(self, number: int) -> None:
        """A signal has come. Raises SystemExit where the app does not run yet."""
        self.heard = number
        if self._leave is None:
            raise SystemExit(exit_code_of(number))
        self._leave()

    async def run(self, app: App[None]) -> None:
        """Run the app until it is left."""
        from asyncio import get_running_loop

        loop = get_running_loop()

        def leave() -> None:
            # Once the app has been left, it is on its way anyway.
            if loop.is_running():
                loop.call_soon_threadsafe(app.exit)

        self._leave = leave
        await app.run_async()
