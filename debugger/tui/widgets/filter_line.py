"""A line to type a filter into. What is typed or pasted is shown as text, whatever it is."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive

from ...analysis.text import visible
from ..keymap import bindings
from .drawn import OneLine, Run


class FilterLine(OneLine, can_focus=True):
    """Edits a short text from its end."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("filter")

    text: reactive[str] = reactive("")
    """What is typed so far."""

    class Changed(Message):
        """The text changed. Handler: ``on_filter_line_changed``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The user is done with the line. Handler: ``on_filter_line_left``."""

    def watch_text(self, text: str) -> None:
        """Draw, and tell the screen."""
        self._draw()
        self.post_message(self.Changed(text))

    def on_focus(self) -> None:
        """Show where typing goes."""
        self._draw()

    def on_blur(self) -> None:
        """See ``on_focus``."""
        self._draw()

    def _draw(self) -> None:
        self.pieces = (Run(" filter ▸ ", "key"), Run(visible(self.text)), Run("_" if self.has_focus else "", "strong"))

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Keys that are typed are no bindings of anything else."""
        return character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        """Take everything that can be printed."""
        if event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self.text += event.character

    def on_paste(self, event: events.Paste) -> None:
        """Take the first line of what is pasted."""
        event.stop()
        self.text += event.text.partition("\n")[0][:200]

    def action_keep(self) -> None:
        """Keep the filter and go to the list."""
        self.post_message(self.Left())

    def action_clear(self) -> None:
        """Clear the filter and go to the list."""
        self.text = ""
        self.post_message(self.Left())

    def action_rub(self) -> None:
        """Delete the last character."""
        self.text = self.text[:-1]

    def action_rub_word(self) -> None:
        """Delete the last word."""
        self.text = self.text.rstrip().rpartition(" ")[0]

    def action_rub_all(self) -> None:
        """Delete everything."""
        self.text = ""
