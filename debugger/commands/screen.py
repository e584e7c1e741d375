"""``retrospan PATH …``: the screen on files and folders."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from ..errors import DebuggerError


class NoTerminalError(DebuggerError):
    """The screen was asked for where there is none."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("paths", metavar="PATH", nargs="*", help="file, folder, .gz or .zip")
    parser.add_argument(
        "--agent",
        metavar="FILE.py:NAME",
        help="the agent that replays run, or MODULE:NAME; default: the one that each trace names",
    )


def run(args: Namespace) -> int:
    """Open the screen; without a path, say what to do next."""
    if not args.paths:
        sys.stderr.write(
            "retrospan: nothing to open; `retrospan FILE` opens a trace file or folder, `retrospan demo` shows "
            "bundled ones, `retrospan --help` lists the commands\n"
        )
        return 2
    if not is_terminal():
        raise NoTerminalError(
            "the screen needs a terminal, and this is none", hint="`retrospan show FILE` prints the calls as text"
        )
    for path in args.paths:
        if path != "-" and not Path(path).exists():
            raise DebuggerError(f"{path}: no such file or folder")
    if "-" in args.paths:
        raise DebuggerError("the screen reads keys from standard input, so a trace cannot come from there",
                            hint="save it to a file first")  # fmt: skip
    if args.agent:
        from ..replay.entry import named_by_user

        named_by_user(args.agent)  # Raises here and now, not at the first replay.
    return open_screen(args.paths, args.agent)


def is_terminal() -> bool:
    """True where keys can be read and a screen drawn."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_screen(paths: Sequence[str | Path], agent: str | None = None) -> int:
    """Run the app until the user leaves it; its exit code."""
    from ..tui.app import RetrospanApp
    from ..tui.store_session import StoreSession

    with StoreSession(paths, agent) as session:
        app = RetrospanApp(session)
        app.run()
        return app.return_code or 0
