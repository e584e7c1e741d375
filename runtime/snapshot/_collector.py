"""The cyclic garbage collector, paused while many objects are made and none of them is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused(*, keeps_result: bool = False) -> Iterator[None]:
    """Pause automatic collection, and turn it on again if it was on.

    A restore makes a few objects per event, all of which stay; the collector would walk over them, and over all events,
    again and again, which is half of the time at 100,000 events. Nothing leaks: what is dropped meanwhile is freed
    by reference counts, and cycles are found by the next full collection.

    Args:
        keeps_result: what was made will stay for long. It then counts as old at once; else the first collection after
            the pause would walk over all of it, which costs as much as a third of the restore.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if keeps_result:
                _count_all_as_old()
            gc.enable()


def _count_all_as_old() -> None:
    """Move the young objects to the oldest generation without a walk over them."""
    if gc.get_freeze_count() == 0:  # else the program keeps objects out of the collector's sight, which must stay so
        gc.freeze()
        gc.unfreeze()
