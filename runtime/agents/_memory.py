"""An agent's memory: JSON values by name, kept over its generations, each write an event."""

from __future__ import annotations

import copy
from collections.abc import Iterator, MutableMapping

from ..errors import NotSerializableError
from ..messages import Json, json_safe
from ..trace import MemoryWrite
from ._body import note_write
from ._context import Context, current_context


class Memory(MutableMapping[str, Json]):
    """The memory of the agent that the code runs in. Values are copied in and out, so only writes change it."""

    def __getitem__(self, key: str) -> Json:
        """A copy of the value. Raises KeyError where there is none."""
        return copy.deepcopy(current_context("memory").memory[key])

    def __setitem__(self, key: str, value: Json) -> None:
        """Write a JSON value. Raises NotSerializableError for anything else, and for a key that is no text."""
        context = current_context("memory")
        if not isinstance(key, str):
            raise NotSerializableError(f"memory key {key!r}", ("a key must be text",))
        kept, faults = json_safe(value)
        if faults:
            raise NotSerializableError(f"memory {key!r}", faults)
        write_memory(context, [key, kept])

    def __delitem__(self, key: str) -> None:
        """Remove the value. Raises KeyError where there is none."""
        context = current_context("memory")
        if key not in context.memory:
            raise KeyError(key)
        write_memory(context, [key])

    def __iter__(self) -> Iterator[str]:
        return iter(list(current_context("memory").memory))

    def __len__(self) -> int:
        return len(current_context("memory").memory)


def write_memory(context: Context, write: list[Json]) -> None:
    """Write (``[key, value]``) or delete (``[key]``) in a frame's memory; the value is kept, not copied."""
    key, *value = write
    # Not the value itself: whoever is told of it might change it.
    told = {"value": copy.deepcopy(value[0])} if value else {"deleted": True}
    note_write([key, told["value"]] if value else write)

    def apply(_: int) -> None:
        if value:
            context.memory[key] = value[0]
        else:
            context.memory.pop(key, None)

    context.run.point(context.span_id, MemoryWrite, first=apply, key=key, **told)


def remember_edits(context: Context) -> None:
    """Write what the replay's user put into the frame's memory, once its place is reached."""
    session = context.run.session
    for patch in session.memory_due(context.call_id) if session is not None else ():
        write_memory(context, [patch.key, patch.value])


memory = Memory()
"""The memory of the agent that the code runs in."""
