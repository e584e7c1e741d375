"""Resources: what an agent opens for its whole life, over all generations, and closes when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from typing import Any, TypeAlias, TypeVar

from ._context import current_context

T = TypeVar("T")

Manager: TypeAlias = "AbstractAsyncContextManager[T] | AbstractContextManager[T]"


async def resource(name: str, make: Callable[[], Manager[T]]) -> T:
    """The agent's resource of that name; opened when first asked for, the same object after that.

    Closed when the agent ends, in reverse order of opening, also when it fails or is cancelled. Never part of a
    snapshot: an
    agent that is restored or replayed opens its resources anew.

    Args:
        name: unique within the agent.
        make: gives a context manager, blocking or async, such as ``lambda: open_database(path)``.

    Raises:
        ContextNotFoundError: outside a run.
    """
    context = current_context("resource()")
    async with context.opening.setdefault(name, asyncio.Lock()):
        if name not in context.resources:
            if context.teardown is None:
                context.teardown = AsyncExitStack()
            manager: Any = make()
            if hasattr(manager, "__aenter__"):
                opened = await context.teardown.enter_async_context(manager)
            else:
                opened = context.teardown.enter_context(manager)
            context.resources[name] = opened
        kept: T = context.resources[name]
        return kept
