"""A page in a browser and its process: what the page may say, and that the process ends with the page."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import Final

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService

COLUMNS: Final = 500
LINES: Final = 300
"""The largest screen that is drawn: more than a wall of monitors shows, and a page that asks for a million columns
would have its process fill the memory of the machine."""
GRACE_S: Final = 5.0
"""How long a process may take to leave by itself: a replay that runs is stopped by it first."""


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
            await super().on_data(payload)

    async def on_meta(self, data: bytes) -> None:
        """See ``on_data``."""
        with suppress(ConnectionError):
            await super().on_meta(data)

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
