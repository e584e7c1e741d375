"""Trace events of rejelly: a JSON array of them, an object with ``events``, or JSON lines.

Rejelly writes the start and the end of a span as two events. All events of one span become one span here, which
carries them word for word; a point event goes to the span that it happened in, as rejelly's own OTLP exporter has it.
Events keep their place in the file (``SEQ_STEP``), since rejelly orders equal times by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from ._records import Context, Note, RawSpan
from ._rejelly_events import Event, json_text, parse_events
from ._times import stored_time

name: Final = "rejelly events"
growth: Final = "whole"
SCHEMA_VERSION: Final = 1
SEQ_STEP: Final = 1 << 20
"""An event's sequence number is its place in the file times this; what is made of one event lies in between."""

_CONTEXT: Final = Context(scope='{"name":"rejelly"}')
_BATCH: Final = 4096
_MOST_BYTES: Final = 1 << 30
_TYPES: Final = (b'"agent:', b'"runWith:', b'"generation:', b'"turn:', b'"tools:execute:', b'"sys:log"')
_INT64: Final = 2**63 - 1


def sniff(head: bytes) -> bool:
    """True for JSON with the keys that every event has, or with one of the usual types."""
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        return False
    if b'"type"' not in head or b'"timestamp"' not in head:
        return False
    return b'"schemaVersion"' in head or any(kind in head for kind in _TYPES)


def read(blocks: Iterable[bytes], note: Note) -> Iterator[list[RawSpan]]:
    """The spans of a file, in the order of their first events. Never raises for what is in the blocks.

    The whole file is held in memory, up to ``_MOST_BYTES``: both ends of a span may lie anywhere in it. Events of
    another schema version are refused together, as rejelly does: half a trace would restore to another state.
    """
    events = list(parse_events(_all_of(blocks, note), note))
    foreign = next((event for event in events if not _is_known_version(event.version)), None)
    if foreign is not None:
        found = "none" if foreign.version is None else repr(foreign.version)
        note(foreign.line, f"events of schema version {SCHEMA_VERSION} are read, this one has {found}", True)
        return
    batch: list[RawSpan] = []
    for group in _grouped(_placed(events)):
        batch.extend(_timed(span, group, note) for span in _spans(group))
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _all_of(blocks: Iterable[bytes], note: Note) -> bytes:
    """The file; nothing of one that is too large, which is noted."""
    held: list[bytes] = []
    size = 0
    for block in blocks:
        held.append(block)
        size += len(block)
        if size > _MOST_BYTES:
            note(None, f"more than {_MOST_BYTES >> 20} MiB of a format that is only read as a whole", True)
            return b""
    return b"".join(held)


def _is_known_version(version: Any) -> bool:
    return type(version) is int and version == SCHEMA_VERSION


class _Placed(NamedTuple):
    """An event with its time and its ids."""

    event: Event
    seq: int
    time: int
    trace_id: str
    span_id: str
    parent: str | None
    is_edge: bool
    has_id: bool


class _Group:
    """The events of one span, and of the model calls inside it: a convention sees one span at a time."""

    def __init__(self) -> None:
        self.events: list[_Placed] = []
        self.model_calls: list[str] = []


def _placed(events: list[Event]) -> list[_Placed]:
    """Every event with a time and ids; what it lacks comes from its neighbours, so that none is lost."""
    out = []
    trace_id = next((found for event in events if (found := _id(event.trace, "traceId"))), "rejelly")
    time = next((at for event in events if (at := nanoseconds(event.timestamp)) is not None), 0)
    for i, event in enumerate(events):
        trace_id = _id(event.trace, "traceId") or trace_id
        known = nanoseconds(event.timestamp)
        time = time if known is None else known
        span_id = _id(event.trace, "spanId")
        parent = _id(event.trace, "parentSpanId")
        is_edge = span_id is not None and event.type.endswith((":start", ":end"))
        made = span_id or _made_id("event", trace_id, str(i))
        out.append(_Placed(event, i * SEQ_STEP, time, trace_id, made, parent, is_edge, span_id is not None))
    return out


def _grouped(placed: list[_Placed]) -> Iterator[_Group]:
    edges = {(each.trace_id, each.span_id) for each in placed if each.is_edge}
    groups: dict[tuple[str, str], _Group] = {}
    for each in placed:
        key = (each.trace_id, each.span_id)
        if key not in edges and each.has_id and each.parent is not None and (each.trace_id, each.parent) in edges:
            key = (each.trace_id, each.parent)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group()
        group.events.append(each)
        if each.event.type in ("model:call:start", "model:call:end") and each.parent is not None:
            above = groups.get((each.trace_id, each.parent))
            if above is None and (each.trace_id, each.parent) in edges:
                above = groups[(each.trace_id, each.parent)] = _Group()
            if above is not None:
                above.model_calls.append(each.event.text)
    yield from groups.values()


def _spans(group: _Group) -> Iterator[RawSpan]:
    """The span of a group, and one for each result of a batch of tools."""
    group.events.sort(key=lambda each: (each.time, each.seq))
    first = next((each for each in group.events if each.event.type.endswith(":start") and each.is_edge), None)
    first = first or next((each for each in group.events if each.is_edge), group.events[0])
    base = base_type(first.event.type)
    start = next((each for each in group.events if each.event.type == f"{base}:start"), None)
    end = next((each for each in group.events if each.event.type == f"{base}:end"), None)
    edge = next((each for each in group.events if each.is_edge), first)
    place = [[each.seq, each.time, each.parent] for each in group.events]
    facts = {"rejelly.seq": min(each.seq for each in group.events)}
    texts = {
        "rejelly.events": "[" + ",".join(each.event.text for each in group.events) + "]",
        "rejelly.places": msgspec.json.encode(place).decode(),
    }
    if group.model_calls:
        texts["rejelly.model_calls"] = "[" + ",".join(group.model_calls) + "]"
    if not first.has_id:
        facts["rejelly.without_span"] = 1
    yield _raw(
        edge,
        edge.span_id,
        edge.parent if edge.has_id else None,
        _name(base, first.event),
        _start_time(start, end, first),
        end.time if end is not None else None if first.is_edge else first.time,
        (None, None) if end is None else (end.event.success, end.event.error),
        _attributes(texts, facts),
    )
    for i, each in enumerate(group.events):
        if each.event.type == "tools:execute:end" and isinstance(each.event.results, list):
            yield from _tools(each, start, str(i))


def _timed(span: RawSpan, group: _Group, note: Note) -> RawSpan:
    """The span with times that can be stored. Its events keep theirs: they are ordered by them, as rejelly does."""
    line = group.events[0].event.line
    start, end = (stored_time(time, line, note) for time in (span.start_unix_nano, span.end_unix_nano))
    return span._replace(start_unix_nano=start, end_unix_nano=end)


def _start_time(start: _Placed | None, end: _Placed | None, first: _Placed) -> int:
    """When the span started; where only its end was written, that less its duration."""
    if start is not None or end is None:
        return (start or first).time
    lasted = nanoseconds(end.event.duration)
    return max(0, end.time - lasted) if lasted is not None and lasted > 0 else end.time


def _tools(end: _Placed, start: _Placed | None, which: str) -> Iterator[RawSpan]:
    """One span per result of a batch: rejelly writes down only the batch, but each result has a key of its own."""
    results = [result for result in end.event.results if isinstance(result, dict)]
    begun = start if start is not None and start.time <= end.time else None
    for i, result in enumerate(results):
        first = end.seq - 2 * len(results) + i if begun is None else begun.seq + 1 + i
        last = end.seq - len(results) + i
        time = end.time if begun is None else begun.time
        texts = {"rejelly.tool_result": json_text(result)}
        facts = {"rejelly.seq": first, "rejelly.seq.end": last}
        tool = result.get("toolName")
        yield _raw(
            end,
            _made_id("tool", end.trace_id, end.span_id, which, str(i)),
            end.span_id if end.has_id else end.parent,
            tool if isinstance(tool, str) and tool else "tool",
            time,
            end.time,
            (result.get("success"), result.get("error")),
            _attributes(texts, facts),
        )


def _raw(
    place: _Placed,
    span_id: str,
    parent: str | None,
    label: str,
    start: int,
    end: int | None,
    came_of: tuple[Any, Any],
    attributes: str,
) -> RawSpan:
    success, error = came_of
    status = 0 if success is None else 1 if success else 2
    said = error.get("message") if status == 2 and isinstance(error, dict) else None
    message = storable(said) if isinstance(said, str) else ""
    return RawSpan(
        place.trace_id, span_id, parent, storable(label), 1, start, end, status, message,
        attributes, None, None, None, _CONTEXT,
    )  # fmt: skip


def _attributes(texts: dict[str, str], facts: dict[str, int]) -> str:
    pairs: list[dict[str, Any]] = [{"key": key, "value": {"intValue": str(value)}} for key, value in facts.items()]
    pairs += [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()]
    return msgspec.json.encode(pairs).decode()


def _name(base: str, event: Event) -> str:
    if isinstance(event.name, str) and event.name:
        return event.name
    if base == "agent":
        return f"agent {event.agent_id}" if isinstance(event.agent_id, str) and event.agent_id else "agent"
    return base


def base_type(kind: str) -> str:
    """The type of an event without ``:start`` or ``:end``."""
    return kind.removesuffix(":start").removesuffix(":end")


def nanoseconds(milliseconds: Any) -> int | None:
    """Milliseconds, also as text, in nanoseconds; None for what is no number. Exact for whole ones."""
    if isinstance(milliseconds, str):
        try:
            milliseconds = float(milliseconds)
        except ValueError:
            return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or milliseconds != milliseconds:
        return None
    if abs(milliseconds) > _INT64 // 1_000_000:
        return _INT64 if milliseconds > 0 else -_INT64
    whole = int(milliseconds)
    return whole * 1_000_000 + round((milliseconds - whole) * 1_000_000)


def storable(text: str) -> str:
    """The text without lone surrogates, which JSON can write and no database can store."""
    return text.encode("utf-8", "backslashreplace").decode()


def _id(trace: Any, key: str) -> str | None:
    value = trace.get(key) if isinstance(trace, dict) else None
    return storable(value) if isinstance(value, str) and value else None


def _made_id(*parts: str) -> str:
    """A span id for what rejelly gives none."""
    return hashlib.blake2b("\x00".join(parts).encode(), digest_size=8).hexdigest()
