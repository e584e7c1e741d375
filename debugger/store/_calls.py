"""The calls of the traces that were asked for last: read once, whoever asks, and told how far that is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Condition
from typing import Final, TypeAlias

from runtime.messages import Call

_CACHED_TRACES: Final = 8
_WAIT_S: Final = 0.1
"""How often one who waits for another's reading says how far it is."""

Version: TypeAlias = tuple[int, str]
TellSpans: TypeAlias = Callable[[int], None]
"""Is told how many spans of the trace are read, every so often. What it raises ends the reading."""


class KeptCalls:
    """Calls by trace. May be used from several threads."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, tuple[Version, list[Call]]] = OrderedDict()
        self._changed = Condition()
        self._reading: dict[str, int] = {}
        """Traces that a thread reads now, and how many spans of them it has."""

    def get(self, trace_id: str, version: Version) -> list[Call] | None:
        """The calls, where they are kept and of this version."""
        with self._changed:
            kept = self._calls.get(trace_id)
            if kept is None or kept[0] != version:
                return None
            self._calls.move_to_end(trace_id)
            return kept[1]

    def read(
        self, trace_id: str, version: Version, read: Callable[[TellSpans], list[Call]], tell: TellSpans
    ) -> list[Call]:
        """The calls, read where they are not kept. While another thread reads them, this one waits for it.

        Args:
            trace_id: the trace.
            version: of what is asked for.
            read: reads them; what is empty is not kept.
            tell: told how far it is, also while another thread reads.
        """
        with self._changed:
            while trace_id in self._reading:
                tell(self._reading[trace_id])
                self._changed.wait(_WAIT_S)
            if (calls := self.get(trace_id, version)) is not None:
                return calls
            self._reading[trace_id] = 0

        def told(done: int) -> None:
            self._reading[trace_id] = done
            tell(done)

        try:
            calls = read(told)
            if calls:
                self._keep(trace_id, version, calls)
            return calls
        finally:
            with self._changed:
                del self._reading[trace_id]
                self._changed.notify_all()

    def _keep(self, trace_id: str, version: Version, calls: list[Call]) -> None:
        with self._changed:
            self._calls[trace_id] = (version, calls)
            self._calls.move_to_end(trace_id)
            while len(self._calls) > _CACHED_TRACES:
                self._calls.popitem(last=False)
