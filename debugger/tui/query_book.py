"""Queries that the user saved, and those asked before: one JSON file in the folder of the settings.

Whoever writes reads first, so that several screens at once lose nothing but a race of milliseconds. A file that cannot
be understood is left as it is, and nothing is remembered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import DebuggerError

_VERSION: Final = 1
MOST_ASKED: Final = 200
"""Queries that are remembered, the oldest going first."""
_LONGEST: Final = 20_000
"""Characters of a query that is remembered."""


class BookError(DebuggerError):
    """The file with the queries cannot be read or written."""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    saved: dict[str, str] = {}
    asked: list[str] = []


@dataclass(frozen=True, slots=True)
class Queries:
    """What is remembered."""

    saved: dict[str, str] = field(default_factory=dict)
    """Texts by name."""
    asked: tuple[str, ...] = ()
    """The last one first."""


class QueryBook:
    """Remembers queries. Its methods block.

    Args: path: the file; None remembers them only while the program runs.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._here = Queries()

    def queries(self) -> Queries:
        """What is remembered. Raises BookError."""
        if self.path is None or not self.path.exists():
            return self._here if self.path is None else Queries()
        try:
            file = _File.model_validate_json(self.path.read_bytes())
        except (OSError, ValidationError) as fault:
            raise BookError(f"{self.path}: cannot be read as saved queries",
                            hint="nothing is remembered until it is repaired or removed") from fault  # fmt: skip
        if file.version > _VERSION:
            raise BookError(f"{self.path}: a newer version has written it", hint="update retrospan")
        return Queries(dict(file.saved), tuple(file.asked))

    def save(self, name: str, text: str) -> Queries:
        """Save a query under a name, in place of the one that has it. Raises BookError."""
        return self._change(lambda now: replace(now, saved={**now.saved, name: text}))

    def delete(self, name: str) -> Queries:
        """Forget a saved query. Raises BookError."""
        return self._change(lambda now: replace(now, saved={n: t for n, t in now.saved.items() if n != name}))

    def remember(self, text: str) -> Queries:
        """Put a query that was asked on top. Raises BookError."""
        if len(text) > _LONGEST:
            return self.queries()
        return self._change(
            lambda now: replace(now, asked=(text, *[old for old in now.asked if old != text])[:MOST_ASKED])
        )

    def _change(self, change: Callable[[Queries], Queries]) -> Queries:
        now = change(self.queries())
        if self.path is None:
            self._here = now
            return now
        text = json.dumps({"version": _VERSION, "saved": now.saved, "asked": now.asked}, indent=1)
        aside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(text + "\n", encoding="utf-8")
            aside.replace(self.path)
        except OSError as fault:
            raise BookError(f"{self.path}: cannot be written ({(fault.strerror or str(fault)).lower()})") from fault
        return now
