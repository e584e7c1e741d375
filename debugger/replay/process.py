"""The parent's side of a replay: starts the child, reads its messages, ends it for certain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

PATIENCE_S: Final = 2.0
"""How long a cancelled child may take before it is terminated, and then before it is killed."""

_START: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from debugger.replay.child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


class ChildProcess:
    """One child, from its start to its end. Use as a context manager: leaving it always ends the child."""

    def __init__(self, job: dict[str, Any], *, cancelled: Callable[[], bool] = lambda: False) -> None:
        self.printed: list[str] = []
        """What the user's program printed, in order."""
        self.was_cancelled = False
        self._cancelled = cancelled
        self._writing = threading.Lock()
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
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        os.close(job_read)
        os.close(news_write)
        self._printing = threading.Thread(target=self._collect, daemon=True)
        self._printing.start()
        # In a thread of its own: a job larger than the pipe's buffer would wait for a child that died at once.
        threading.Thread(target=self._send, args=(json.dumps(job),), daemon=True).start()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._printing.join(timeout=PATIENCE_S)
        # A grandchild may hold the other end of this pipe open; then the reading thread keeps it, and ends with it.
        if self._process.stdout is not None and not self._printing.is_alive():
            self._process.stdout.close()
        with self._writing:
            os.close(self._job_write)
            self._job_write = -1

    @property
    def exit_code(self) -> int | None:
        """The child's exit code; None while it runs."""
        return self._process.poll()

    def messages(self) -> Iterator[dict[str, Any]]:
        """The child's messages as they come, until it ends. Cancelling ends it, politely at first."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        with os.fdopen(self._news_read, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    # A line that was cut off when the child died; its end is reported by its exit code.
                    break
        self._process.wait()
        self._printing.join(timeout=PATIENCE_S)

    def stop(self) -> None:
        """End the child if it still runs: a message, then SIGTERM, then SIGKILL."""
        for urge in (self._ask, self._process.terminate, self._process.kill):
            if self._process.poll() is not None:
                return
            urge()
            try:
                self._process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                continue

    def _ask(self) -> None:
        try:
            with self._writing:
                os.write(self._job_write, b"cancel\n")
        except OSError:
            return  # the child has closed its end; the next urge follows

    def _watch(self) -> None:
        while self._process.poll() is None:
            if self._cancelled():
                self.was_cancelled = True
                self.stop()
                return
            time.sleep(0.05)

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
        for line in self._process.stdout:
            self.printed.append(line.rstrip("\n"))
