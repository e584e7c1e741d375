"""A line to type a filter or a search into. What is typed or pasted is shown as text, whatever it is.

Below it, while it has the focus, stands what is wrong with the text, or how it can go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Self

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from ...analysis.filter_language import Completion, FilterError
from ...analysis.text import visible, width_of
from ..keymap import bindings
from .drawn import Drawable, Look, OneLine, Run, forget_styles, key_for
from .safe_area import stand_in

_OPERATORS: Final = (":", "=", ">", "<", "!")
_LONGEST: Final = 500
"""Characters that a text may have: nobody types more, and pasted documents are no filters."""
_PRIVATE: Final = 0x100000
"""Of the private use area: where hostile characters stand while a text is edited, each one cell wide."""


def _away(text: str) -> str:
    """The text with hostile characters put where the field neither obeys nor drops them."""
    if visible(text) is text:
        return text
    return "".join(chr(_PRIVATE + ord(c)) if ord(c) <= 0xFFFF and visible(c) != c else c for c in text)


def _back(text: str) -> str:
    return "".join(chr(ord(char) - _PRIVATE) if ord(char) >= _PRIVATE else char for char in text)


class FilterField(Look, Input, inherit_bindings=False):
    """The field of a ``FilterLine``: the caret, and what moves it and deletes at it, are Textual's."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("filter")

    def __init__(self, line: FilterLine) -> None:
        super().__init__(compact=True, select_on_focus=False, highlighter=_Shown(self))
        self.cursor_blink = False
        self._line = line
        self.mistake: FilterError | None = None
        self._offered: tuple[Completion, int, str] | None = None
        """The completion that was used last, which of its candidates, and the text before the caret that it gave."""
        self.asked_in_vain: str | None = None
        """The text before the caret that was to be completed last, and could not be."""

    def notify_style_update(self) -> None:
        """The theme or a pseudo class changed."""
        super().notify_style_update()
        forget_styles(self)

    def watch_selection(self) -> None:
        """How the text can go on depends on where the caret is."""
        if self.has_focus:
            self._line.draw_hint()

    @property
    def completes(self) -> bool:
        """True where words can be completed."""
        return self._line.complete is not None

    @property
    def before(self) -> str:
        """The text before the caret."""
        return _back(self.value[: self.cursor_position])

    def replace(self, text: str, start: int, end: int) -> None:
        """Put a text in the place of another: of a pasted one its first line, and no more than there is room for."""
        room = _LONGEST - len(self.value) + abs(end - start)
        lines = text.lstrip("\r\n").splitlines()
        super().replace(_away(lines[0][: max(room, 0)]) if lines else "", start, end)

    def on_key(self, event: events.Key) -> None:
        """An operator takes the place of the one that a completion has just given."""
        typed = event.character or ""
        given = self._offered[2] if self._offered is not None else ""
        if not given or given != self.before or given[-1] not in _OPERATORS or typed not in _OPERATORS:
            return
        if given[-1] + typed not in (">=", "<="):
            event.stop()
            event.prevent_default()
            self.replace(typed, self.cursor_position - 1, self.cursor_position)

    def on_paste(self, event: events.Paste) -> None:
        """Take the first line of what is pasted."""
        event.stop()
        event.prevent_default()
        self.replace(event.text, *self.selection)

    def action_keep(self) -> None:
        """Keep the text and go on."""
        self._line.leave(is_kept=True)

    def action_clear(self) -> None:
        """Clear the text and go back."""
        self.value = ""
        self._line.leave(is_kept=False)

    def action_complete(self) -> None:
        """Complete the word before the caret; again: with the next candidate. Where nothing fits, the line says so."""
        if self._line.complete is None:
            raise SkipAction  # the key is left to the screen
        used, here = self._offered, self.before
        if used is not None and used[2] == here and len(used[0].candidates) > 1:
            offered, choice = used[0], (used[1] + 1) % len(used[0].candidates)
            here = here[: offered.start]
        else:
            offered, choice = self._line.complete(here), 0
        if not offered.candidates:
            self.asked_in_vain = here
            self._line.draw_hint()
            return
        completed = offered.apply(here, choice)
        if completed.endswith(" ") and self.value[self.cursor_position :].startswith(" "):
            completed = completed[:-1]
        self._offered = (offered, choice, completed)
        self.replace(completed, 0, self.cursor_position)


class _Shown(Highlighter):
    """Shows stand-ins for hostile characters, one for one, and marks what is wrong."""

    def __init__(self, field: FilterField) -> None:
        self._field = field

    def __call__(self, text: str | Text) -> Text:
        shown = Text("".join(map(stand_in, _back(self._field.value))), no_wrap=True, overflow="ignore", end="")
        self.highlight(shown)
        return shown

    def highlight(self, text: Text) -> None:
        """Mark the mistake."""
        if (wrong := self._field.mistake) is not None:
            text.stylize(self._field.style("error"), wrong.start, wrong.end)


class FilterLine(Widget):
    """Edits a short text.

    Args:
        label: what the text is for.
        complete: how a text that ends at the caret can go on; None offers nothing.
    """

    DEFAULT_CSS = """
    FilterLine { height: auto; layout: grid; grid-size: 3; grid-rows: 1; }
    FilterLine > * { display: none; }
    FilterLine.-open > * { display: block; }
    FilterLine > .-hint { column-span: 3; width: 1fr; }
    FilterLine > .-hint.-empty { display: none; }
    FilterLine > FilterField { background-tint: transparent; }
    """

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
        self.complete = complete
        self._indent = len(label) + 4
        self._label = OneLine()
        self._label.pieces = (Run(f" {label} ▸ ", "key"),)
        self._field = FilterField(self)
        self._right = OneLine()
        self._hint = OneLine(classes="-hint -empty")
        self._right_width = -1
        self.right = ()

    def _begin(self) -> None:
        """Mount what it is made of: most screens are left without a filter, and would wait for it when they open."""
        if not self._field.is_attached:
            self.mount(self._label, self._field, self._right, self._hint)

    @property
    def text(self) -> str:
        """What is typed so far. Setting it puts the caret at the end."""
        return _back(self._field.value)

    @text.setter
    def text(self, text: str) -> None:
        if not text and not self.text:
            return
        self._begin()
        self._field.value = _away(text)[:_LONGEST]
        self._field.cursor_position = len(self._field.value)

    @property
    def right(self) -> tuple[Drawable, ...]:
        """What stands at the right edge."""
        return self._right.pieces

    @right.setter
    def right(self, pieces: tuple[Drawable, ...]) -> None:
        self._right.pieces = pieces
        width = sum(width_of(piece.text) for piece in pieces)
        if width != self._right_width:  # To set it anew lays the whole screen out again.
            self._right_width = width
            self.styles.grid_columns = f"{self._indent} 1fr {width}"

    @property
    def is_typed_into(self) -> bool:
        """True while the keys go here."""
        return self._field.has_focus

    def focus(self, scroll_visible: bool = True) -> Self:
        """Let the keys go to the field."""
        self._begin()
        self._field.focus(scroll_visible)
        return self

    def leave(self, *, is_kept: bool) -> None:
        """Tell the screen that the user is done."""
        self.post_message(self.Left(self, is_kept))

    def show_mistake(self, mistake: FilterError | None) -> None:
        """Mark what is wrong with the text, or that nothing is."""
        self._field.mistake = mistake
        self._field.refresh()
        self.draw_hint()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell the screen."""
        event.stop()
        self.show_mistake(None)
        self.post_message(self.Changed(self, _back(event.value)))

    def on_descendant_focus(self) -> None:
        """Say how the text can go on."""
        self.draw_hint()

    def on_descendant_blur(self) -> None:
        """See ``on_descendant_focus``."""
        self.draw_hint()

    def draw_hint(self) -> None:
        """Write the line below the field, which is there while it says something."""
        self._hint.pieces = self._hint_pieces() if self.is_typed_into else ()
        self._hint.set_class(not self._hint.pieces, "-empty")

    def _hint_pieces(self) -> tuple[Drawable, ...]:
        offered = Completion(0, ()) if self.complete is None else self.complete(self._field.before)
        indent, mistake = Run(" " * self._indent), self._field.mistake
        if mistake is not None and self.text and not offered.candidates:
            return (indent, Run(f"✗ {visible(mistake.message)}", "error"))
        if not offered.candidates and self._field.asked_in_vain == self._field.before:
            return (indent, Run(offered.hint or "nothing to complete here", "warning"))
        if not offered.candidates and not offered.hint:
            return ()
        words = "  ".join(word.strip() for word in offered.candidates[:40])
        hint = f"{offered.hint}   " if offered.hint else ""
        key = Run(f"{key_for(self, 'filter.complete')} ", "key") if offered.candidates else Run("")
        return (indent, Run(hint, "dim"), key, Run(words, "dim"))
