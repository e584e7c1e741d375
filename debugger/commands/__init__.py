"""The commands of ``retrospan``, one module each.

A command module is cheap to import and has ``add_arguments(parser)`` and ``run(args) -> exit code``; what is heavy is
imported inside ``run``. Adding a command is adding a module and a line in ``COMMANDS``.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Command(NamedTuple):
    """A line of the table."""

    name: str
    module: str
    """Name of the module in this package."""
    help: str
    takes_program: bool = False
    """Words after ``--`` are a program to run, not input."""


COMMANDS: Final[tuple[Command, ...]] = (
    Command("demo", "demo", "open the bundled sample traces"),
    Command("load", "load", "load files or folders into the library"),
    Command("list", "list_traces", "list the traces in files or folders, or in the library"),
    Command("show", "show", "show the calls of the traces as a tree"),
    Command("snapshot", "snapshot", "rebuild the state of the agents before or after a span"),
    Command("replay", "replay", "run the agent of a trace again, answered from the recording", takes_program=True),
    Command("diff", "diff", "say what differs between two traces, or between two snapshots"),
    Command("sql", "sql", "ask the spans of files or of the library in SQL, read-only"),
    Command("export-test", "export_test", "write a test that replays a trace; pytest runs it", takes_program=True),
    Command("record", "record", "run a program and record what it asks of its models", takes_program=True),
    Command("listen", "listen", "receive traces from running programs (OTLP) into the library"),
    Command("web", "web", "open the screen in a browser, on files or on the library"),
    Command("library", "library", "say what the library holds, remove traces from it, rebuild it"),
)
"""In the order of ``--help``."""

DEFAULT: Command | None = Command("", "screen", "open files or folders on the screen, or the library")
"""What runs when the first word is no command: it gets all the words."""
