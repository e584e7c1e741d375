"""``retrospan replay TRACE -- COMMAND``: the arguments for a program, and what is said before and after it ran."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DebuggerError, ReplayError
from ._input import exit_code, keep_input, load_input

if TYPE_CHECKING:
    from ..replay.model import ReplayJob, ReplayReport
    from ..replay.program.run import ProgramEnd, ProgramOptions
    from ..replay.recording import Recording
    from ..store import Store

_MOST_TOOLS = 8


def add_program(parser: ArgumentParser) -> None:
    """The arguments that only a program needs."""
    group = parser.add_argument_group(
        "programs", "`retrospan replay TRACE -- COMMAND` runs any program with its models answered from the trace."
    )
    group.add_argument(
        "--ignore",
        metavar="RULE",
        action="append",
        default=[],
        help="leave parts of requests out of the comparison: dates, ids, /pattern/ or a path such as messages[0]",
    )
    group.add_argument(
        "--tool",
        metavar="NAME=FILE.py:FUNCTION",
        action="append",
        default=[],
        help="the plain function that is a tool of a Python program: its calls are answered as well. For a rebuilt "
        "agent: what does the tool's work, a function or NAME=!COMMAND",
    )
    group.add_argument(
        "--together",
        action="store_true",
        help="the traces of the input are of one run of the program, and answer it as one recording",
    )
    group.add_argument("--run-tools", action="store_true", help="agree that tools which nothing answers really run")
    add_shared(group)


def add_shared(parser: object) -> None:
    """What programs of a replay and of a recording share."""
    assert hasattr(parser, "add_argument")
    parser.add_argument(
        "--endpoint",
        metavar="VARIABLE=URL",
        action="append",
        default=[],
        help="a further environment variable that holds the address of a model endpoint",
    )
    parser.add_argument(
        "--redact",
        metavar="RULE",
        action="append",
        default=[],
        help="take secrets or personal data out of what is written: secret, email, card, iban, phone, all, /pattern/",
    )


def replay(args: Namespace) -> int:
    """Run the program of the words after ``--``, once for each trace."""
    from . import _many
    from .replay import text_of_report

    if args.agent or args.input or args.rebuild or args.set or args.edit:
        raise ReplayError("a program is run as it is; --agent, --input, --rebuild, --set and --edit are for agents")
    if "ask" in (args.mode, args.tools):
        raise ReplayError("a program cannot wait for an answer to be typed; --mode and --tools are strict or live here")
    store, summary = load_input(args)
    with store:
        keep_input(args, store)
        chosen = _chosen(store, args)
        if len(chosen) == 1:
            report, extra = _replay(store, args, chosen[0])
            reports = [report]
        else:
            extra = {}
            for trace_id in chosen:
                _prepare(store, args, trace_id)
            reports = _many.replay_many(chosen, partial(_one_of_many, store, args), args)
        rows = store.traces()
    text = _many.written(args, chosen, reports, rows, text_of_report, extra)
    # Where one program ran, standard output is the program's.
    (sys.stdout if args.json or len(chosen) > 1 else sys.stderr).write(text)
    if any(report.ended == "cancelled" for report in reports):
        raise KeyboardInterrupt
    return _many.exit_code_of(args, chosen, reports) or exit_code(args, summary)


def _chosen(store: Store, args: Namespace) -> list[str]:
    """The traces that the program is run for; of one run, the first stands for all.

    Raises: DebuggerError: there is none, or a choice is needed or contradicts ``--together``.
    """
    from .replay import chosen_traces, say

    if not args.together:
        chosen = chosen_traces(store, args)
        if len(chosen) > 1:
            say(f"the program is run for each of {len(chosen)} traces; --together takes them as one run of it")
        return chosen
    if args.trace or args.span or not args.paths:
        raise ReplayError("--together is for whole files", hint="name the files, without --trace and --span")
    return [store.traces()[-1].trace_id]


def _prepare(store: Store, args: Namespace, trace_id: str) -> tuple[Recording, ReplayJob, ProgramOptions]:
    """All that can be wrong before the start, and what has to be agreed on."""
    from ..replay.model import ReplayJob
    from .replay import recording_of

    recording = recording_of(store, trace_id, together=args.together)
    job = ReplayJob(
        trace_id=trace_id,
        span_id=store.resolve_span(trace_id, args.span) if args.span else None,
        anchor=args.anchor,
        mode=args.mode,
        tools=args.tools or "strict",
        rest_recorded=args.rest == "recorded",
        compare_parameters=args.compare_parameters,
        output=args.output,
        name=args.name,
    )
    options = options_of(args, recording, to_stderr=args.json)
    if not args.run_tools:
        _agree_on_tools(recording, job, options)
    return recording, job, options


def _replay(store: Store, args: Namespace, trace_id: str) -> tuple[ReplayReport, dict[str, object]]:
    """The only trace: its report, and what the JSON has beside it."""
    from ..replay.program.run import replay_program
    from .replay import progress, say

    recording, job, options = _prepare(store, args, trace_id)
    say(f"replaying trace {trace_id[:12]} with {_shown(options)}")
    report, end = replay_program(recording, job, options, args.output, on_call=progress())
    _say_after(report, end, options)
    extra: dict[str, object] = {"exit_code": end.exit_code, "unused": end.unused, "ran": list(end.ran)}
    return report, extra | {"ignored": list(options.ignore), "redacted": list(options.redaction.rules)}


def _one_of_many(store: Store, args: Namespace, trace_id: str, cancelled: Callable[[], bool]) -> ReplayReport:
    from runtime.errors import RuntimeFault

    from ..replay.program.run import replay_program
    from .replay import failed_report

    try:
        agreed = Namespace(**{**vars(args), "run_tools": True})
        recording, job, options = _prepare(store, agreed, trace_id)
        # What several programs print side by side is no output of ours.
        return replay_program(recording, job, replace(options, stdout=2), None, cancelled=cancelled)[0]
    except (DebuggerError, RuntimeFault) as fault:
        return failed_report(args, trace_id, f"{fault}; {fault.hint}" if fault.hint else str(fault))


def options_of(args: Namespace, recording: Recording | None, *, to_stderr: bool) -> ProgramOptions:
    """The options of the words.

    Raises: DebuggerError: there is no command, or a rule is none.
    """
    from ..replay.program.environment import named_endpoints
    from ..replay.program.run import ProgramOptions
    from ..replay.redact import RULES, Redaction

    if not args.program:
        raise ReplayError("after -- a command is needed", hint="such as `-- python agent.py`")
    redacted = list(args.redact)
    if recording is not None and recording.run is not None and isinstance(recording.run.input, dict):
        # Its answers are redacted, and come back with the program's next request. Patterns of a trace are not trusted.
        told = recording.run.input.get("redacted")
        redacted = [rule for rule in (told if isinstance(told, list) else []) if rule in RULES] + redacted
    return ProgramOptions(
        command=tuple(args.program),
        stdout=2 if to_stderr else None,
        ignore=tuple(getattr(args, "ignore", ())),
        redaction=Redaction.of(redacted),
        endpoints=tuple(named_endpoints(args.endpoint).items()),
        functions=tuple(map(named_function, args.tool)),
    )


def named_function(word: str) -> str:
    """A word of ``--tool``, as it is.

    Raises: ReplayError: it names no function.
    """
    from ..replay.program.javascript import ENDINGS

    name, _, target = word.partition("=")
    where, _, function = target.rpartition(":")
    if not (name and where and function.isidentifier()) or (
        where.endswith((".py", *ENDINGS)) and not Path(where).is_file()
    ):
        raise ReplayError(
            f"--tool {word!r} names no function of the program",
            hint="write NAME=FILE:FUNCTION with a file (.py, .js, .mjs, .ts) that is there, or NAME=MODULE:FUNCTION",
        )
    return word


def say_what_will_run(recording: Recording, command: Sequence[str], functions: Sequence[str]) -> bool:
    """Tell which tools of a program will really run, and what to add against it; whether there are any."""
    from ..replay.program.tools import foresee
    from .replay import say

    found = foresee(recording.calls, command, functions)
    if not found.open:
        return False
    more = len(found.open) - _MOST_TOOLS
    names = ", ".join(found.open[:_MOST_TOOLS]) + (f" and {more} more" if more > 0 else "")
    say(f"{found.why}: {names} will really run when the program calls {'it' if len(found.open) == 1 else 'them'}")
    for word in found.suggested:
        say(f"to answer it from the recording, add: --tool {word}")
    return True


def _agree_on_tools(recording: Recording, job: ReplayJob, options: ProgramOptions) -> None:
    """Tell which tools will really run, and go on only when the user agrees.

    Raises: ReplayError: nobody agreed.
    """
    if not say_what_will_run(recording, options.command, options.functions) or job.tools == "live":
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ReplayError("tools would really run, and nobody was asked", hint="--run-tools agrees to it")
    sys.stderr.write("retrospan: run them? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise DebuggerError("not started")


def _say_after(report: ReplayReport, end: ProgramEnd, options: ProgramOptions) -> None:
    from .replay import say

    if options.ignore:
        say(f"left out of the comparison: {', '.join(options.ignore)}")
    if options.redaction.rules:
        say(f"redacted: {', '.join(options.redaction.rules)}")
    if end.adapters:
        say(f"tools answered by adapters of: {', '.join(end.adapters)}")
    if end.ran:
        say(f"tools that really ran: {', '.join(end.ran)}")
    if not end.requests:
        say("the program asked the endpoint nothing; a base URL in its code, or its own settings, may lead elsewhere")
    elif end.unused and report.ended == "done":
        say(f"{end.unused} recorded model answers were never asked for")
    for path in end.unread:
        say(f"the program asked for {json.dumps(path)}, which no recording answers")
    if report.trace_fault and report.job.output:
        say(f"{report.job.output}: the replay's own trace could not be written ({report.trace_fault})")


def _shown(options: ProgramOptions) -> str:
    import shlex

    return shlex.join(options.command)
