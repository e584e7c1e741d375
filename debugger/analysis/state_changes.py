"""What differs between two states of a trace: frames, memory, journal, status, budget, output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from runtime.journal import JournalEntry
from runtime.messages import Json, Outcome, Request, ToolRequest
from runtime.snapshot import Frame, Snapshot

from .document import Builder, Line, Original, Piece, Style, json_lines, json_text, told
from .text import plural
from .word_diff import diff_lines

ChangeKind: TypeAlias = Literal["frame", "status", "memory", "journal", "generation", "spent", "output"]

_SIGNS: dict[str, tuple[str, Style]] = {
    "added": ("+", "added"),
    "removed": ("-", "removed"),
    "changed": ("~", "warning"),
}
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """One difference between two states."""

    call_id: str
    """The frame that it is in."""
    agent_id: str
    kind: ChangeKind
    how: Literal["added", "removed", "changed"]
    what: str
    """The memory's key, the journal's request, the field."""
    before: Json = None
    after: Json = None


def snapshot_changes(before: Snapshot | None, after: Snapshot | None) -> tuple[StateChange, ...]:
    """How to come from one state to the other, frame by frame; None is the state before anything had started.

    Cost: a look at every frame, and a comparison of those that are not the same object in both.
    """
    return changes_of(other_frames(before, after))


def other_frames(before: Snapshot | None, after: Snapshot | None) -> list[tuple[Frame | None, Frame | None]]:
    """The frames that may differ between two states, in both; None where there is none yet, or none any more."""
    old = {} if before is None else before.frames
    new = {} if after is None else after.frames
    out: list[tuple[Frame | None, Frame | None]] = []
    for call_id, frame in new.items():
        was = old.get(call_id)
        if was is not frame:
            out.append((was, frame))
    out.extend((frame, None) for call_id, frame in old.items() if call_id not in new)
    return out


def changes_of(frames: Iterable[tuple[Frame | None, Frame | None]]) -> tuple[StateChange, ...]:
    """What differs in these frames."""
    out: list[StateChange] = []
    for was, frame in frames:
        if frame is not None:
            out.extend(_frame_changes(was, frame))
        elif was is not None:
            out.append(_change(was, "frame", "removed", "the agent has not started"))
    return tuple(out)


def _change(
    frame: Frame,
    kind: ChangeKind,
    how: Literal["added", "removed", "changed"],
    what: str,
    before: Json = None,
    after: Json = None,
) -> StateChange:
    agent = frame.agent_id or "the run"
    return StateChange(call_id=frame.call_id, agent_id=agent, kind=kind, how=how, what=what, before=before, after=after)


def _frame_changes(was: Frame | None, frame: Frame) -> Iterator[StateChange]:
    if was is None:
        yield _change(frame, "frame", "added", "the agent started")
        was = Frame(call_id=frame.call_id, agent_id=frame.agent_id)
    if was.status != frame.status:
        yield _change(frame, "status", "changed", "status", was.status, frame.status)
    if was.generation != frame.generation:
        yield _change(frame, "generation", "changed", "generation", was.generation, frame.generation)
    yield from _memory_changes(was, frame)
    yield from _journal_changes(was, frame)
    spent, now = _spent(was), _spent(frame)
    if spent != now:
        yield _change(frame, "spent", "changed", "spent by itself", spent, now)
    if frame.status == "completed" and was.output != frame.output:
        yield _change(frame, "output", "added", "output", was.output, frame.output)
    if frame.error is not None and was.error != frame.error:
        yield _change(frame, "output", "added", "error", None, f"{frame.error.type}: {frame.error.message}")


def _memory_changes(was: Frame, frame: Frame) -> Iterator[StateChange]:
    for key, value in frame.memory.items():
        old = was.memory.get(key, _MISSING)
        if old is _MISSING:
            yield _change(frame, "memory", "added", key, None, value)
        elif old is not value and old != value:
            yield _change(frame, "memory", "changed", key, old, value)
    for key, value in was.memory.items():
        if key not in frame.memory:
            yield _change(frame, "memory", "removed", key, value)


def _journal_changes(was: Frame, frame: Frame) -> Iterator[StateChange]:
    pairs: Sequence[tuple[Mapping[str, JournalEntry], Mapping[str, JournalEntry]]] = (
        (was.journal.prompt, frame.journal.prompt),
        (was.journal.tool, frame.journal.tool),
        (was.journal.value, frame.journal.value),
    )
    for old, new in pairs:
        for content_hash, entry in new.items():
            known = old.get(content_hash)
            if known is entry:
                continue
            # By identity: a call that started earlier may end later, and then stands before those that were known.
            seen = {id(outcome) for outcome in known.outcomes} if known else set()
            for outcome in entry.outcomes:
                if id(outcome) not in seen:
                    yield _change(frame, "journal", "added", _request_text(entry), None, _outcome_text(outcome))
        for content_hash, entry in old.items():
            gone = len(entry.outcomes) - (len(new[content_hash].outcomes) if content_hash in new else 0)
            if gone > 0:
                yield _change(frame, "journal", "removed", _request_text(entry))


def _request_text(entry: JournalEntry) -> str:
    asked = asked_for(entry)
    sign = "▲" if isinstance(entry.request, ToolRequest) else "◆"
    return f"entry {entry.content_hash[-8:]}" if asked is None else f"{sign} {asked}"


def asked_for(entry: JournalEntry) -> str | None:
    """What an entry's request asks, on one line; None where it is no request of a model or tool."""
    request = entry.request
    if isinstance(request, ToolRequest):
        return f"{request.name} {json_text(request.arguments)}"
    if isinstance(request, Request):
        return f"{request.model or 'model turn'}, {plural(len(request.messages), 'message')}"
    return None


def _outcome_text(outcome: Outcome) -> str:
    has_failed = outcome.error is not None and outcome.status != "aborted"
    return f"{'✗ ' if has_failed else ''}{outcome_text(outcome)}"


def outcome_text(outcome: Outcome) -> str:
    """A recorded outcome on one line."""
    if outcome.status == "aborted":
        return "aborted"
    if outcome.error is not None:
        return f"{outcome.error.type}: {outcome.error.message}"
    return _output_text(outcome.output)


def _output_text(output: Json) -> str:
    """The text of a message where it is one, else its JSON."""
    if isinstance(output, dict) and isinstance(output.get("parts"), list):
        shown = []
        for part in output["parts"]:
            if not isinstance(part, dict):
                continue
            if part.get("type") == "tool_call":
                shown.append(f"▲ {part.get('name')} {json_text(part.get('arguments'))}")
            elif isinstance(part.get("content"), str):
                shown.append(part["content"])
        return "  ".join(shown)
    return output if isinstance(output, str) else json_text(output)


def _spent(frame: Frame) -> str:
    own = frame.budget.own
    return f"{plural(own.call_count, 'model turn')}, {own.prompt_tokens:,} → {own.completion_tokens:,} tok"


_SHOWN = 40
"""Changes that are listed one by one."""


def changes_into(out: Builder, changes: Sequence[StateChange], heading: str) -> None:
    """Add the changes to a document, by frame."""
    out.heading(heading, Piece(f"   {plural(len(changes), 'change')}" if changes else "", "dim"))
    if not changes:
        out.line(Piece("Nothing changed.", "dim"), indent=2)
    call_id = None
    for i, change in enumerate(changes[:_SHOWN]):
        if change.call_id != call_id:
            call_id = change.call_id
            out.line(Piece("● ", "agent"), told(change.agent_id, "strong"), indent=2)
        _change_into(out, f"c{i}", change)
    if len(changes) > _SHOWN:
        out.line(Piece(f"… and {len(changes) - _SHOWN:,} more", "dim"), indent=2)


def _change_into(out: Builder, key: str, change: StateChange) -> None:
    sign, style = _SIGNS[change.how]
    label = {"memory": "memory ", "journal": "journal "}.get(change.kind, "")
    head = (Piece(f"{sign} ", style), Piece(label, "dim"), told(change.what, "key"))
    if change.kind in ("status", "generation", "spent"):
        out.line(*head, Piece("  "), told(str(change.before)), Piece(" → ", "dim"),
                 told(str(change.after), "strong"), indent=4, hang=4)  # fmt: skip
    elif change.how == "changed" and isinstance(change.before, str) and isinstance(change.after, str):
        out.line(*head, indent=4)
        out.body(key, [Line(line.pieces, 6) for line in diff_lines(change.before, change.after)])
    elif change.kind == "journal" and isinstance(change.after, str):
        out.text(key, change.after, indent=4, first=(*head, Piece("  → ", "dim")))
    elif change.how == "changed":
        _value_into(out, key, head, change.before, Piece("  was ", "dim"))
        _value_into(out, f"{key}n", (), change.after, Piece("  is  ", "dim"))
    else:
        value = change.before if change.how == "removed" else change.after
        shown = value if value is not None or change.kind in ("memory", "output") else _MISSING
        if shown is _MISSING:
            out.line(*head, indent=4, hang=4)
        else:
            _value_into(out, key, head, value, Piece("  ", "dim"))


def _value_into(out: Builder, key: str, head: tuple[Piece, ...], value: Json, lead: Piece) -> None:
    lines = json_lines(value, 6)
    before = "".join(piece.original for piece in (*head, lead))
    out.body(key, [Line((*head, lead, *lines[0].pieces), 4, 4), *lines[1:]], Original(value, before))
