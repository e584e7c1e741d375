"""A text area in which nothing of the text is obeyed, hidden or changed unasked."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual import events
from textual.widgets import TextArea

from ...analysis.text import visible

_PRIVATE: Final = 0x10F000
"""Of the private use area: where line breaks of other kinds stand while a text is edited."""
_AWAY: Final = {ord(char): _PRIVATE + ord(char) for char in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
_BACK: Final = {there: here for here, there in _AWAY.items()}
_REPLACEMENT: Final = "\ufffd"


class SafeArea(TextArea):
    """Edits a text that may come from a trace: shown with stand-ins, kept as it is.

    ``text`` is what Textual edits: it knows one kind of line break in a text and would write all others as that.
    ``recorded`` is the text with those that it came with; setting it begins anew, with nothing to undo.
    """

    DEFAULT_CSS = """
    /* A bar that comes and goes while something is undone lets Textual look for a cursor that is not there yet. */
    SafeArea { overflow-y: scroll; }
    """

    has_one_line = False
    """Whether it is for a name: Enter is then no line break but a key of the dialog around it."""

    @property
    def recorded(self) -> str:
        """The text as it is to be kept."""
        return self.text.translate(_BACK)

    @recorded.setter
    def recorded(self, text: str) -> None:
        self.load_text(text.translate(_AWAY))

    def on_key(self, event: events.Key) -> None:
        """Leave Enter to others where there is only one line."""
        if self.has_one_line and event.key == "enter":
            event.prevent_default()

    def get_line(self, line_index: int) -> Text:
        """A line of the document with a stand-in for each hostile character.

        Each is one character, so that the cursor stands where the document says; tabs stay tabs.
        """
        return Text("".join(map(stand_in, self.document.get_line(line_index))), end="", no_wrap=True)


def stand_in(char: str) -> str:
    """One character for a hostile one, any other as it is."""
    char = char.translate(_BACK)
    shown = char if char == "\t" else visible(char)
    return shown if len(shown) == 1 else _REPLACEMENT
