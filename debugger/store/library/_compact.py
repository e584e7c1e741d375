"""Compaction: many small segments become one, so that readers open few files."""

from __future__ import annotations

from ._catalog import Catalog, Segment
from ._place import Place
from ._segments import Segments
from ._work import Work, Workshop, clean

MOST = 10
"""Segments that are left alone."""
FEWEST = 5
"""What is left of more than the most."""
CHEAP_BYTES = 100_000_000
"""More than this is copied only where there are twice too many: whoever loads a small file should not wait for it."""
AT_ONCE = 20
"""Segments that become one together: others wait with what they load until that is done."""
MOST_BEHIND = 60
"""Segments that are left alone while more is waiting to be loaded: copying a span takes a third of loading it."""
CHEAP_SPANS = 10_000
"""Spans that are copied even then, so that what comes in small pieces does not leave many of them."""


def chosen(segments: list[Segment], *, is_behind: bool = False) -> list[Segment]:
    """The segments to make one of, oldest first: the smallest, so that each row is copied few times."""
    few = len(segments) <= 2 * MOST
    if len(segments) <= MOST or (is_behind and few):
        return []
    smallest = sorted(segments, key=lambda segment: (segment.bytes, segment.position))
    picked = smallest[: min(len(segments) - FEWEST + 1, AT_ONCE)]
    if is_behind and len(segments) <= MOST_BEHIND:
        while sum(segment.spans for segment in picked) > CHEAP_SPANS:
            picked.pop()
    elif few:
        while sum(segment.bytes for segment in picked) > CHEAP_BYTES:
            picked.pop()
    return sorted(picked, key=lambda segment: segment.position) if len(picked) > 1 else []


def compact(place: Place, catalog: Catalog, *, is_behind: bool = False, workshop: Workshop | None = None) -> bool:
    """Make one segment of the smallest, where there are too many. Rows that count no longer are left behind.

    Args: is_behind: more is waiting to be loaded, so only what is cheap or cannot wait is done.
    Returns: whether there was anything to do; then there may be more.
    """
    if not chosen(catalog.segments(), is_behind=is_behind):
        return False
    with catalog.writing():
        segments = chosen(catalog.segments(), is_behind=is_behind)  # another process may have been faster
        if segments:
            _merge(place, catalog, segments, workshop)
    with catalog.writing():
        clean(place, {segment.name for segment in catalog.segments()})
    return True


def _merge(place: Place, catalog: Catalog, segments: list[Segment], workshop: Workshop | None) -> None:
    reading = Segments(place, Catalog.open(place.catalog))
    try:
        live = reading.live_ids()
    finally:
        reading.close()
    work = Work.begin(place, catalog.last_file_id, workshop)
    try:
        for segment in segments:
            work.attach(place.segments / segment.name)
            work.copy(live[segment.name])
            work.detach()
            catalog.drop_segment(segment.name)
        traces, spans, size = work.publish()
        # What is copied counts, so no other segment holds it: the place in the order is free to choose.
        catalog.add_segment(Segment(work.name, catalog.next_position(), traces, spans, size))
    finally:
        work.discard()
