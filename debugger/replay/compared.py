"""What of its requests a replay compared with the recording, in words: what was not recorded, what was otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.journal import Difference
from runtime.messages import Call, Request

_LONGEST: Final = 60


def change_note(changed: Iterable[Difference], *, is_divergence: bool) -> tuple[str, ...]:
    """The note about parameters that were recorded with another value, where there are any."""
    texts = [
        f"{each.path.removeprefix('parameters.')} ({_short(each.recorded)} recorded, {_short(each.actual)} now)"
        for each in changed
    ]
    if not texts or is_divergence:
        return ()
    what = "parameters" if len(texts) > 1 else "a parameter"
    hint = "--compare-parameters makes that a divergence"
    return (f"answered although {what} differed: {', '.join(texts)}; {hint}",)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


@dataclass(slots=True)
class Comparison:
    """Gathers what requests tell and the recording cannot hold, since it has it in none of its model calls.

    Args:
        turns: the recorded model calls.
        lost: what else is known to be lacking, in words.
    """

    turns: Sequence[Call]
    lost: tuple[str, ...] = ()
    _told: frozenset[str] = field(init=False)
    _tells_tools: bool = field(init=False)
    _tells_schemas: bool = field(init=False)
    _tells_answers: bool = field(init=False)
    _asked: dict[str, None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        # Once, since requests are many and so are the turns of a long recording.
        tools = [tool for turn in self.turns for tool in turn.tool_definitions or ()]
        self._told = frozenset(name for turn in self.turns for name in turn.parameters)
        self._tells_tools = bool(tools)
        self._tells_schemas = any(tool.parameters for tool in tools)
        self._tells_answers = any(turn.output_schema is not None for turn in self.turns)

    def note(self, request: Request) -> None:
        """A request of the program. Cheap; may be called from several threads."""
        for name in request.parameters:
            if name not in self._told and name not in self._asked:
                self._asked[name] = None
        if request.tools and not self._tells_tools:
            self._asked["the tools that were offered"] = None
        elif request.tools and not self._tells_schemas:
            self._asked["the schemas of tools"] = None
        if request.output_schema is not None and not self._tells_answers:
            self._asked["the schema of the answer"] = None

    def notes(self) -> tuple[str, ...]:
        """One sentence, where something could not be compared."""
        lacking = (*self.lost, *sorted(self._asked))
        return (f"the recording does not hold: {', '.join(lacking)}; not compared",) if lacking else ()
