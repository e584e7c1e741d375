"""What a replay is, in words: of what, how far, with which changes, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from runtime.messages import Call

from .text import one_line, plural

ENDED: Final = {
    "done": "complete",
    "past_cut": "came to its cut",
    "diverged": "diverged",
    "failed": "failed",
    "cancelled": "cancelled",
}
"""How the trace of a replay says that it ended, and how the screen does."""

_VALUE: Final = 24
"""Characters of a changed value."""


@dataclass(frozen=True, slots=True)
class BranchWords:
    """A replay in words, for a row and for a line of its own."""

    short: str
    """``✎ model, complete``: what sets it apart from other replays first."""
    long: str
    """``fork from before chat gpt-4o: ✎ model = gpt-4.1, complete, 2 calls live``."""


def branch_words(calls: Iterable[Call], cut_name: str | None) -> BranchWords | None:
    """The words for a replay.

    Args:
        calls: all calls of the replay.
        cut_name: what the span of its cut is called; None where that is not known.
    Returns: None where no call is the run of a replay.
    """
    run: Call | None = None
    live = given = 0
    for call in calls:
        live += call.served_by == "live"
        given += call.served_by == "supplied"
        run = call if run is None and call.origin_trace_id is not None else run
    if run is None:
        return None
    ended = "unfinished" if run.end_unix_nano is None else ENDED.get(run.replay_ended or "", "")
    cut = f"{run.origin_anchor or 'before'} {one_line(cut_name, run.origin_span_id)}" if run.origin_span_id else ""
    asked = [plural(number, "call") + how for number, how in ((live, " live"), (given, " by hand")) if number]
    paths = [one_line(str(edit.get("path"))) for edit in run.edits]
    if paths:
        where = f"fork from {cut}: " if cut else "fork: "
        what = "; ".join(f"✎ {path} = {_value(edit.get('value'))}" for path, edit in zip(paths, run.edits, strict=True))
        first = f"✎ {', '.join(paths)}"
    else:
        where, what = "replay ", f"until {cut}" if cut else "of the whole trace"
        first = f"until {cut}" if cut else ""
    # A replay up to a cut is expected to come there: where it did, the cut says so.
    said = "" if run.replay_ended == "past_cut" and first else ended
    return BranchWords(
        short=", ".join(filter(None, (first, said, *asked) if paths else (said, first, *asked))) or "replay",
        long=where + ", ".join(filter(None, (what, ended, *asked))),
    )


def _value(value: object) -> str:
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), '""')
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"
