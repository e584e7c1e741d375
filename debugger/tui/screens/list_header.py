"""What the trace list says of where traces come from: a receiver, files that grow, nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Final

from ...analysis.branches import BranchWords
from ...analysis.text import one_line, plural
from ...importers import Following
from ...receiver.status import Status
from ..widgets.drawn import Drawable, Run

_ROOMY: Final = 110
"""Cells from which on the header has room for how much is listed beside what the replay under the cursor is."""


def title_pieces(title: str, branch: BranchWords | None, width: int) -> Iterable[Drawable]:
    """What is listed, and what the replay under the cursor is, which goes first where both do not fit."""
    if branch is not None:
        yield Run(f"   ↺ {branch.long}", "good")
    if branch is None or width >= _ROOMY:
        yield Run(f"   {title}", "dim")


def receiver_pieces(status: Status, key: str) -> Iterable[Drawable]:
    """What the header says of the receiver, which a key switches."""
    if status.state == "stopped":
        if status.problem:
            yield Run(f"   not receiving (see the notice; {key} tries again)", "warning")
        return
    if status.state == "listening":
        # Of this machine the ports are enough; a narrow header has no room for more.
        where = status.where().replace("127.0.0.1:", ":").replace(" and ", ", ")
        yield Run(f"   ◉ receiving on {one_line(where)}", "good")
        rate = f", {status.spans_per_second:,.0f}/s" if status.spans_per_second >= 1 else ""
        yield Run(f"  {plural(status.spans, 'span')}{rate}", "dim")
    else:
        yield Run(f"   receiver: {status.state}…", "warning")
    if status.set_aside:
        yield Run(f"   {plural(status.set_aside, 'request')} set aside", "warning")
    if status.problem:
        yield Run(f"   {one_line(status.problem)}", "warning")


def following_pieces(files: Following, key: str) -> Iterable[Drawable]:
    """What the header says of files that still grow; a key switches whether they are followed."""
    if files.problem:
        yield Run(f"   {one_line(files.problem)}", "warning")
    if not files.is_on:
        if files.files:
            yield Run(f"   not following ({key})", "dim")
        return
    yield Run(f"   ◉ following {plural(files.files, 'file')}", "good")
    if files.waiting:
        path, line = files.waiting[0]
        more = f" and {len(files.waiting) - 1} more" if len(files.waiting) > 1 else ""
        name = one_line(PurePath(path).name)
        said = f"waits for the rest of line {line:,} of {name}" if line else f"no spans in {name} (empty)"
        yield Run(f"  {said}{more}", "dim")


def empty_text(is_library: bool, key: Callable[[str], str], files: Following | None, notes: int) -> tuple[str, ...]:
    """What to do where there is no trace.

    Args:
        is_library: the library is shown, no files.
        key: how a binding's key is written.
        files: how following the files stands.
        notes: how many notes on the input there are.
    """
    if is_library:
        return (
            "The library is empty.",
            "",
            f"{key('traces.receive'):<22} receives traces from running programs, here and now",
            "retrospan load FILE …  brings traces in, also while this is open",
            "retrospan FILE …       opens a file or folder without the library",
            "retrospan demo         opens the sample traces that come with Retrospan",
        )
    waiting = () if files is None else files.waiting
    odd = f"{key('traces.issues')} shows what was odd in the input; " if notes else ""
    return (
        "There are no traces here.",
        *(f"{one_line(PurePath(path).name)} {_awaited(line)}" for path, line in waiting[:_MOST_WAITING]),
        "",
        "retrospan FILE …     opens a file or folder of OpenTelemetry traces",
        "retrospan demo       opens the sample traces that come with Retrospan",
        "",
        f"{odd}{key('app.quit')} leaves.",
    )


_MOST_WAITING: Final = 5
"""Unfinished files that an empty list names."""


def _awaited(line: int) -> str:
    return f"ends within line {line:,}, which is read once its rest is there." if line else "is empty."
