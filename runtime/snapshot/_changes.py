"""What events do to frames: small changes that can be noted down and made again on a copy.

The machine makes each of them on its own frames; a cursor makes those between a way point and a position again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..journal import AnyRequest, JournalEntry, JournalKind
from ..messages import ErrorInfo, Json, JsonObject, Outcome, Usage
from ..trace import AgentStart
from ._frame import ROOT_ID, Frame, Level, Note
from ._ledger import Ledger
from ._reasons import CALL_ID_TAKEN, ENDED_FIRST, NO_AGENT, NO_ANSWER, NO_HASH, NO_MEMORY, NO_RUN
from ._slot import RootFacts


def opened(event: AgentStart, call_id: str, parent_id: str, inferred: str | None, ended_first: bool) -> Frame:
    """The frame of an agent that has just started.

    Args:
        event: the start.
        call_id: the frame's.
        parent_id: the call id of the frame above.
        inferred: why that place is not sure; None where it is recorded.
        ended_first: the agent's end came before its start.
    """
    memory, span = event.memory, event.span_id
    fidelity: list[Note] = []
    if memory is None and event.run_id is None:
        fidelity.append(Note("missing", NO_MEMORY, span))
    frame = Frame.started(call_id, event.agent_id, parent_id, event.parent_span_id, memory, event.input, fidelity)
    if inferred is not None:
        frame.note("inferred", inferred, span)
    if event.call_id is not None and event.call_id != call_id:
        frame.note("inferred", CALL_ID_TAKEN, span)
    if ended_first:
        frame.note("inferred", ENDED_FIRST, span)
    return frame


def start_run(frame: Frame, given: Json, memory: JsonObject | None) -> None:
    """The run started, with the memory that a snapshot gave it."""
    frame.status = "running"
    frame.input = given
    if memory:
        frame.memory, frame.memory_start = dict(memory), dict(memory)


def close(frame: Frame, outcome: Outcome) -> None:
    """The agent or the run ended."""
    if outcome.lost is not None:
        # Of an agent's own end: its output, or whatever the limits of an SDK cut off its span.
        frame.note("missing", outcome.lost, outcome.span_id)
    frame.output = outcome.output
    if outcome.status == "ok":
        frame.status, frame.error = "completed", None
        return
    frame.status = "failed"
    frame.error = outcome.error or (
        ErrorInfo("Cancelled", "cancelled") if outcome.status == "aborted" else ErrorInfo("Error", "")
    )


def cut_off(frame: Frame, reason: ErrorInfo) -> None:
    """A frame above ended first."""
    frame.status = "failed"
    frame.error = reason


def add_note(frame: Frame, level: Level, what: str, span_id: str | None) -> None:
    """The frame may differ from what it was at run time."""
    frame.note(level, what, span_id)


def start_generation(frame: Frame, generation: int) -> None:
    """A pass of the handler begins."""
    frame.generation = generation


def end_generation(frame: Frame, generation: int, memory: JsonObject | None) -> None:
    """A pass of the handler ended: its memory replaces what was known."""
    frame.generation = generation
    if memory is not None:
        frame.memory = dict(memory)


def write_memory(frame: Frame, key: str, value: Json, deleted: bool) -> None:
    """One key of the memory was written or deleted."""
    if deleted:
        frame.memory.pop(key, None)
    else:
        frame.memory[key] = value


def record(
    frame: Frame,
    ledger: Ledger,
    kind: JournalKind,
    content_hash: str | None,
    outcome: Outcome,
    request: AnyRequest | None,
    span_id: str,
) -> None:
    """An outcome for the journal; without a hash nothing can be keyed, which is noted."""
    if outcome.lost is not None:
        frame.note("missing", NO_ANSWER, span_id)
    for reason in outcome.inferred:
        frame.note("inferred", reason, span_id)
    if not content_hash:
        frame.note("missing", NO_HASH, span_id)
        return
    journal = frame.journal
    entries = journal.prompt if kind == "prompt" else journal.tool if kind == "tool" else journal.value
    if content_hash in entries or ledger.is_handed_out:
        ledger.record(entries, content_hash, outcome, request)
    else:
        entries[content_hash] = JournalEntry(content_hash, [outcome], request)


def add_child(frame: Frame, _event: AgentStart, call_id: str, *_: object) -> None:
    """A sub-agent was called; its own frame is made by ``opened``, which takes the same arguments."""
    frame.children.append(call_id)


def spend(frame: Frame, usage: Usage, model: str | None, provider: str | None) -> None:
    """A model call was paid for: only a word for the log, since budgets are summed apart, once for many calls."""


def spend_on_tool(frame: Frame, name: str, quantity: int, unit: str | None, costs: Mapping[str, int]) -> None:
    """A tool used something up: as for ``spend``, a word for the log."""


def concluded(root: Frame, frames: Mapping[str, Frame], facts: RootFacts) -> Frame:
    """The root's frame, with what is only true of it as the root, and at this moment."""
    is_derived = root.call_id == ROOT_ID and not facts.has_run
    if not is_derived and facts.left_out is None:
        return root
    root = replace(root, fidelity=root.fidelity.copy())
    if is_derived:
        # Without a recorded run, its frame runs as long as one of its agents does.
        running = any(frames[top].status == "running" for top in root.children)
        root.status = "running" if running else "completed"
        root.fidelity.append(Note("inferred", NO_RUN if root.children else NO_AGENT))
    if facts.left_out is not None:
        root.fidelity.append(facts.left_out)
    return root
