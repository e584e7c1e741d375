"""Two snapshots beside each other, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.journal import Difference, json_differences
from runtime.messages import Json

_PLACES: Final = frozenset(("traceId", "spanId", "startUnixNano", "durationNs"))
"""Where and when an outcome was recorded: two runs that are otherwise the same differ in it."""


def compare_snapshots(left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differs between two snapshots as they are written, ``recorded`` being the left one; empty where none.

    Frames are aligned by call id, journal entries by content hash, memory by key. When a snapshot was made,
    and of which trace, is no difference.
    """
    was, now = dict(_frames(left)), dict(_frames(right))
    out: list[Difference] = []
    for call_id in {**was, **now}:
        path = f"frames[{call_id}]"
        if call_id not in now:
            out.append(Difference(part="frame", path=path, recorded=was[call_id], actual=None))
        elif call_id not in was:
            out.append(Difference(part="frame", path=path, recorded=None, actual=now[call_id]))
        else:
            for key in was[call_id]:
                out.extend(json_differences(key, f"{path}.{key}", was[call_id][key], now[call_id][key]))
    return tuple(out)


def _frames(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    stack = [snapshot["root"]]
    while stack:
        frame = dict(stack.pop())
        stack.extend(reversed(frame.pop("children").values()))
        frame["journal"] = {
            kind: {key: _placeless(entry) for key, entry in entries.items()}
            for kind, entries in frame["journal"].items()
        }
        frame["fidelity"] = [_placeless(note) for note in frame["fidelity"]]
        yield frame["callId"], frame


def _placeless(value: Json) -> Any:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in _PLACES}
        for key in ("origin", "outcomes"):
            if key in kept:
                kept[key] = _placeless(kept[key])
        return kept
    return [_placeless(item) for item in value] if isinstance(value, list) else value
