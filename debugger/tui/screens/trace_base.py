"""What all parts of a trace's screen share: the trace, its two panes, and which of them is in view.

The screen is ``trace.TraceScreen``. Its parts, each with the actions of its keys:

- ``trace``: opening, following, header, tabs, branches, the span under the cursor
- ``trace_search``: searching, matches, numbers
- ``trace_time``: the playhead, states and what differs between two
- ``trace_replay``: replays and forks
- ``trace_findings``: where a phrase came from, pinning, exports

What moves, folds and zooms is the timeline's own: ``widgets.timeline`` and ``widgets.timeline_moves``.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from ...store.rows import TraceRow
from ..session import Session
from ..widgets.detail import Detail
from ..widgets.timeline import Timeline
from .pinning import PinningScreen


class TraceBase(PinningScreen):
    """A screen with a timeline and a detail pane.

    Args:
        session: everything behind the screen.
        row: the trace.
    """

    def __init__(self, session: Session, row: TraceRow) -> None:
        super().__init__()
        self._session = session
        self.row = row
        self.position: int | None = None
        """The event where the playhead stands; None before it is used."""

    @property
    def timeline(self) -> Timeline:
        """The left pane."""
        return self.query_one(Timeline)

    @property
    def detail(self) -> Detail:
        """The right pane."""
        return self.query_one(Detail)

    def panes(self) -> Sequence[Widget]:
        """Both panes, also while only one fits on the screen."""
        return [self.timeline, self.detail.view]

    def help_nodes(self) -> Sequence[object]:
        """The detail pane's own keys sit on its frame."""
        return [self, self.timeline, self.detail.view, self.detail, self.app]

    async def action_on_timeline(self, action: str) -> None:
        """Do on the timeline what was asked for in the detail pane, which then explains the other span."""
        await self.timeline.run_action(action)

    def focus_pane(self, pane: Widget) -> None:
        """Go to a pane, bringing it into view where only one fits."""
        self.set_class(pane is self.detail.view, "-detail")
        pane.focus()
