"""A page in a browser and its process: what the page may say, and that the process ends with the page."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import Final

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService

from ..analysis.text import visible

COLUMNS: Final = 500
LINES: Final = 300
"""The largest screen that is drawn: more than a wall of monitors shows, and a page that asks for a million columns
would have its process fill the memory of the machine."""
GRACE_S: Final = 5.0
"""How long a process may take to leave by itself: a replay that runs is stopped by it first."""


_BEGIN: Final = b"__GANGLION__\n"
"""What a process says before it draws."""
_SAID: Final = 65_536
"""Bytes of what a process says of its errors that are kept: the last ones."""


class MalformedError(Exception):
    """A page said something that is no message.

    Attributes:
        why: what is wrong with it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def bounded(value: object, least: int, most: int) -> int:
    """A number of columns or lines that can be drawn. Raises MalformedError: no number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedError("a size is a whole number")
    return min(max(value, least), most)


class PageProcess(AppService):
    """The process of one page. It ends when the page goes, also where it listens no more."""

    grace_s = GRACE_S
    why = ""
    """What its process died of; empty where it did not."""
    _patience: asyncio.Timeout

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(bounded(width, 1, COLUMNS), bounded(height, 1, LINES))
        # Ctrl+C in the server's terminal is the server's: it ends the pages itself. And a process of a group of its own
        # can be ended with all that it started.
        self._process = process = await asyncio.create_subprocess_shell(
            self.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        assert process.stdin is not None
        self._stdin = process.stdin
        return process

    async def run(self) -> None:
        """Hand on what the process draws until it ends, and close the page; ``why`` then says what went wrong."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said = bytearray()
        listening = asyncio.create_task(_hear_errors(process.stderr, said))
        try:
            async with asyncio.timeout(None) as self._patience:
                with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    await self._draw(process.stdout)
                self._hurry()
                await process.wait()
        except TimeoutError:
            pass  # It said that it ends, and did not; ``stop`` sees to that.
        # What it started may hold the pipe for longer than it lived.
        await asyncio.wait([listening], timeout=1)
        listening.cancel()
        lines = [visible(line) for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        sys.stderr.writelines(line + "\n" for line in lines)
        if code := process.returncode:
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self.why = lines[-1] if lines else f"The process of this page {ended}."
        with suppress(ConnectionError):
            await self.remote_close()

    async def _draw(self, stdout: asyncio.StreamReader) -> None:
        await stdout.readuntil(_BEGIN)
        while True:
            kind = await stdout.readexactly(1)
            payload = await stdout.readexactly(int.from_bytes(await stdout.readexactly(4), "big"))
            if kind == b"D":
                await self.on_data(payload)
            elif kind == b"M":
                await self.on_meta(payload)

    def _hurry(self) -> None:
        """From here on the process has little time left."""
        self._patience.reschedule(asyncio.get_running_loop().time() + self.grace_s)

    async def hear(self, text: str) -> str | None:
        """Do what a message of the page says, and give what to answer.

        Raises: MalformedError.
        """
        kind, data = _message(text)
        if kind == "stdin" and isinstance(data, str):
            await self.send_bytes(data.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(data, dict):
            width, height = (bounded(data.get(side), 1, most) for side, most in (("width", COLUMNS), ("height", LINES)))
            await self.set_terminal_size(width, height)
        elif kind == "ping":
            return json.dumps(["pong", data])
        elif kind == "blur":
            await self.blur()
        elif kind == "focus":
            await self.focus()
        else:
            raise MalformedError("no message of this kind is known")
        return None

    async def on_data(self, payload: bytes) -> None:
        """Hand on what was drawn; what comes after the page has gone is read, as a full pipe would hold the process."""
        with suppress(ConnectionError):
            await self.remote_write_bytes(payload)

    async def on_meta(self, data: bytes) -> None:
        """The process says that it ends: how, is known only when it has. It asks for nothing else."""
        if json.loads(data)["type"] == "exit":
            self._hurry()

    async def stop(self) -> None:
        """Tell the process to quit, and end it if it does not."""
        task, process = self._task, self._process
        if task is None or process is None:
            return
        self._task = None
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        try:
            async with asyncio.timeout(self.grace_s):
                await self.send_meta({"type": "quit"})
                await asyncio.shield(task)
                await process.wait()
        except TimeoutError:
            pass
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            await asyncio.gather(task, process.wait(), return_exceptions=True)


async def _hear_errors(stderr: asyncio.StreamReader, said: bytearray) -> None:
    while some := await stderr.read(_SAID):
        said += some
        del said[:-_SAID]


def _message(text: str) -> tuple[str, object]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedError("it is no JSON") from None
    if not isinstance(said, list) or not said or not isinstance(said[0], str):
        raise MalformedError("it is no list that begins with a name")
    return said[0], said[1] if len(said) > 1 else None


async def hear_all(socket: web.WebSocketResponse, process: PageProcess) -> None:
    """Do what a page says until it goes. Raises MalformedError."""
    async for message in socket:
        if message.type == WSMsgType.TEXT and (answer := await process.hear(message.data)) is not None:
            await socket.send_str(answer)
