"""Conditions in SQL within a filter: asked before its tests, and what is wrong with one shown where it is typed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from ...analysis.filter_language import Filter, FilterError
from ...errors import QueryCancelledError, SqlError
from ...store.rows import SearchPart
from ..session import SqlDesk
from ..widgets.filter_line import FilterLine


def answered(desk: SqlDesk, wanted: Filter, trace_id: str | None) -> dict[str, frozenset[str]]:
    """What holds for each condition of a filter, as its tests look for it. Blocks.

    Raises: ConditionError; QueryCancelledError.
    """
    found: dict[str, frozenset[str]] = {}
    for condition in wanted.conditions:
        try:
            found[condition.key] = desk.matching(str(condition), trace_id)
        except SqlError as fault:
            raise ConditionError(condition.mistake(fault.reason, fault.line, fault.column)) from fault
    return found


def traces_holding(
    search: Callable[[Sequence[str], None], Generator[SearchPart]], texts: Sequence[str], is_wanted: Callable[[], bool]
) -> dict[str, frozenset[str]]:
    """For each text the traces that hold it. Blocks.

    Args:
        search: gives what all traces hold, part by part.
        texts: what to look for.
        is_wanted: asked with each part.
    Raises: QueryCancelledError: it is not wanted any more, or was ended.
    """
    held: dict[str, set[str]] = {text: set() for text in texts}
    with closing(search(texts, None)) as parts:
        for part in parts:
            if not is_wanted():
                raise QueryCancelledError("search")
            for place, text in enumerate(texts):
                held[text].update([trace_id for trace_id, _, bits in part if bits >> place & 1])
    return {text: frozenset(traces) for text, traces in held.items()}


class ConditionError(Exception):
    """A condition of a filter is none; ``mistake`` says why and where."""

    def __init__(self, mistake: FilterError) -> None:
        super().__init__(mistake.message)
        self.mistake = mistake


def told_at_its_place(line: FilterLine, wanted: Filter, error: Exception) -> bool:
    """Whether an error needs no words beside the filter: it was shown there, or the question was only taken back."""
    if isinstance(error, ConditionError):
        if line.text == wanted.text:
            line.show_mistake(error.mistake)
        return True
    return isinstance(error, QueryCancelledError)
