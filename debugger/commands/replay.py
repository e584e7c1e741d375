"""``retrospan replay``: run a trace's agent again, with its model and tools answered from the recording."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import DebuggerError, NothingToReplayError, ReplayError
from ..scratch import ScratchFolder
from . import _many, _program
from ._ask import terminal_prompt
from ._input import add_input, exit_code, id_word, keep_input, load_input
from .snapshot import SeveralTracesError, add_cut

if TYPE_CHECKING:
    from runtime.journal import ReplayRow

    from ..replay.model import Edit, Mode, ReplayJob, ReplayReport
    from ..replay.process import Children
    from ..replay.recording import Recording
    from ..store import Store


class _Among(NamedTuple):
    """What the replays of several traces share."""

    children: Children
    cancelled: Callable[[], bool]


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    add_input(parser)
    add_cut(parser)
    parser.add_argument(
        "--agent", metavar="FILE.py:NAME", help="the agent to run, or MODULE:NAME; default: the one the trace names"
    )
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="run the agent that the trace implies, rebuilt from it alone; default where no program is found",
    )
    parser.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="fork: change what is asked or answered from the cut on, such as system='Be brief.' or model=gpt-5",
    )
    parser.add_argument(
        "--edit", metavar="FILE", type=Path, help="fork: edits from a JSON file, an object of paths and values"
    )
    parser.add_argument(
        "--inputs",
        choices=("keep", "drop"),
        default="keep",
        help="later messages of the user, for a rebuilt agent that takes another way than recorded (default: keep)",
    )
    parser.add_argument(
        "--mode",
        choices=("strict", "live", "ask"),
        default="strict",
        help="model requests that the recording cannot answer: stop, ask the real model, or ask you (default: strict)",
    )
    parser.add_argument(
        "--tools",
        choices=("strict", "live", "ask"),
        default=None,
        help="tool calls that the recording cannot answer: stop, run the tool, or ask you (default: strict; live for "
        "tools that --tool names)",
    )
    parser.add_argument(
        "--input",
        metavar="JSON",
        help="keyword arguments for the agent, as a JSON object; default: those of the recorded run",
    )
    parser.add_argument("--yes", action="store_true", help="agree to what a live replay may cost, unasked")
    parser.add_argument(
        "--compare-parameters",
        action="store_true",
        help="a sampling parameter that was recorded with another value is a divergence; default: it is told",
    )
    parser.add_argument("--rest", choices=("recorded",), help="answer on past the cut from the whole recording")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="keep the replay's own trace there")
    parser.add_argument(
        "--name", metavar="NAME", type=id_word, help="what the branch is called; default: as the recorded run"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    _program.add_program(parser)
    _many.add_many(parser)


def run(args: Namespace) -> int:
    """Replay the chosen trace, or each trace of the input; exit 1 when one of them did not come out the same."""
    from ..replay.process import Children

    if args.program is not None:
        return _program.replay(args)
    if args.ignore:
        from ..replay.endpoint.ignore import ignoring

        ignoring(args.ignore)
        say("--ignore has no effect here: it is for a program, named after --, whose requests are compared")
    store, summary = load_input(args)
    with store:
        keep_input(args, store)
        chosen = chosen_traces(store, args)
        if len(chosen) == 1:
            reports = [_replay(store, args, chosen[0])]
        else:
            if args.mode == "live":
                _agree_on_cost(f" There are {len(chosen)} traces; `--trace` with one of them estimates it.", args)
            with Children() as children:
                one = partial(_replay_or_say_why, store, args, children)
                reports = _many.replay_many(chosen, one, args)
        rows = store.traces()
    sys.stdout.write(_many.written(args, chosen, reports, rows, text_of_report))
    return _many.exit_code_of(args, chosen, reports) or exit_code(args, summary)


def _replay_or_say_why(
    store: Store, args: Namespace, children: Children, trace_id: str, cancelled: Callable[[], bool]
) -> ReplayReport:
    """One of several: what cannot be replayed is reported, and the others go on."""
    from runtime.errors import RuntimeFault

    try:
        return _replay(store, args, trace_id, _Among(children, cancelled))
    except NothingToReplayError as fault:
        return replace(_unstarted(args, trace_id, str(fault)), ended="nothing")
    except (DebuggerError, RuntimeFault) as fault:
        why = f"{fault}; {fault.hint}" if fault.hint else str(fault)
        return failed_report(args, trace_id, why)


def failed_report(args: Namespace, trace_id: str, why: str) -> ReplayReport:
    """The report of a replay that could not be started; says so."""
    say(f"trace {trace_id[:12]}: {why}")
    return _unstarted(args, trace_id, why)


def _unstarted(args: Namespace, trace_id: str, why: str) -> ReplayReport:
    from ..replay.model import ReplayJob, ReplayReport

    return ReplayReport(
        job=ReplayJob(trace_id=trace_id, mode=args.mode, tools=tools_mode(args)),
        trace_id=None,
        trace_path=None,
        ended="failed",
        same_output=None,
        output=None,
        recorded_output=None,
        error=why,
    )


def chosen_traces(store: Store, args: Namespace) -> list[str]:
    """The traces to replay. A cut or an output file is of one trace, so they need a choice where there are several."""
    if args.trace is not None:
        return [store.resolve_trace(args.trace)]
    found = [row.trace_id for row in reversed(store.traces())]
    if not found:
        raise DebuggerError("the library is empty", hint="`retrospan load FILE` brings a trace in")
    if len(found) > 1 and (args.span or args.output or args.set or args.edit or args.name or not args.paths):
        raise SeveralTracesError(found)
    return found


def recording_of(store: Store, trace_id: str, *, together: bool = False) -> Recording:
    """The trace as a cassette; together with all others of the store where they are of one run."""
    from ..replay.recording import Recording

    sources = [Path(row.source) for row in store.traces() if row.trace_id == trace_id and row.source != "-"]
    traces = [row.trace_id for row in reversed(store.traces())] if together else [trace_id]
    calls = [call for each in traces for call in store.calls(each)]
    service = next((row.service for row in store.traces() if row.trace_id == trace_id), None)
    return Recording(trace_id, calls, sources, service)


_AS_INPUT: Final = """write it as in --input '{"city": "Lyon"}', with the names of the agent's parameters"""


def _input(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        given = json.loads(text)
    except ValueError as fault:
        raise ReplayError(f"--input is not JSON: {fault}", hint=_AS_INPUT) from fault
    except RecursionError as fault:
        raise ReplayError("--input: the JSON is nested too deep") from fault
    if not isinstance(given, dict):
        raise ReplayError("--input is not a JSON object", hint=_AS_INPUT)
    return given


def _replay(store: Store, args: Namespace, trace_id: str, among: _Among | None = None) -> ReplayReport:
    """Replay one trace; ``among`` is given where it is one of several, whose progress is shown together."""
    from ..replay.model import ReplayJob
    from ..replay.run import run_replay, stop_here

    recording = recording_of(store, trace_id)
    job = ReplayJob(
        trace_id=trace_id,
        span_id=store.resolve_span(trace_id, args.span) if args.span else None,
        anchor=args.anchor,
        agent=args.agent,
        input=_input(args.input),
        mode=args.mode,
        tools=tools_mode(args),
        rest_recorded=args.rest == "recorded",
        compare_parameters=args.compare_parameters,
        output=args.output,
        name=args.name,
        rebuild=args.rebuild,
        keep_inputs=args.inputs == "keep",
        edits=_edits(args),
        named_tools=_named_tools(args),
    )
    if "ask" in (job.mode, job.tools) and among is not None:
        raise ReplayError("ask mode is for one trace", hint="choose one with --trace")
    on_ask = terminal_prompt() if "ask" in (job.mode, job.tools) else stop_here
    if among is None:
        _say_what_runs(recording, job)
    if job.mode == "live":
        _demand_sdks(recording, job)
        if among is None:
            _agree_on_cost(_estimate(recording, job), args)
    with ScratchFolder() as folder:
        file = job.output or folder.path / "replay.otlp.jsonl"
        if among is not None:
            return run_replay(recording, job, file, cancelled=among.cancelled, children=among.children)
        report = run_replay(recording, job, file, on_call=progress(), on_ask=on_ask)
    for line in report.printed:
        say(f"the agent printed: {line}")
    for line in report.traceback:
        say(f"the agent failed: {line}")
    if job.output and report.trace_fault:
        say(f"{job.output}: the replay's own trace could not be written ({report.trace_fault})")
    return report


def tools_mode(args: Namespace) -> Mode:
    """What tools may do; to name one with ``--tool`` is to let it run."""
    mode: Mode = args.tools or ("live" if args.tool and args.program is None else "strict")
    return mode


def _named_tools(args: Namespace) -> dict[str, str]:
    """What ``--tool NAME=FILE.py:FUNCTION`` or ``NAME=!COMMAND`` names.

    Raises: ReplayError: it is neither, or the file is not there.
    """
    out: dict[str, str] = {}
    for text in args.tool:
        name, equals, target = text.partition("=")
        file, colon, function = target.rpartition(":")
        is_function = bool(colon) and function.isidentifier() and Path(file).is_file()
        if not equals or not name or not (target.startswith("!") or is_function):
            raise ReplayError(
                f"--tool {text!r} names no tool with what implements it",
                hint="write NAME=FILE.py:FUNCTION with a file that is there, or NAME=!COMMAND",
            )
        out[name] = target
    if out and args.agent:
        raise ReplayError("--tool is for agents rebuilt from a trace; a program brings its own tools")
    return out


def _edits(args: Namespace) -> tuple[Edit, ...]:
    """The edits of ``--edit`` and ``--set``, those of ``--set`` last."""
    from ..replay.edits import read_edits, read_set

    edits: tuple[Edit, ...] = ()
    if args.edit is not None:
        try:
            edits = read_edits(args.edit.read_text("utf-8"), str(args.edit))
        except (OSError, UnicodeDecodeError) as fault:
            raise ReplayError(f"{args.edit}: cannot be read ({getattr(fault, 'strerror', 'not UTF-8')})") from fault
    return (*edits, *map(read_set, args.set))


def _say_what_runs(recording: Recording, job: ReplayJob) -> None:
    from ..replay.choice import find_program, shown
    from ..replay.entry import EntryPoint

    program = find_program(recording, job)
    text = f"replaying trace {job.trace_id[:12]} with {shown(program)}"
    if not isinstance(program, EntryPoint):
        say(text)
        for note in program.notes:
            say(note)
        return
    say(text + (f" from {program.file.parent}" if program.file else ""))
    if recording.run and not job.agent and recording.run.entry_digest not in (None, program.digest()):
        say(f"{program.shown.partition(':')[0]} has changed since the recording")


def _demand_sdks(recording: Recording, job: ReplayJob) -> None:
    """Raises ReplayError: the package is not installed by which a rebuilt agent would ask the trace's model."""
    from ..replay.choice import find_program
    from ..replay.plan import lacking_sdks

    if (fault := lacking_sdks(recording, job, find_program(recording, job))) is not None:
        raise fault


def _estimate(recording: Recording, job: ReplayJob) -> str:
    """What the real model calls may use, and cost by the price list where the recording tells no cost."""
    from ..analysis.prices import price_of
    from ..replay.plan import calls_after, estimate_of

    return estimate_of(recording, job) + price_of(calls_after(recording, job))


def _agree_on_cost(estimate: str, args: Namespace) -> None:
    """Tell what real model calls may use, and on a terminal go on only when the user agrees.

    Where there is no terminal, ``--mode live`` itself is the consent.

    Raises: DebuggerError: the user does not agree.
    """
    say(f"a live replay asks the real model for what the recording does not answer.{estimate}")
    if args.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    sys.stderr.write("retrospan: start it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise DebuggerError("not started")


def progress() -> Callable[[ReplayRow], None]:
    """A line on the terminal that counts the calls of the replay; nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        return lambda row: None
    from ..analysis.text import plural

    settled = 0

    def count(row: ReplayRow) -> None:
        nonlocal settled
        settled += row.status != "running"
        sys.stderr.write(f"\r\x1b[Kreplaying: {plural(settled, 'call')}\r")
        sys.stderr.flush()

    return count


def say(text: str) -> None:
    """One line for the user, beside the data."""
    from ..analysis.text import visible

    sys.stderr.write(f"retrospan: {visible(text)}\n")


def text_of_report(report: ReplayReport) -> str:
    """The report as text."""
    from ..analysis.prices import live_cost
    from ..analysis.replay_view import result_document
    from ..analysis.text import cost

    # What the agent printed has been said on standard error, and a trace cannot be opened from here by a key.
    text = result_document(replace(report, printed=(), trace_id=None)).text + "\n"
    computed = live_cost(report.live) if report.live else None
    if computed is not None:
        text += f"the live calls cost {cost(computed.nano_usd)} by {computed.prices} for {computed.price_date}\n"
    return text + (f"the replay's own trace: {report.job.output}\n" if report.trace_path and report.job.output else "")
