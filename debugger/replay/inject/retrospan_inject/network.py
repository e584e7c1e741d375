"""Shuts the sockets of the program but the way to the endpoint. Cannot be undone in this process.

Holds for all code that goes through Python's socket module; not for C code that calls the system itself, nor for
programs of other languages that the program starts.
"""

from __future__ import annotations

import sys
from typing import Any

_NAMES = ("getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo")
_LOCAL = ("127.0.0.1", "localhost", b"127.0.0.1", b"localhost")


class NetworkBlockedError(ConnectionError):
    """A strict replay has no network."""


def block(port: int) -> None:
    """Refuse every connection but to the endpoint's port on the loopback."""
    ends = {"socket." + name for name in ("connect", "sendto", "sendmsg", "bind")}
    names = {"socket." + name for name in _NAMES}

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event in ends:
            address = args[1] if len(args) > 1 else None
            ours = isinstance(address, tuple) and address[:2] == ("127.0.0.1", port)
            if ours or (event == "socket.sendmsg" and address is None):
                return
            if event == "socket.bind" and isinstance(address, tuple) and address[0] in _LOCAL:
                return  # a server of the program's own reaches nobody
        elif event in names:
            host = args[0] if args else None
            host = host[0] if isinstance(host, tuple) and host else host
            if host in _LOCAL or host is None:
                return
        else:
            return
        raise NetworkBlockedError("a strict replay has no network; use --mode live or --tools live for real calls")

    sys.addaudithook(refuse)
