"""Agents: async functions that run as frames."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints

from ..errors import RebornLimitError
from ..messages import Json, Outcome, json_safe
from ..models import Model
from ..snapshot import Frame
from ..tools import Tool, revive_as
from ..trace import AgentEnd, AgentStart, GenerationEnd, GenerationStart
from ._body import bodies
from ._context import Context, current, current_context, current_span
from ._memory import remember_edits
from ._revive import outcome_of

P = ParamSpec("P")
R = TypeVar("R")

FORBIDDEN = "/:"
"""Characters that call ids are built with."""


@dataclass(frozen=True, slots=True)
class Reborn:
    """What a handler returns to run again in the same frame: memory and spend stay, a new generation begins."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def reborn(*args: Any, **kwargs: Any) -> Any:
    """Return this from a handler to start its next generation; without arguments the input stays the same."""
    return Reborn(args, kwargs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Generic[P, R]):
    """An async function that runs as a frame: with a call id, memory, a journal and a place in the trace."""

    fn: Callable[P, Awaitable[R]]
    id: str
    model: Model | str | None = None
    """The default model of its prompts, or its key in the run's ``models``."""
    tools: Sequence[Tool | Agent[..., Any]] = ()
    """The default tools of its prompts."""
    max_generations: int = 100

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Call the agent from within a run.

        The call id is taken here, before any await: calls made in a stable order get stable ids, also when they then
        run in
        parallel.

        Raises:
            ContextNotFoundError: outside a run.
            DepthExceededError: agents are nested too deep.
        """
        parent = current_context(f"agent {self.id!r}")
        return self._run(parent, parent.open_child(self.id, self), args, kwargs)

    async def _run(self, parent: Context, frame: Context, args: Any, kwargs: Any) -> R:
        run = frame.run
        frame.input, unlike = _input_json(self.fn, args, kwargs)
        if unlike:
            frame.lost["input"] = "; ".join(unlike)
        frame.opened_in = current_span.get()
        frame.started = run.tick()
        parent.children[frame.call_id] = frame
        frame.span_id = run.start(
            AgentStart,
            frame.opened_in,
            agent_id=self.id,
            call_id=frame.call_id,
            input=frame.input,
            memory=dict(frame.memory_start),
        )
        frame.task = asyncio.current_task()
        tokens = current.set(frame), current_span.set(frame.span_id), bodies.set(())
        outcome = Outcome(status="aborted")
        try:
            remember_edits(frame)
            recorded = run.completed_frame(frame)
            if recorded is not None:
                _take_over(frame, recorded)
                outcome = Outcome(status="ok", output=recorded.output)
                return self._revive(recorded.output)
            try:
                result = await self._generations(frame, args, kwargs)
            finally:
                if frame.teardown is not None:
                    await frame.teardown.aclose()
            output, lost = json_safe(result)
            frame.status, frame.output = "completed", output
            if lost:
                frame.lost["output"] = "; ".join(lost)
            outcome = Outcome(status="ok", output=output, lost=frame.lost.get("output"))
            return result
        except BaseException as error:
            outcome = outcome_of(error)
            frame.status, frame.error = "failed", outcome.error
            raise
        finally:
            current.reset(tokens[0])
            current_span.reset(tokens[1])
            bodies.reset(tokens[2])
            frame.ended = run.tick()
            run.end(AgentEnd, frame.span_id, outcome=outcome)

    def _revive(self, output: Json) -> R:
        """A recorded output as the type that the handler says it returns; as JSON where that cannot be told."""
        try:
            kind = get_type_hints(self.fn).get("return", Any)
        except NameError:
            kind = Any
        revived: R = revive_as(kind, output)
        return revived

    async def _generations(self, frame: Context, args: Any, kwargs: Any) -> R:
        generation = 0
        while True:
            frame.generation = generation
            given, _ = _input_json(self.fn, args, kwargs)
            frame.run.point(frame.span_id, GenerationStart, generation=frame.generation, input=given)
            reason = "error"
            try:
                result = await self.fn(*args, **kwargs)
                reason = "reborn" if isinstance(result, Reborn) else "return"
            finally:
                frame.run.point(
                    frame.span_id,
                    GenerationEnd,
                    generation=frame.generation,
                    memory=json_safe(frame.memory)[0],
                    reason=reason,
                )
            if not isinstance(result, Reborn):
                return result
            if result.args or result.kwargs:
                args, kwargs = result.args, result.kwargs
            generation += 1
            if generation >= self.max_generations:
                raise RebornLimitError(self.id, self.max_generations)
            # A handler that never awaits anything must still let others run and be cancelled between generations.
            await asyncio.sleep(0)


def agent(
    *,
    model: Model | str | None = None,
    tools: Sequence[Tool | Agent[..., Any]] = (),
    name: str | None = None,
    max_generations: int = 100,
) -> Callable[[Callable[P, Awaitable[R]]], Agent[P, R]]:
    """Make an agent of an async function.

    Args:
        model: the default model of its prompts, or its key in the run's ``models``.
        tools: the default tools of its prompts; an agent among them is offered as a tool.
        name: the agent's id, by default the function's name; must hold no ``/`` and no ``:``.
        max_generations: passes of the handler before ``RebornLimitError``.

    Raises:
        ValueError: the id is empty or holds a forbidden character.
        TypeError: the function is not async.
    """

    def decorate(fn: Callable[P, Awaitable[R]]) -> Agent[P, R]:
        called = name or getattr(fn, "__name__", "")
        if not called or any(c in FORBIDDEN or "\ud800" <= c <= "\udfff" for c in called):
            raise ValueError(f"agent id {called!r} must be some text without '/' and ':' that can be written")
        if not inspect.iscoroutinefunction(fn):
            raise TypeError(f"agent {called!r} must be an async function")
        return Agent(fn=fn, id=called, model=model, tools=tuple(tools), max_generations=max_generations)

    return decorate


def _take_over(frame: Context, recorded: Frame) -> None:
    """The frame of an agent that is not run again, as it was when it completed; its sub-agents stay below it."""
    frame.status, frame.output, frame.generation = "completed", recorded.output, recorded.generation
    frame.adopted = dict.fromkeys(recorded.children)
    if frame.run.enable_snapshot:
        frame.journal = recorded.journal.copy()

    def remember(_: int) -> None:
        frame.memory = dict(recorded.memory)

    frame.run.point(
        frame.span_id, GenerationEnd, first=remember, generation=recorded.generation, memory=dict(recorded.memory)
    )


def _input_json(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Json, tuple[str, ...]]:
    """The arguments by parameter name, and what of them is no JSON. What does not bind is left to the call itself."""
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, Any] = dict(bound.arguments)
    except TypeError:
        named = {"args": list(args), "kwargs": kwargs}
    return json_safe(named)
