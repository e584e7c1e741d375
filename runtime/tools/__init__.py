"""Tools: functions that a model may call, with a schema from their signature."""

from ._host import ToolHost, current_host
from ._tool import Effect, Tool, tool

__all__ = ["Effect", "Tool", "ToolHost", "current_host", "tool"]
