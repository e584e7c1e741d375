"""``retrospan export-test``: a pytest test that replays a trace, with the trace beside it."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ReplayError
from ..whole_file import whole_file
from ._input import add_input, exit_code, id_word, load_input

if TYPE_CHECKING:
    from ..replay.recording import Recording
    from ..replay.redact import Redaction


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    add_input(parser)
    parser.add_argument(
        "--trace", metavar="T", type=id_word, help="the trace: its id, the first digits of it, or its name"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="the test, such as test_shop.py; running it needs pytest (pip install pytest)",
    )
    parser.add_argument(
        "--agent", metavar="FILE.py:NAME", help="the agent; default: the one the trace names, or is rebuilt from"
    )
    secrets = "take secrets or personal data out of the copy: secret, email, card, iban, phone, all, /pattern/"
    for name, metavar, what in (
        ("--tool", "NAME=FILE.py:FUNCTION", "the plain function that is a tool of the program"),
        ("--ignore", "RULE", "what may differ: dates, ids, /pattern/ or a path"),
        ("--redact", "RULE", secrets),
    ):
        parser.add_argument(name, metavar=metavar, action="append", default=[], help=what)
    parser.add_argument(
        "--together",
        action="store_true",
        help="the traces of the input are of one run of the program, and answer it as one recording",
    )
    parser.add_argument("--run-tools", action="store_true", help="agree that tools which nothing answers really run")


def run(args: Namespace) -> int:
    """Write the test and its trace."""
    from ..analysis.text import plural
    from ..replay.endpoint.ignore import ignoring
    from ..replay.export import export_trace
    from ..replay.redact import Redaction
    from .replay import recording_of, say
    from .snapshot import chosen_trace

    test: Path = args.output
    if not re.fullmatch(r"test_\w+\.py", test.name):
        raise ReplayError(f"-o {test}: pytest finds only names like test_shop.py")
    if test.exists():
        raise ReplayError(f"{test} is there already", hint="name another file, or remove it")
    redaction = Redaction.of(args.redact)
    ignoring(args.ignore)
    if args.together and (args.trace or not args.program or not args.paths):
        raise ReplayError(
            "--together is for whole files and a program", hint="name the files, and the program after --"
        )
    store, summary = load_input(args)
    with store:
        every = [row.trace_id for row in reversed(store.traces())]
        every = every if args.together else [chosen_trace(store, args.trace)]
        trace_id = every[0]
        recording = recording_of(store, trace_id, together=args.together)
        arguments = _arguments(args, recording, test.parent, redaction)
        trace = test.with_name(f"{test.stem.removeprefix('test_')}-test.otlp.jsonl")
        if trace.exists():
            raise ReplayError(f"{trace} is there already", hint="name another test, or remove it")
        spans = [span for each in every for span in store.whole_spans(each)]
        logs = {span_id: records for each in every for span_id, records in store.logs(each).items()}
        name = next((row.name for row in store.traces() if row.trace_id == trace_id), "")
        with whole_file(test) as path:  # a trace that cannot be written leaves no test either
            path.write_text(_source(trace.name, None if args.together else trace_id, name, arguments), encoding="utf-8")
            count = export_trace(trace, spans, logs, redaction)
    say(f"{test} replays {trace}" + (f"; {plural(count, 'span')} redacted" if redaction.rules else ""))
    return exit_code(args, summary)


def _arguments(args: Namespace, recording: Recording, folder: Path, redaction: Redaction) -> dict[str, object]:
    """The arguments of the fixture's ``replay``, as far as they are not its defaults."""
    from ..replay.choice import find_program
    from ..replay.entry import EntryPoint
    from ..replay.model import ReplayJob
    from ._program import say_what_will_run
    from .replay import say

    out: dict[str, object] = {}
    if args.program:
        if not args.run_tools and say_what_will_run(recording, args.program, args.tool):
            raise ReplayError("the test would run tools for real", hint="--run-tools agrees to it")
        out["command"] = [_from(word, folder) for word in args.program]
        if redaction.command(args.program) != args.program:
            say("the command holds what looks like a secret, and the test needs it: look at it before you hand it on")
        out |= {
            "tools": [_tool_from(word, folder) for word in args.tool],
            "run_tools": args.run_tools,
            "together": args.together,
            "ignore": args.ignore,
        }
    else:
        job = ReplayJob(trace_id=recording.trace_id, agent=args.agent)
        program = find_program(recording, job)
        if isinstance(program, EntryPoint):
            out["agent"] = f"{_relative(program.file, folder)}:{program.name}" if program.file else program.shown
    out["redact"] = args.redact
    return {key: value for key, value in out.items() if value}


def _from(word: str, folder: Path) -> str:
    """A word of the command as it reads from the test's folder, where it names a file that is there."""
    if not word.endswith((".py", ".js", ".mjs", ".ts")) or not Path(word).is_file():
        return word
    return _relative(Path(word), folder)


def _tool_from(word: str, folder: Path) -> str:
    """``NAME=FILE.py:FUNCTION`` with the file as it reads from the test's folder."""
    from ._program import named_function

    name, _, target = named_function(word).partition("=")
    where, _, function = target.rpartition(":")
    return f"{name}={_from(where, folder)}:{function}"


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _source(trace: str, trace_id: str | None, name: str, arguments: dict[str, object]) -> str:
    if trace_id is not None:
        arguments = {"trace_id": trace_id, **arguments}
    shown = "".join(f",\n        {key}={_literal(value)}" for key, value in arguments.items())
    function = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")[:60] or "the_trace"
    return (
        f'"""Replays {trace}: nothing is asked of a model, and what was recorded must come out again."""\n\n\n'
        f"def test_replay_of_{function}(retrospan):\n"
        f"    retrospan.replay(\n        {_literal(trace)}{shown},\n    )\n"
    )


def _literal(value: object) -> str:
    """As Python source, in ASCII: texts of a trace or a command come from outside."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    text = ascii(value)
    is_plain = isinstance(value, str) and not set(text[1:-1]) & set("\"'\\")
    return f'"{text[1:-1]}"' if is_plain else text
