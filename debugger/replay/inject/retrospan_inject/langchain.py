"""LangChain and LangGraph: every tool goes through ``BaseTool.run`` or ``arun``."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType
from typing import Any

from .door import Call, Door


def _patch(module: ModuleType, door: Door) -> None:
    base: Any = module.BaseTool
    run, arun = base.run, base.arun

    @functools.wraps(run)
    def answered(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_flow(self):
            return run(self, tool_input, *args, **kwargs)
        call = door.ask(self.name, _asked(self, tool_input), kwargs.get("tool_call_id"))
        if not call.must_run:
            return _output(module, self, call, kwargs.get("tool_call_id"))
        try:
            value = run(self, tool_input, *args, **kwargs)
        except BaseException as error:
            door.ran(call, error=error)
            raise
        door.ran(call, getattr(value, "content", value))
        return value

    @functools.wraps(arun)
    async def aanswered(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_flow(self):
            return await arun(self, tool_input, *args, **kwargs)
        call = door.ask(self.name, _asked(self, tool_input), kwargs.get("tool_call_id"))
        if not call.must_run:
            return _output(module, self, call, kwargs.get("tool_call_id"))
        try:
            value = await arun(self, tool_input, *args, **kwargs)
        except BaseException as error:
            door.ran(call, error=error)
            raise
        door.ran(call, getattr(value, "content", value))
        return value

    base.run, base.arun = answered, aanswered
    door.hello("langchain")


def _is_flow(tool: Any) -> bool:
    """A tool that steers the graph (a handoff) has to run: its result is no text but a command."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    try:
        returns = inspect.signature(function).return_annotation if function else ""
    except (TypeError, ValueError):
        return False
    return "Command" in (returns if isinstance(returns, str) else getattr(returns, "__name__", str(returns)))


def _asked(tool: Any, tool_input: Any) -> Any:
    """The arguments as the model gave them: what the graph injects is left out."""
    if not isinstance(tool_input, dict):
        return tool_input
    schema = getattr(tool, "tool_call_schema", None)
    if isinstance(schema, dict):
        known = schema.get("properties", {})
    else:
        known = getattr(schema, "model_fields", None) or getattr(schema, "__fields__", {})
    return {key: value for key, value in tool_input.items() if not known or key in known}


def _output(module: ModuleType, tool: Any, call: Call, tool_call_id: Any) -> Any:
    """The answer in the form that the caller of a tool gets."""
    failed = bool(call.error) and call.text is not None
    content = call.shown()
    if tool_call_id is None:
        return content
    from langchain_core.messages import ToolMessage  # type: ignore[import-not-found, unused-ignore]

    text = content if isinstance(content, (str, list)) else _stringify(module, content)
    status = "error" if failed else "success"
    return ToolMessage(text, tool_call_id=tool_call_id, name=tool.name, status=status)


def _stringify(module: ModuleType, content: Any) -> str:
    own = getattr(module, "_stringify", None)
    return str(own(content) if own else content)


PATCHES = {"langchain_core.tools.base": _patch}
