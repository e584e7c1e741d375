"""Runs a program behind the endpoint: from the command to the report of a replay, or to a recorded trace."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from runtime.journal import ReplayRow
from runtime.messages import ErrorInfo, Outcome

from ...errors import ReplayError
from ...whole_file import whole_file
from ..compared import change_note
from ..endpoint.adapters import routes_of
from ..endpoint.door import Door
from ..endpoint.ignore import ignoring
from ..endpoint.server import Endpoint
from ..endpoint.tape import SCOPE, Tape, tape_of
from ..endpoint.trail import Trail
from ..endpoint.upstream import Upstream
from ..model import Ended, ReplayJob, ReplayReport
from ..recording import Recording
from ..redact import Redaction
from .environment import environment_for

_PATIENCE_S: Final = 5.0
_GRACE_S: Final = 2.0
"""For what a program has left running when it ended."""
_LOOK_S: Final = 0.1
_BRIEFLY_S: Final = 0.01
_NONE: Final = 0
"""The signal that is none, and only asks whether anybody would hear it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """How a program is run, beside the job of its replay."""

    command: tuple[str, ...]
    stdout: int | None = None
    """The descriptor its output goes to; None is our own standard output."""
    ignore: tuple[str, ...] = ()
    """Rules of ``endpoint.ignore``."""
    redaction: Redaction = field(default_factory=Redaction)
    endpoints: tuple[tuple[str, str], ...] = ()
    """Further variables with their real address."""
    functions: tuple[str, ...] = ()
    """``NAME=FILE.py:FUNCTION`` of plain functions that are tools of the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program ended, and what is worth telling of its requests."""

    exit_code: int | None
    """None where it was cancelled."""
    requests: int
    unread: tuple[str, ...]
    """Paths it asked for that nothing here speaks."""
    adapters: tuple[str, ...]
    """The frameworks whose tools were in the hands of adapters."""
    unused: int = 0
    """Recorded model answers that it never asked for."""
    ran: tuple[str, ...] = ()
    """Tools that really ran."""
    trace_id: str = ""
    trace_fault: str | None = None

    @property
    def error(self) -> ErrorInfo | None:
        """The end as an error; None for a plain one."""
        return ErrorInfo("exit", f"exit code {self.exit_code}") if self.exit_code else None


def replay_program(
    recording: Recording,
    job: ReplayJob,
    options: ProgramOptions,
    trace_file: Path | None,
    *,
    on_call: Callable[[ReplayRow], None] = lambda row: None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[ReplayReport, ProgramEnd]:
    """Run the program with its models, and as far as adapters reach its tools, answered from the recording.

    Raises:
        RestoreError: the cut cannot be restored.
        ReplayError: the program cannot be started, or a rule is none.
        UnwritableError: the trace of the replay cannot be written.
    """
    masks, redacts = ignoring(options.ignore), options.redaction

    def left_out(request: Any) -> Any:
        request = redacts.request(request)
        return masks(request) if masks else request

    rows: dict[str, ReplayRow] = {}

    def on_row(row: ReplayRow) -> None:
        rows[row.call_id] = row
        on_call(row)

    tape = tape_of(recording, job, left_out=left_out if masks or redacts.rules else None, on_row=on_row)
    origin = {"trace_id": job.trace_id, "span_id": job.span_id, "anchor": job.anchor if job.span_id else None}
    command = redacts.command(options.command)
    given = {"command": command, "mode": job.mode, "tools": job.tools, "ignore": list(options.ignore)}
    live = "live" in (job.mode, job.tools)
    adapters = {
        "tools": "answer",
        "functions": list(options.functions),
        "block": not live,
    }
    upstream = Upstream.of_environment(dict(options.endpoints)) if job.mode == "live" else None
    with whole_file(trace_file) if trace_file is not None else nullcontext() as unfinished:
        door = Door(_trail(options, unfinished, given, origin, job.name), tape)
        end = _run(door, upstream, job.mode, options, adapters, cancelled)
        if end.trace_fault and unfinished is not None and unfinished.is_file():
            unfinished.unlink()  # half a trace is none
    return _report(recording, job, options, trace_file, door, end, tuple(rows.values())), end


def record_program(options: ProgramOptions, trace_file: Path) -> ProgramEnd:
    """Run the program against its real endpoint and write what it asked and was told.

    Raises: ReplayError: the program cannot be started.
    """
    redacts = options.redaction
    given = {"command": redacts.command(options.command), "redacted": list(redacts.rules)}
    trail = _trail(options, trace_file, given, None)
    adapters = {"tools": "tell", "functions": list(options.functions), "block": False}
    return _run(Door(trail), Upstream.of_environment(dict(options.endpoints)), "live", options, adapters)


def _trail(options: ProgramOptions, path: Path | None, given: Any, origin: Any, run_name: str | None = None) -> Trail:
    name = Path(options.command[0]).name or options.command[0]
    script = next((Path(word).name for word in options.command[1:] if word.endswith((".py", ".js", ".mjs", ".ts"))), "")
    try:
        return Trail(path, name=run_name or script or name, input=given, origin=origin, redaction=options.redaction)
    except OSError as fault:
        raise ReplayError(f"{path}: cannot be written ({fault.strerror})") from fault


def _run(
    door: Door,
    upstream: Upstream | None,
    mode: Any,
    options: ProgramOptions,
    adapters: Any,
    cancelled: Callable[[], bool] | None = None,
) -> ProgramEnd:
    told = routes_of(door)
    with Endpoint(door, upstream=upstream, mode=mode, extras=told.routes, desk=told.desk) as endpoint:
        env = environment_for(endpoint, strict=mode == "strict", adapters=adapters, endpoints=dict(options.endpoints))
        exit_code = _wait(options, env, cancelled)
    error = ErrorInfo("exit", f"exit code {exit_code}") if exit_code else None
    ended = None if door.tape is None else _ended(door.tape, exit_code)
    if exit_code is None:
        outcome = Outcome(status="aborted")
    elif error is not None:
        outcome = Outcome(status="error", error=error)
    else:
        outcome = Outcome(status="ok", output=door.last_text)
    door.trail.close(outcome, ended)
    session = door.tape.session if door.tape else None
    return ProgramEnd(
        exit_code=exit_code,
        requests=door.requests,
        unread=tuple(door.unread),
        adapters=tuple(sorted(told.frameworks)),
        unused=len(session.unused(SCOPE, "prompt")) if session else 0,
        ran=tuple(sorted({row.name for row in (session.rows if session else ()) if _has_run(row)})),
        trace_id=door.trail.trace_id,
        trace_fault=door.trail.fault,
    )


def _has_run(row: ReplayRow) -> bool:
    return row.kind == "tool" and row.status in ("live", "error")


def _wait(options: ProgramOptions, env: dict[str, str], cancelled: Callable[[], bool] | None) -> int | None:
    """Start the program and wait for its end; its exit code, or None where the user broke off."""
    # One of several must not wait for the terminal.
    stdin = None if cancelled is None else subprocess.DEVNULL
    # A group of its own ends with all that the program started; but only the terminal's own group may read from it.
    group = None if stdin is None and sys.stdin is not None and sys.stdin.isatty() else 0
    with _interrupt_held() as let_go:
        try:
            process = subprocess.Popen(
                options.command, env=env, stdin=stdin, stdout=options.stdout, process_group=group
            )
        except (OSError, ValueError) as fault:
            why = getattr(fault, "strerror", None) or str(fault)
            raise ReplayError(f"{options.command[0]!r} cannot be started ({why.lower()})") from fault
        return _wait_for(process, group, cancelled, let_go)


def _wait_for(
    process: subprocess.Popen[bytes],
    group: int | None,
    cancelled: Callable[[], bool] | None,
    let_go: Callable[[], None],
) -> int | None:
    with _ended_with_us(process):
        try:
            let_go()
            code = process.wait() if cancelled is None else _wait_or_cancel(process, cancelled)
        except KeyboardInterrupt:
            # The terminal has told its own group as well; the program may take a moment to clean up.
            if group is not None:
                _signal_group(process, signal.SIGINT)
            with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
            _end(process, group is not None)
            return None
        except BaseException:
            _end(process, group is not None)
            raise
    if group is not None:
        _end_what_is_left(process)
    return 128 - code if code < 0 else code


@contextmanager
def _interrupt_held() -> Iterator[Callable[[], None]]:
    """Keep an interrupt back until the function that is given is called.

    One that came while the program starts would go up before anybody knows what to end: the program would be left.
    """
    before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(before):  # in other threads nothing is interrupted, and what is ignored stays so
        yield lambda: None
        return
    came: list[int] = []

    def let_go() -> None:
        signal.signal(signal.SIGINT, before)
        if came:
            came.clear()
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield let_go
    finally:
        let_go()


def _wait_or_cancel(process: subprocess.Popen[bytes], cancelled: Callable[[], bool]) -> int:
    while True:
        try:
            return process.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            if cancelled():
                raise KeyboardInterrupt from None


def _end(process: subprocess.Popen[bytes], is_group: bool) -> None:
    """End the program if it still runs and, where it has a group of its own, what it started."""
    for urge in (process.terminate, process.kill):
        if process.poll() is None:
            urge()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
    if is_group:
        _signal_group(process, signal.SIGKILL)


def _end_what_is_left(process: subprocess.Popen[bytes]) -> None:
    """End what a program that has ended left running: its endpoint is gone, and nobody would ever end it."""
    until = time.monotonic() + _GRACE_S
    urge: int = signal.SIGTERM
    while _signal_group(process, urge):
        if time.monotonic() > until:
            _signal_group(process, signal.SIGKILL)
            return
        urge = _NONE
        time.sleep(_BRIEFLY_S)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> bool:
    """Signal a program's group; whether there is anything left of it."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # all of it has ended; macOS forbids to signal what nobody waits for
        return False
    return True


@contextmanager
def _ended_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While inside, SIGTERM to us ends the program first."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:
        yield  # not the main thread: signals are somebody else's business
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _report(
    recording: Recording,
    job: ReplayJob,
    options: ProgramOptions,
    trace_file: Path | None,
    door: Door,
    end: ProgramEnd,
    rows: tuple[ReplayRow, ...],
) -> ReplayReport:
    tape = door.tape
    assert tape is not None, "a replay has a recording"
    session = tape.session
    ended = _ended(tape, end.exit_code)
    spent = [outcome.usage.cost_nano_usd for outcome in session.answered]
    known = [cost for cost in spent if cost is not None]
    recorded_error = _recorded_error(recording)
    error = end.error if ended == "failed" else None
    return ReplayReport(
        job=job,
        trace_id=end.trace_id,
        trace_path=None if end.trace_fault else trace_file,
        trace_fault=end.trace_fault,
        ended=ended,
        same_output=_same(recording, tape, door, end, ended),
        output=door.last_text,
        recorded_output=tape.last_text,
        error=f"{error.type}: {error.message}" if error else None,
        recorded_error=f"{recorded_error.type}: {recorded_error.message}" if recorded_error else None,
        calls=rows,
        first_divergence=session.divergence,
        saved_nano_usd=sum(known) if known else None,
        saved_ns=sum(outcome.duration_ns or 0 for outcome in session.answered),
        fidelity="inferred" if session.inferred else "exact",
        program=shlex.join(options.command),
        notes=(
            *tape.comparison.notes(),
            *change_note(session.parameters.values(), is_divergence=job.compare_parameters),
        ),
        live=tuple(door.live),
    )


def _ended(tape: Tape, exit_code: int | None) -> Ended:
    if exit_code is None:
        return "cancelled"
    return tape.session.stopped or ("failed" if exit_code else "done")


def _recorded_error(recording: Recording) -> ErrorInfo | None:
    return recording.run.error if recording.run else None


def _same(recording: Recording, tape: Tape, door: Door, end: ProgramEnd, ended: Ended) -> bool | None:
    """Whether the program came to the recorded last answer, and where it is known to the recorded exit."""
    if ended not in ("done", "failed") or not tape.models:
        return None
    was, now = tape.last_error, door.last_error
    same = (tape.last_text, was and was.message) == (door.last_text, now and now.message)
    recorded = _recorded_error(recording)
    if recorded is not None or recording.run is not None or ended == "failed":
        return same and recorded == end.error
    return same
