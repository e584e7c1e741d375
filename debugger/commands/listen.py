"""``retrospan listen``: receive traces from running programs into the library."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ._input import add_library, open_library, port_word

if TYPE_CHECKING:
    from ..receiver.listener import Listener
    from ..receiver.status import Status

_PLAIN_EVERY_S: Final = 10.0


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (127.0.0.1); others than loopback need a secret in RETROSPAN_TOKEN",
    )
    parser.add_argument(
        "--http-port", type=port_word, default=4318, metavar="N", help="port of OTLP/HTTP (4318); 0: any"
    )
    parser.add_argument("--grpc-port", type=port_word, metavar="N", help="port of OTLP/gRPC (4317); 0: any")
    parser.add_argument("--no-grpc", action="store_true", help="HTTP only")
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        type=_origin,
        metavar="URL",
        help="origin of web pages that may send, beside pages of this machine; may be repeated",
    )
    add_library(parser)
    parser.add_argument("--json", action="store_true", help="the status as JSON lines on standard output")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends")


def _origin(word: str) -> str:
    parts = urlsplit(word)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ArgumentTypeError(f"{word!r} is no origin, such as https://app.example.org")
    return f"{parts.scheme}://{parts.netloc}".lower()


def run(args: Namespace) -> int:
    """Receive until Ctrl-C; 0 when all that came is in the library or safe in its spool."""
    from ..receiver.guard import Guard
    from ..receiver.listener import Listener, Options

    guard = Guard.of(args.host, os.environ, frozenset(args.allow_origin))
    with open_library(args) as library:
        folder, spool = library.folder, library.spool
    options = Options(
        library=folder,
        spool=spool,
        guard=guard,
        host=args.host,
        http_port=args.http_port,
        grpc_port=None if args.no_grpc else 4317 if args.grpc_port is None else args.grpc_port,
        needs_grpc=args.grpc_port is not None,
    )
    show = _Json() if args.json else _Terminal() if sys.stderr.isatty() else _Plain()

    async def receive() -> None:
        listener = Listener(options, show)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, listener.stop)
        if args.until_eof:
            threading.Thread(target=_wait_for_end, args=(loop, listener), daemon=True).start()
        await listener.run()

    asyncio.run(receive())
    return 0


def _wait_for_end(loop: asyncio.AbstractEventLoop, listener: Listener) -> None:
    while os.read(0, 1 << 16):
        pass
    loop.call_soon_threadsafe(listener.stop)


class _Json:
    """Every status as a line, for programs."""

    def __call__(self, status: Status) -> None:
        sys.stdout.write(status.to_json() + "\n")
        sys.stdout.flush()


class _Plain:
    """Lines for a log: the start, changes of state, new problems, what is set aside, and now and then the counts."""

    def __init__(self) -> None:
        self._said: tuple[str, str, int] = ("", "", 0)
        self._next = 0.0
        self._last = ""

    def __call__(self, status: Status) -> None:
        if status.state == "listening" and self._said[0] != "listening":
            self.say(f"listening on {status.where()}, into {status.library}")
            if status.note:
                self.say(status.note)
        key, now = (status.state, status.problem, status.set_aside), time.monotonic()
        line = status.line()
        if self._last and line != self._last and (key != self._said or now >= self._next):
            self.say(line)
            self._next = now + _PLAIN_EVERY_S
        self._said, self._last = key, line

    def say(self, line: str) -> None:
        """Write one line."""
        from ..analysis.text import visible

        sys.stderr.write(f"retrospan: {visible(line)}\n")
        sys.stderr.flush()


class _Terminal(_Plain):
    """The last line of the terminal is the status; it overwrites itself."""

    def __call__(self, status: Status) -> None:
        from ..analysis.text import visible

        if status.state == "listening" and self._said[0] != "listening":
            self.say(f"listening on {status.where()}, into {status.library}; Ctrl-C stops")
            if status.note:
                self.say(status.note)
        if status.set_aside > self._said[2]:
            self.say(status.last_set_aside)  # a line that is overwritten may be too short for it
        self._said = (status.state, status.problem, status.set_aside)
        width = _columns()
        sys.stderr.write(f"\r\x1b[K{visible(status.line())[: width - 1]}")
        if status.state == "stopped":
            sys.stderr.write("\n")
        sys.stderr.flush()

    def say(self, line: str) -> None:
        """Write one line above the status."""
        sys.stderr.write("\r\x1b[K")
        super().say(line)


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
