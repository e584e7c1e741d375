"""MCP clients: servers that they would start or reach are replaced by a proxy, which asks the endpoint."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from .door import Door

PATCHES: dict[str, Callable[[ModuleType, Door], None]] = {}
