"""The child process of a replay: loads the user's agent, runs it against the recording, tells the parent each step.

Runs isolated (``-I``), so nothing of the user's can reach the screen's process: prints, ``sys.exit``, blocking calls,
tracer providers. Reads one job as a JSON line from a private descriptor, writes JSON lines to another; further lines
from
the parent mean cancel. Imports nothing heavy of the debugger.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import io
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from runtime.agents import Run
from runtime.agents._revive import type_name_of
from runtime.errors import ReplayStop
from runtime.journal import ReplayPolicy, ReplayRow, ReplaySession
from runtime.messages import json_safe
from runtime.snapshot import snapshot_from_json

BLOCKED_EVENTS = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind")


class NetworkBlockedError(ConnectionError):
    """A strict replay has no network."""


def block_network() -> None:
    """Refuse every socket to the outside, in C code too. Cannot be undone in this process."""

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event in BLOCKED_EVENTS:
            raise NetworkBlockedError("a strict replay has no network; use live mode for real calls")

    sys.addaudithook(refuse)


def load_function(job: dict[str, Any]) -> Callable[..., Any]:
    """The agent or async function that the job names.

    Raises: whatever the user's module raises on import; AttributeError where it lacks the name.
    """
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
    function: Callable[..., Any] = found
    return function


async def replay(
    job: dict[str, Any], function: Callable[..., Any], tell: Callable[[dict[str, Any]], None], commands: TextIO
) -> dict[str, Any]:
    """Run the job; the closing message."""
    recording = snapshot_from_json(job["recording"])
    cut = snapshot_from_json(job["cut"]) if job["cut"] is not None else None

    def on_row(row: ReplayRow) -> None:
        tell({"type": "row", "row": asdict(row)})

    session = ReplaySession(
        {call_id: frame.journal for call_id, frame in recording.frames.items()},
        cut=None if cut is None else [frame.journal for frame in cut.frames.values()],
        policy=ReplayPolicy(models=job["mode"], tools=job["tools"], reuse_exhausted=False),
        open_ended=job["open_ended"],
        on_row=on_row,
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

    def watch() -> None:
        if commands.readline():
            cancelled.set()
            loop.call_soon_threadsafe(task.cancel)

    threading.Thread(target=watch, daemon=True).start()
    end: dict[str, Any] = {"type": "end", "ended": "done", "output": None, "error": None}
    try:
        end["output"] = json_safe(await task)[0]
    except ReplayStop as stop:
        end["ended"] = stop.reason
    except BaseException as error:  # noqa: BLE001 - the border to the user's code: reported, not lost
        end["ended"] = "cancelled" if cancelled.is_set() else "failed"
        end["error"] = type_name_of(error).to_json()
        end["traceback"] = traceback.format_exception(error)
    if session.stopped:
        # An agent may swallow the stop; what it then returns is no result.
        end |= {"ended": session.stopped, "output": None, "error": None}
    spent = [outcome.usage.cost_nano_usd for outcome in session.answered]
    return end | {
        "trace_id": run.trace_id,
        "divergence": asdict(session.divergence) if session.divergence else None,
        "inferred": session.inferred,
        "saved_nano_usd": sum(c for c in spent if c is not None) if any(c is not None for c in spent) else None,
        "saved_ns": sum(outcome.duration_ns or 0 for outcome in session.answered),
    }


def main(read_fd: int, write_fd: int) -> None:
    """Entry of the child process."""
    commands = os.fdopen(read_fd, encoding="utf-8")
    out = os.fdopen(write_fd, "w", encoding="utf-8", buffering=1)
    lock = threading.Lock()

    def tell(message: dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=True)
        with lock:
            out.write(text + "\n")

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line by line, so that what was printed is not lost when the program dies.
            stream.reconfigure(line_buffering=True)
    job = json.loads(commands.readline())
    sys.argv = [job["file"] or job["module"]]
    if job["mode"] == "strict" and job["tools"] == "strict":
        block_network()
    end: dict[str, Any]
    try:
        function = load_function(job)
    except BaseException as error:  # noqa: BLE001 - whatever the user's module raises on import, sys.exit included
        end = {"type": "end", "ended": "not_loaded", "error": type_name_of(error).to_json()}
    else:
        try:
            end = asyncio.run(replay(job, function, tell, commands))
        except BaseException as error:  # noqa: BLE001 - sys.exit in a task goes past the task and ends the loop
            end = {"type": "end", "ended": "failed", "error": type_name_of(error).to_json()}
            end["traceback"] = traceback.format_exception(error)
    tell(end)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of blocking tools must not keep a finished replay alive.
    os._exit(0)
