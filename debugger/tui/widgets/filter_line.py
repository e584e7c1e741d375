"""A line to type a filter or a search into. What is typed or pasted is shown as text, whatever it is.

Below it, while it has the focus, stands what is wrong with the text, or how it can go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from ...analysis.filter_language import Completion, FilterError
from ...analysis.text import visible
from ..keymap import bindings
from .drawn import Drawable, OneLine, Run, key_for

_OPERATORS: Final = (":", "=", ">", "<", "!")
_LONGEST = 500
"""Characters that a text may have: nobody types more, and pasted documents are no filters."""


class FilterLine(OneLine, can_focus=True):
    """Edits a short text from its end.

    Args:
        label: what the text is for.
        complete: how the text can go on; None offers nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("filter")

    text: reactive[str] = reactive("")
    """What is typed so far."""

    class Changed(Message):
        """The text changed. Handler: ``on_filter_line_changed``."""

        def __init__(self, line: FilterLine, text: str) -> None:
            super().__init__()
            self.line = line
            self.text = text

        @property
        def control(self) -> FilterLine:
            """The line."""
            return self.line

        @property
        def is_late(self) -> bool:
            """True where the text has changed again since: a mistake in the old one is none in the new one."""
            return self.line.text != self.text

    class Left(Message):
        """The user is done with the line. Handler: ``on_filter_line_left``."""

        def __init__(self, line: FilterLine, is_kept: bool) -> None:
            super().__init__()
            self.line = line
            self.is_kept = is_kept

        @property
        def control(self) -> FilterLine:
            """The line."""
            return self.line

    def __init__(
        self, label: str = "filter", complete: Callable[[str], Completion] | None = None, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._label = label
        self._complete = complete
        self._mistake: FilterError | None = None
        self._hint: tuple[Drawable, ...] = ()
        self._offered: tuple[Completion, int, str] | None = None
        """The completion that was used last, which of its candidates, and the text that it gave."""

    @property
    def completes(self) -> bool:
        """True where words can be completed."""
        return self._complete is not None

    def show_mistake(self, mistake: FilterError | None) -> None:
        """Mark what is wrong with the text, or that nothing is."""
        self._mistake = mistake
        self._draw()

    def watch_text(self, text: str) -> None:
        """Draw, and tell the screen."""
        self._mistake = None
        self._draw()
        self.post_message(self.Changed(self, text))

    def on_focus(self) -> None:
        """Show where typing goes."""
        self._draw()

    def on_blur(self) -> None:
        """See ``on_focus``."""
        self._draw()

    def _draw(self) -> None:
        self._hint = self._hint_pieces() if self.has_focus else ()
        self.styles.height = 2 if self._hint else 1
        self.pieces = (
            Run(f" {self._label} ▸ ", "key"), *self._text_pieces(), Run("_" if self.has_focus else "", "strong")
        )  # fmt: skip
        self.refresh()

    def _text_pieces(self) -> tuple[Drawable, ...]:
        mistake = self._mistake
        if mistake is None:
            return (Run(visible(self.text)),)
        wrong = self.text[mistake.start : mistake.end]
        return (
            Run(visible(self.text[: mistake.start])),
            Run(visible(wrong), "error"),
            Run(visible(self.text[mistake.end :])),
        )

    def _hint_pieces(self) -> tuple[Drawable, ...]:
        offered = Completion(0, ()) if self._complete is None else self._complete(self.text)
        if self._mistake is not None and self.text and not offered.candidates:
            return (Run(" " * (len(self._label) + 4)), Run(f"✗ {visible(self._mistake.message)}", "error"))
        if not offered.candidates and not offered.hint:
            return ()
        words = "  ".join(word.strip() for word in offered.candidates[:40])
        hint = f"{offered.hint}   " if offered.hint else ""
        key = Run(f"{key_for(self, 'filter.complete')} ", "key") if offered.candidates else Run("")
        return (Run(" " * (len(self._label) + 4)), Run(hint, "dim"), key, Run(words, "dim"))

    def render_line(self, y: int) -> Strip:
        """The text, and below it the hint; cost: O(pieces)."""
        return self.strip(self._hint, self.size.width) if y == 1 else super().render_line(y)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Keys that are typed are no bindings of anything else."""
        return character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        """Take everything that can be printed."""
        if event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self.text = (self._before(event.character) + event.character)[:_LONGEST]

    def _before(self, typed: str) -> str:
        """The text that a key is put after: an operator takes the place of the one that a completion has just given."""
        was_completed = self._offered is not None and self._offered[2] == self.text
        if not was_completed or self.text[-1:] not in _OPERATORS or typed not in _OPERATORS:
            return self.text
        return self.text if self.text[-1] + typed in (">=", "<=") else self.text[:-1]

    def on_paste(self, event: events.Paste) -> None:
        """Take the first line of what is pasted."""
        event.stop()
        self.text = (self.text + event.text.partition("\n")[0])[:_LONGEST]

    def action_keep(self) -> None:
        """Keep the text and go on."""
        self.post_message(self.Left(self, is_kept=True))

    def action_clear(self) -> None:
        """Clear the text and go back."""
        self.text = ""
        self.post_message(self.Left(self, is_kept=False))

    def action_complete(self) -> None:
        """Complete the word; again: with the next candidate. Where nothing fits, the key is left to the screen."""
        if self._complete is None:
            raise SkipAction
        used = self._offered
        if used is not None and used[2] == self.text and len(used[0].candidates) > 1:
            offered, choice = used[0], (used[1] + 1) % len(used[0].candidates)
            before = self.text[: offered.start]
        else:
            offered, choice, before = self._complete(self.text), 0, self.text
        if not offered.candidates:
            raise SkipAction
        completed = offered.apply(before, choice)
        self._offered = (offered, choice, completed)
        self.text = completed

    def action_rub(self) -> None:
        """Delete the last character."""
        self.text = self.text[:-1]

    def action_rub_word(self) -> None:
        """Delete the last word."""
        self.text = self.text.rstrip().rpartition(" ")[0]

    def action_rub_all(self) -> None:
        """Delete everything."""
        self.text = ""
