"""Contexts: one per frame of a run, found through context variables; and the call ids made from them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ContextNotFoundError, DepthExceededError
from ..journal import Journal
from ..messages import ErrorInfo, Json
from ..snapshot import UsageStats
from ._body import bodies

if TYPE_CHECKING:
    from ._run import Run

logger = logging.getLogger(__name__)

MAX_DEPTH = 50
"""Nested agents; more is nearly always an agent that calls itself without end."""


@dataclass(slots=True, kw_only=True)
class Context:
    """The live state of one frame. Owned by the task that runs the agent."""

    run: Run
    call_id: str
    agent_id: str
    parent: Context | None = None
    depth: int = 0
    span_id: str = ""
    opened_in: str = ""
    """The span in which the agent was called."""
    memory: dict[str, Json] = field(default_factory=dict)
    memory_start: dict[str, Json] = field(default_factory=dict)
    journal: Journal = field(default_factory=Journal)
    """What this run has recorded so far in this frame; empty with snapshots off."""
    counters: dict[str, int] = field(default_factory=dict)
    """Next sequence number per call id without its number; goes on over generations."""
    children: dict[str, Context] = field(default_factory=dict)
    status: Literal["running", "completed", "failed"] = "running"
    output: Json = None
    error: ErrorInfo | None = None
    input: Json = None
    lost: dict[str, str] = field(default_factory=dict)
    """Why ``input`` or ``output`` is not what the agent really got or gave: it is no JSON."""
    generation: int = 0
    adopted: dict[str, None] = field(default_factory=dict)
    """Call ids of recorded sub-agents that a replayed tool had called; they were not run again."""
    started: int = 0
    """Place of the frame's start among all starts and ends of frames of the run."""
    ended: int | None = None
    """Place of its end; None while it runs."""
    recorded_bodies: dict[tuple[str, Any], dict[str, Any]] | None = None
    """What tools did in the recorded frame, by span and attempt; None until first asked."""
    spent: UsageStats = field(default_factory=UsageStats)
    """Of this frame alone, and only what was done for real: replayed answers cost nothing."""
    task: asyncio.Task[Any] | None = None
    """The task that runs the agent."""
    callers: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    """By agent id: a task other than the agent's own that has called it."""
    resources: dict[str, Any] = field(default_factory=dict)
    opening: dict[str, asyncio.Lock] = field(default_factory=dict)
    """By resource: held while it is opened, so that two who ask at once get the same one."""
    teardown: AsyncExitStack | None = None
    """Closes the resources; None while there are none."""
    settings: Any = None
    """The agent of this frame, for its default model and tools; None for the run's own frame."""

    def next_call_id(self, kind: Literal["agent", "prompt", "tool", "value"], config_id: str) -> str:
        """``<this call id>/<kind>:<config id>:<seq>``; seq counts up from 0 per kind and config id.

        Taken when the function is called, before any await, so that parallel calls in a stable order get stable ids.
        What a tool's function calls is numbered below the tool's own call id, since a replay does not run it; only
        agents are numbered in the frame, which they hang under.
        """
        inside = bodies.get()
        base = inside[-1].call_id if inside and kind != "agent" else self.call_id
        key = f"{base}/{kind}:{config_id}"
        with self.run.lock:
            while True:
                seq = self.counters.get(key, 0)
                self.counters[key] = seq + 1
                call_id = f"{key}:{seq}"
                if call_id not in self.adopted:
                    return call_id

    def open_child(self, agent_id: str, settings: Any) -> Context:
        """The context of a sub-agent that is being called.

        Raises:
            DepthExceededError: more than ``MAX_DEPTH`` agents are nested.
        """
        inside = bodies.get()
        call_id = inside[-1].take_child(agent_id) if inside else None
        if call_id is None:
            self._warn_of_racing_calls(agent_id)
            call_id = self.next_call_id("agent", agent_id)
        depth = self.depth + 1
        if depth > MAX_DEPTH:
            raise DepthExceededError(depth, MAX_DEPTH, call_id)
        child = Context(run=self.run, call_id=call_id, agent_id=agent_id, parent=self, depth=depth, settings=settings)
        child.memory = self.run.memory_for(call_id)
        child.memory_start = dict(child.memory)
        return child

    def _warn_of_racing_calls(self, agent_id: str) -> None:
        """In development: say when call ids of parallel agents depend on timing, so that a replay may mix them up."""
        if not self.run.is_debug:
            return
        task = asyncio.current_task()
        if task is None or task is self.task:
            return
        first = self.callers.setdefault(agent_id, task)
        if first is not task and agent_id not in self.run.warned:
            self.run.warned.add(agent_id)
            logger.warning(
                "agent %r is called from several tasks of %s: its call ids depend on which task gets there first, "
                "and a replay may mix them up; call it in one place, then gather the coroutines",
                agent_id,
                self.call_id,
            )


current: ContextVar[Context | None] = ContextVar("retrospan_context", default=None)
"""The frame that this code runs in; None outside a run."""

current_span: ContextVar[str] = ContextVar("retrospan_span", default="")
"""The innermost open span, the parent of the next one."""


def current_context(what: str = "this") -> Context:
    """The frame that this code runs in.

    Raises:
        ContextNotFoundError: outside a run.
    """
    context = current.get()
    if context is None:
        raise ContextNotFoundError(what)
    return context
