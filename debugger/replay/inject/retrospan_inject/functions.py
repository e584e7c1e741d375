"""Plain functions that are tools: their code is exchanged, so that every reference to them asks first.

A function is looked up when the program first speaks to the endpoint, at the latest before its first answer arrives: by
then the program has defined its tools, in its main module too, which no import hook sees. ``NAME=FILE.py:FUNCTION``
names a tool and the function of a file, ``NAME=MODULE:FUNCTION`` that of a module.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from types import CodeType, FunctionType
from typing import Any

from .door import Call, Door

_TABLE: list[_Tool] = []


class _Tool:
    def __init__(self, door: Door, name: str, function: FunctionType) -> None:
        self.door = door
        self.name = name
        self.signature = inspect.signature(function)
        self.returns = function.__annotations__.get("return")
        self.original = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The call's arguments by name, as a model would give them."""
        bound = self.signature.bind(*args, **kwargs).arguments
        out: dict[str, Any] = {}
        for name, value in bound.items():
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                out.update(value)
            else:
                out[name] = value
        return out

    def result(self, call: Call) -> Any:
        """The recorded result in the type that the function says it returns, as far as that shows."""
        if call.error is not None:
            return call.returned()
        value = call.value
        if isinstance(value, str) and value[:1] == '"':
            # Only the conversation is known, and the program wrote the text into it as JSON.
            try:
                return json.loads(value)
            except ValueError:
                return value
        if self.returns in (str, "str") and not isinstance(value, str):
            return call.text if call.text is not None else json.dumps(value)
        return value


def install(door: Door, words: list[str]) -> None:
    """Exchange the functions as soon as they are there."""
    waiting = list(words)

    def look(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and waiting:
            for word in list(waiting):
                try:
                    found = _find(word)
                except TypeError as fault:
                    # Raised here it would look like a lost connection.
                    sys.stderr.write(f"retrospan: {fault}\n")
                    sys.stderr.flush()
                    os._exit(70)
                if found is not None and word in waiting:
                    waiting.remove(word)
                    _exchange(door, *found)

    sys.addaudithook(look)


def _find(word: str) -> tuple[str, FunctionType] | None:
    tool, _, target = word.partition("=")
    where, _, function_name = target.rpartition(":")
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        same = name == where
        if where.endswith(".py") and isinstance(path, str):
            same = os.path.abspath(path) == os.path.abspath(where)  # noqa: PTH100
        found = getattr(module, function_name, None) if same else None
        if found is None:
            continue
        found = inspect.unwrap(found)
        if not isinstance(found, FunctionType):
            raise TypeError(f"--tool {word}: that is no plain function")
        if inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
            raise TypeError(f"--tool {word}: a generator cannot be answered")
        return tool, found
    return None


def _exchange(door: Door, name: str, function: FunctionType) -> None:
    tool = _Tool(door, name, function)
    number = len(_TABLE)
    _TABLE.append(tool)
    code = _trampoline(function.__code__, number, inspect.iscoroutinefunction(function))
    function.__signature__ = tool.signature  # type: ignore[attr-defined]
    function.__defaults__ = None
    function.__kwdefaults__ = None
    function.__code__ = code


def _trampoline(code: CodeType, number: int, is_async: bool) -> CodeType:
    """Code that calls ``ask`` with its number and all arguments, with the free variables of the code it replaces."""
    word, wait, called = ("async ", "await ", "aask") if is_async else ("", "", "ask")
    free = ", ".join(code.co_freevars)
    # A function's code can only be exchanged for one with as many free variables, so they are named here.
    source = (
        f"def outer({free}):\n"
        f"    {word}def inner(*args, **kwargs):\n"
        f"        lambda: ({free or 'None'})\n"
        f"        from retrospan_inject.functions import {called}\n"
        f"        return {wait}{called}({number}, args, kwargs)\n"
        "    return inner\n"
    )
    space: dict[str, Any] = {}
    exec(compile(source, code.co_filename, "exec"), space)
    made: FunctionType = space["outer"](*[None] * len(code.co_freevars))
    return made.__code__


def ask(number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of an exchanged function."""
    tool = _TABLE[number]
    call = tool.door.ask(tool.name, tool.arguments(args, kwargs))
    if not call.must_run:
        return tool.result(call)
    try:
        value = tool.original(*args, **kwargs)
    except BaseException as error:
        tool.door.ran(call, error=error)
        raise
    tool.door.ran(call, value)
    return value


async def aask(number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of an exchanged async function."""
    tool = _TABLE[number]
    call = tool.door.ask(tool.name, tool.arguments(args, kwargs))
    if not call.must_run:
        return tool.result(call)
    try:
        value = await tool.original(*args, **kwargs)
    except BaseException as error:
        tool.door.ran(call, error=error)
        raise
    tool.door.ran(call, value)
    return value
