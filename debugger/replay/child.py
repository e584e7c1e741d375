"""The child process of a replay: loads the user's agent, runs it against the recording, tells the parent each step.

Runs isolated (``-I``), so nothing of the user's can reach the screen's process: prints, ``sys.exit``, blocking calls,
tracer providers. Reads one job as a JSON line from a private descriptor, writes JSON lines to another; a further line
from the parent, or its end, means cancel. After a job that runs no code of the user's it may wait for another. Imports
nothing heavy of the debugger.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import logging
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from runtime.agents import Agent, Run
from runtime.agents._revive import type_name_of
from runtime.errors import ReplayStop
from runtime.journal import Edits, Question, ReplayPolicy, ReplayRow, ReplaySession, Supplied, ToolMode
from runtime.messages import ErrorInfo, json_safe
from runtime.snapshot import snapshot_from_json
from runtime.trace import ModelTurnEnd, TraceEvent

BLOCKED_EVENTS = frozenset(
    f"socket.{name}"
    for name in (
        "bind",
        "connect",
        "getaddrinfo",
        "gethostbyaddr",
        "gethostbyname",
        "getnameinfo",
        "sendmsg",
        "sendto",
    )
)

PROGRAM_EVENTS = frozenset(("os.exec", "os.posix_spawn", "os.startfile", "os.system", "subprocess.Popen"))
"""What Python tells an audit hook before it starts a program; ``os.spawn*`` is a fork and ``os.exec``."""

CANCEL = "cancel\n"
_MOST_TRACEBACK = 200
"""Lines of a traceback that are told, half of them from its beginning."""
_LONGEST_LINE = 2000
_LOOK_S = 1.0
"""How often a child looks whether its parent is still there."""


class NetworkBlockedError(ConnectionError):
    """A strict replay has no network."""


class ProgramBlockedError(PermissionError):
    """A strict replay starts no programs."""


@cache
def block_the_world() -> None:
    """Refuse what Python's sockets do towards the outside, and the start of programs. Cannot be undone in this process.

    Only the first call does anything.

    Holds for all code that goes through the modules ``socket``, ``subprocess`` and ``os``, and in processes that are
    forked; not for C code that calls the system itself (also through ``ctypes``), nor for interpreters that
    ``multiprocessing`` starts anew.
    """

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event in BLOCKED_EVENTS:
            raise NetworkBlockedError("a strict replay has no network; use live mode for real calls")
        if event in PROGRAM_EVENTS:
            raise ProgramBlockedError("a strict replay starts no programs; start them in tools, or use live mode")

    sys.addaudithook(refuse)


def load_function(job: dict[str, Any]) -> Callable[..., Any]:
    """The agent or async function that the job names.

    Raises: whatever the user's module raises on import; AttributeError where it lacks the name; TypeError where that is
        no agent and no async function, or where only the trace names it and it was not written in this file.
    """
    if job["script"] is not None:
        from .reconstruct.run import rebuilt_agent

        return rebuilt_agent(job)
    folder = job["folder"]
    if folder not in sys.path:
        # Appended, so that no file of the user's can stand in for a module of ours or of the standard library.
        sys.path.append(folder)
    if job["file"] is None:
        module = importlib.import_module(job["module"])
    else:
        path = Path(job["file"])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path.name} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        # Under its own name, as dataclasses and pydantic look their annotations up there.
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    found = getattr(module, job["name"], None)
    if not callable(found):
        raise AttributeError(f"{job['file'] or job['module']} has no agent or function {job['name']!r}")
    if not _can_be_awaited(found):
        raise TypeError(f"{job['name']!r} is no agent and no async function")
    bare = found.fn if isinstance(found, Agent) else found
    if job["named_by_trace"] and getattr(bare, "__module__", None) != module.__name__:
        # A trace comes from outside, its input too: it must not get at what the file only imports.
        raise TypeError(f"{job['name']!r} is only imported there; a trace can name what is written in the file itself")
    function: Callable[..., Any] = found
    return function


def _can_be_awaited(found: Callable[..., Any]) -> bool:
    if isinstance(found, Agent):
        return True
    asked = (found, getattr(found, "__call__", None), inspect.unwrap(found))  # noqa: B004 - asked for its kind
    return any(map(inspect.iscoroutinefunction, asked))


class Line:
    """The way to the user, for calls that the recording cannot answer: the parent asks, and says what was said."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self._waiting: dict[int, asyncio.Future[Supplied]] = {}
        self._ids = itertools.count(1)

    async def supply(self, question: Question) -> Supplied:
        """Ask, and wait for the answer."""
        number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._tell({"type": "ask", "id": number, "question": asdict(question)})
        try:
            said = await self._waiting[number]
        finally:
            del self._waiting[number]
        is_message = isinstance(said.value, dict) and "parts" in said.value
        if question.kind == "llm" and said.kind == "result" and not is_message:
            shown = said.value if isinstance(said.value, str) else json.dumps(said.value, ensure_ascii=False)
            text = {"type": "text", "content": shown}
            return Supplied(kind="result", value={"role": "assistant", "parts": [text]})
        return said

    def take(self, text: str, loop: asyncio.AbstractEventLoop) -> bool:
        """A line from the parent; False for one that is no answer, and so means the end."""
        try:
            message = json.loads(text)
            said = message["said"]
            error = ErrorInfo(**said["error"]) if said["error"] else None
            answer = Supplied(kind=said["kind"], value=said["value"], error=error)
        except (ValueError, KeyError, TypeError):
            return False
        waiting = self._waiting.get(message["answer"])
        if waiting is not None:
            loop.call_soon_threadsafe(_settle, waiting, answer)
        return True


def _settle(waiting: asyncio.Future[Supplied], answer: Supplied) -> None:
    if not waiting.done():
        waiting.set_result(answer)


class _TraceFault(logging.Filter):
    """Keeps the runtime's note that the trace could not be written: it is news for the report, not for the log."""

    def __init__(self) -> None:
        super().__init__()
        self.why: str | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        error = getattr(record, "fault", None) or (record.exc_info[1] if record.exc_info else None)
        if not isinstance(error, OSError):
            return True
        self.why = self.why or error.strerror or type(error).__name__
        return False


@contextmanager
def _trace_fault() -> Iterator[_TraceFault]:
    fault = _TraceFault()
    loggers = [logging.getLogger(name) for name in ("runtime.trace._emitter", "runtime.agents._run")]
    for logger in loggers:
        logger.addFilter(fault)
    try:
        yield fault
    finally:
        for logger in loggers:
            logger.removeFilter(fault)


def _way_of(error: BaseException) -> list[str]:
    """The traceback, line by line, in bounded size: a message can be megabytes long, a recursion endless."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    if len(lines) > _MOST_TRACEBACK:
        half = _MOST_TRACEBACK // 2
        lines = [*lines[:half], f"[{len(lines) - 2 * half} lines left out here]", *lines[-half:]]
    return [line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…" for line in lines]


class Orders:
    """The lines from the parent. A thread reads them while a job runs; the one that it has read too far is kept."""

    def __init__(self, commands: TextIO) -> None:
        self._commands = commands
        self._is_read_ahead = False
        self._ahead: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._over = threading.Event()

    def next_job(self) -> str:
        """The next job as text, blocking until there is one; empty at the end of the pipe."""
        if self._is_read_ahead:
            self._is_read_ahead = False
            return self._ahead.get()
        return self._commands.readline()

    def watch(self, take: Callable[[str], bool], cancel: Callable[[], None]) -> None:
        """Read on in a thread: what is taken is an answer, and anything else, or the end of the pipe, means cancel."""
        self._over = over = threading.Event()
        self._is_read_ahead = True
        threading.Thread(target=self._read, args=(take, cancel, over), daemon=True).start()

    def job_is_over(self) -> None:
        """To be called before the parent is told so: then the next line is a job."""
        self._over.set()

    def _read(self, take: Callable[[str], bool], cancel: Callable[[], None], over: threading.Event) -> None:
        text = ""
        try:
            while (text := self._commands.readline()) and not over.is_set() and take(text):
                pass
        except (OSError, ValueError):
            text = ""  # the agent has closed the descriptor; the parent has other ways to end it
        else:
            if not over.is_set():
                cancel()
        self._ahead.put(text)


async def replay(
    job: dict[str, Any], function: Callable[..., Any], tell: Callable[[dict[str, Any]], None], orders: Orders
) -> dict[str, Any]:
    """Run the job; the closing message."""
    recording = snapshot_from_json(job["recording"])
    cut = snapshot_from_json(job["cut"]) if job["cut"] is not None else None

    line = Line(tell)
    # Of a rebuilt agent's tools only those can run for real that the user named; a new call of another stops it.
    tools: ToolMode = "safe" if job["script"] is not None and job["tools"] == "live" else job["tools"]

    def on_row(row: ReplayRow) -> None:
        tell({"type": "row", "row": asdict(row)})

    session = ReplaySession(
        {call_id: frame.journal for call_id, frame in recording.frames.items()},
        cut=None if cut is None else [frame.journal for frame in cut.frames.values()],
        policy=ReplayPolicy(
            models=job["mode"],
            tools=tools,
            reuse_exhausted=False,
            compare_parameters=job["compare_parameters"],
        ),
        open_ended=job["open_ended"],
        on_row=on_row,
        edits=Edits.from_json(job["edits"]),
        supply=line.supply,
    )
    run = Run(
        session=session,
        snapshot=recording,
        memory_from="start",
        enable_snapshot=True,
        trace_file=job["trace_file"],
        name=job["run_name"],
        service=job["service"],
        origin=job["origin"],
    )
    task = asyncio.ensure_future(run.execute(function, job["input"]))
    loop = asyncio.get_running_loop()
    # What a stopped replay leaves behind in the agent's own tasks is no news.
    loop.set_exception_handler(lambda loop, c: None if session.stopped else loop.default_exception_handler(c))
    cancelled = threading.Event()

    def cancel() -> None:
        cancelled.set()
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(task.cancel)

    orders.watch(lambda text: line.take(text, loop), cancel)
    end: dict[str, Any] = {"type": "end", "ended": "done", "output": None, "error": None}
    with _trace_fault() as trace_fault:
        try:
            end["output"] = json_safe(await task)[0]
            if job["script"] is None:
                # A rebuilt agent leaves out by its making what it cannot make again, and says so in its notes.
                session.finish()
        except ReplayStop as stop:
            end["ended"] = stop.reason
        except BaseException as error:  # noqa: BLE001 - the border to the user's code: reported, not lost
            end["ended"] = "cancelled" if cancelled.is_set() else "failed"
            end["error"] = type_name_of(error).to_json()
            end["traceback"] = _way_of(error)
    if session.stopped:
        # An agent may swallow the stop; what it then returns is no result.
        end |= {"ended": session.stopped, "output": None, "error": None}
    spent = [outcome.usage.cost_nano_usd for outcome in session.answered]
    return end | {
        "trace_id": run.trace_id,
        "trace_fault": trace_fault.why,
        "divergence": asdict(session.divergence) if session.divergence else None,
        "inferred": session.inferred,
        "reached": sorted(session.reached),
        "changed_parameters": [asdict(difference) for difference in session.parameters.values()],
        "live": live_uses(run.events),
        "saved_nano_usd": sum(c for c in spent if c is not None) if any(c is not None for c in spent) else None,
        "saved_ns": sum(outcome.duration_ns or 0 for outcome in session.answered),
    }


def live_uses(events: Sequence[TraceEvent]) -> list[dict[str, Any]]:
    """What each model turn used that was done for real."""
    return [
        {
            "provider": event.request.provider if event.request else None,
            "model": event.request.model if event.request else None,
            "start_unix_nano": event.time_unix_nano,
            "usage": event.outcome.usage.to_json(),
        }
        for event in events
        if isinstance(event, ModelTurnEnd) and event.served_by == "live"
    ]


def _end_with_parent(parent: int, leave: Callable[[int], None]) -> None:
    """Leave when the parent was killed: nobody could stop the user's code then, and nobody waits for its result."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    time.sleep(_LOOK_S)  # The end of the pipe has told the agent as well, which may clean up.
    leave(1)


def main(read_fd: int, write_fd: int) -> None:
    """Entry of the child process."""
    commands = os.fdopen(read_fd, encoding="utf-8")
    out = os.fdopen(write_fd, "w", encoding="utf-8", buffering=1)
    lock = threading.Lock()
    dumps, leave = json.dumps, os._exit  # as they are before the user's code can put others in their place

    def tell(message: dict[str, Any]) -> None:
        text = dumps(message, ensure_ascii=True)
        with lock:
            # On a line of its own, whatever the agent has written to this descriptor before.
            out.write(f"\n{text}\n")

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line by line, so that what was printed is not lost when the program dies.
            stream.reconfigure(line_buffering=True)
    threading.Thread(target=_end_with_parent, args=(os.getppid(), leave), daemon=True).start()
    orders = Orders(commands)
    while (text := orders.next_job()) and text != CANCEL:
        job = json.loads(text)
        end = _end_of(job, tell, orders)
        end["waits"] = job["then_waits"] and end["ended"] not in ("not_loaded", "cancelled")
        orders.job_is_over()
        try:
            tell(end)
        except (ValueError, RecursionError) as fault:
            why = {"type": type(fault).__name__, "message": f"the result cannot be written as JSON: {fault}"}
            tell({"type": "end", "ended": "failed", "error": why, "waits": end["waits"]})
        if not end["waits"]:
            break
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the agent may have closed them
            stream.flush()
    # Threads of blocking tools must not keep a finished replay alive.
    leave(0)


def _end_of(job: dict[str, Any], tell: Callable[[dict[str, Any]], None], orders: Orders) -> dict[str, Any]:
    """Do the job; the closing message, whatever the user's code does."""
    sys.argv = [job["file"] or job["module"] or "retrospan"]
    if job["mode"] == "strict" and job["tools"] == "strict":
        block_the_world()
    try:
        function = load_function(job)
    except BaseException as error:  # noqa: BLE001 - whatever the user's module raises on import, sys.exit included
        return {"type": "end", "ended": "not_loaded", "error": type_name_of(error).to_json()}
    try:
        return asyncio.run(replay(job, function, tell, orders))
    except BaseException as error:  # noqa: BLE001 - sys.exit in a task goes past the task and ends the loop
        end: dict[str, Any] = {"type": "end", "ended": "failed", "error": type_name_of(error).to_json()}
        return end | {"traceback": _way_of(error)}
