"""The routes for adapters, which sit inside a Python program and ask here what to do with each tool call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.messages import ErrorInfo

from .door import Door
from .mcp import McpDesk


@dataclass(slots=True)
class Told:
    """The routes, and what came in over them."""

    routes: dict[str, Any] = field(default_factory=dict)
    desk: McpDesk | None = None
    frameworks: set[str] = field(default_factory=set)
    """Frameworks whose tools an adapter has taken in hand."""


def routes_of(door: Door) -> Told:
    """The routes to a door. Bodies that are not as they should be raise KeyError or TypeError."""
    told = Told()

    def hello(body: Any) -> dict[str, Any]:
        told.frameworks.add(_text(body["framework"]))
        return {}

    def tool(body: Any) -> dict[str, Any]:
        id_ = body.get("tool_call_id")
        return door.tool(_text(body["name"]), body.get("arguments"), id_ if isinstance(id_, str) else None)

    def ran(body: Any) -> dict[str, Any]:
        error = body.get("error")
        info = ErrorInfo(_text(error["type"]), _text(error["message"])) if isinstance(error, Mapping) else None
        door.tool_ran(_text(body["call_id"]), body.get("value"), info)
        return {}

    desk = told.desk = McpDesk(door)

    def mcp(body: Any) -> dict[str, Any]:
        return desk.ask(_text(body["server"]), body["message"])

    def mcp_told(body: Any) -> dict[str, Any]:
        desk.told(_text(body["server"]), body["message"])
        return {}

    told.routes = {"/adapter/hello": hello, "/adapter/tool": tool, "/adapter/ran": ran}
    told.routes |= {"/adapter/mcp": mcp, "/adapter/mcp-told": mcp_told}
    return told


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value
