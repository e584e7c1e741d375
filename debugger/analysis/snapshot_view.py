"""A snapshot for the screen: frames as a flat tree, each with memory, journal, status and fidelity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from runtime.journal import JournalEntry
from runtime.messages import Json, JsonObject
from runtime.snapshot import NANO_USD, ROOT_ID, Budget, Frame, Snapshot

from ..replay.model import Anchor, ReplayPlan
from .document import EMPTY, Block, Builder, Document, Line, Piece, Style, told
from .state_changes import StateChange, asked_for, changes_into, outcome_text
from .text import clock, cost, count, one_line, plural

EntryKind: TypeAlias = Literal["prompt", "tool", "value"]

_ENTRY: dict[EntryKind, tuple[str, Style]] = {"prompt": ("◆", "llm"), "tool": ("▲", "tool"), "value": ("·", "dim")}
_STATUS: dict[str, tuple[str, Style]] = {
    "running": ("◌ running", "warning"),
    "completed": ("done", "good"),
    "done": ("done", "good"),
    "failed": ("✗ failed", "error"),
    "aborted": ("✗ aborted", "warning"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """One journal entry: a content hash and what came of it."""

    kind: EntryKind
    name: str
    """The model or tool where the request was recorded; else the short hash."""
    content_hash: str
    outcomes: int
    failed: int
    """How many of the outcomes were errors or aborts."""
    last: str
    """The last outcome on one line."""
    answers: bool
    """False when nothing recorded under this hash can answer again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameView:
    """One frame at the cut."""

    call_id: str
    agent_id: str
    depth: int
    status: str
    generation: int | None
    memory: JsonObject | None
    """None where the trace does not record it."""
    entries: tuple[EntryView, ...] = ()
    input: Json = None
    output: Json = None
    has_output: bool = False
    error: str | None = None
    budget: str = ""
    """What was spent up to the cut, in words; empty where nothing is known."""
    fidelity: str = "exact"
    """``exact``, ``inferred`` or ``missing``."""
    notes: tuple[str, ...] = ()
    """Why it is not exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotView:
    """A snapshot at a cut."""

    trace_id: str
    span_id: str | None
    """None for the end of the trace."""
    anchor: Anchor
    taken_unix_nano: int | None
    """The time of the cut in the recording."""
    source: str
    """Where the trace came from."""
    frames: tuple[FrameView, ...]
    """A frame before its children."""
    place: str = ""
    """Where the cut is, in words; empty where span and anchor say it."""
    left_out: int = 0
    """Frames that are not among ``frames``, as there are so many."""

    @property
    def fidelity(self) -> str:
        """The least faithful of the frames."""
        found = {frame.fidelity for frame in self.frames}
        return next((word for word in ("missing", "inferred") if word in found), "exact")


FrameViews: TypeAlias = Callable[[Iterable[tuple[int, Frame]]], tuple[FrameView, ...]]
"""Makes the views of frames, each given with its depth."""
FramePages: TypeAlias = Callable[[Sequence[FrameView]], Sequence["FramePage"]]
"""Makes what a document says of frames."""


class FramePage(NamedTuple):
    """A frame in a document."""

    row: Line
    """In the list of frames."""
    blocks: tuple[Block, ...]
    """All of it."""


def frame_views(frames: Iterable[tuple[int, Frame]]) -> tuple[FrameView, ...]:
    """The views of frames, each given with its depth."""
    return tuple([frame_view(depth, frame) for depth, frame in frames])


def frame_pages(views: Sequence[FrameView]) -> list[FramePage]:
    """What a document says of frames."""
    return [frame_page(view) for view in views]


def snapshot_view(
    snapshot: Snapshot,
    *,
    source: str,
    taken_unix_nano: int | None = None,
    only: Collection[str] | None = None,
    views: FrameViews = frame_views,
) -> SnapshotView:
    """The view of a snapshot.

    Args:
        snapshot: the snapshot; not changed, its payloads are shared.
        source: what the trace was loaded from, to be shown.
        taken_unix_nano: the time of the cut in the recording, where known.
        only: call ids of the frames to show, each with all those above it; None for all.
        views: makes the views of the frames.
    """
    origin = snapshot.provenance
    return SnapshotView(
        trace_id=origin.trace_id,
        span_id=origin.span_id,
        anchor=origin.anchor or "after",
        taken_unix_nano=taken_unix_nano,
        source=source,
        frames=views(_walk(snapshot, only)),
        left_out=0 if only is None else snapshot.frame_count - len(only),
    )


def _walk(snapshot: Snapshot, only: Collection[str] | None) -> Iterator[tuple[int, Frame]]:
    if only is None:
        yield from snapshot.walk()
        return
    stack = [(0, snapshot.root_id)]
    while stack:
        depth, call_id = stack.pop()
        frame = snapshot.frames[call_id]
        yield depth, frame
        stack.extend((depth + 1, child) for child in reversed(frame.children) if child in only)


def frame_view(depth: int, frame: Frame) -> FrameView:
    """The view of a frame."""
    notes = tuple(f"{note.what} ({note.times} times)" if note.times > 1 else note.what for note in frame.fidelity)
    return FrameView(
        call_id=frame.call_id,
        agent_id=frame.agent_id or ("the run" if frame.call_id == ROOT_ID else "(no agent id)"),
        depth=depth,
        status=frame.status,
        generation=frame.generation,
        memory=None if _memory_is_missing(frame) else frame.memory,
        entries=tuple(_entry_view(kind, entry) for kind, entry in sorted(frame.journal, key=_first_start)),
        input=frame.input,
        output=frame.output,
        has_output=frame.status == "completed",
        error=f"{frame.error.type}: {frame.error.message}" if frame.error else None,
        budget=_budget_text(frame.budget),
        fidelity=frame.fidelity_level,
        notes=notes,
    )


def _memory_is_missing(frame: Frame) -> bool:
    """True where an empty memory only means that the trace holds none. Restore then leaves a note on memory."""
    return not frame.memory and any(note.level == "missing" and "memory" in note.what for note in frame.fidelity)


def _first_start(item: tuple[EntryKind, JournalEntry]) -> tuple[bool, int]:
    """When the first call under this entry started; entries without a time come last, in their own order."""
    starts = [outcome.start_unix_nano for outcome in item[1].outcomes if outcome.start_unix_nano is not None]
    return (not starts, min(starts, default=0))


def _entry_view(kind: EntryKind, entry: JournalEntry) -> EntryView:
    name = asked_for(entry) or ("value taken" if kind == "value" else short_hash(entry.content_hash))
    last = entry.outcomes[-1] if entry.outcomes else None
    return EntryView(
        kind=kind,
        name=name,
        content_hash=entry.content_hash,
        outcomes=len(entry.outcomes),
        failed=sum(outcome.status != "ok" for outcome in entry.outcomes),
        last=outcome_text(last) if last else "",
        answers=any(outcome.can_answer for outcome in entry.outcomes),
    )


def _budget_text(budget: Budget) -> str:
    spent = budget.total()
    if spent is None or not spent.call_count:
        return ""
    text = f"{plural(spent.call_count, 'model turn')}, {count(spent.prompt_tokens)} → "
    text += f"{count(spent.completion_tokens)} tok"
    text += f", {cost(spent.costs[NANO_USD])}" if NANO_USD in spent.costs else ""
    return f"{text}, with sub-agents" if spent.call_count != budget.own.call_count else text


def snapshot_document(
    view: SnapshotView,
    span_name: str,
    plan: ReplayPlan | None,
    changes: Sequence[StateChange] | None = None,
    since: str = "",
    replay_key: str = "r",
    pages: FramePages = frame_pages,
) -> Document:
    """The snapshot as lines: where the cut is, what changed, the frames, each in full, a replay from here.

    Args:
        view: the snapshot.
        span_name: what the screen calls the span of the cut.
        plan: of a replay from here, where one was made.
        changes: what differs from another state; None where there is no other.
        since: which state that is, in words.
        replay_key: what starts a replay.
        pages: makes what is said of the frames.
    """
    out = Builder()
    where = view.place or (f"{view.anchor} {one_line(span_name)}" if view.span_id else "at the end of the trace")
    out.line(Piece("state ", "dim"), Piece(where, "strong"))
    facts = [plural(len(view.frames) + view.left_out, "frame"), f"fidelity: {view.fidelity}"]
    if view.taken_unix_nano is not None:
        facts.insert(0, clock(view.taken_unix_nano))
    out.line(Piece(" · ".join(facts), "dim"))
    out.line(told(view.source, "dim", "unknown source", before="from "))
    if changes is not None:
        changes_into(out, changes, f"changed since {since}")
    out.heading("frames")
    told_frames = pages(view.frames)
    for page in told_frames:
        out.put(page.row)
    if view.left_out:
        said = "that run, that changed and that started last are shown"
        out.line(Piece(f"… {plural(view.left_out, 'more frame')}; those {said}", "dim"), indent=2)
    if not view.frames:
        out.line(Piece("No agent had started yet.", "dim"), indent=2)
    for page in told_frames:
        out.put_blocks(page.blocks)
    if plan is not None:
        _plan(out, plan, replay_key)
    return out.document(where)


def _plan(out: Builder, plan: ReplayPlan, key: str) -> None:
    out.heading("a replay from here")
    out.text("plan", plan.sentence, indent=2)
    if plan.problem:
        out.text("problem", plan.problem, style="warning", indent=2, first=(Piece("! ", "warning"),))
    if plan.warning:
        out.text("warning", plan.warning, style="warning", indent=2, first=(Piece("! ", "warning"),))
    if not plan.problem:
        out.line(Piece(key, "key"), Piece(" starts it, after asking", "dim"), indent=2)


def frame_page(frame: FrameView) -> FramePage:
    """What a document says of a frame."""
    out = Builder(f"{frame.call_id} ")
    _frame(out, frame, frame.call_id)
    return FramePage(_row(frame), out.document().blocks)


def _row(frame: FrameView) -> Line:
    word, style = _STATUS.get(frame.status, (one_line(frame.status), ""))
    prompts = sum(entry.outcomes for entry in frame.entries if entry.kind == "prompt")
    tools = sum(entry.outcomes for entry in frame.entries if entry.kind == "tool")
    held = f"  ◆{prompts} ▲{tools}"
    keys = "memory not recorded" if frame.memory is None else f"memory: {plural(len(frame.memory), 'key')}"
    pieces = (
        Piece("● ", "agent"),
        told(frame.agent_id, "strong"),
        Piece(f"  {word}", style),
        Piece(held, "dim"),
        Piece(f"  {keys}", "dim" if frame.memory is not None else "warning"),
        Piece("" if frame.fidelity == "exact" else f"  {frame.fidelity}", "warning"),
    )
    # Depth is bounded by the snapshot format, but a pane is narrow.
    return Line(pieces, indent=2 + 2 * min(frame.depth, 12))


def _frame(out: Builder, frame: FrameView, key: str) -> None:
    word, style = _STATUS.get(frame.status, (one_line(frame.status), ""))
    generation = "" if frame.generation is None else f"  generation {frame.generation}"
    out.put(EMPTY)
    out.title(told(frame.agent_id, "heading", before="● "), Piece(f"  {word}", style), Piece(generation, "dim"))
    out.line(Piece("call id ", "dim"), told(frame.call_id, "dim"), indent=2)
    if frame.fidelity != "exact" or frame.notes:
        notes = "; ".join(one_line(note) for note in frame.notes)
        out.text(f"{key}.fidelity", f"{frame.fidelity}{': ' if notes else ''}{notes}", style="warning", indent=2,
                 first=(Piece("! ", "warning"),))  # fmt: skip
    if frame.budget:
        out.line(Piece("spent ", "dim"), told(frame.budget), indent=2)
    if frame.input is not None:
        out.line(Piece("input", "key"), indent=2)
        out.json(f"{key}.input", frame.input, indent=4)
    if frame.memory is None:
        out.line(Piece("memory", "key"), Piece("  not recorded", "warning"), indent=2)
    elif not frame.memory:
        out.line(Piece("memory", "key"), Piece("  empty", "dim"), indent=2)
    else:
        out.line(Piece("memory", "key"), indent=2)
        out.json(f"{key}.memory", dict(frame.memory), indent=4)
    _entries(out, frame, key)
    if frame.has_output:
        out.line(Piece("output", "key"), indent=2)
        out.json(f"{key}.output", frame.output, indent=4)
    if frame.error:
        out.text(f"{key}.error", frame.error, style="error", indent=2, first=(Piece("✗ ", "error"),))


def _entries(out: Builder, frame: FrameView, key: str) -> None:
    if not frame.entries:
        out.line(Piece("journal", "key"), Piece("  empty", "dim"), indent=2)
        return
    out.line(Piece("journal", "key"), Piece(f"  {plural(len(frame.entries), 'entry', 'entries')}", "dim"), indent=2)
    out.close()
    for entry in frame.entries:
        glyph, style = _ENTRY[entry.kind]
        times = f" x{entry.outcomes}" if entry.outcomes > 1 else ""
        failed = f" ✗{entry.failed}" if entry.failed else ""
        out.line(
            told(entry.name, style, before=f"{glyph} "),
            Piece(times, "strong"),
            Piece(failed, "error"),
            Piece("" if entry.answers else " cannot answer", "warning"),
            Piece(f"  {short_hash(entry.content_hash)}", "dim"),
            told(entry.last, "dim" if not entry.failed else "", "nothing", before="  → "),
            indent=4,
            hang=4,
        )
    out.close()


def short_hash(content_hash: str) -> str:
    """A hash as a name for people: its first eight hex digits."""
    return one_line(content_hash.rpartition(":")[2][:8])
