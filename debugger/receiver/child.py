"""The parent's side of a receiver that another program runs, such as the screen: started, watched, stopped."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from .status import Status

_PATIENCE_S: Final = 5.0
_KEPT_LINES: Final = 5
_START: Final = (
    "import sys; sys.path.append(sys.argv[1]); from debugger.cli import main; "
    "sys.exit(main(['listen', '--json', '--until-eof', *sys.argv[2:]]))"
)


class ReceiverProcess:
    """A receiver in a process of its own, with the ports it has by default. It ends with its starter.

    Args:
        library: folder of the library.
        words: more words for ``retrospan listen``.
    """

    def __init__(self, library: Path, words: tuple[str, ...] = ()) -> None:
        home = str(Path(__file__).resolve().parent.parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", _START, home, "--library", str(library), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        self._status = Status(state="starting", http=None, grpc=None, library=str(library))
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._saying = threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True)
        self._saying.start()
        threading.Thread(target=self._watch, args=(self._process.stdout,), daemon=True).start()

    @property
    def status(self) -> Status:
        """The newest status; ``stopped`` with a problem where it ended by itself."""
        return self._status

    def _watch(self, lines: IO[str]) -> None:
        for line in lines:
            with suppress(ValueError, TypeError):
                self._status = Status.from_json(line)
        code = self._process.wait()
        self._saying.join(_PATIENCE_S)
        problem = ""
        if code != 0:
            problem = self._said[-1].removeprefix("retrospan: ") if self._said else f"it ended with exit code {code}"
        self._status = replace(self._status, state="stopped", problem=problem)

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            self._said.append(line.rstrip("\n"))

    def stop(self) -> None:
        """Let it finish what is under way and end. Does not wait."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def close(self) -> None:
        """Stop it, and wait for a moment. One that takes longer ends by itself."""
        self.stop()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_S)
