"""The detail pane: tabs over one viewer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from ...analysis.document import Document
from ...analysis.text import width_of
from ..keymap import bindings, jumps
from .drawn import Drawable, OneLine, Run
from .line_view import LineView

Tab: TypeAlias = Literal["conversation", "attributes", "snapshot", "request", "events"]

TABS: tuple[Tab, ...] = ("conversation", "attributes", "snapshot", "request", "events")

Place: TypeAlias = tuple[int, frozenset[str], frozenset[tuple[str, int]]]
"""Cursor, and what is open and closed."""


class TabLine(OneLine):
    """The tabs; a click chooses one."""

    async def on_click(self, event: events.Click) -> None:
        """Choose the tab that was clicked, whatever key chooses it."""
        at = 0
        for tab in TABS:
            at += width_of(_label(tab, tab))
            if event.x < at:
                await self.run_action(f"screen.tab({tab!r})")
                return


class Detail(Vertical):
    """Explains the span under the timeline's cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("detail"), *jumps()]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.current: Tab = "conversation"
        self._documents: dict[Tab, Document] = {}
        self._places: dict[Tab, Place] = {}
        self._about = ""

    def compose(self) -> ComposeResult:  # noqa: D102
        yield TabLine(id="tabs")
        yield LineView(id="detail")

    @property
    def view(self) -> LineView:
        """The viewer."""
        return self.query_one(LineView)

    def on_mount(self) -> None:
        """Draw the tabs."""
        self.draw_tabs()

    def put(self, documents: Mapping[Tab, Document], about: str = "") -> None:
        """Other content for some tabs.

        Args:
            documents: by tab.
            about: the id of the span that they are about. What is put again for the same one, as while a trace grows,
                stays where the reader is.
        """
        is_same = bool(about) and about == self._about
        self._about = about or self._about
        for tab, document in documents.items():
            self._documents[tab] = document
            if not is_same:
                self._places.pop(tab, None)
        if self.current in documents:
            self.view.show(documents[self.current], keep=is_same)
        self.draw_tabs()

    def document(self, tab: Tab) -> Document:
        """What a tab holds."""
        return self._documents.get(tab, Document())

    def choose(self, tab: Tab) -> None:
        """Show a tab, where it was left."""
        if tab == self.current:
            return
        view = self.view
        self._places[self.current] = (view.cursor, view.opened, view.closed)
        self.current = tab
        cursor, opened, closed = self._places.get(tab, (0, frozenset(), frozenset()))
        view.opened, view.closed = opened, closed
        view.cursor = 0
        view.show(self.document(tab), keep=bool(cursor or opened or closed))
        if cursor:
            self.view.cursor = cursor
        self.draw_tabs()

    def draw_tabs(self) -> None:
        """Draw the tab line."""
        line = self.query_one(TabLine)
        out: list[Drawable] = []
        for tab in TABS:
            out.append(Run(_label(tab, self.current), "heading" if tab == self.current else "dim"))
        line.pieces = tuple(out)

    def action_tab(self, by: int) -> None:
        """Show the next or previous tab."""
        self.choose(TABS[(TABS.index(self.current) + by) % len(TABS)])


def _label(tab: Tab, current: Tab) -> str:
    name = tab.capitalize()
    return f" [{name}]" if tab == current else f"  {name} "
