"""``retrospan record``: run a program against its real endpoint and write what it asked and was told, as a trace."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..errors import ReplayError, UnwritableError
from . import _program


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage = "retrospan record [-o FILE] [options] -- COMMAND ..."
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the trace; default: NAME.otlp.jsonl in the current folder, under a name that is free",
    )
    parser.add_argument(
        "--tool",
        metavar="NAME=FILE.py:FUNCTION",
        action="append",
        default=[],
        help="the plain function that is a tool of a Python program: its calls are recorded as they happen",
    )
    _program.add_shared(parser)
    parser.add_argument("--json", action="store_true", help="say what was recorded as JSON")


def run(args: Namespace) -> int:
    """Record the program; its exit code is ours."""
    from ..analysis.text import plural
    from ..replay.program.run import record_program
    from .replay import say

    options = _program.options_of(args, None, to_stderr=args.json)
    path: Path = args.output or _free_name(options.command)
    if path.exists() and path.stat().st_size:
        raise ReplayError(f"{path} is there already", hint="name another file, or remove it")
    try:
        path.write_bytes(b"")
    except OSError as fault:
        raise UnwritableError(path, fault.strerror or str(fault)) from fault
    say(f"recording into {path}")
    try:
        end = record_program(options, path)
    except ReplayError:
        if path.is_file():  # Nothing ran: the same command, put right, shall find its name free. A device stays.
            path.unlink()
        raise
    if not end.requests:
        say("the program asked the endpoint nothing; a base URL in its code, or its own settings, may lead elsewhere")
    for asked in end.unread:
        say(f"{json.dumps(asked)} was passed on and not recorded")
    if options.redaction.rules:
        say(f"redacted: {', '.join(options.redaction.rules)}")
    if end.trace_fault:
        say(f"{path}: the trace could not be written ({end.trace_fault})")
    if end.requests:
        again = (
            f"`retrospan replay {shlex.quote(str(path))} -- ...` answers {'them' if end.requests > 1 else 'it'} again"
        )
        say(f"{plural(end.requests, 'model call')} recorded; {again}")
    if args.json:
        found = {
            "path": str(path),
            "trace_id": end.trace_id,
            "llm_calls": end.requests,
            "exit_code": end.exit_code,
            "redacted": list(options.redaction.rules),
        }
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    if end.exit_code is None:
        return 130
    return end.exit_code or int(end.trace_fault is not None)


def _free_name(command: tuple[str, ...]) -> Path:
    # A word with a dot may also be code (``-c``) or a host: only a file is a script.
    script = next((Path(word).stem for word in command[1:] if Path(word).is_file()), Path(command[0]).name)
    for number in range(1, 10_000):
        path = Path(f"{script}.otlp.jsonl" if number == 1 else f"{script}-{number}.otlp.jsonl")
        if not path.exists():
            return path
    raise ReplayError("no name is free in this folder", hint="give one with -o FILE")
