"""Editors over the screen: what a fork changes, and what comes of a call that the recording cannot answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, TypeVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from runtime.journal import Question, Supplied
from runtime.messages import ErrorInfo, Json, message_from_json, text_of

from ...analysis.document import json_text
from ...analysis.text import ONE_LINE_LIMIT, fit, one_line, plural, visible, width_of
from ...analysis.word_diff import difference_lines, place_pieces
from ...errors import EditError
from ...replay.editing import broken_json, spoilt_json, supplied_value, takes_json, typed
from ...replay.model import Edit
from ..keymap import bindings
from ..widgets.drawn import OneLine, Run, key_for
from ..widgets.key_line import KeyLine
from ..widgets.safe_area import SafeArea

R = TypeVar("R")
_LOW: Final = 22
"""Lines below which a screen is low."""


class EditorScreen(ModalScreen[R], inherit_bindings=False):
    """A dialog with a text to edit and the keys below it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("editor")

    title_text = ""
    """Of the frame."""
    done_id: ClassVar[str] = "note.done"
    """The binding that gives the text."""
    has_one_line: ClassVar[bool] = False
    """Whether the text is a name."""

    def __init__(self) -> None:
        super().__init__()
        self._doubtful: set[str] = set()
        """Texts that the user was warned of."""

    def is_meant(self, text: str, why: str | None) -> bool:
        """Whether a text is to be taken; one that is only nearly JSON must be given twice."""
        if why is None or text in self._doubtful:
            return True
        self._doubtful.add(text)
        said = f"This is no JSON: {visible(why)}. {key_for(self, self.done_id)} once more gives it as text."
        self.notify(said, severity="warning", markup=False)
        return False

    def compose(self) -> ComposeResult:  # noqa: D102
        with Vertical(id="editor"):
            yield from self.above()
            yield SafeArea(id="editor-text", tab_behavior="focus")
            yield KeyLine(id="editor-keys")

    def above(self) -> ComposeResult:
        """What stands over the text."""
        yield OneLine(id="editor-line")

    def say_above(self, text: str, style: str = "warning") -> None:
        """Write the line over the text."""
        self.query_one("#editor-line", OneLine).pieces = (Run(one_line(text), style),)

    @property
    def area(self) -> SafeArea:
        """The text."""
        return self.query_one(SafeArea)

    def on_mount(self) -> None:
        """Show title and keys."""
        self.query_one("#editor").border_title = self.title_text
        if self.has_one_line:
            self.area.has_one_line = True
            self.area.soft_wrap = False
            self.area.styles.height = 3
        offered = [each for each in (*self.BINDINGS, *EditorScreen.BINDINGS) if isinstance(each, Binding) and each.show]
        self.query_one(KeyLine).offer(offered, ())

    def on_resize(self, event: events.Resize) -> None:
        """On a low screen paths and text take fewer lines, so that the keys stay on it."""
        self.set_class(event.size.height < _LOW, "-low")

    def propose(self, name: str) -> None:
        """Put a name there, the caret behind it."""
        self.area.load_text(name)
        self.area.move_cursor(self.area.document.end)

    def help_nodes(self) -> Sequence[object]:
        """Whose keys the help explains."""
        return [self]

    def action_cancel(self) -> None:
        """Answer with nothing."""
        self.dismiss(None)


_PATH_CELLS: Final = 34
"""Of the column of paths, at most."""
_EMPTY: Final = {
    "messages[+]": "one message more, at the end",
    "answer.text": "what the model had answered",
    "error": "the tool fails with this",
    "next": "a message after the run's end",
    "schema": "the JSON schema of the answer",
}
"""What a path is for where nothing stands there."""


class ForkScreen(EditorScreen[tuple[Edit, ...] | None]):
    """Answers with the changes that a fork begins with, in the order of the paths, or None.

    Args:
        choices: the paths that can be edited, each with the text that stands there.
        drafts: what was typed for some of them before, by path.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("fork")
    done_id = "fork.done"
    title_text = "Change something and run on"

    def __init__(self, choices: Sequence[tuple[str, str]], drafts: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._choices = choices
        self._at = 0
        typed_before = drafts or {}
        self._drafts = {at: typed_before[path] for at, (path, _) in enumerate(choices) if path in typed_before}
        """What was typed for paths, as far as it differs from what stands there."""
        self._is_warned = False
        """Whether the user was told what leaving throws away."""
        self._room = min(max((width_of(visible(path)) for path, _ in choices), default=0), _PATH_CELLS)

    @property
    def drafts(self) -> Mapping[str, str]:
        """What is changed, by path, as it was typed."""
        return {self._choices[at][0]: text for at, text in self._drafts.items()}

    def above(self) -> ComposeResult:
        """The paths to choose from, each with what stands there, or else what it is for."""
        yield OptionList(*(Option(self._line(at)) for at in range(len(self._choices))), id="editor-paths")

    def _line(self, at: int) -> Text:
        path, text = self._choices[at]
        text, path = self._drafts.get(at, text), visible(path)
        words = Text(" ".join(visible(text[:ONE_LINE_LIMIT]).split()) or _EMPTY.get(path, "(empty)"))
        words.stylize("" if text else "dim")
        here = "▸" if at == self._at else " "
        sign = "✎ " if at in self._drafts else "  "
        return Text.assemble(here, sign, fit(path, self._room), "  ", words)

    def on_mount(self) -> None:
        """Begin with the text of the first path."""
        self._choose(0)
        self.area.focus()

    def _choose(self, at: int) -> None:
        before, self._at = self._at, at
        for each in {before, at}:
            self._draw(each)
        path, text = self._choices[at]
        self.area.recorded = self._drafts.get(at, text)
        self.area.border_title = Text(visible(path))

    def _take_draft(self) -> None:
        """Keep what stands in the text, and mark its path where that is a change."""
        at, text = self._at, self.area.recorded
        if text == self._drafts.get(at, self._choices[at][1]):
            return
        if text == self._choices[at][1]:
            del self._drafts[at]
        else:
            self._drafts[at] = text
        self._is_warned = False
        self._draw(at)

    def _draw(self, at: int) -> None:
        self.query_one(OptionList).replace_option_prompt_at_index(at, self._line(at))

    def on_text_area_changed(self) -> None:
        """The list shows what is changed while it is typed."""
        self._take_draft()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show what stands there."""
        self._take_draft()
        self._choose(event.option_index)

    def on_option_list_option_selected(self) -> None:
        """Go on to the text."""
        self.area.focus()

    def action_done(self) -> None:
        """Answer with all edits; go to the path whose text cannot be taken."""
        self._take_draft()
        if not self._drafts:
            self.notify("Nothing has been changed yet.")
            return
        edits = []
        for at, text in sorted(self._drafts.items()):
            path, old = self._choices[at]
            try:
                edits.append(typed(path, text))
            except EditError as fault:
                self.notify(visible(str(fault)), severity="warning", markup=False)
                self.query_one(OptionList).highlighted = at
                return
            if takes_json(path) and not self.is_meant(text, spoilt_json(old, text)):
                self.query_one(OptionList).highlighted = at
                return
        self.dismiss(tuple(edits))

    def action_cancel(self) -> None:
        """Change nothing; what was typed is thrown away only when asked once more."""
        self._take_draft()
        if self._drafts and not self._is_warned:
            self._is_warned = True
            many = plural(len(self._drafts), "change")
            said = f"{key_for(self, 'fork.cancel')} once more throws {many} away"
            self.notify(said, severity="warning", markup=False)
            return
        self.dismiss(None)


class AskScreen(EditorScreen[Supplied]):
    """Answers with what the user says to a call that the recording cannot answer."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("ask")
    done_id = "ask.give"
    title_text = "What comes of this call?"

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question

    def above(self) -> ComposeResult:
        """What was asked, and why the recording has no answer; long ones are scrolled."""
        asked = self._question
        last = asked.request[-1] if asked.kind == "llm" and asked.request else asked.request
        text = Text(f"{asked.kind} {visible(asked.name)}: ", "bold")
        text.append(f"{visible(asked.reason)}\n", "not bold")
        for difference in asked.differences:
            text.append("".join(piece.text for piece in place_pieces(difference)) + "\n", "dim not bold")
            text.append("".join(f"  {line.text}\n" for line in difference_lines(difference)), "not bold")
        text.append("asked ", "dim not bold").append(_cut(visible(_plain(last))), "not bold")
        with VerticalScroll(id="editor-asked"):
            yield Static(text)

    def on_mount(self) -> None:
        """Propose what the nearest recorded call had given."""
        proposal = self._question.proposal
        self.area.recorded = "" if proposal is None else _plain(proposal)
        self.area.focus()

    def action_give(self) -> None:
        """Go on with the text as the result; text that is only nearly JSON must be given twice."""
        text = self.area.recorded
        if self.is_meant(text, broken_json(text)):
            self.dismiss(Supplied(kind="result", value=supplied_value(self._question.kind, text)))

    def action_fail(self) -> None:
        """Let the call fail with the text."""
        self.dismiss(Supplied(kind="error", error=ErrorInfo("Error", self.area.recorded.strip() or "failed")))

    def action_live(self) -> None:
        """Do the call for real."""
        self.dismiss(Supplied(kind="live"))

    def action_stop(self) -> None:
        """End the replay here."""
        self.dismiss(Supplied(kind="stop"))


_MOST_ASKED: Final = 4_000
"""Characters of a request that are shown to somebody who is to answer it."""


def _cut(text: str) -> str:
    return (
        text if len(text) <= _MOST_ASKED else f"{text[:_MOST_ASKED]} … and {len(text) - _MOST_ASKED:,} characters more"
    )


def _plain(value: Json) -> str:
    """A message as its text where it is only that, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "parts" in value:
        message = message_from_json(value)
        if all(part.get("type") == "text" for part in value["parts"]):
            return text_of([message])
    return json_text(value)
