"""The order of the trace list: sorting by key or by a click on a column, groups that fold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from textual import events, on

from ...analysis.traces import GROUPS, SORTS, Group, Sort
from ..latest import Latest
from ..session import Session
from ..widgets.trace_list import TraceList
from .marking import MarkingScreen


class ArrangingScreen(MarkingScreen):
    """The part of the list's screen that puts the traces in order."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._conversations: Latest[None, dict[str, str]] = Latest(
            self, "conversations", lambda _: session.conversations(), self._grouped, self.say_fault
        )

    def draw(self) -> None:
        """Draw what follows from the list."""
        raise NotImplementedError

    def rearrange(self, **changes: Any) -> None:
        """Show the list in another order, or other traces."""
        table = self.query_one(TraceList)
        table.arrangement = replace(table.arrangement, **changes)
        table.rearrange()
        self.draw()

    def look_at_conversations(self) -> None:
        """Traces that have just come may belong to one."""
        if self.query_one(TraceList).arrangement.group == "conversation":
            self._conversations.ask(None)

    def action_sort(self) -> None:
        """Sort by the next column."""
        order = list(SORTS)
        now = self.query_one(TraceList).arrangement.sort
        self.rearrange(sort=order[(order.index(now) + 1) % len(order)], is_reversed=False)

    def action_reverse(self) -> None:
        """The other way round."""
        self.rearrange(is_reversed=not self.query_one(TraceList).arrangement.is_reversed)

    @on(events.Click, "#columns")
    def _column_clicked(self, event: events.Click) -> None:
        """Sort by the column; one that it is sorted by already the other way round."""
        table = self.query_one(TraceList)
        column = table.column_at(event.x)
        wanted: Sort | None = next((sort for sort, name in SORTS.items() if name == column), None)
        if wanted == table.arrangement.sort:
            self.action_reverse()
        elif wanted is not None:
            self.rearrange(sort=wanted, is_reversed=False)

    def action_group(self) -> None:
        """Group by the next thing."""
        group: Group = GROUPS[(GROUPS.index(self.query_one(TraceList).arrangement.group) + 1) % len(GROUPS)]
        self.rearrange(group=group, folded=frozenset())
        self.look_at_conversations()

    def _grouped(self, _: None, conversations: dict[str, str]) -> None:
        self.rearrange(conversations=conversations)

    def action_fold(self, is_folded: bool) -> None:
        """Fold the group under the cursor, or show its traces."""
        table = self.query_one(TraceList)
        if (group := table.group_here) is not None:
            self._fold(table.arrangement.folded | {group} if is_folded else table.arrangement.folded - {group})
        else:
            self.say(f"The list has no groups to fold; {self.key('traces.group')} makes some.")

    def action_fold_all(self) -> None:
        """Fold all groups; if one is folded, show all traces."""
        table = self.query_one(TraceList)
        if table.group_here is None:
            self.action_fold(True)
        else:
            self._fold(frozenset() if table.arrangement.folded else frozenset(table.groups))

    def toggle_group(self) -> bool:
        """Fold or unfold the group whose heading is under the cursor; False where it is on a trace."""
        table = self.query_one(TraceList)
        if table.selected is not None or (group := table.group_here) is None:
            return False
        self._fold(table.arrangement.folded ^ {group})
        return True

    def _fold(self, folded: frozenset[str]) -> None:
        self.rearrange(folded=folded)
