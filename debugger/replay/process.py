"""The parent's side of a replay: starts the child, reads its messages, ends it for certain.

The child leads a session of its own: it has no terminal to draw on, and what the user's code leaves running ends with
the replay. Nothing here waits for a pipe to be closed, since a program that was left running may hold it open.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from runtime.journal import ReplayRow, Supplied

from ..errors import ReplayError
from .news import Ask, End, read_news
from .printed import Printed

PATIENCE_S: Final = 2.0
"""How long a cancelled child may take before it is terminated, and then before it is killed."""

_LOOK_S: Final = 0.1
"""How often to look whether the child has ended, while its pipe is silent."""
_BLOCK_BYTES: Final = 1 << 16
_LONGEST_LINE: Final = 256 << 20
_MOST_AFTER_END: Final = 1 << 20
"""The most that a pipe can hold: what is read beyond it was written after the child's end, by somebody else."""

_START: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from debugger.replay.child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


class ChildProcess:
    """One child, from its start to its end. Use as a context manager: leaving it always ends the child."""

    def __init__(self) -> None:
        self.was_cancelled = False
        self.waits = False
        """True once it has ended its job and waits for the next."""
        self._printed = Printed()
        self._writing = threading.Lock()
        self._ending = threading.Lock()
        self._group_ended = False
        job_read, self._job_write = os.pipe()
        self._news_read, news_write = os.pipe()
        home = str(Path(__file__).resolve().parent.parent.parent)
        environment = dict(os.environ)
        # The replay's own spans go to its file; a tracer provider that the user's module sets up must not send them
        # elsewhere.
        environment["OTEL_SDK_DISABLED"] = "true"
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", _START, home, str(job_read), str(news_write)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(job_read, news_write),
            env=environment,
            start_new_session=True,
        )
        os.close(job_read)
        os.close(news_write)
        self._printing = threading.Thread(target=self._collect, daemon=True)
        self._printing.start()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child if it still runs, and what belongs to it."""
        self.stop()
        self._printing.join(timeout=PATIENCE_S)
        # A program that left the session may hold the other end of this pipe; then the reading thread keeps it, and
        # ends with it.
        if self._process.stdout is not None and not self._printing.is_alive():
            self._process.stdout.close()
        with self._writing:
            os.close(self._job_write)
            self._job_write = -1
        os.close(self._news_read)

    @property
    def exit_code(self) -> int | None:
        """The child's exit code; None while it runs."""
        return self._process.poll()

    @property
    def printed(self) -> tuple[str, ...]:
        """What the user's program printed, line by line; a flood with its middle left out."""
        return self._printed.lines()

    def run(
        self, job: dict[str, Any], *, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[ReplayRow | Ask | End]:
        """The child's messages on a job as they come, until it ends. Cancelling ends it, politely at first.

        Raises: ReplayError: the job is nested too deep to be handed over.
        """
        text = _job_text(job)
        self.waits = False
        # In a thread of its own: a job larger than the pipe's buffer would wait for a child that died at once.
        threading.Thread(target=self._send, args=(text,), daemon=True).start()
        over = threading.Event()
        threading.Thread(target=self._watch, args=(cancelled, over), daemon=True).start()
        try:
            yield from self._messages()
        finally:
            over.set()

    def _messages(self) -> Iterator[ReplayRow | Ask | End]:
        for line in self._lines():
            message = read_news(line)
            if message is None:
                continue
            if isinstance(message, End) and message.waits:
                self.waits = True
                yield message
                return
            yield message
            if isinstance(message, End):
                # It has said its last word, and is only given the time to leave.
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=PATIENCE_S)
                self.stop()
                break
        self._process.wait()
        self.stop()
        self._printing.join(timeout=PATIENCE_S)

    def _lines(self) -> Iterator[bytes]:
        """Whole lines, until the pipe is closed, or the child has ended and all that it wrote is read."""
        parts: list[bytes] = []
        size, left = 0, _MOST_AFTER_END
        for block in self._blocks():
            gone = self._process.poll() is not None
            left -= len(block) if gone else 0
            first, *others = block.split(b"\n")
            parts.append(first)
            size += len(first)
            for other in others:
                if size <= _LONGEST_LINE:
                    yield b"".join(parts)
                parts, size = [other], len(other)
            if size > _LONGEST_LINE:
                # Nothing of ours is that long: forgotten at once, and passed over at its end.
                parts = []
            if left <= 0:
                return

    def _blocks(self) -> Iterator[bytes]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._news_read, selectors.EVENT_READ)
            while True:
                # Asked before the look at the pipe: what the child wrote before its end is there by then.
                gone = self._process.poll() is not None
                if selector.select(0 if gone else _LOOK_S):
                    block = os.read(self._news_read, _BLOCK_BYTES)
                    if not block:
                        return
                    yield block
                elif gone:
                    return

    def stop(self) -> None:
        """End the child if it still runs: a message, then SIGTERM, then SIGKILL; and what it started."""
        for urge in (self._ask, self._process.terminate, self._process.kill):
            if self._process.poll() is not None:
                break
            urge()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=PATIENCE_S)
        with self._ending:
            # Once: later the number of the group may be somebody else's.
            if not self._group_ended and self._process.poll() is not None:
                self._group_ended = True
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def answer(self, id_: int, said: Supplied) -> None:
        """What the user says to a call that the child asked about."""
        line = json.dumps({"answer": id_, "said": asdict(said)}) + "\n"
        with suppress(OSError), self._writing:
            # A child that has gone meanwhile needs no answer.
            data = memoryview(line.encode())
            while data:
                data = data[os.write(self._job_write, data[:65536]) :]

    def _ask(self) -> None:
        try:
            with self._writing:
                os.write(self._job_write, b"cancel\n")
        except OSError:
            return  # the child has closed its end; the next urge follows

    def _watch(self, cancelled: Callable[[], bool], over: threading.Event) -> None:
        while not over.wait(0.05) and self._process.poll() is None:
            if cancelled():
                self.was_cancelled = True
                self.stop()
                return

    def _send(self, text: str) -> None:
        data = memoryview(text.encode() + b"\n")
        try:
            while data:
                # A closed door (-1) raises OSError like a child that has gone.
                data = data[os.write(self._job_write, data[:65536]) :]
        except OSError:
            return  # the child ended before it read its job; its exit code tells

    def _collect(self) -> None:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        while block := os.read(fd, _BLOCK_BYTES):
            self._printed.add(block)


class Children:
    """Children that do one job after the other, so that not each job needs an interpreter of its own.

    For jobs that run no code of the user's: nothing of one job is left for the next. As a context manager; leaving it
    ends them all. May be asked from several threads.
    """

    def __init__(self) -> None:
        self._idle: list[ChildProcess] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            for child in self._idle:
                child.close()
            self._idle.clear()

    @contextmanager
    def one(self) -> Iterator[ChildProcess]:
        """A child that waits for a job, or a new one; kept where it waits for the next job afterwards."""
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or ChildProcess()
        try:
            yield child
        finally:
            if child.waits and not child.was_cancelled:
                with self._lock:
                    self._idle.append(child)
            else:
                child.close()


def _job_text(job: dict[str, Any]) -> str:
    try:
        return json.dumps(job)
    except (RecursionError, ValueError) as fault:
        raise ReplayError(
            "the recording cannot be handed to the agent's program: a value in it is nested too deep or too large",
            hint="`retrospan snapshot` still shows it",
        ) from fault
