"""The command line: finds the command, runs it, turns faults into one line and an exit code.

Imports nothing but argparse until a command runs, so that ``--version`` and ``--help`` are there at once.

Exit codes: 0 done, 1 the answer is "no", 2 usage or unreadable input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Protocol, TextIO, cast

from .commands import COMMANDS, DEFAULT, Command

EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130

_CANNOT_WRITE: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


class _Module(Protocol):
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the words in one line."""

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):
            message += "; one that begins with - is given as --name=-value"
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (`{self.prog} --help` says more)\n")


class _Version(argparse.Action):
    """Reads the version when it is asked for: importlib.metadata costs more than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("retrospan")
        except PackageNotFoundError:
            number = "(not installed)"
        sys.stdout.write(f"retrospan {number}\n")
        parser.exit()


def _module(command: Command) -> _Module:
    return cast(_Module, importlib.import_module(f".commands.{command.module}", __package__))


def _sentence(help_text: str) -> str:
    """The line of a command as a sentence. Names such as OTLP stay as they are."""
    return f"{help_text[:1].upper()}{help_text[1:]}."


def build_parser(words: Sequence[str]) -> _Parser:
    """The parser for these words: all commands by name, the options only of the one that is meant."""
    parser = _Parser(
        prog="retrospan",
        description="Time-travel debugger for LLM agents: open a trace, restore any point of it, run it again.",
        usage="%(prog)s [-h] [--version] COMMAND ...\n       %(prog)s [PATH ...]",
        epilog="Without a command, `retrospan PATH …` opens files or folders on the screen, and `retrospan` alone the "
        "library. PATH may be a file, a folder, a .gz or .zip file, or - for standard input. "
        "`retrospan COMMAND --help` says more.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", prog="retrospan")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=_sentence(command.help))
        if command.name in words:
            module = _module(command)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return parser


def _parse(words: list[str]) -> argparse.Namespace:
    names = {command.name for command in COMMANDS}
    first = words[0] if words else None
    if DEFAULT is not None and first not in names and first not in ("-h", "--help", "--version"):
        parser = _Parser(prog="retrospan", description=_sentence(DEFAULT.help))
        module = _module(DEFAULT)
        module.add_arguments(parser)
        parser.set_defaults(run=module.run)
        return parser.parse_args(words)
    words, program = _split_program(words)
    parser = build_parser(words)
    args = parser.parse_args(words)
    args.program = program
    if not hasattr(args, "run"):
        parser.error("a command is needed, such as `retrospan show FILE`")
    return args


def _split_program(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The words before ``--`` and the program after it, of a command that runs one."""
    takes = any(command.takes_program and words[:1] == [command.name] for command in COMMANDS)
    if not takes or "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its escape instead of a crash.
            stream.reconfigure(errors="backslashreplace")
    try:
        args = _parse(words)
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE if stop.code else 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, which is its right. Python's own flush at exit must not complain either.
        _discard(sys.stdout)
        return 0
    except Exception as fault:
        line = _one_line(fault)
        if line is None:
            raise
        _say(line)
        return EXIT_USAGE


def _open_streams() -> None:
    """Open a closed stream on the null device: else the next file or pipe takes its number, and prints go there."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        # The lowest free number is this one, as those below are open by now.
        null = os.open(os.devnull, os.O_RDONLY if fd == 0 else os.O_WRONLY)
        setattr(sys, name, os.fdopen(null, "r" if fd == 0 else "w", encoding="utf-8"))


def _discard(stream: TextIO) -> None:
    """Send what is still to be written nowhere, Python's own flush at exit included."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        # There is no place left to complain to; the exit code still tells.
        _discard(sys.stderr)


def _one_line(fault: Exception) -> str | None:
    """The line for a fault that the user can do something about; None for one of ours, which keeps its traceback."""
    from runtime.errors import RuntimeFault

    from .errors import DebuggerError

    if isinstance(fault, OSError):
        text, hint = _system_said(fault), ""
    elif isinstance(fault, DebuggerError | RuntimeFault):
        text, hint = str(fault), fault.hint
    else:
        return None
    from .analysis.text import visible

    return f"retrospan: {visible(f'{text}; {hint}' if hint else text)}\n"


def _system_said(fault: OSError) -> str:
    """What the system refused, and where, as far as it says."""
    why = fault.strerror or str(fault) or type(fault).__name__
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)
    if fault.errno in _CANNOT_WRITE and fault.filename is None:
        return f"standard output or a temporary file cannot be written ({why})"
    if fault.filename is None:
        return f"the system refused to go on: {why}"
    return f"{os.fsdecode(fault.filename) if isinstance(fault.filename, bytes) else fault.filename}: {why.lower()}"


if __name__ == "__main__":
    sys.exit(main())
