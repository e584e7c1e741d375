"""OpenAI's agents SDK: every function tool carries the function that is called with the model's arguments."""

from __future__ import annotations

import functools
import json
from types import ModuleType
from typing import Any

from .door import Call, Door

_MARK = "_retrospan_answers"


def _patch(module: ModuleType, door: Door) -> None:
    kind: Any = module.FunctionTool
    made = kind.__post_init__

    @functools.wraps(made)
    def post_init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        inner = self.on_invoke_tool
        # A copy of a tool is made of its fields, the answering function among them.
        if not getattr(inner, _MARK, False):
            self.on_invoke_tool = _answering(module, door, self, inner)

    kind.__post_init__ = post_init
    door.hello("openai-agents")


def _answering(module: ModuleType, door: Door, tool: Any, inner: Any) -> Any:
    async def on_invoke_tool(context: Any, given: str, *args: Any, **kwargs: Any) -> Any:
        try:
            arguments = json.loads(given) if given else {}
        except ValueError:
            arguments = given
        name = getattr(context, "tool_name", None) or tool.name
        call = door.ask(name, arguments, getattr(context, "tool_call_id", None))
        if not call.must_run:
            return await _shown(module, tool, context, call)
        try:
            value = await inner(context, given, *args, **kwargs)
        except BaseException as error:
            door.ran(call, error=error)
            raise
        door.ran(call, value)
        return value

    setattr(on_invoke_tool, _MARK, True)
    return on_invoke_tool


async def _shown(module: ModuleType, tool: Any, context: Any, call: Call) -> Any:
    """What the model was shown; of a failure for which that is not known, what the tool makes of such an error."""
    try:
        return call.shown()
    except Exception as error:
        worded = getattr(module, "maybe_invoke_function_tool_failure_error_function", None)
        text = await worded(function_tool=tool, context=context, error=error) if worded else None
        if text is None:
            raise
        return text


PATCHES = {"agents.tool": _patch}
