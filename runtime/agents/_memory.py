"""An agent's memory: JSON values by name, kept over its generations, each write an event."""

from __future__ import annotations

import copy
from collections.abc import Iterator, MutableMapping

from ..errors import NotSerializableError
from ..messages import Json, json_safe
from ..trace import MemoryWrite
from ._context import current_context


class Memory(MutableMapping[str, Json]):
    """The memory of the agent that the code runs in. Values are copied in and out, so only writes change it."""

    def __getitem__(self, key: str) -> Json:
        """A copy of the value. Raises KeyError where there is none."""
        return copy.deepcopy(current_context("memory").memory[key])

    def __setitem__(self, key: str, value: Json) -> None:
        """Write a JSON value. Raises NotSerializableError for anything else."""
        context = current_context("memory")
        kept, faults = json_safe(value)
        if faults:
            raise NotSerializableError(f"memory {key!r}", faults)
        context.memory[key] = kept
        context.run.point(context.span_id, MemoryWrite, key=key, value=copy.deepcopy(kept))

    def __delitem__(self, key: str) -> None:
        """Remove the value. Raises KeyError where there is none."""
        context = current_context("memory")
        del context.memory[key]
        context.run.point(context.span_id, MemoryWrite, key=key, deleted=True)

    def __iter__(self) -> Iterator[str]:
        return iter(list(current_context("memory").memory))

    def __len__(self) -> int:
        return len(current_context("memory").memory)


memory = Memory()
"""The memory of the agent that the code runs in."""
