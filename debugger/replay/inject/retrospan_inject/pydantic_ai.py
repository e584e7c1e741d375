"""pydantic-ai: function tools go through the ``call_tool`` of their toolset."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from .door import Door


def _patch(module: ModuleType, door: Door) -> None:
    kind: Any = module.FunctionToolset
    run = kind.call_tool

    @functools.wraps(run)
    async def call_tool(self: Any, name: str, tool_args: Any, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        # A toolset may be wrapped under other names; the model called the tool by the name in the context.
        asked = getattr(ctx, "tool_name", None) or name
        call = door.ask(asked, tool_args, getattr(ctx, "tool_call_id", None))
        if not call.must_run:
            return call.shown()
        try:
            value = await run(self, name, tool_args, ctx, *args, **kwargs)
        except BaseException as error:
            door.ran(call, error=error)
            raise
        door.ran(call, value)
        return value

    kind.call_tool = call_tool
    door.hello("pydantic-ai")


PATCHES = {"pydantic_ai.toolsets.function": _patch}
