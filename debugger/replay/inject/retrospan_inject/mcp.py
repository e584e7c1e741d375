"""MCP clients: the servers that they would start or reach are replaced by a proxy, which asks the endpoint.

A server that runs as a process is replaced by ``mcp_proxy``, one that is reached over HTTP by the endpoint itself.
"""

from __future__ import annotations

import functools
import os
import sys
from types import ModuleType
from typing import Any
from urllib.parse import quote

from .door import Door

_PROXY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_proxy.py")  # noqa: PTH100, PTH118, PTH120


def _patch_stdio(module: ModuleType, door: Door) -> None:
    start: Any = module.stdio_client

    @functools.wraps(start)
    def stdio_client(server: Any, *args: Any, **kwargs: Any) -> Any:
        # The SDK hands on a few variables only, unless it is told more.
        base = server.env if server.env is not None else module.get_default_environment()
        env = {**base, "RETROSPAN_DOOR": os.environ["RETROSPAN_DOOR"]}
        changed = {"command": sys.executable, "args": [_PROXY, server.command, *server.args], "env": env}
        return start(server.model_copy(update=changed), *args, **kwargs)

    module.stdio_client = stdio_client  # type: ignore[attr-defined]
    door.hello("mcp")


def _patch_http(module: ModuleType, door: Door) -> None:
    for name in ("streamable_http_client", "streamablehttp_client"):
        connect: Any = getattr(module, name, None)
        if connect is not None:
            setattr(module, name, _leading_here(connect, door))
    door.hello("mcp")


def _leading_here(connect: Any, door: Door) -> Any:
    @functools.wraps(connect)
    def client(url: str, *args: Any, **kwargs: Any) -> Any:
        return connect(f"{door.url}/mcp?server={quote(str(url), safe='')}", *args, **kwargs)

    return client


PATCHES = {"mcp.client.stdio": _patch_stdio, "mcp.client.streamable_http": _patch_http}
