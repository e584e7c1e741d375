"""What the header of the trace list says of where traces come from: a receiver, files that grow."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from ...analysis.text import one_line, plural
from ...importers import Following
from ...receiver.status import Status
from ..widgets.drawn import Drawable, Run


def receiver_pieces(status: Status) -> Iterable[Drawable]:
    """What the header says of the receiver."""
    if status.state == "stopped":
        if status.problem:
            yield Run("   not receiving (see the notice; l tries again)", "warning")
        return
    if status.state == "listening":
        yield Run(f"   ◉ receiving on {one_line(status.where())}", "good")
        rate = f", {status.spans_per_second:,.0f}/s" if status.spans_per_second >= 1 else ""
        yield Run(f"  {plural(status.spans, 'span')}{rate}", "dim")
    else:
        yield Run(f"   receiver: {status.state}…", "warning")
    if status.problem:
        yield Run(f"   {one_line(status.problem)}", "warning")


def following_pieces(files: Following) -> Iterable[Drawable]:
    """What the header says of files that still grow."""
    if files.problem:
        yield Run(f"   {one_line(files.problem)}", "warning")
    if not files.is_on:
        if files.files:
            yield Run("   not following (F)", "dim")
        return
    yield Run(f"   ◉ following {plural(files.files, 'file')}", "good")
    if files.waiting:
        path, line = files.waiting[0]
        more = f" and {len(files.waiting) - 1} more" if len(files.waiting) > 1 else ""
        yield Run(f"  waits for the rest of line {line:,} of {one_line(PurePath(path).name)}{more}", "dim")
