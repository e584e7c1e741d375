"""The emitter of one run: gives events their place in the order and hands them to subscribers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ._events import EVENTS, TraceEvent

logger = logging.getLogger(__name__)

Subscriber = Callable[[TraceEvent], None]

_everywhere: list[tuple[str, Subscriber]] = []


def subscribe(event_type: str, subscriber: Subscriber) -> Callable[[], None]:
    """Call the subscriber for each event of all runs of this process.

    Args:
        event_type: one of ``EVENTS``, or ``*`` for all.
        subscriber: called synchronously, in order of subscription; what it raises is logged and goes no further.

    Returns: a function that ends the subscription.

    Raises:
        ValueError: no such event type.
    """
    return _add(_everywhere, event_type, subscriber)


def _add(table: list[tuple[str, Subscriber]], event_type: str, subscriber: Subscriber) -> Callable[[], None]:
    if event_type != "*" and event_type not in EVENTS:
        raise ValueError(f"no event type {event_type!r}; there are {', '.join(sorted(EVENTS))} and '*'")
    entry = (event_type, subscriber)
    table.append(entry)

    def unsubscribe() -> None:
        if entry in table:
            table.remove(entry)

    return unsubscribe


class Emitter:
    """Numbers the events of one run and keeps them; ``events`` is the whole timeline so far."""

    def __init__(self, run_id: str, clock: Callable[[], int] = time.time_ns) -> None:
        self.run_id = run_id
        self.events: list[TraceEvent] = []
        self._clock = clock
        self._subscribers: list[tuple[str, Subscriber]] = []
        self._failed: set[int] = set()
        self.lock = threading.RLock()
        """Whoever stamps an event holds it until the event is told, so that numbers are taken once and in order."""

    def subscribe(self, event_type: str, subscriber: Subscriber) -> Callable[[], None]:
        """As the module's ``subscribe``, for this run alone."""
        return _add(self._subscribers, event_type, subscriber)

    def stamp(self) -> tuple[int, int]:
        """Time in nanoseconds and place in the order for the next event."""
        return self._clock(), len(self.events)

    def emit(self, event: TraceEvent) -> None:
        """Keep the event and hand it on. Nothing that a subscriber raises reaches the agent."""
        self.events.append(event)
        for wanted, subscriber in (*self._subscribers, *_everywhere):
            if wanted in ("*", event.type):
                try:
                    subscriber(event)
                except Exception as fault:
                    # Once per subscriber, or a full disk would fill the log as well.
                    if id(subscriber) not in self._failed:
                        self._failed.add(id(subscriber))
                        told = None if isinstance(fault, OSError) else fault  # a full disk is no fault of the code
                        logger.error(
                            "a subscriber failed on %s (%s); further failures of it are not logged",
                            event.type,
                            fault,
                            exc_info=told,
                            extra={"fault": fault},
                        )
