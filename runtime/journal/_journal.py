"""The journal of one frame: content hash -> recorded outcomes, in the order in which their calls started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..messages import Outcome, Request, ToolRequest

JournalKind: TypeAlias = Literal["prompt", "tool", "value"]
"""The three maps of a journal: model turns, tool calls, and values taken from the runtime."""

AnyRequest: TypeAlias = Request | ToolRequest
"""What an entry can keep of its request, to explain a miss."""


@dataclass(slots=True)
class JournalEntry:
    """All recorded outcomes of one content hash. Owned by its journal; outcomes themselves are frozen."""

    content_hash: str
    outcomes: list[Outcome] = field(default_factory=list)
    """By the start of their calls, so that keys never depend on the order in which parallel calls finish."""
    request: AnyRequest | None = None
    """The request, where the recording holds it; the same for all outcomes, since the hash is."""
    untold: Request | None = None
    """What is known of a request whose messages the recording lacks (its model); such an entry answers by its place."""

    def add(self, outcome: Outcome) -> None:
        """Put the outcome at its place by start time; ties and unknown times keep the order of arrival."""
        start = outcome.start_unix_nano
        place = len(self.outcomes)
        if start is not None:
            while place and (before := self.outcomes[place - 1].start_unix_nano) is not None and before > start:
                place -= 1
        self.outcomes.insert(place, outcome)

    @property
    def is_one(self) -> bool:
        """Whether it is of one call only: then the request is that call's, with its parameters."""
        return len(self.outcomes) == 1

    @property
    def last_ok(self) -> Outcome | None:
        """The last successful outcome: the seed's ``output``."""
        return next((o for o in reversed(self.outcomes) if o.status == "ok"), None)


@dataclass(slots=True)
class Journal:
    """The three maps of one frame."""

    prompt: dict[str, JournalEntry] = field(default_factory=dict)
    tool: dict[str, JournalEntry] = field(default_factory=dict)
    value: dict[str, JournalEntry] = field(default_factory=dict)

    def map(self, kind: JournalKind) -> dict[str, JournalEntry]:
        """The map of that kind."""
        return {"prompt": self.prompt, "tool": self.tool, "value": self.value}[kind]

    def record(self, kind: JournalKind, content_hash: str, outcome: Outcome, request: AnyRequest | None = None) -> None:
        """Add an outcome under its hash."""
        entries = self.map(kind)
        entry = entries.get(content_hash)
        if entry is None:
            entry = entries[content_hash] = JournalEntry(content_hash)
        if entry.request is None:
            entry.request = request
        entry.add(outcome)

    def copy(self) -> Journal:
        """A journal whose entries grow on their own; outcomes and requests are frozen and shared."""
        out = Journal()
        for kind, entry in self:
            out.map(kind)[entry.content_hash] = JournalEntry(entry.content_hash, entry.outcomes.copy(), entry.request)
        return out

    def __iter__(self) -> Iterator[tuple[JournalKind, JournalEntry]]:
        """Every entry with its kind."""
        kinds: tuple[JournalKind, ...] = ("prompt", "tool", "value")
        for kind in kinds:
            for entry in self.map(kind).values():
                yield kind, entry
