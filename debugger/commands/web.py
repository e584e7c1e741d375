"""``retrospan web``: the screen in a browser, through textual-serve."""

from __future__ import annotations

import os
import secrets
import shlex
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Final
from urllib.parse import urlsplit

from ..errors import DebuggerError, install_hint
from . import screen
from ._input import port_word

_PORT: Final = 8000


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of the command: those of the screen, and where it is served."""
    screen.add_arguments(parser)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to serve on (127.0.0.1); others than loopback need a secret in RETROSPAN_TOKEN",
    )
    parser.add_argument(
        "--port", type=port_word, default=_PORT, metavar="N", help=f"port to serve on ({_PORT}); 0: any"
    )
    parser.add_argument(
        "--url", type=_url, help="the address that browsers use, where a proxy or tunnel stands before this one"
    )


def _url(word: str) -> str:
    parts = urlsplit(word)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise ArgumentTypeError(f"{word!r} is no address without a path, such as https://traces.example.org")
    return f"{parts.scheme}://{parts.netloc}".lower()


def run(args: Namespace) -> int:
    """Serve until Ctrl-C."""
    from ..receiver.guard import Guard

    screen.check(args)  # A page could only say that it does not open.
    token = Guard.of(args.host, os.environ).token or secrets.token_urlsafe(24)
    try:
        from ..tui.serving import WebScreen
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0].startswith("debugger"):
            raise
        raise DebuggerError(
            f"the screen in a browser needs the package {missing.name.partition('.')[0].replace('_', '-')}",
            hint=install_hint("web"),
        ) from None
    host = f"[{args.host}]" if ":" in args.host else args.host
    if args.url is None and args.host in ("0.0.0.0", "::"):
        raise DebuggerError(f"{args.host} is no address that a browser can open", hint="say with --url which one is")
    port = args.port
    try:
        port = port or _free_port(args.host)  # Pages and cookies name the port, so it is known before the server is.
        url = args.url or f"http://{host}:{port}"
        WebScreen(_command(args), host=args.host, port=port, public_url=url, token=token).serve()
    except OSError as fault:
        raise DebuggerError(
            f"{host}:{port} cannot be served on: {os.strerror(fault.errno) if fault.errno else fault}".lower(),
            hint="choose another port with --port",
        ) from fault
    return 0


def _free_port(host: str) -> int:
    """A port of the host that nobody has now. Raises OSError: there is no such host."""
    family, kind, number, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, number) as taken:
        taken.bind(address)
        port: int = taken.getsockname()[1]
        return port


def _command(args: Namespace) -> str:
    """What runs for each page: the screen, by the same Python, with the same words."""
    # -P: a folder `debugger` where the user stands must not take our place; utf8: a pipe has no locale of its own.
    words = [sys.executable, "-P", "-X", "utf8", "-m", "debugger.cli"]
    for name in ("library", "trace", "span", "agent"):
        if getattr(args, name):
            words.append(f"--{name}={getattr(args, name)}")
    return shlex.join(["exec", *words, "--", *args.paths]) if args.paths else shlex.join(["exec", *words])
