"""Middleware around tools, and the question whether a call may run at all.

An onion: the run's middleware outside, then the tool's own, then approval, then the journal, then the function. The
journal
is innermost, so what middleware does to a result is done again on a replay and never recorded twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInvocation:
    """One call of a tool on its way inwards."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    """Validated, as Python values. Middleware that changes them hands on a changed copy."""
    call_id: str = ""


Next: TypeAlias = Callable[[ToolInvocation], Awaitable[Any]]
Middleware: TypeAlias = Callable[[ToolInvocation, Next], Awaitable[Any]]
"""Calls ``next`` with the invocation, or a changed one, or not at all, or several times; gives the result on."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The answer of an approval hook that says no."""

    feedback: str = ""
    """What the model is told."""


Approval: TypeAlias = "bool | Rejected"
ApprovalHook: TypeAlias = "Callable[[ToolInvocation], Approval | Awaitable[Approval]]"
"""Asked before a tool with ``needs_approval`` runs: True, False or ``Rejected`` with feedback. Blocking or async."""


class ToolRejectedError(ToolError):
    """A call was not approved. The model sees it as the answer of the tool."""

    def __init__(self, tool: str, feedback: str) -> None:
        self.tool = tool
        self.feedback = feedback
        super().__init__(f"the call of {tool!r} was rejected" + (f": {feedback}" if feedback else ""))


def onion(layers: Sequence[Middleware], core: Next) -> Next:
    """The core with the layers around it, the first one outermost."""
    wrapped = core
    for layer in reversed(layers):
        wrapped = _around(layer, wrapped)
    return wrapped


def _around(layer: Middleware, inner: Next) -> Next:
    async def call(invocation: ToolInvocation) -> Any:
        return await layer(invocation, inner)

    return call
