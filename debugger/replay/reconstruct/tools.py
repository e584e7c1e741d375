"""Stand-ins for the tools of a rebuilt agent: answered by the recording, or by what the user named."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel

from runtime.errors import ToolError
from runtime.messages import Json, ToolDefinition
from runtime.tools import Tool

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
        runs_agent=runs_agent,
    )
