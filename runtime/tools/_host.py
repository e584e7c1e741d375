"""The door through which a tool call reaches the run it belongs to; tools know nothing of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ._tool import Tool


class ToolHost(Protocol):
    """Carries out tool calls: records them, or answers them from a journal."""

    def call_tool(self, tool: Tool, arguments: Mapping[str, Any]) -> Awaitable[Any]:
        """The result of the tool; takes its place in the order before the first await."""


current_host: ContextVar[ToolHost | None] = ContextVar("retrospan_tool_host", default=None)
"""The host of the run that this code belongs to; None outside a run."""
