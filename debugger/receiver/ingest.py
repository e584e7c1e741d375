"""Has closed spool files taken into the library, by a worker process, soon after they are written.

Where one cannot keep up, a second one takes every other file; it ends when there is little to do again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

PAUSE_S: Final = 0.25
"""The least time between two takings: what is received meanwhile goes into one."""
_MANY: Final = 4_000
"""Spans that are worth a taking of their own: then the next one begins at once, with all that came meanwhile."""
_COPIED_A_SECOND: Final = 25_000
"""About how many spans of older segments a taking copies. As long as that took, the next one waits: so a long trace
that comes in many pieces costs half of the time that it takes, and not the square of its length."""
_MOST_WORKERS: Final = 2
"""What is taken becomes visible one segment after the other, and that part is a third of the work."""
_RETRY_S: Final = 5.0
_LONGEST_ANSWER: Final = 1 << 20
_START: Final = "import sys; sys.path.append(sys.argv[1]); from debugger.receiver.worker import main; main(sys.argv[2])"


class Worker:
    """The process that takes, from here: started when it is asked, ended, killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> asyncio.subprocess.Process:
        """Start the process before it is needed. Raises OSError."""
        home = str(Path(__file__).resolve().parent.parent.parent)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-B", "-c", _START, home, str(self._folder),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True, limit=_LONGEST_ANSWER,
        )  # fmt: skip
        return self._process

    async def take(self, share: int, of: int) -> dict[str, Any]:
        """Have one share of the waiting files taken; what it says of that, ``error`` where it failed."""
        try:
            said = await self._ask(f"take {share} {of}\n".encode())
        except OSError as fault:
            return {"error": (fault.strerror or str(fault)).lower()}
        return {"error": "the process that fills the library ended; it is started again"} if said is None else said

    async def _ask(self, words: bytes) -> dict[str, Any] | None:
        process = self._process
        if process is None or process.returncode is not None:
            process = await self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(words)
            await process.stdin.drain()
            line = await process.stdout.readline()
        except (BrokenPipeError, ConnectionResetError):
            line = b""
        if not line:
            await self.end()
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def end(self) -> None:
        """Let it finish what it does, and end it."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()

    def kill(self) -> None:
        """End it at once. The library is made for that."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


class Ingest:
    """Runs in the receiver's loop.

    Args:
        folder: of the library.
        close_files: closes the spool's open files.
        on_problem: takes one line for the user; an empty one when the problem is over.
    """

    def __init__(
        self, folder: Path, close_files: Callable[[], Awaitable[int]], on_problem: Callable[[str], None]
    ) -> None:
        self.taken = 0
        """Spans in the library by now."""
        self.set_aside = 0
        """Requests that could not be brought in."""
        self.last_set_aside = ""
        """Where the last one of them is, and why."""
        self._pause = PAUSE_S
        self._folder = folder
        self._close_files = close_files
        self._on_problem = on_problem
        self._wake = asyncio.Event()
        self._wake.set()  # something may be left of an earlier run
        self._ending = asyncio.Event()
        self._workers = [Worker(folder) for _ in range(_MOST_WORKERS)]
        self._at_work = 1

    def wake(self) -> None:
        """There is something in the spool."""
        self._wake.set()

    async def run(self) -> None:
        """Take what comes, until told to finish, and what is left then. The worker ends with it."""
        while not self._ending.is_set():
            await self._wake.wait()
            self._wake.clear()
            good = await self.take()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self._pause if good else _RETRY_S)
            if not good:
                self._wake.set()
        while self._wake.is_set():
            self._wake.clear()
            await self.take()
        await self.end()

    def finish(self) -> None:
        """Let ``run`` come to its end. To be called when nothing comes in any more."""
        self._ending.set()
        self._wake.set()

    async def take(self) -> bool:
        """Close the spool's files and have them taken; False where that failed, after saying so."""
        try:
            await self._close_files()
        except OSError as fault:
            answers: list[dict[str, Any]] = [{"error": (fault.strerror or str(fault)).lower()}]
        else:
            at_work = self._workers[: self._at_work]
            answers = await asyncio.gather(*(w.take(share, len(at_work)) for share, w in enumerate(at_work)))
        problem = next((said["error"] for said in answers if "error" in said), None)
        waiting = sum(said.get("waiting", 0) for said in answers)
        if waiting or len(answers) > 1:  # a worker that looked later may have counted its share of fewer files
            self._wake.set()
        taken = sum(said.get("spans", 0) for said in answers)
        copying = sum(said.get("copied", 0) for said in answers) / _COPIED_A_SECOND
        self._pause = 0 if waiting else max(0 if taken >= _MANY else PAUSE_S, copying)
        self.taken += taken
        for path, reason in (row for said in answers for row in said.get("set_aside", ())):
            self.set_aside += 1
            self.last_set_aside = f"{path}: {reason}"
        await self._staff(waiting, taken)
        self._on_problem(_line(problem, answers[0].get("untidy")))
        return problem is None

    async def _staff(self, waiting: int, taken: int) -> None:
        """As many workers as what waits is worth."""
        if waiting > 1:
            self._at_work = _MOST_WORKERS
        elif not waiting and taken < _MANY and self._at_work > 1:
            self._at_work = 1
            for worker in self._workers[1:]:
                await worker.end()

    async def start(self) -> asyncio.subprocess.Process:
        """Start the first worker before it is needed. Raises OSError."""
        return await self._workers[0].start()

    async def end(self) -> None:
        """Let the workers finish what they do, and end them."""
        for worker in self._workers:
            await worker.end()

    def kill(self) -> None:
        """End the workers at once."""
        for worker in self._workers:
            worker.kill()


def _line(problem: str | None, untidy: str | None) -> str:
    if problem:
        return f"what is received is safe, but not in the library yet: {problem}"
    return f"what is received is in the library, which could not be compacted: {untidy}" if untidy else ""
