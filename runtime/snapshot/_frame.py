"""A snapshot in memory: frames lie flat by call id; only the JSON form is nested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from ..journal import Journal
from ..messages import ErrorInfo, Json, JsonObject
from ._budget import Budget
from ._errors import Anchor

VERSION = 1
"""The version of the snapshot format that is written."""

ROOT_ID = "root"
"""The call id of the run frame."""

MAX_DEPTH = 100
"""Frames nested deeper are not written; the runtime itself stops at half of it."""

Status: TypeAlias = Literal["running", "completed", "failed"]
Level: TypeAlias = Literal["exact", "inferred", "missing"]
"""How faithful a frame is: as recorded, concluded from what was recorded, or partly not recorded."""

_WORSE: dict[Level, int] = {"exact": 0, "inferred": 1, "missing": 2}


class Note(NamedTuple):
    """One reason why a frame may differ from what it was at run time."""

    level: Level
    what: str
    span_id: str | None = None
    """The first span that it is about."""
    times: int = 1
    """How many events it is about."""


@dataclass(slots=True, kw_only=True)
class Frame:
    """One execution of one agent, or the run itself (call id ``root``, agent id empty).

    Payloads (values in memory, inputs, outputs) are never changed in place, so frames may share them with events.
    """

    call_id: str
    agent_id: str
    parent_id: str | None = None
    """The call id of the frame above; None for the root."""
    opened_in: str | None = None
    """The span in which the agent was called: of the agent above, or of one of its tools. None where not known."""
    children: list[str] = field(default_factory=list)
    """Call ids in the order in which the sub-agents started."""
    memory: dict[str, Json] = field(default_factory=dict)
    memory_start: JsonObject | None = None
    """Memory when the agent started; None where not known."""
    journal: Journal = field(default_factory=Journal)
    status: Status = "running"
    output: Json = None
    error: ErrorInfo | None = None
    budget: Budget = field(default_factory=Budget)
    input: Json = None
    generation: int = 0
    fidelity: list[Note] = field(default_factory=list)

    @property
    def fidelity_level(self) -> Level:
        """The worst level among the notes; ``exact`` where there is none."""
        return worst(note.level for note in self.fidelity)

    @classmethod
    def started(
        cls,
        call_id: str,
        agent_id: str,
        parent_id: str,
        opened_in: str | None,
        memory: JsonObject | None,
        given: Json,
        fidelity: list[Note],
    ) -> Frame:
        """The frame of an agent that has just started, with the input ``given``.

        Made without ``__init__``: so many keyword arguments would cost a sixth of a restore.
        """
        frame = cls.__new__(cls)
        frame.call_id = call_id
        frame.agent_id = agent_id
        frame.parent_id = parent_id
        frame.opened_in = opened_in
        frame.children = []
        frame.memory = {} if memory is None else dict(memory)
        frame.memory_start = {} if memory is None else dict(memory)
        frame.journal = Journal({}, {}, {})
        frame.status = "running"
        frame.output = None
        frame.error = None
        frame.budget = Budget()
        frame.input = given
        frame.generation = 0
        frame.fidelity = fidelity
        return frame

    def copy(self) -> Frame:
        """A frame whose dicts and lists are its own; payloads and journal entries are shared."""
        journal = self.journal
        return Frame(
            call_id=self.call_id,
            agent_id=self.agent_id,
            parent_id=self.parent_id,
            opened_in=self.opened_in,
            children=self.children.copy(),
            memory=self.memory.copy(),
            memory_start=None if self.memory_start is None else dict(self.memory_start),
            journal=Journal(journal.prompt.copy(), journal.tool.copy(), journal.value.copy()),
            status=self.status,
            output=self.output,
            error=self.error,
            budget=self.budget.copy(),
            input=self.input,
            generation=self.generation,
            fidelity=self.fidelity.copy(),
        )

    def note(self, level: Level, what: str, span_id: str | None) -> None:
        """Add a reason why the frame is not exact; equal reasons are counted."""
        for i, known in enumerate(self.fidelity):
            if known.what == what and known.level == level:
                self.fidelity[i] = Note(level, what, known.span_id, known.times + 1)
                return
        self.fidelity.append(Note(level, what, span_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a snapshot comes from."""

    trace_id: str
    span_id: str | None = None
    anchor: Anchor | None = None
    source: Literal["dump", "restore"]


@dataclass(slots=True, kw_only=True)
class Snapshot:
    """The tree of frames at a cut."""

    process_id: str
    timestamp: int
    """When the snapshot was made, in Unix milliseconds."""
    provenance: Provenance
    root_id: str
    frames: dict[str, Frame]
    """By call id; a parent comes before its children."""
    version: int = VERSION
    metadata: dict[str, Json] = field(default_factory=dict)

    @property
    def root(self) -> Frame:
        """The run frame, or the only top-level agent."""
        return self.frames[self.root_id]

    @property
    def frame_count(self) -> int:
        """How many frames there are."""
        return len(self.frames)

    @property
    def fidelity_level(self) -> Level:
        """The worst level of all frames."""
        return worst(frame.fidelity_level for frame in self.frames.values())

    def walk(self) -> Iterator[tuple[int, Frame]]:
        """Every frame with its depth below the root, parents first, siblings in order."""
        stack = [(0, self.root_id)]
        while stack:
            depth, call_id = stack.pop()
            frame = self.frames[call_id]
            yield depth, frame
            stack.extend((depth + 1, child) for child in reversed(frame.children))

    def entry_count(self) -> int:
        """How many journal entries there are over all frames."""
        journals = (frame.journal for frame in self.frames.values())
        return sum(len(journal.prompt) + len(journal.tool) + len(journal.value) for journal in journals)


def worst(levels: Iterable[Level]) -> Level:
    """The least faithful of the levels."""
    return max(levels, key=_WORSE.__getitem__, default="exact")
