"""The editor of a query: Enter asks it, Tab completes the word at the cursor, older queries come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from ...analysis.filter_language import Completion
from ...analysis.text import lines_of
from ..keymap import bindings
from .safe_area import SafeArea

_LONGEST = 100_000
"""Characters of a paste that are taken."""


class SqlEdit(SafeArea, inherit_bindings=False):
    """Edits a query.

    Args:
        complete: how a text can go on at a place in it.
        older: a query that was asked before, by how many steps back; None where there is none.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("query")

    class Asked(Message):
        """The query is to be asked. Handler: ``on_sql_edit_asked``."""

    class Moved(Message):
        """Text or cursor changed, and with it how the query can go on. Handler: ``on_sql_edit_moved``."""

    def __init__(
        self, complete: Callable[[str, int], Completion], older: Callable[[int], str | None], *, id: str | None = None
    ) -> None:
        super().__init__(id=id, tab_behavior="focus", soft_wrap=True, compact=True, highlight_cursor_line=False)
        self._complete = complete
        self._older = older
        self._back = 0
        """How many steps back the text was taken from; 0 for the user's own."""
        self._own = ""
        self._used: tuple[Completion, int, str, int] | None = None
        """The completion that was used last, which of its candidates, and the text and place that it gave."""

    @property
    def place(self) -> int:
        """The cursor, in characters from the start."""
        line, column = self.cursor_location
        return sum(len(above) + 1 for above in self.text.split("\n")[:line]) + column

    @property
    def completion(self) -> Completion:
        """How the query can go on here."""
        return self._complete(self.text, self.place)

    def put(self, text: str) -> None:
        """Show a query, with the cursor at its end. Control characters come out as their stand-ins."""
        self.load_text("\n".join(lines_of(text)))
        self.move_cursor(self.document.end)

    def write(self, text: str) -> None:
        """Insert a text at the cursor."""
        self.replace(text, *self.selection)

    def write_name(self, name: str) -> None:
        """Insert a name at the cursor, apart from the word, bracket or comma before it."""
        line, column = min(self.selection)
        before = self.document.get_line(line)[:column]
        in_quotes = before.count('"') % 2 or before.count("'") % 2
        touches = before[-1:].isalnum() or before[-1:] in ("_", ",", ")", '"', "'", "*")
        self.write(f"{' ' if touches and not in_quotes else ''}{name} ")

    # Events.

    def on_key(self, event: events.Key) -> None:
        """Enter is a binding here, not a new line."""
        if event.key == "enter":
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Take a paste without its control characters."""
        event.stop()
        event.prevent_default()
        self.write("\n".join(lines_of(event.text[:_LONGEST])))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Another text, other words."""
        event.stop()
        self.post_message(self.Moved())

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """Another place, other words."""
        event.stop()
        self.post_message(self.Moved())

    # Actions.

    def action_run(self) -> None:
        """Ask the query."""
        self.post_message(self.Asked())

    def action_new_line(self) -> None:
        """Begin a new line."""
        self.write("\n")

    def action_empty(self) -> None:
        """Delete everything."""
        self.clear()

    def action_cursor_down(self, select: bool = False) -> None:
        """One line down; from the last line to the next pane."""
        if self.cursor_at_last_line and not select:
            self.screen.focus_next()
        else:
            super().action_cursor_down(select)

    def action_complete(self) -> None:
        """Complete the word; again: with the next candidate. Where nothing fits, the key is left to the screen."""
        used = self._used
        if used is not None and used[2:] == (self.text, self.place) and len(used[0].candidates) > 1:
            offered, choice = used[0], (used[1] + 1) % len(used[0].candidates)
        else:
            offered, choice = self.completion, 0
        if not offered.candidates:
            raise SkipAction
        before = self.text[: offered.start]
        start = before.count("\n"), len(before.rpartition("\n")[2])
        self.replace(offered.candidates[choice], start, self.cursor_location)
        self._used = (offered, choice, self.text, self.place)

    def action_history(self, step: int) -> None:
        """An older query, or a newer one; the newest is what the user had typed."""
        if self._back == 0:
            self._own = self.text
        wanted = self._back + step
        text = self._own if wanted == 0 else self._older(wanted - 1) if wanted > 0 else None
        if text is not None:
            self._back = wanted
            self.put(text)

    def forget_place(self) -> None:
        """A query was asked: what is older begins with it."""
        self._back = 0
