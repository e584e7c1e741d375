"""Conditions in SQL within a filter: asked before its tests, and what is wrong with one shown where it is typed."""

from __future__ import annotations

from ...analysis.filter_language import Filter, FilterError
from ...errors import QueryCancelledError, SqlError
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
