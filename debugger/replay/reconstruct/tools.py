"""Stand-ins for the tools of a rebuilt agent: answered by the recording, or by what the user named."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel

from runtime.errors import ToolError
from runtime.messages import Json, ToolDefinition, json_safe, read_json
from runtime.tools import Tool, in_thread

Implementation: TypeAlias = Callable[[Json], Any]
"""Takes the arguments as the model gave them; blocking or async."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn(Tool):
    """A tool of which only name and calls are known: any arguments are valid, and any result is as recorded."""

    def validate(self, arguments: Json) -> dict[str, Any]:
        """The arguments, whatever they are."""
        return {"arguments": arguments}

    def to_json(self, validated: Any) -> Any:
        """The arguments again."""
        return validated["arguments"]

    def revive(self, recorded: Json) -> Any:
        """The recorded result itself."""
        return recorded

    async def invoke(self, validated: Any) -> Any:
        """Do what stands in for the tool."""
        result = self.fn(validated["arguments"])
        return await result if inspect.isawaitable(result) else result


def stand_in(name: str, fn: Implementation | None = None, *, runs_agent: bool = False) -> StandIn:
    """A tool of that name.

    Args:
        name: as the model calls it.
        fn: what a call does where the recording has no answer; None fails the call.
        runs_agent: agents and model turns run inside, so the call is never answered as a whole.
    """

    def missing(arguments: Json) -> Awaitable[Json]:
        raise ToolError(f"nothing implements tool {name!r} in this replay; name it with --tool {name}=FILE.py:FUNCTION")

    return StandIn(
        fn=fn or missing,
        definition=ToolDefinition(name),
        arguments_model=BaseModel,
        parameters={},
        # To name an implementation is to let it run; everything else stops a replay at the first new call.
        effect="pure" if fn else "committed",
        runs_agent=runs_agent,
    )


def implementations(named: Mapping[str, str]) -> dict[str, Implementation]:
    """The tools that the user named: ``FILE.py:FUNCTION``, or ``!COMMAND`` for a program.

    Raises: whatever a user's module raises on import; AttributeError where it has no such function.
    """
    return {
        name: _command(target[1:]) if target.startswith("!") else _function(target) for name, target in named.items()
    }


def _function(target: str) -> Implementation:
    file, _, name = target.rpartition(":")
    path = Path(file).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    function = getattr(found, "fn", found)
    if not callable(function):
        raise AttributeError(f"{path.name} has no function {name!r}")

    async def call(arguments: Json) -> Any:
        given = arguments if isinstance(arguments, dict) else {}
        if inspect.iscoroutinefunction(function):
            return await function(**given)
        result = await in_thread(function, **given)
        return await result if inspect.isawaitable(result) else result

    return call


def _command(line: str) -> Implementation:
    async def call(arguments: Json) -> Json:
        """Arguments as JSON on standard input, the result on standard output: JSON, or else text."""
        program = await asyncio.create_subprocess_exec(
            *shlex.split(line),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, complaint = await program.communicate(json.dumps(json_safe(arguments)[0]).encode())
        finally:
            if program.returncode is None:
                program.kill()
        if program.returncode:
            why = complaint.decode("utf-8", "replace").strip().splitlines()
            raise ToolError(f"{line} ended with exit code {program.returncode}: {why[-1] if why else 'no message'}")
        text = out.decode("utf-8", "replace").strip()
        try:
            return read_json(text)
        except ValueError:
            return text

    return call
