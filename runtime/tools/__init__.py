"""Tools: functions that a model may call, with a schema from their signature."""

from ..messages import Effect
from ._host import ToolHost, current_host
from ._middleware import (
    Approval,
    ApprovalHook,
    Middleware,
    Next,
    Rejected,
    ToolInvocation,
    ToolRejectedError,
    onion,
)
from ._tool import Tool, in_thread, revive_as, tool, tool_of

__all__ = [
    "Approval",
    "ApprovalHook",
    "Effect",
    "Middleware",
    "Next",
    "Rejected",
    "Tool",
    "ToolHost",
    "ToolInvocation",
    "ToolRejectedError",
    "current_host",
    "in_thread",
    "onion",
    "revive_as",
    "tool",
    "tool_of",
]
