"""The screen in a browser: textual-serve behind a door that lets only the user in.

Each page that is opened gets a process of its own, which draws into it; what that process may do the user may do,
replays included. So the server asks for a secret, also on loopback, where other users of the machine and every web
page in the browser can knock: the secret stands in the address that is printed and then in a cookie. A foreign
``Host`` (DNS rebinding) or ``Origin`` (a page of another site that opens the socket) is refused before that. All that
a page loads comes from this server.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware
from textual_serve.server import Server

from .serving_page import COLUMNS, LINES, MalformedError, PageProcess, bounded, hear_all

PAGES: Final = 8
"""Pages at a time: each is a process that holds its traces in memory."""
_PAGE: Final = Path(__file__).parent / "page"
_COOKIE: Final = "retrospan"
_LOG: Final = logging.getLogger("textual-serve")
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self' ws: wss:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


_TOO_MANY: Final = (
    f"{PAGES} pages are open already, and each is a process of its own. Close one of them, then load this page again.\n"
)


class WebScreen(Server):
    """Serves the screen until Ctrl-C.

    Args:
        command: what a shell runs for each page.
        host: address to listen on.
        port: port to listen on.
        public_url: the address that browsers use, without a path.
        token: the secret.
    """

    def __init__(self, command: str, *, host: str, port: int, public_url: str, token: str) -> None:
        super().__init__(command, host, port, "Retrospan", public_url, templates_path=_PAGE)
        self._token = token
        self._at = urlsplit(public_url).netloc.lower()
        self._sockets: set[asyncio.Task[object]] = set()
        self._shown = 0
        self._ends = False

    @property
    def address(self) -> str:
        """What the user opens."""
        return f"{self.public_url}/?token={self._token}"

    async def _make_app(self) -> web.Application:
        logging.getLogger("aiohttp.server").addFilter(_is_news)
        app = await super()._make_app()
        app.router.add_get("/page.js", _page_script)
        app.middlewares.append(self._guard())
        return app

    def serve(self, debug: bool = False) -> None:
        """Serve until Ctrl-C. Raises OSError: the address cannot be had."""
        logging.basicConfig(level="WARNING", format="retrospan: %(message)s", stream=sys.stderr)
        web.run_app(
            self._make_app(), host=self.host, port=self.port, print=lambda _: self._say_where(), shutdown_timeout=5
        )

    async def on_startup(self, app: web.Application) -> None:
        """Nothing can be reached yet, so nothing is said."""

    def _say_where(self) -> None:
        sys.stdout.write(f"Retrospan is at {self.address}\nCtrl+C ends it.\n")
        sys.stdout.flush()

    async def on_shutdown(self, app: web.Application) -> None:
        """Let the pages' processes end."""
        self._ends = True
        for task in self._sockets:
            task.cancel()
        await asyncio.gather(*self._sockets, return_exceptions=True)

    def _guard(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            said = request.query.get("token", "")
            if (why := self._refused(request, said or request.cookies.get(self._cookie, ""))) is not None:
                raise web.HTTPForbidden(text=why, headers=_HEADERS)
            if said:
                # The secret leaves the address line, and with it the history and what is copied from there.
                raise web.HTTPFound("/", headers=_HEADERS | {"Set-Cookie": self._set_cookie()})
            if request.path in ("/", "/ws") and self._shown >= PAGES:
                raise web.HTTPServiceUnavailable(text=_TOO_MANY, headers=_HEADERS)
            if request.path == "/ws":
                return await self._follow(request, handler)
            response = await handler(request)
            response.headers.update(_HEADERS)
            return response

        return guard

    @property
    def _cookie(self) -> str:
        """Cookies of one host are shared by its ports."""
        return f"{_COOKIE}-{self.port}"

    def _set_cookie(self) -> str:
        secure = "; Secure" if self.public_url.startswith("https:") else ""
        return f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _refused(self, request: web.Request, token: str) -> str | None:
        """Why a request is not answered; None where it is."""
        origin = request.headers.get("Origin")
        if request.host.lower() != self._at:
            return f"This server is not asked by that name; it is at {self.public_url}.\n"
        if origin is not None and urlsplit(origin).netloc.lower() != self._at:
            return "Pages of other sites may not ask this server.\n"
        if not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token.encode()):
            return "Open the address that `retrospan web` printed: its secret is missing here, or an old one.\n"
        return None

    async def _follow(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """A page's socket, whose task is remembered so that it can be ended."""
        task = asyncio.current_task()
        if task is None:  # aiohttp runs every handler in one
            return await handler(request)
        self._sockets.add(task)
        try:
            return await handler(request)
        finally:
            self._sockets.discard(task)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A page's socket: starts its process, lets the page talk to it, and ends it with the page."""
        socket = web.WebSocketResponse(heartbeat=15)
        width = bounded(_number(request.query.get("width"), 80), 1, COLUMNS)
        height = bounded(_number(request.query.get("height"), 24), 1, LINES)

        async def close() -> None:
            if self._ends:
                await socket.close(code=WSCloseCode.GOING_AWAY)
            elif process.why:
                await socket.close(code=WSCloseCode.INTERNAL_ERROR, message=_fitting(process.why))
            else:
                await socket.close()

        process = PageProcess(
            self.command,
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=self.download_manager,
        )
        self._shown += 1
        try:
            await socket.prepare(request)
            await process.start(width, height)
            await hear_all(socket, process)
        except MalformedError as fault:
            _LOG.warning("a page sent what is no message and was closed: %s", fault.why)
            await socket.close(code=WSCloseCode.POLICY_VIOLATION)
        except ConnectionError:
            pass  # The page went while something was said to it.
        except OSError as fault:
            _LOG.error("the process of a page could not be started: %s", fault.strerror or fault)
        finally:
            # Before its process: who closes a page to make room for another one need not wait for that.
            self._shown -= 1
            await process.stop()
            await close()
        return socket


def _fitting(reason: str) -> bytes:
    """A reason for closing fits into one frame of 125 bytes; the whole of it stands in the terminal."""
    whole = reason.encode("utf-8", "replace")
    return whole if len(whole) <= 120 else whole[:117].decode("utf-8", "ignore").encode() + "…".encode()


async def _page_script(_: web.Request) -> web.FileResponse:
    return web.FileResponse(_PAGE / "page.js")


def _is_news(record: logging.LogRecord) -> bool:
    """Not that somebody sent what is no HTTP: it was answered with 400, and nothing of ours failed."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def _number(word: str | None, default: int) -> int:
    return int(word) if word is not None and word.isdecimal() and len(word) < 10 else default
